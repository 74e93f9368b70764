#!/usr/bin/python3
"""Robot models changed at random, in one process: URDF and MJCF are imported as a case or refused by an
ImportProblem that says where and what; anything else is a finding, and so are more than 2 s for one.

    importers.py ROOT [--runs 200] [--seed 1] [--keep DIR]
"""
import argparse
import os
import pathlib
import random
import re
import resource
import sys
import tempfile
import time
import traceback
import warnings

MOST_SECONDS = 2.0
MOST_KILOBYTES = 1 << 20
NUMBERS = ("0", "-1", "1", "nan", "inf", "1e308", "1e-320", "-1e99", "1e20", "9223372036854775807", "1 2 3", "", "x", "-0",
           "0 0 0", "1e5", "true", "3.14159265358979")
SYNTAX = ("<", ">", "/>", "</", "\"", "&", "&amp;", "<!--", "-->", "<![CDATA[", "\0", "\xff", " ", "\n", "=", "<link/>",
          "<?xml version='1.0' encoding='utf-16'?>", "<!DOCTYPE a [<!ENTITY b 'c'>]>", "&b;")
WORD = re.compile(r"[\w.+-]+")
ELEMENT = re.compile(r"<[^<>]*>")


class Mutator:
    """Words, elements and lines left out, doubled, moved, and replaced by those of other models."""

    def __init__(self, seed, texts):
        self.random, self.texts = random.Random(seed), texts

    def piece(self, text, pattern):
        """A match at or after a random place, or None."""
        return pattern.search(text, self.random.randrange(len(text) + 1)) or pattern.search(text)

    def once(self, text):
        draw, other = self.random, self.random.choice(self.texts)
        way = draw.randrange(8)
        if way == 0:
            place = draw.randrange(len(text) + 1)
            return text[:place] + draw.choice(SYNTAX) + text[place:]
        if way == 1:
            begin = draw.randrange(len(text) + 1)
            return text[:begin] + text[begin + draw.randrange(1 << draw.randrange(10)):]
        pattern = WORD if way in (2, 3, 4) else ELEMENT
        here, there = self.piece(text, pattern), self.piece(other, pattern)
        if here is None or there is None:
            return text
        new = {2: draw.choice(NUMBERS), 3: there[0], 4: "", 5: "", 6: here[0] * 2, 7: here[0] + there[0]}[way]
        return text[:here.start()] + new + text[here.end():]

    def mutated(self, text):
        for _ in range(self.random.randint(1, self.random.randint(1, 4))):
            text = self.once(text)
        return text


def seeds(root):
    data = root / "tests" / "data"
    for folder in (data / "import", data / "import" / "arm6", data / "fuzz" / "robot"):
        for path in sorted(folder.glob("*")):
            if path.suffix in (".urdf", ".xml"):
                yield path


class Study:
    def __init__(self, importers, folder, keep):
        self.importers, self.folder, self.keep = importers, folder, keep
        self.accepted = self.refused = self.findings = 0
        self.slowest = 0.0

    def found(self, what, content, suffix):
        path = self.keep / ("robot-%d%s" % (self.findings, suffix))
        path.write_bytes(content)
        print("FINDING: %s: %s" % (path, what), flush=True)
        self.findings += 1

    def take(self, content, suffix, beside):
        """Imports a model from the folder of its meshes."""
        path, out = self.folder / beside / ("input" + suffix), self.folder / "case.yaml"
        path.write_bytes(content)
        out.unlink(missing_ok=True)
        start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            self.importers.import_model(path, out)
            self.accepted += 1
        except self.importers.ImportProblem as problem:
            self.refused += 1
            if not problem.where or not problem.found:
                self.found("an error without what or where: %s" % problem, content, suffix)
            elif out.exists():
                self.found("a case of a refused model", content, suffix)
        except Exception:  # pylint: disable=broad-except
            self.found(traceback.format_exc(), content, suffix)
        seconds = time.process_time() - start
        self.slowest = max(self.slowest, seconds)
        if seconds > MOST_SECONDS:
            self.found("%.1f s" % seconds, content, suffix)
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > before + MOST_KILOBYTES:
            self.found("more than 1 GB", content, suffix)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args()
    sys.path.insert(0, str(options.root / "python"))
    warnings.simplefilter("ignore")  # numbers beyond all sense are tried on purpose
    try:
        from catena import importers
    except ImportError as missing:
        print("skipped: %s" % missing)
        return 77
    paths = list(seeds(options.root))
    contents = [path.read_bytes() for path in paths]
    texts = [content.decode("latin-1") for content in contents]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for place in {path.parent for path in paths}:
            (folder / place.name).mkdir()
            for mesh in place.glob("**/*"):
                if mesh.is_dir():
                    os.symlink(mesh, folder / place.name / mesh.name)
        study = Study(importers, folder, options.keep)
        for path, content in zip(paths, contents):
            study.take(content, path.suffix, path.parent.name)
        for k in range(options.runs):
            path, text = paths[k % len(paths)], texts[k % len(paths)]
            changed = Mutator(options.seed * 1000003 + k, texts).mutated(text)
            study.take(changed.encode("latin-1"), path.suffix, path.parent.name)
    print("robot: %d seeds, %d inputs: %d accepted, %d refused, %d findings; the slowest %.2f s"
          % (len(paths), len(paths) + options.runs, study.accepted, study.refused, study.findings, study.slowest))
    return 1 if study.findings else 0


if __name__ == "__main__":
    sys.exit(main())
