"""Makes a movie of a result, or of a case, which is run first.

    catena movie RESULT_DIR [-o out.mp4] [options]
    catena movie CASE.yaml [-o out.mp4] [--ranks N] [options]      the result goes to ./NAME of the case

The ending of the movie's name says the format: mp4, mkv or mov (H.264). Colours have one scale for all pictures.
Needs ffmpeg, to which the pictures go as they are drawn; the movie has its name once it is whole.
"""
from __future__ import annotations

import argparse
import contextlib
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

from ..errors import CatenaError
from ..launch import run
from ..result import Result
from .display import need_display
from .picture import Frame, Scene
from .render import add_picture_options, options_of, told

FORMATS = (".mp4", ".mkv", ".mov")
CASES = (".yaml", ".yml")


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(prog="catena movie", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="CASE.yaml|RESULT_DIR", help="case, or result directory")
    parser.add_argument("-o", "--output", help="movie; default movie.mp4 in the result directory")
    parser.add_argument("--fps", type=float, default=25.0, help="pictures per second; default %(default)g")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th snapshot only")
    parser.add_argument("--from", dest="begin", type=float, metavar="T", help="snapshots from this time on, s")
    parser.add_argument("--to", dest="end", type=float, metavar="T", help="and up to this one, s")
    parser.add_argument("--quality", type=int, default=20, metavar="N",
                        help="0 (without loss) to 51 (the smallest file); default %(default)d")
    parser.add_argument("--ranks", type=int, default=1, metavar="N", help="a case is run on so many ranks")
    parser.add_argument("--force", action="store_true", help="a case's run replaces a result that is there")
    add_picture_options(parser)
    return parser.parse_args(arguments)


def check(args, options) -> None:
    """Refuses what would fail at the end of a run or of a movie."""
    if not shutil.which("ffmpeg"):
        raise CatenaError("ffmpeg is not there, which movies need", "movie",
                          "install the package ffmpeg; single pictures (catena render) do not need it")
    for name, good, remedy in (("fps", args.fps > 0.0, "above 0"), ("every", args.every >= 1, "at least 1"),
                               ("quality", 0 <= args.quality <= 51, "from 0 to 51"),
                               ("ranks", args.ranks >= 1, "at least 1")):
        if not good:
            raise CatenaError("%g" % getattr(args, name), "--" + name, "it must be " + remedy)
    for name, given in (("ranks", args.ranks != 1), ("force", args.force)):
        if given and not is_case(args.source):
            raise CatenaError("%s is no case" % args.source, "--" + name, "it is for the run of a case; leave it out")
    if any(int(n) % 2 for n in options.size.split("x")):
        raise CatenaError(options.size, "--size", "width and height of movies must be even")
    if options.background == "transparent":
        raise CatenaError("transparent", "--background", "movies have no transparency: take white")
    if args.output is not None:
        output = pathlib.Path(args.output)
        if output.suffix not in FORMATS:
            raise CatenaError("unknown format", output, "its name must end in " + ", ".join(FORMATS))
        if not output.resolve().parent.is_dir():
            raise CatenaError("there is no such directory", output.parent, "make it, or choose another")


def is_case(source: str) -> bool:
    path = pathlib.Path(source)
    return path.suffix in CASES and not path.is_dir()


def result_of(args) -> Result:
    """The result, of a run where a case is given."""
    source = pathlib.Path(args.source)
    if is_case(args.source):
        if not source.is_file():
            raise CatenaError("there is no such file", source)
        return run(source, args.ranks, force=args.force)
    return Result(source)


def numbers_of(args, result) -> list[int]:
    """Which snapshots are shown."""
    times = np.asarray(result.times)
    begin = -np.inf if args.begin is None else args.begin
    end = np.inf if args.end is None else args.end
    slack = 1e-9 * float(np.abs(times).max(initial=0.0))
    found = np.flatnonzero((times >= begin - slack) & (times <= end + slack))[::args.every]
    if len(found) == 0:
        raise CatenaError("no snapshots" + (" between %g and %g s" % (begin, end) if len(times) else ""), result.path,
                          "they go from %g to %g s" % (times[0], times[-1]) if len(times) else
                          "is this a result directory?")
    return [int(k) for k in found]


class Encoder:
    """ffmpeg, which takes pictures and leaves a movie; it has its name only once all went well."""

    def __init__(self, output: pathlib.Path, size: str, fps: float, quality: int) -> None:
        self.output, self.part = output, output.with_name(".%s.part%s" % (output.stem, output.suffix))
        self.messages = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(
            ["ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pixel_format", "rgb24", "-video_size", size,
             "-framerate", str(fps), "-i", "-", "-vf", "vflip", "-c:v", "libx264", "-crf", str(quality),
             "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(self.part)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self.messages)

    def __enter__(self) -> "Encoder":
        return self

    def add(self, pixels) -> None:
        """Takes height x width x 3 bytes, the lowest row first."""
        try:
            self.process.stdin.write(memoryview(np.ascontiguousarray(pixels)).cast("B"))
        except BrokenPipeError:
            raise self.failure() from None

    def failure(self) -> CatenaError:
        self.process.wait()
        self.messages.seek(0)
        said = self.messages.read().strip().splitlines()
        return CatenaError("ffmpeg failed" + (": " + said[-1] if said else ""), self.output)

    def __exit__(self, kind, error, trace) -> None:
        try:
            if error is not None:
                self.process.kill()
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            if self.process.wait() != 0 and error is None:
                raise self.failure()
            if error is None:
                self.part.replace(self.output)
        finally:
            self.part.unlink(missing_ok=True)
            self.messages.close()


class Progress:
    """A line a second on stderr; on a terminal always the same one."""

    def __init__(self, count: int) -> None:
        self.count, self.start, self.told = count, time.monotonic(), 0.0

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self.told < 1.0 and done < self.count:
            return
        self.told = now
        rate = done / max(now - self.start, 1e-9)
        left = (self.count - done) / rate
        line = "movie: picture %d of %d, %.1f a second, %.0f s left" % (done, self.count, rate, left)
        same = sys.stderr.isatty()
        print("\r\033[K" + line if same else line, end="\n" if not same or done == self.count else "",
              file=sys.stderr, flush=True)


def make_movie(args) -> None:
    from vtk.util.numpy_support import vtk_to_numpy
    options = options_of(args)
    check(args, options)
    need_display()
    result = result_of(args)
    numbers = numbers_of(args, result)
    output = pathlib.Path(args.output) if args.output else result.path / "movie.mp4"
    width, height = (int(n) for n in options.size.split("x"))
    scene = Scene(result, options, sorted({numbers[0], numbers[len(numbers) // 2], numbers[-1]}))
    progress = Progress(len(numbers))
    with Encoder(output, options.size, args.fps, args.quality) as encoder:
        for done, k in enumerate(numbers, 1):
            image = scene.draw(Frame(result, result[k], options.color))
            encoder.add(vtk_to_numpy(image.GetPointData().GetScalars()).reshape(height, width, 3))
            progress(done)
    print(output)


def main() -> int:
    # ended by a signal it leaves nothing half written, as by Ctrl-C
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return told(lambda: make_movie(parse_arguments()))


if __name__ == "__main__":
    sys.exit(main())
