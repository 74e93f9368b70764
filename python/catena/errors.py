"""The one exception of the package."""
from __future__ import annotations

import re

_PLACE = re.compile(r"^(?P<place>.*?:\d+:\d+): (?P<rest>.*)$", re.DOTALL)


class CatenaError(Exception):
    """What went wrong, where, and what to do.

    `found` is what was found, `path` the key of the case or the file concerned (empty where there is none),
    `remedy` what to do (the same), `exit_code` the code of docs/cli.md that says it (0 where none does), `place`
    where a key stands in a case's file ("pile.yaml:3:5"; empty where there is no file).

    >>> str(CatenaError("unknown key", "solver.max_sweep", "did you mean solver.max_iterations?"))
    'solver.max_sweep: unknown key; did you mean solver.max_iterations?'
    """

    def __init__(self, found: str, path: object = "", remedy: str = "", exit_code: int = 0, place: str = "") -> None:
        self.found, self.path, self.remedy, self.exit_code = found, str(path), remedy, exit_code
        self.place = place
        where = "".join(f"{part}: " for part in (self.place, self.path) if part)
        super().__init__(where + found + (f"; {remedy}" if remedy else ""))

    @classmethod
    def of_program(cls, found: str, where: str, remedy: str, exit_code: int) -> "CatenaError":
        """An error of the C++ library, whose `where` may begin with a place.

        >>> e = CatenaError.of_program("unknown key", "pile.yaml:3:5: solver.max_sweep", "", 3)
        >>> e.place, e.path
        ('pile.yaml:3:5', 'solver.max_sweep')
        """
        place = _PLACE.match(where)
        if not place:
            return cls(found, where, remedy, exit_code)
        # a case that is no file of its own: its lines are nobody's
        shown = "" if place["place"].startswith("case:") else place["place"]
        return cls(found, place["rest"].lstrip("."), remedy, exit_code, shown)
