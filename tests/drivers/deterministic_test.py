#!/usr/bin/python3
"""A deterministic run is the same bits on any number of ranks: all of the series but what clocks and
ranks say, and all of the snapshots but the ranks; also where it stops and goes on with others.

usage: deterministic_test.py CATENA MPIEXEC CASE [RANKS...] [--set KEY=VALUE] [--other KEY=VALUE]
                             [--stop TIME]
"""

import argparse
import csv
import hashlib
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy

# what a comparison of runs leaves out (docs/output.md)
CLOCKS_AND_RANKS = {"step_wall_s", "imbalance", "imbalance_contacts", "imbalance_joints"}


def digest_series(path):
    """Digest per column."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    columns = {name.split(" ")[0]: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}
    assert len(rows) > 10, f"{path} has {len(rows) - 1} rows"
    return {f"series/{name}": hashlib.sha256("\n".join(column).encode()).hexdigest()
            for name, column in columns.items() if name not in CLOCKS_AND_RANKS}


def digest_snapshot(path):
    """Digest per dataset."""
    digests = {}
    with h5py.File(path, "r") as file:
        def add(name, item):
            if isinstance(item, h5py.Dataset) and name != "bodies/rank":
                digests[f"{path.name}/{name}"] = hashlib.sha256(item[()].tobytes()).hexdigest()
        file.visititems(add)
        assert len(file["bodies/id"]) > 0
        ranks = len(numpy.unique(file["bodies/rank"][()]))
    return digests, ranks


def run(catena, mpiexec, case, ranks, directory, *options):
    """Runs the case; returns the digests of its result."""
    command = [mpiexec, "-n", str(ranks), catena, "run", case, "-o", str(directory), "--quiet",
               *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\nexit {done.returncode}\n{done.stderr}"
    digests = digest_series(directory / "series.csv")
    used = 0
    for path in sorted((directory / "snapshots").glob("*.h5")):
        found, used = digest_snapshot(path)
        digests.update(found)
    return digests, used


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("catena")
    parser.add_argument("mpiexec")
    parser.add_argument("case")
    parser.add_argument("ranks", type=int, nargs="*", default=[1, 2, 3, 4, 7, 8])
    parser.add_argument("--set", action="append", default=["parallel.deterministic=true"], help="in all runs")
    parser.add_argument("--stop", help="time at which the last number of ranks stops; the second one goes on from there")
    parser.add_argument("--other", default="parallel.tile_bodies=15", help="what makes other numbers")
    options = parser.parse_args()
    scene = (options.catena, options.mpiexec, options.case)
    counts = options.ranks
    settings = [word for setting in options.set for word in ("--set", setting)]
    with tempfile.TemporaryDirectory() as work:
        expected, _ = run(*scene, counts[0], pathlib.Path(work) / "first", *settings)
        print(f"{len(expected)} digests on {counts[0]} ranks")

        def compare(digests, used, ranks):
            assert used == ranks, f"only {used} of {ranks} ranks own bodies at the end"
            assert digests.keys() == expected.keys(), digests.keys() ^ expected.keys()
            other = [name for name in expected if digests[name] != expected[name]]
            assert not other, f"{ranks} ranks: different from {counts[0]}: {', '.join(other)}"

        for ranks in counts[1:]:
            compare(*run(*scene, ranks, pathlib.Path(work) / f"np{ranks}", *settings), ranks)
            print(f"{ranks} ranks: the same")
        if options.stop:
            parts = pathlib.Path(work) / "parts"
            run(*scene, counts[-1], parts, *settings, "--set", f"time.end={options.stop}")
            compare(*run(*scene, counts[1], parts, *settings, "--resume"), counts[1])
            print(f"stopped on {counts[-1]} ranks, gone on with {counts[1]}: the same")
        # a comparison that could not fail would prove nothing
        changed, _ = run(*scene, 1, pathlib.Path(work) / "changed", *settings, "--set", options.other)
        assert changed["series/kinetic_energy"] != expected["series/kinetic_energy"]
    return 0


if __name__ == "__main__":
    sys.exit(main())
