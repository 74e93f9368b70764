"""Renders snapshots of a result with VTK, without a window.

    render.py RESULT_DIR [--frame N | --step S] [-o picture.png]    one picture (default: the last)
    render.py RESULT_DIR --movie out.mp4 [--fps 25]                 all snapshots

All shapes are drawn; planes only where they lie below or behind the bodies; open meshes and fixed and kinematic hollow
cylinders (drums, silos) so that one sees through them; cords (rope, distance, spring) as lines. The view is about the
bodies of the scene: those that fell out of it are left aside. Without a display it starts itself again under xvfb-run.
"""
from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from .. import fields
from ..errors import CatenaError
from ..result import Result
from .picture import Frame, Options, Scene


def parse_arguments(arguments=None):
    default = Options()
    parser = argparse.ArgumentParser(prog="render.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", help="result directory")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--frame", type=int, default=-1,
                       help="number of the snapshot, from 0; negative: from the end")
    which.add_argument("--step", type=int, help="the snapshot of this step")
    parser.add_argument("-o", "--output", help="picture; default RESULT_DIR/frame-<step>.png")
    which.add_argument("--movie", help="movie of all snapshots, such as out.mp4")
    parser.add_argument("--fps", type=float, default=25.0, help="frames per second of the movie")
    parser.add_argument("--color", choices=[*fields.NAMES, "none"], default=default.color)
    parser.add_argument("--max", type=float,
                        help="top of the colour scale, in its unit; default: the largest in the pictures")
    parser.add_argument("--size", default=default.size, help="pixels, width x height")
    parser.add_argument("--azimuth", type=float, default=default.azimuth, help="view from, degrees about z")
    parser.add_argument("--elevation", type=float, default=default.elevation, help="view from above, degrees")
    parser.add_argument("--zoom", type=float, default=default.zoom)
    parser.add_argument("--focus", nargs=3, type=float, metavar=("X", "Y", "Z"),
                        help="point that the camera faces; default: the middle of the bodies")
    parser.add_argument("--projection", choices=["perspective", "parallel"], default=default.projection)
    parser.add_argument("--background", choices=["gradient", "white", "transparent"], default=default.background)
    parser.add_argument("--no-planes", dest="planes", action="store_false", help="leave planes out")
    parser.add_argument("--no-labels", dest="labels", action="store_false", help="leave time and scales out")
    parser.add_argument("--scale-bar", action="store_true", help="draw a length, as it is at the focus")
    parser.add_argument("--chains", action="store_true",
                        help="draw normal forces between bodies as rods, and see through these")
    parser.add_argument("--lines", type=float, default=default.lines, metavar="PIXELS",
                        help="draw lines so thick from body to body where joints of any type hold them")
    return parser.parse_args(arguments)


def need_display() -> None:
    """Starts this program again under a virtual X server where there is none."""
    if os.environ.get("DISPLAY"):
        return
    if not shutil.which("xvfb-run"):
        raise CatenaError("no display, and xvfb-run is missing", "render", "install xvfb, xauth and libgl1-mesa-dri")
    packages = str(pathlib.Path(__file__).resolve().parents[2])
    path = os.pathsep.join([packages] + [p for p in [os.environ.get("PYTHONPATH")] if p])
    os.environ["PYTHONPATH"] = path
    os.execvp("xvfb-run", ["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24", sys.executable, "-m",
                           "catena.draw.render"] + sys.argv[1:])


def number_of(args, result) -> int:
    """Number of the snapshot asked for."""
    if len(result) == 0:
        raise CatenaError("no snapshots; is this a result directory?", args.result)
    if args.step is not None:
        return list(result.steps).index(result.snapshot(step=args.step).step)
    if not -len(result) <= args.frame < len(result):
        raise CatenaError("there are %d snapshots" % len(result), "--frame %d" % args.frame)
    return args.frame % len(result)


def make_movie(args, result, scene, options) -> None:
    if not shutil.which("ffmpeg"):
        raise CatenaError("movies need ffmpeg", args.movie, "install ffmpeg; single pictures do not need it")
    with tempfile.TemporaryDirectory() as folder:
        for k, snapshot in enumerate(result):
            scene.draw(Frame(result, snapshot, options.color), os.path.join(folder, "%06d.png" % k))
        command = ["ffmpeg", "-y", "-loglevel", "error", "-framerate", str(args.fps), "-i",
                   os.path.join(folder, "%06d.png"), "-pix_fmt", "yuv420p", "-crf", "20", args.movie]
        if subprocess.run(command).returncode != 0:
            raise CatenaError("ffmpeg failed", args.movie)
    print(args.movie)


def render(args) -> None:
    options = Options(**{f.name: getattr(args, f.name) for f in dataclasses.fields(Options)})
    result = Result(args.result)
    k = number_of(args, result)
    need_display()
    scaled_by = sorted({0, len(result) // 2, len(result) - 1}) if args.movie else [k]
    scene = Scene(result, options, scaled_by)
    if args.movie:
        make_movie(args, result, scene, options)
        return
    snapshot = result[k]
    output = args.output or os.path.join(args.result, "frame-%08d.png" % snapshot.step)
    scene.draw(Frame(result, snapshot, options.color), output)
    print(output)


def main() -> int:
    try:
        render(parse_arguments())
    except CatenaError as e:
        print(e, file=sys.stderr)
        return 5
    except ImportError as e:
        print(f"{e}; pictures need VTK: install python3-vtk9 (or pip install vtk)", file=sys.stderr)
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
