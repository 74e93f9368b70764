#!/usr/bin/python3
"""Draws how the time of a direct friction step grows with its rows: Catena's `dantzig` (one pass:
normals, then friction within mu times those) beside ODE's dWorldStep, on dropped spheres.

    scripts/reproduce/dantzig.py [--bench build/drivers/bench_dantzig] [--images docs/images]
                                 [--peer PROGRAM] [--quick]

--peer: a program that measures ODE in the same run, as `PROGRAM settle N SWEEPS STEPS FILE` (which
writes a scene for bench_dantzig) and `PROGRAM dantzig N` (which prints "rows R step median T ms");
both codes then solve the same scenes. Without it ODE's times come from dantzig_ode.csv beside this
script, which names its machine, and the scenes are settled by Catena. --quick: small scenes only.
Needs python3-numpy and python3-matplotlib.
"""
import argparse
import csv
import json
import os
import re
import subprocess
import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

SPHERES = [20, 40, 60, 80, 120, 150, 200, 280]
STORED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dantzig_ode.csv")


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True,
                          text=True).stdout


def catena(args, *options):
    """Rows and ms of every scene."""
    out = run(args.bench, *options, "--benchmark_format=json", "--benchmark_min_time=0.5")
    found = json.loads(out)["benchmarks"]
    return [(int(b["rows"]), b["cpu_time"]) for b in found]


def side_by_side(args):
    """The same scenes for both, one after the other."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for n in SPHERES[:4] if args.quick else SPHERES:
            scene = os.path.join(folder, f"{n}.txt")
            run(args.peer, "settle", n, 100, 600, scene)
            ours += catena(args, scene)
            line = run(args.peer, "dantzig", n)
            match = re.search(r"rows (\d+) step median ([\d.]+) ms", line)
            theirs.append((int(match[1]), float(match[2])))
    return ours, theirs, "ODE, same run"


def stored(args):
    options = [r"--benchmark_filter=pass/(20|40|60)$"] if args.quick else []
    with open(STORED, newline="") as file:
        comment = file.readline().strip("# \n")
        rows = [(int(r["rows"]), float(r["ms"])) for r in csv.DictReader(file)]
    return catena(args, *options), rows, f"ODE, stored ({comment})"


def exponent(points):
    """Exponent of the growth over the upper half of the sizes."""
    upper = np.log(np.array(sorted(points)[len(points) // 2:]))
    return np.polyfit(upper[:, 0], upper[:, 1], 1)[0] if len(upper) > 1 else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/drivers/bench_dantzig")
    parser.add_argument("--images", default="docs/images")
    parser.add_argument("--peer")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()

    ours, theirs, label = side_by_side(args) if args.peer else stored(args)
    figure, axis = plt.subplots(figsize=(6.4, 4.4))
    for points, style, name in [(ours, "-o", "Catena dantzig"), (theirs, "-s", label)]:
        rows, ms = zip(*sorted(points))
        axis.loglog(rows, ms, style, ms=4,
                    label=f"{name}: rows^{exponent(points):.1f}")
    axis.set_xlabel("rows (3 a contact)")
    axis.set_ylabel("ms a step, CPU")
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize=8)
    figure.tight_layout()
    os.makedirs(args.images, exist_ok=True)
    path = os.path.join(args.images, "dantzig.png")
    figure.savefig(path, dpi=110)
    print("wrote", path)

    x = np.log([r for r, _ in sorted(ours)])
    y = np.log([t for _, t in sorted(ours)])
    print(f"{'rows':>6} {'ODE ms':>9} {'Catena ms':>10} {'ratio':>6}   (Catena's at ODE's rows)")
    for rows, ms in sorted(theirs):
        if x[0] <= np.log(rows) <= x[-1] + 0.2:
            mine = np.exp(np.interp(np.log(rows), x, y))
            print(f"{rows:6d} {ms:9.2f} {mine:10.2f} {mine / ms:6.2f}")


if __name__ == "__main__":
    main()
