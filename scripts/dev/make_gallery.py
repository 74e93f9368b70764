#!/usr/bin/python3
"""Makes docs/gallery.md and its pictures: every case of configs/examples is run and drawn as the page says.

    scripts/dev/make_gallery.py CATENA [NAME...]      runs and draws all examples, or those named, and writes the page
    scripts/dev/make_gallery.py CATENA --page         writes the page alone

A case's sentence is the first one of the comment that its file begins with. Pictures have 60 kB at most, those that
would have more by fewer bits a colour or a palette. Some minutes on one core; needs what `catena render` needs, and python3-pil.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES, PAGE, IMAGES = (SOURCE / p for p in ("configs/examples", "docs/gallery.md", "docs/images/gallery"))
MOST_BYTES = 60_000
STYLE = "--size 480x360 --background white --text 1.5"

# In the order of the page: what differs from the file (a moment that shows more than the end), and the view.
VIEWS = {
    "hopper": ("time.end=1", "--azimuth -60 --elevation 38 --zoom 2"),
    "rotating_drum": ("time.end=1.2", "--azimuth -90 --elevation 12 --zoom 1.5"),
    "settled_spheres": ("time.end=2", "--color force --azimuth -50 --elevation 25 --zoom 1.1 --focus 1.15 1 0.95"),
    "capsules_and_boxes": ("time.end=1.2", "--no-planes --color generator --azimuth -50 --elevation 28 --focus 0.4 0.4 0.15 --zoom 1.5"),
    "wheel_on_soil": ("time.end=0.32", "--azimuth -70 --elevation 18 --zoom 1.05"),
    "brick_wall": ("time.end=0.34", "--zoom 1.7 --focus 1.3 0.6 0.9 --azimuth -50"),
    "arch": ("", "--color none --azimuth -70 --elevation 12"),
    "house_of_cards": ("", "--color none --azimuth -60 --elevation 15 --zoom 1.1"),
    "dominoes": ("time.end=0.56", "--azimuth -70 --elevation 30 --zoom 1.3"),
    "box_stack": ("", "--zoom 0.95 --color none"),
    "bonded_wall": ("", "--azimuth -50 --elevation 12 --zoom 1.6 --focus 0.8 0.3 0.6"),
    "newtons_cradle": ("time.end=0.4", "--azimuth -80"),
    "crane": ("time.end=5", "--azimuth -70 --elevation 10 --zoom 1.3 --focus 2.2 0 3.4"),
    "cable_stayed": ("", "--color none --azimuth -65 --elevation 12 --zoom 1.15"),
    "track": ("time.end=2.5", "--azimuth -70 --elevation 14 --zoom 2"),
    "chain_on_pile": ("time.end=1", "--color material --elevation 40 --zoom 1.35 --focus 0.55 0.55 0.35"),
    "hanging_chain": ("time.end=2", "--lines 3 --azimuth -90 --elevation 3 --zoom 1.15"),
    "chain_release": ("time.end=4.8", "--azimuth -90 --elevation 5 --lines 3 --zoom 1.5 --focus 22 0 -50"),
    "andrews": ("time.end=0.012", "--azimuth -80 --elevation 15 --zoom 1.6"),
    "flyball_governor": ("time.end=0.6", "--azimuth -70 --elevation 12 --zoom 1.9 --focus 0 0 0.55"),
    "four_bars": ("time.end=1.1", "--color none --azimuth -28 --elevation 14 --zoom 2.7 --focus 23 0 0"),
}
HEAD = """# Gallery

Every case of [configs/examples](../configs/examples), with the commands that make its picture, in a checkout; an
installation has them in `share/doc/catena/examples`. `catena movie` in place of `catena render` shows all of it.
What tests check of them: [validation.md](validation.md), "Examples". `scripts/dev/make_gallery.py` makes this page.
"""


def sentence(case: pathlib.Path) -> str:
    """The first sentence of the comment at a case's beginning."""
    comment = re.match(r"(?:#[^\n]*\n)*", case.read_text()).group()
    text = " ".join(line.lstrip("# ") for line in comment.splitlines())
    first = re.match(r".*?[.](?=\s|$)", text)
    if not first:
        sys.exit("%s: the comment at its beginning has no sentence: write what happens in the case" % case)
    return first.group()


def commands(name: str) -> list[str]:
    """What runs and draws an example."""
    changed, view = VIEWS[name]
    setting = " --set " + changed if changed else ""
    return ["catena run configs/examples/%s.yaml -o %s%s" % (name, name, setting),
            "catena render %s -o %s.png %s %s" % (name, name, STYLE, view)]


def page() -> str:
    entries = []
    for name in VIEWS:
        entries.append("\n## " + name.replace("_", " ").capitalize())
        entries.append("\n\n![](images/gallery/%s.png)\n\n" % name + sentence(EXAMPLES / (name + ".yaml")))
        entries.append(" ([%s.yaml](../configs/examples/%s.yaml))\n\n" % (name, name))
        entries.extend("    %s\n" % line for line in commands(name))
    return HEAD + "".join(entries)


def shrink(picture: pathlib.Path, out: pathlib.Path) -> int:
    """Writes a picture, with fewer bits a colour or a palette where it would be too large; returns its bytes."""
    from PIL import Image, ImageOps
    image = Image.open(picture).convert("RGB")
    for bits in (8, 6):
        white = 256 - 2 ** (8 - bits)  # what 255 becomes
        ImageOps.posterize(image, bits).point(lambda v: round(v * 255 / white)).save(out, optimize=True)
        if out.stat().st_size <= MOST_BYTES:
            return out.stat().st_size
    image.quantize(256, kmeans=3, dither=Image.Dither.NONE).save(out, optimize=True)
    return out.stat().st_size


def make_picture(program: str, name: str, folder: pathlib.Path) -> None:
    start = time.monotonic()
    for line in commands(name):
        words = shlex.split(line.replace("configs/", str(SOURCE / "configs") + "/", 1))
        done = subprocess.run([program, *words[1:]], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit("%s\n%s" % (line, done.stderr))
    size = shrink(folder / (name + ".png"), IMAGES / (name + ".png"))
    if size > MOST_BYTES:
        sys.exit("%s.png: %d bytes, more than %d" % (name, size, MOST_BYTES))
    print("%-20s %5.1f s  %5.1f kB" % (name, time.monotonic() - start, size / 1e3), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("catena", help="the program")
    parser.add_argument("names", nargs="*", metavar="NAME", help="examples; default: all")
    parser.add_argument("--page", action="store_true", help="write the page, no pictures")
    args = parser.parse_args()
    there = {p.stem for p in EXAMPLES.glob("*.yaml")}
    if there != set(VIEWS):
        sys.exit("VIEWS of this script and configs/examples differ: %s" % ", ".join(sorted(there ^ set(VIEWS))))
    if set(args.names) - there:
        sys.exit("no such example: %s" % ", ".join(sorted(set(args.names) - there)))
    IMAGES.mkdir(parents=True, exist_ok=True)
    if not args.page:
        with tempfile.TemporaryDirectory() as folder:
            for name in args.names or VIEWS:
                make_picture(os.path.abspath(args.catena), name, pathlib.Path(folder))
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
