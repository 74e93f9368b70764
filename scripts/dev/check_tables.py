#!/usr/bin/python3
"""Checks that the tables of all pages are shown as tables: each has a line of dashes below its head, and as many
cells in every row. An empty line within a table, or a bar in a cell, also within code, takes it apart.

    scripts/dev/check_tables.py [ROOT]          pages of the repository: README, CONTRIBUTING, CHANGELOG, docs

Prints a line for each row that is wrong, and ends with 1 if there is one.
"""
import pathlib
import re
import sys

from check_links import FENCED, INDENTED, PAGES, blanked

DASHES = re.compile(r"\|(?: *:?-+:? *\|)+")
BAR = re.compile(r"(?<!\\)\|")


def cells(row):
    return len(BAR.findall(row)) - 1


def faults_of(text):
    """Lines and faults of a page's tables."""
    for code in (FENCED, INDENTED):
        text = code.sub(blanked, text)
    lines = text.splitlines()
    width = 0
    for i, line in enumerate(lines):
        line = line.strip()
        if not line.startswith("|"):
            width = 0
        elif width == 0:
            width = cells(line)
            if i + 1 == len(lines) or not DASHES.fullmatch(lines[i + 1].strip()):
                yield i + 1, "no line of dashes below the head of a table"
        elif cells(line) != width:
            yield i + 1, f"{cells(line)} cells in a table of {width}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    pages = [root / name for name in PAGES if (root / name).exists()] + sorted((root / "docs").rglob("*.md"))
    faults = [f"{page.relative_to(root)}:{line}: {fault}"
              for page in pages for line, fault in faults_of(page.read_text(encoding="utf-8"))]
    print(*faults, f"check_tables: {len(pages)} pages, {len(faults)} rows that take a table apart", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
