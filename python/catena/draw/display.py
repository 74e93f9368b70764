"""VTK of Debian draws by X, also where there is no screen: then by a virtual server."""
from __future__ import annotations

import os
import pathlib
import shutil
import sys

from ..errors import CatenaError


def environment() -> dict[str, str]:
    """That of this process, with this package on PYTHONPATH."""
    packages = str(pathlib.Path(__file__).resolve().parents[2])
    return dict(os.environ, PYTHONPATH=os.pathsep.join(
        [packages] + [p for p in [os.environ.get("PYTHONPATH")] if p]))


def need_display(module: str) -> None:
    """Starts `python -m module` in place of this program, under a virtual X server, where there is no display."""
    if os.environ.get("DISPLAY"):
        return
    if not shutil.which("xvfb-run"):
        raise CatenaError("no display, and xvfb-run is missing", "render", "install xvfb, xauth and libgl1-mesa-dri")
    os.execvpe("xvfb-run", ["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24", sys.executable, "-m", module,
                            *sys.argv[1:]], environment())
