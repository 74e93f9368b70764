"""VTK of Debian draws by X, also where there is no screen: then by a virtual server of this process."""
from __future__ import annotations

import atexit
import ctypes
import os
import pathlib
import secrets
import shutil
import signal
import struct
import subprocess
import tempfile

from ..errors import CatenaError

PROTOCOL = b"MIT-MAGIC-COOKIE-1"


def environment() -> dict[str, str]:
    """That of this process, with this package on PYTHONPATH."""
    packages = str(pathlib.Path(__file__).resolve().parents[2])
    return dict(os.environ, PYTHONPATH=os.pathsep.join(
        [packages] + [p for p in [os.environ.get("PYTHONPATH")] if p]))


def _end_with_parent() -> None:
    """Has the system end this process with its parent, also where that one is killed. A server that is killed itself
    leaves its lock, and two that find it at once take the same number."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def need_display() -> None:
    """Starts a virtual X server where there is no display; it ends with this process.

    The server chooses its number itself and says when it is ready, so that many may start at once, and lets in only who
    knows the cookie.
    """
    if os.environ.get("DISPLAY"):
        return
    if not shutil.which("Xvfb"):
        raise CatenaError("no display, and Xvfb is missing", "render", "install xvfb and libgl1-mesa-dri")
    folder = tempfile.mkdtemp(prefix="catena-display-")
    cookie = os.path.join(folder, "cookie")
    with open(cookie, "wb") as file:  # of any host and display: family 65535, no address, no number
        file.write(struct.pack(">HHHH", 0xFFFF, 0, 0, len(PROTOCOL)) + PROTOCOL + struct.pack(">H", 16) +
                   secrets.token_bytes(16))
    ready, told = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(told), "-nolisten", "tcp", "-auth", cookie,
                               "-screen", "0", "1280x1024x24"], pass_fds=[told], start_new_session=True,
                              preexec_fn=_end_with_parent, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    os.close(told)

    def end():
        server.terminate()
        try:
            server.wait(5.0)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    with os.fdopen(ready) as answer:
        number = answer.readline().strip()
    if not number:
        raise CatenaError("no display, and Xvfb does not start", "render", "try it by hand: Xvfb :99")
    os.environ.update(DISPLAY=":" + number, XAUTHORITY=cookie)
