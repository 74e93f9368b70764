"""Renders a snapshot of a result with VTK, without a window.

    catena render RESULT_DIR [--frame N | --step S] [-o picture.png]    one picture (default: the last)

All shapes are drawn; planes only where they lie below or behind the bodies; open meshes and fixed and kinematic hollow
cylinders (drums, silos) so that one sees through them; cords (rope, distance, spring) as lines. The view is about the
bodies of the scene: those that fell out of it are left aside. Without a display it starts a virtual one (Xvfb).
"""
from __future__ import annotations

import argparse
import dataclasses
import os
import re
import sys

from .. import fields
from ..errors import CatenaError
from ..result import Result
from .display import need_display
from .picture import Frame, Options, Scene, write_png


def add_picture_options(parser) -> None:
    """What pictures and movies share, for each field of Options."""
    default = Options()
    parser.add_argument("--color", choices=[*fields.NAMES, "none"], default=default.color)
    parser.add_argument("--max", type=float,
                        help="top of the colour scale, in its unit; default: the largest in the picture, "
                             "or in a movie's first, middle and last one")
    parser.add_argument("--size", default=default.size, metavar="WIDTHxHEIGHT", help="pixels; default %(default)s")
    parser.add_argument("--azimuth", type=float, default=default.azimuth, help="view from, degrees about z")
    parser.add_argument("--elevation", type=float, default=default.elevation, help="view from above, degrees")
    parser.add_argument("--zoom", type=float, default=default.zoom)
    parser.add_argument("--focus", nargs=3, type=float, metavar=("X", "Y", "Z"),
                        help="point that the camera faces; default: the middle of the bodies")
    parser.add_argument("--projection", choices=["perspective", "parallel"], default=default.projection)
    parser.add_argument("--background", choices=["gradient", "white", "transparent"], default=default.background)
    parser.add_argument("--no-planes", dest="planes", action="store_false", help="leave planes out")
    parser.add_argument("--no-labels", dest="labels", action="store_false", help="leave time and scales out")
    parser.add_argument("--label", nargs="+", default=default.label, metavar="NAME",
                        help="write the names of these bodies, or of generators, at their middles")
    parser.add_argument("--text", type=float, default=default.text, metavar="FACTOR", help="larger letters: 1.5, 2")
    parser.add_argument("--scale-bar", action="store_true", help="draw a length, as it is at the focus")
    parser.add_argument("--chains", action="store_true",
                        help="draw normal forces between bodies as rods, and see through these")
    parser.add_argument("--lines", type=float, default=default.lines, metavar="PIXELS",
                        help="draw lines so thick from body to body where joints of any type hold them")


def options_of(args) -> Options:
    """The picture's options among the arguments, checked."""
    options = Options(**{f.name: getattr(args, f.name) for f in dataclasses.fields(Options)})
    if not re.fullmatch(r"[1-9]\d*x[1-9]\d*", options.size):
        raise CatenaError(options.size, "--size", "give width and height in pixels, such as 1280x960")
    for name, good, remedy in (("zoom", options.zoom > 0.0, "above 0"), ("text", options.text > 0.0, "above 0"),
                               ("max", options.max is None or options.max > 0.0, "above 0"),
                               ("lines", options.lines >= 0.0, "at least 0")):
        if not good:
            raise CatenaError("%g" % getattr(options, name), "--" + name, "it must be " + remedy)
    return options


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(prog="catena render", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", help="result directory")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--frame", type=int, default=-1,
                       help="number of the snapshot, from 0; negative: from the end")
    which.add_argument("--step", type=int, help="the snapshot of this step")
    parser.add_argument("-o", "--output", help="picture; default RESULT_DIR/frame-<step>.png")
    add_picture_options(parser)
    return parser.parse_args(arguments)


def number_of(args, result) -> int:
    """Number of the snapshot asked for."""
    if len(result) == 0:
        raise CatenaError("no snapshots; is this a result directory?", args.result)
    if args.step is not None:
        return list(result.steps).index(result.snapshot(step=args.step).step)
    if not -len(result) <= args.frame < len(result):
        raise CatenaError("there are %d snapshots" % len(result), "--frame %d" % args.frame)
    return args.frame % len(result)


def render(args) -> None:
    options = options_of(args)
    result = Result(args.result)
    k = number_of(args, result)
    need_display()
    snapshot = result[k]
    output = args.output or os.path.join(args.result, "frame-%08d.png" % snapshot.step)
    write_png(Scene(result, options, [k]).draw(Frame(result, snapshot, options.color)), output)
    print(output)


def main() -> int:
    return told(lambda: render(parse_arguments()))


def told(work) -> int:
    """Exit code of what draws; its errors go to stderr."""
    try:
        work()
    except CatenaError as e:
        print(e, file=sys.stderr)
        return e.exit_code or 5
    except ImportError as e:
        print(f"{e}; pictures need VTK: install python3-vtk9 (or pip install vtk)", file=sys.stderr)
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
