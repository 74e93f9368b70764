#!/usr/bin/python3
"""The same case twice on the same ranks, through the program, gives the same numbers to the last digit.

    same_twice.py CATENA MPIEXEC
"""
import pathlib
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py is missing (Debian: python3-h5py)")
    sys.exit(77)

import program

CLOCK = {"step_wall_s"}


def read_all(path):
    """Every dataset below, by name; external links are followed."""
    found = {}

    def walk(group, name):
        for key in group:
            item = group[key]
            if isinstance(item, h5py.Dataset):
                found[name + "/" + key] = item[()]
            else:
                walk(item, name + "/" + key)

    with h5py.File(path, "r") as f:
        walk(f, "")
    return found


def series_of(path):
    lines = [line.rstrip("\n").split(",") for line in open(path / "series.csv")]
    keep = [i for i, name in enumerate(lines[0]) if name.split("[")[0].split(" ")[0] not in CLOCK]
    return [[line[i] for i in keep] for line in lines]


def main():
    catena, mpiexec = sys.argv[1:]
    report = program.Report()
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory)
        (path / "scene.yaml").write_text(
            program.SCENE.replace("end: 20 ms", "end: 80 ms")
            + "parallel: {rebalance_steps: 10, imbalance: 1.01, move_price: 0}\n")
        for name in ("first", "second"):
            done = program.run(mpiexec, catena, 3, ["run", "scene.yaml", "-o", name, "--quiet"], directory)
            report.expect(done.returncode == 0, name, done)
        first, second = (read_all(path / name / "result.h5") for name in ("first", "second"))
        report.expect(first.keys() == second.keys(), "the same datasets")
        for name in first:
            same = name.split("/")[-1] in CLOCK or np.array_equal(first[name], second[name])
            report.expect(same, name)
        one, two = series_of(path / "first"), series_of(path / "second")
        report.expect(len(one) == 41 and len(one[0]) > 10, "series of 40 steps")
        report.expect(one == two, "series.csv")
        # the ranks of bodies are in the snapshots: bodies did move
        last = sorted(n for n in first if n.endswith("bodies/rank"))
        moved = sum(not np.array_equal(first[a], first[b]) for a, b in zip(last, last[1:]))
        report.expect(moved >= 2, "%d rebalances moved bodies" % moved)
    print("%d datasets, %d failures" % (len(first), report.failures))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
