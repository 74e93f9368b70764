"""A result as one HTML page, and a small server that follows a run."""
from __future__ import annotations

import base64
import functools
import html
import http.server
import json
import os
import pathlib
from typing import Iterable, Union

import numpy as np

from ..errors import CatenaError
from ..geometry import extents
from ..result import Result
from .frames import FrameWriter
from .scene import scene_of

_HERE = pathlib.Path(__file__).parent


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _module(name: str) -> str:
    """A JavaScript module as an address that needs no network."""
    return "data:text/javascript;base64," + base64.b64encode(_text(f"three/{name}").encode()).decode()


def _page(scene: dict, frames: Iterable[bytes]) -> Iterable[str]:
    """The page in pieces."""
    marks = {"TITLE": html.escape(scene["name"]), "STYLE": _text("page.css"), "SCRIPT": _text("page.js"),
             # no text of the scene may end the element that holds it
             "SCENE": json.dumps(scene, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
             "THREE": _module("three.module.min.js"), "ORBIT": _module("OrbitControls.js")}
    before, after = _text("page.html").split("@FRAMES@")
    for piece in before.split("@"):
        yield marks.get(piece, piece)
    for k, frame in enumerate(frames):
        yield f'<script type="text/plain" id="frame-{k}">{base64.b64encode(frame).decode()}</script>\n'
    for piece in after.split("@"):
        yield marks.get(piece, piece)


class View:
    """What a page shows of a result. `kept`: of `velocity` and `force`, what frames hold besides poses; `chains`: so
    many of the strongest force chains a frame; `every`: each so-manieth snapshot."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], kept=("velocity", "force"), chains: int = 3000,
                 every: int = 1, live: bool = False) -> None:
        self.result = Result(path)
        if len(self.result) == 0:
            raise CatenaError("no snapshots yet", self.result.path, "output.snapshot_interval says when they come")
        scene = scene_of(self.result)
        self.writer = FrameWriter(self.result, extents(self.result.bodies, self.result.geometries),
                                  (np.array(scene["viewLower"]), np.array(scene["viewUpper"])), kept, chains, live)
        self.rows = range(0, len(self.result), every)
        notes = (f"Positions are off by {self.writer.error:.2g} m at most, orientations by 0.003 rad, velocities and "
                 f"forces by 0.05 %.")
        if self.writer.largest_chain:
            notes += f" Of the force chains the strongest {chains} of each snapshot are kept."
        self.scene = {"name": str(self.result.path.resolve().name), "notes": notes, "live": live,
                      **scene, **self.writer.description(), **self.times()}

    def times(self) -> dict:
        return {"times": [float(self.result.times[k]) for k in self.rows],
                "steps": [int(self.result.steps[k]) for k in self.rows]}

    def follow(self) -> bool:
        """Takes snapshots that have come since; False where they do not fit, so that the page is to be made anew:
        bodies have come in, or went farther or faster than what its numbers hold."""
        now = Result(self.result.path)
        new = range(len(self.result), len(now))
        if len(now.bodies) != len(self.result.bodies) or not all(self.writer.covers(now[k]) for k in new):
            return False
        self.result, self.rows = now, range(0, len(now), self.rows.step)
        return True

    def frame(self, k: int) -> bytes:
        return self.writer.frame(self.result[self.rows[k]])

    def pieces(self) -> Iterable[str]:
        """The page, frames within."""
        return _page(self.scene, (self.frame(k) for k in range(len(self.rows))))


def write_page(view: View, output: Union[str, "os.PathLike[str]"]) -> int:
    """Writes the page; returns its size in bytes. What was there stays until the new one is whole."""
    output = pathlib.Path(output)
    if not output.parent.is_dir():
        raise CatenaError("there is no such directory", output.parent, "make it, or choose another")
    part = output.with_name(output.name + ".part")
    try:
        with open(part, "w", encoding="utf-8") as file:
            for piece in view.pieces():
                file.write(piece)
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
    return output.stat().st_size


class _Following(http.server.BaseHTTPRequestHandler):
    """Answers with the page, the times of the snapshots so far, and single frames."""

    make = None  # makes a View of the directory as it is now
    view = None

    def log_message(self, *_):
        pass

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        kept = type(self)
        path = self.path.split("?")[0]
        try:
            if path == "/":
                kept.view = kept.make()
                self._answer("text/html; charset=utf-8", "".join(_page(kept.view.scene, ())).encode())
            elif path == "/times":
                stale = not kept.view.follow()
                self._answer("application/json", json.dumps({"stale": stale, **kept.view.times()}).encode())
            elif path.startswith("/frame/") and path[7:].isdigit() and int(path[7:]) < len(kept.view.rows):
                self._answer("application/octet-stream", kept.view.frame(int(path[7:])))
            else:
                self.send_error(404)
        except (CatenaError, OSError) as e:
            self.send_error(503, str(e)[:200])


def server(path: Union[str, "os.PathLike[str]"], port: int = 0, **options) -> http.server.HTTPServer:
    """A server on 127.0.0.1 that shows a run while it goes on; serve_forever() runs it. Port 0: any free one."""
    make = functools.partial(View, path, live=True, **options)
    handler = type("Following", (_Following,), {"make": staticmethod(make), "view": make()})
    return http.server.HTTPServer(("127.0.0.1", port), handler)
