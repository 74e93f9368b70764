"""Cases as nested dicts and lists, checked by the program."""
from __future__ import annotations

import contextlib
import copy
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Any, Iterator, Mapping, Union

from .errors import CatenaError

_PLACE = re.compile(r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): (?P<rest>.*)$", re.DOTALL)


def program() -> str:
    """The program `catena`: that of the environment's CATENA, built or installed with the package, or on PATH."""
    named = os.environ.get("CATENA")
    built = pathlib.Path(__file__).absolute().parents[2] / "drivers" / "catena"  # this is BUILD/python/catena
    here = pathlib.Path(__file__).resolve().parents
    installed = here[4] / "bin" / "catena" if here[1].name in ("site-packages", "dist-packages") else built
    found = named or next((str(p) for p in (built, installed) if p.is_file()), None) or shutil.which("catena")
    if not found or not shutil.which(found):
        raise CatenaError("is not there", found or "catena", "set CATENA to the program, or put it on PATH")
    return found


def error_of(text: str, code: int) -> CatenaError:
    """The program's last message, `FILE:LINE:COLUMN: KEY: FOUND; REMEDY`, taken apart.

    >>> e = error_of("pile.yaml:3:5: solver.max_sweep: unknown key; did you mean solver.max_iterations?", 3)
    >>> e.path, e.found, e.remedy
    ('solver.max_sweep', 'unknown key', 'did you mean solver.max_iterations?')
    """
    lines = [line for line in text.strip().splitlines() if line]
    message = next((line for line in lines if _PLACE.match(line)), lines[-1] if lines else "no message")
    place = _PLACE.match(message)
    path, _, found = (place["rest"] if place else message).partition(": ")
    if not found:
        path, found = "", path
    found, _, remedy = found.partition("; ")
    return CatenaError(found, path, remedy, code)


class Case(dict):
    """A case: the mapping that a case file holds (docs/configuration.md), to be changed as any dict.

    `folder` is what paths in it are relative to: that of the file, or the working directory.

    >>> case = Case({"catena": 1, "name": "pile", "time": {"end": "2 s"}})
    >>> case["time"]["step"] = 1e-3
    >>> print(case.yaml(), end="")
    catena: 1
    name: pile
    time:
      end: 2 s
      step: 0.001
    """

    def __init__(self, values: Mapping[str, Any], folder: Union[str, "os.PathLike[str]"] = ".") -> None:
        super().__init__(copy.deepcopy(dict(values)))
        self.folder = pathlib.Path(folder).resolve()

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Case":
        """The case of a file."""
        import yaml
        try:
            with open(path, encoding="utf-8") as file:
                values = yaml.load(file, Loader=yaml.BaseLoader)
        except OSError as e:
            raise CatenaError(f"cannot be read ({e.strerror})", path) from e
        except yaml.YAMLError as e:
            raise CatenaError(f"no YAML ({e})", path) from e
        if not isinstance(values, dict):
            raise CatenaError("holds no mapping", path, "a case begins with `catena: 1`")
        return cls(_plain(values), pathlib.Path(path).parent)

    def yaml(self) -> str:
        """The text of a case file."""
        import yaml
        return yaml.safe_dump(_plain(dict(self)), sort_keys=False)

    @contextlib.contextmanager
    def file(self) -> Iterator[str]:
        """The case as a file in `folder`, to which paths in it are relative; gone afterwards."""
        try:
            file = tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=self.folder, encoding="utf-8")
        except OSError as e:
            raise CatenaError(f"cannot be written to ({e.strerror})", self.folder,
                              "give the case another `folder`") from e
        with file:
            file.write(self.yaml())
            file.flush()
            yield file.name

    def check(self) -> "Case":
        """The case with all defaults; raises CatenaError with key and remedy for what `catena check` refuses."""
        import yaml
        with self.file() as path:
            done = subprocess.run([program(), "check", path], capture_output=True, text=True)
        if done.returncode != 0:
            raise error_of(done.stderr, done.returncode)
        return Case(_plain(yaml.load(done.stdout, Loader=yaml.BaseLoader)), self.folder)


def _plain(value: Any) -> Any:
    """Numbers of text as numbers, NumPy's as Python's; what the program reads the same either way."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, str) and re.fullmatch(r"[-+]?(0|[1-9]\d*)", value):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"[-+]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?", value):
        return float(value)
    if isinstance(value, str) and value in ("true", "false"):
        return value == "true"
    return value
