"""The one exception of the package."""
from __future__ import annotations


class CatenaError(Exception):
    """What went wrong, where, and what to do.

    `found` is what was found, `path` the key of the case or the file concerned (empty where there is none),
    `remedy` what to do (the same), `exit_code` the program's code of docs/cli.md (0 where it was not run).

    >>> str(CatenaError("unknown key", "solver.max_sweep", "did you mean solver.max_iterations?"))
    'solver.max_sweep: unknown key; did you mean solver.max_iterations?'
    """

    def __init__(self, found: str, path: object = "", remedy: str = "", exit_code: int = 0) -> None:
        self.found, self.path, self.remedy, self.exit_code = found, str(path), remedy, exit_code
        where = f"{self.path}: " if self.path else ""
        super().__init__(where + found + (f"; {remedy}" if remedy else ""))
