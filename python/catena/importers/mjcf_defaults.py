"""MJCF's defaults: each class inherits from the one around it; an element takes what it does not say."""
from .xml_tree import Element

ACTUATORS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion")
_SHARED = ("gear", "ctrlrange", "forcerange", "ctrllimited", "forcelimited")


class Defaults:
    def __init__(self, root):
        self.classes = {"main": {}}
        self.own = {}
        self.sources = {}  # (class, tag): the <default>'s elements that attributes come from
        self.users = []    # (filled element, its sources)
        for section in root.all("default"):
            # sections of the outermost class add to each other
            outer = {tag: found for (name, tag), found in self.sources.items() if name == "main"}
            self._read(section, self.classes["main"], outer)

    def _read(self, section, inherited, sources, depth=0):
        name = section.text("class") or "main"
        if depth and section.text("class") is None:
            section.fail("a class inside of <default> needs a name", 'give class="..."')
        if name in self.own and (depth or name != "main"):
            section.fail(f"the class {name!r} is given twice, first at {self.own[name]}", "rename one of them")
        self.own[name] = section.where
        table = {tag: dict(values) for tag, values in inherited.items()}
        sources = dict(sources)
        for child in section.children:
            if child.tag == "default":
                continue
            table.setdefault(child.tag, {}).update(child.attributes)
            sources[child.tag] = [*sources.get(child.tag, []), child]
            self.sources[name, child.tag] = sources[child.tag]
        self.classes[name] = table
        self.sources.update({(name, tag): found for tag, found in sources.items()})
        for child in section.all("default"):
            self._read(child, table, sources, depth + 1)

    def filled(self, element, inherited):
        """The element with the attributes that its class gives it; `inherited`: the childclass around it."""
        name = element.text("class") or inherited or "main"
        if name not in self.classes:
            element.fail(f"there is no default class {name!r}", "known are " + ", ".join(self.classes))
        given = self.classes[name].get(element.tag, {})
        sources = self.sources.get((name, element.tag), [])
        if element.tag in ACTUATORS and element.tag != "general":
            # <general> of a class stands for all kinds in what they have in common
            shared = self.classes[name].get("general", {})
            given = {**{key: shared[key] for key in _SHARED if key in shared}, **given}
            sources = [*self.sources.get((name, "general"), []), *sources]
        if not given:
            return element
        own = element.attributes
        full = Element(element.tag, {**given, **own}, element.where)
        # one of several ways to write the same: the element's own way replaces the class's
        for ways in (("quat", "euler", "axisangle", "xyaxes", "zaxis", "fromto"), ("pos", "fromto")):
            if any(way in own for way in ways):
                for way in ways:
                    if way in given and way not in own:
                        del full.attributes[way]
        full.children = element.children
        full.read = element.read
        self.users.append((full, sources))
        return full

    def report_unread(self, report):
        """Attributes of classes that no element that has them made use of."""
        used = {}
        for full, sources in self.users:
            for source in sources:
                used.setdefault(id(source), (source, set()))[1].update(full.read)
        for source, read in used.values():
            for key in source.attributes:
                if key not in read:
                    report.add("left out", f"{key} of <{source.tag}>", source.where)
