"""Runs of cases, from Python, on any number of ranks."""
from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import sys
from typing import Any, Callable, Mapping, Union

from .case import Case, error_of, program
from .errors import CatenaError
from .result import Result

STOPPED_EARLY = 2  # with a checkpoint to go on from


def launcher(ranks: int) -> list[str]:
    """The words that start the program on so many ranks."""
    if ranks < 1:
        raise CatenaError(f"{ranks} ranks", "ranks", "at least 1")
    if ranks == 1:
        return [program()]
    if not shutil.which("mpirun"):
        raise CatenaError("mpirun is not there, which starts more than one rank", "ranks",
                          "install openmpi-bin, or take ranks=1")
    return ["mpirun", "-n", str(ranks), program()]


def run(case: Union[Case, Mapping[str, Any], str, "os.PathLike[str]"], ranks: int = 1,
        out: Union[str, "os.PathLike[str]", None] = None, *, force: bool = False, resume: bool = False,
        progress: Union[bool, Callable[[str], None]] = True) -> Result:
    """Checks the case, runs it on `ranks` ranks (mpirun, where more than one) and returns its result.

    `case` is a Case, a dict or a file; `out` the directory of the result, by default ./NAME of the case. A directory
    that holds anything is refused, unless `force` replaces Catena's files in it or `resume` goes on from its newest
    checkpoint. `progress`: the program's messages go to stderr while it runs, to a function line by line, or nowhere
    (False). A case that is refused and a run that fails raise CatenaError with key or place, remedy and exit code; one that
    stops early with a checkpoint (exit code 2) returns its result so far. What breaks this call off, Ctrl-C or an
    exception of `progress`, stops the run with a checkpoint.
    """
    if not isinstance(case, Case):
        case = Case(case) if isinstance(case, Mapping) else Case.load(case)
    start = launcher(ranks)
    name = str(case.check()["name"])
    directory = pathlib.Path(out if out is not None else name).resolve()
    options = ["-o", str(directory)] + ["--force"] * force + ["--resume"] * resume + ["--quiet"] * (progress is False)
    told = progress if callable(progress) else lambda line: print(line, file=sys.stderr, flush=True)
    lines: list[str] = []
    with case.file() as path:
        # without what MPI has put into the environment if this process has started it: mpirun would end at once
        with subprocess.Popen([*start, "run", path, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, env=dict(os.environ)) as running:
            try:
                for line in running.stderr:
                    lines.append(line.rstrip("\n"))
                    if progress:
                        told(lines[-1])
            except BaseException:
                # not SIGTERM, at which mpirun kills, and of which a second one cuts the checkpoint off
                running.send_signal(signal.SIGUSR2)
                running.stderr.read()
                raise
    if running.returncode not in (0, STOPPED_EARLY):
        raise error_of("\n".join(lines), running.returncode)
    return Result(directory)
