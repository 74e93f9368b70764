"""The one error of the importer, with its place, and the list of what became of the model's parts."""


class ImportProblem(Exception):
    """What was found, where, and what to do: `robot.urdf:12:3: joint 'knee': no child; give <child link=.../>`."""

    def __init__(self, where, found, fix=""):
        self.where, self.found = where, found
        super().__init__(f"{where}: {found}" + (f"; {fix}" if fix else ""))


class Report:
    """Lines of what was kept, changed and left out, and of what looks like a mistake of the model; equal texts share a
    line that lists their places."""

    KINDS = ("kept", "changed", "left out", "doubtful")

    def __init__(self):
        self._places = {kind: {} for kind in self.KINDS}

    def add(self, kind, text, where):
        places = self._places[kind].setdefault(text, [])
        if where not in places:
            places.append(where)

    def lines(self):
        for kind in self.KINDS:
            for text, places in self._places[kind].items():
                yield f"{kind}: {_joined(places)}: {text}"

    def counts(self):
        return {kind: sum(len(p) for p in self._places[kind].values()) for kind in self.KINDS}


def _joined(places):
    """`robot.urdf:3, 17, 40`: places without their columns, the file once."""
    lines = {}
    for place in places:
        file, _, rest = place.partition(":")
        lines.setdefault(file, []).append(rest.split(":")[0])
    return "; ".join(f"{file}:{', '.join(dict.fromkeys(rows))}" for file, rows in lines.items())
