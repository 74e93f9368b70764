#!/usr/bin/python3
"""A page does what it says: its blocks are run from top to bottom.

    documented_page_test.py CATENA PAGE SOURCE [--images DIR]

What a block is stands behind its ```:

    LANGUAGE NAME       the file NAME
    sh                  commands, in the folder of the page's files
    text                what the commands before it print: words as they stand, numbers with a fraction to 1 % or
                        one of the last digit, whole ones exactly; `...` stands for any lines
    text within P %     all numbers to P %
    text of a machine   with any numbers
    yaml                that begins with `catena: 1`: a scene, which runs alone beside the files and says in comments
                        what its probes measure at the end

A page with commands has no other blocks, and makes the pictures that it shows, alike those in docs, of 60 kB at most;
--images DIR puts them there. The page finds the sources in $CATENA_SOURCE. --show prints what commands print.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

CLAIM = re.compile(r"# (\w+)\.(\w+) = (\S+)(?: within (\S+) %)?$", re.MULTILINE)
BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
TEXT = re.compile(r"text(?: within (\S+) %| (of a machine))?$")
MOST_BYTES = 60_000
MOST_UNLIKE = 0.1  # mean difference of pictures, of the whole range


def last_row(path):
    header, *rows = path.read_text().splitlines()
    names = [field.split(" [")[0] for field in header.split(",")]
    return dict(zip(names, map(float, rows[-1].split(","))))


def close(said, found, percent):
    """Numbers as text: equal to the percentage and one of the last digit that is said."""
    fraction = "." in said or "e" in said.lower()
    if percent is None and not fraction:
        return said == found
    mantissa, _, exponent = said.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    last = 10.0 ** (int(exponent or 0) - digits) if fraction else 0.0
    share = 0.01 * (1.0 if percent is None else percent)
    return abs(float(said) - float(found)) <= max(share * abs(float(said)), 1.001 * last)


def same_line(said, found, percent, any_numbers):
    words = [[" ".join(w.split()) for w in NUMBER.split(line)] for line in (said, found)]
    numbers = [NUMBER.findall(line) for line in (said, found)]
    return words[0] == words[1] and (any_numbers or all(close(*n, percent) for n in zip(*numbers)))


def unlike(said, found, percent, any_numbers):
    """None where the lines found are those said; else the first one that is not there."""
    skip, k = False, 0
    for line in said:
        if line.strip() == "...":
            skip = True
            continue
        while skip and k < len(found) and not same_line(line, found[k], percent, any_numbers):
            k += 1
        if k == len(found) or not same_line(line, found[k], percent, any_numbers):
            return line
        skip, k = False, k + 1
    return None if skip or k == len(found) else "nothing more, but there is: " + found[k]


class Page:
    def __init__(self, path, catena, source, show):
        self.path, self.catena, self.source, self.show = path, catena, source, show
        self.text = path.read_text()
        self.blocks = BLOCK.findall(self.text)
        self.wrong, self.claims, self.scenes, self.commands = [], 0, 0, 0
        self.has_commands = any(info.strip() == "sh" for info, _ in self.blocks)
        self.said = []  # by the last commands

    def environment(self):
        programs = [str(pathlib.Path(self.catena).parent), "/usr/bin", os.environ["PATH"]]
        return dict(os.environ, PATH=os.pathsep.join(programs), CATENA_SOURCE=str(self.source),
                    CATENA=str(self.catena), PYTHONPATH=str(self.source / "python"), PYTHONDONTWRITEBYTECODE="1")

    def scene(self, scene, folder):
        name = re.search(r"^name: (\w+)$", scene, re.MULTILINE).group(1)
        case, out = folder / f"{name}-scene.yaml", folder / f"{name}-scene"
        case.write_text(scene)
        done = subprocess.run([self.catena, "run", case.name, "-o", out.name, "--quiet"], cwd=folder,
                              capture_output=True, text=True, timeout=300, check=False)
        self.scenes += 1
        if done.returncode != 0:
            self.wrong.append(f"{name}: exit {done.returncode}\n{done.stderr}")
            return
        for probe, column, value, percent in CLAIM.findall(scene):
            self.claims += 1
            found = last_row(out / "probes" / (probe + ".csv"))[column]
            if not abs(found - float(value)) <= 0.01 * float(percent or 0) * abs(float(value)):
                self.wrong.append(f"{name}: {probe}.{column} is {found}, not {value}")

    def run(self, commands, folder):
        began = time.monotonic()
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", commands], cwd=folder, env=self.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                              timeout=300, check=False)
        self.said = done.stdout.strip("\n").splitlines()
        self.commands += 1
        print(f"{time.monotonic() - began:6.1f} s  {commands.splitlines()[0]}", flush=True)
        if self.show:
            print(done.stdout, end="")
        if done.returncode != 0:
            self.wrong.append(f"exit {done.returncode} of\n{commands}{done.stdout}")

    def compare(self, kind, expected):
        percent, any_numbers = kind.groups()
        line = unlike(expected.splitlines(), self.said, float(percent) if percent else None, bool(any_numbers))
        if line is not None:
            self.wrong.append("not printed: " + line + "\nbut\n" + "\n".join(self.said))

    def go_through(self, folder):
        for info, content in self.blocks:
            language, _, name = info.strip().partition(" ")
            kind = TEXT.match(info.strip())
            if kind:
                self.compare(kind, content)
            elif info.strip() == "sh":
                self.run(content, folder)
            elif name:
                (folder / name).write_text(content)
            elif language == "yaml" and content.startswith("catena: 1\n"):
                self.scene(content, folder)
            elif self.has_commands:
                self.wrong.append("a block that is neither a file, commands nor their output:\n" + content)

    def pictures(self, folder, images):
        shown = re.findall(r"!\[[^\]]*\]\(([^)]*\.png)\)", self.text)
        if not shown:
            self.wrong.append("the page ends without a picture")
        for place in shown:
            made, kept = folder / pathlib.Path(place).name, self.path.parent / place
            if not made.exists():
                self.wrong.append(f"{made.name}: the page does not make it")
                continue
            if images:
                (images / made.name).write_bytes(made.read_bytes())
            if made.stat().st_size > MOST_BYTES:
                self.wrong.append(f"{made.name}: {made.stat().st_size} bytes, more than {MOST_BYTES}")
            if kept.exists() and (difference := picture_difference(made, kept)) > MOST_UNLIKE:
                self.wrong.append(f"{place}: another picture than the page makes ({difference:.2f})")


def picture_difference(a, b):
    """Mean difference of the colours, 0 to 1; 1 of pictures of other sizes."""
    from matplotlib import image
    a, b = (image.imread(str(p))[..., :3] for p in (a, b))
    return float(abs(a - b).mean()) if a.shape == b.shape else 1.0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("catena")
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--images", type=pathlib.Path)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    page = Page(options.page.resolve(), os.path.abspath(options.catena), options.source.resolve(), options.show)
    with tempfile.TemporaryDirectory() as directory:
        page.go_through(pathlib.Path(directory))
        if page.has_commands:
            page.pictures(pathlib.Path(directory), options.images)
    if not page.has_commands:
        titles = re.findall(r"^## (\w+)$", page.text, re.MULTILINE)
        if page.claims < page.scenes or page.scenes < len(titles):
            page.wrong.append("a title without a scene, or a scene without a claim")
    print(f"{page.scenes} scenes, {page.claims} claims, {page.commands} blocks of commands")
    print("\n".join(page.wrong))
    return 1 if page.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
