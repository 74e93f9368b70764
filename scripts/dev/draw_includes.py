#!/usr/bin/python3
"""Draws who includes whom: modules on the left, the rooms of src/solvers on the right (docs/design/includes.svg).
With --table prints the counts instead, a line for each pair of rooms.

    scripts/dev/draw_includes.py [-o docs/design/includes.svg] [--table]

An arrow points to what is included, its width grows with the number of include lines. Needs python3-matplotlib.
"""
import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def place_of(path):
    """(module, room) of a file or an include, by its path below src or include; None for other headers."""
    parts = path.split("/")
    if parts[0] == "catena":
        parts = parts[1:]
    return (parts[0], "/".join(parts[1:-1])) if len(parts) > 1 else None


def count_includes():
    edges = collections.Counter()
    for base in ("src", "include"):
        for file in sorted((ROOT / base).rglob("*.[ch]pp")):
            own = place_of(str(file.relative_to(ROOT / base)))
            for path in INCLUDE.findall(file.read_text()):
                other = place_of(path)
                if own and other and own != other:
                    edges[own, other] += 1
    return edges


def levels_of(nodes, edges):
    """Level of each node: one above the highest that it includes; a circle of rooms shares the lower one."""
    level = {n: 0 for n in nodes}
    for _ in nodes:
        for a, b in edges:
            if (b, a) not in edges:
                level[a] = max(level[a], min(level[b] + 1, len(nodes) - 1))
    return level


def draw(axis, title, edges):
    nodes = sorted({n for pair in edges for n in pair})
    level = levels_of(nodes, edges)
    rows = collections.defaultdict(list)
    for n in nodes:
        rows[level[n]].append(n)
    at = {}
    for y, names in rows.items():
        for i, n in enumerate(names):
            at[n] = ((i + 1) / (len(names) + 1) + 0.04 * (y % 2), y)
    for (a, b), n in edges.items():
        axis.annotate("", at[b], at[a], zorder=1,
                      arrowprops={"arrowstyle": "-|>", "lw": 0.4 + 0.25 * n ** 0.5, "color": "#7a8ba3", "alpha": 0.7,
                                  "shrinkA": 12, "shrinkB": 14, "connectionstyle": "arc3,rad=0.06"})
    for n, (x, y) in at.items():
        axis.text(x, y, n, ha="center", va="center", fontsize=8, zorder=2,
                  bbox={"boxstyle": "round,pad=0.35", "fc": "#f2f5fa", "ec": "#33475b", "lw": 0.8})
    axis.set_title(title, fontsize=10)
    axis.set_xlim(-0.02, 1.06)
    axis.set_ylim(-0.6, max(level.values()) + 0.6)
    axis.axis("off")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", dest="output", default=str(ROOT / "docs/design/includes.svg"))
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    edges = count_includes()
    if arguments.table:
        for (a, b), n in sorted(edges.items()):
            if a[0] == b[0]:
                print(f"{n:4d}  {'/'.join(a).rstrip('/')} -> {'/'.join(b).rstrip('/')}")
        return 0
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "catena"  # the same picture from the same includes
    import matplotlib.pyplot as plt
    modules, rooms = collections.Counter(), collections.Counter()
    for (a, b), n in edges.items():
        if a[0] != b[0]:
            modules[a[0], b[0]] += n
        elif a[0] == "solvers":
            rooms[a[1] or "(solvers)", b[1] or "(solvers)"] += n
    figure, axes = plt.subplots(1, 2, figsize=(14, 8))
    draw(axes[0], "modules", modules)
    draw(axes[1], "rooms of src/solvers", rooms)
    figure.tight_layout()
    figure.savefig(arguments.output, metadata={"Date": None})
    return 0


sys.exit(main())
