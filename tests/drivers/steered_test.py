#!/usr/bin/python3
"""A scene with all types of probes (but cell) and of controllers in a periodic box, with an outflow and a
condition that ends it: a run, and one that begins with its end, are the same bits on any number of ranks in deterministic mode, and
from runs that were stopped and resumed on another number.

    steered_test.py CATENA MPIEXEC CASE
"""
import pathlib
import subprocess
import sys
import tempfile

from deterministic_test import digest_series, digest_snapshot

CATENA, MPIEXEC, CASE = sys.argv[1:4]
FIRST_END = ["--set", "time.end=60 ms"]


def run(ranks, directory, *options):
    done = subprocess.run([MPIEXEC, "-n", str(ranks), CATENA, "run", CASE, "-o", str(directory), "--quiet", *options],
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{options}: exit {done.returncode}\n{done.stderr}"


def digests(directory):
    found = digest_series(directory / "series.csv")
    for path in sorted((directory / "snapshots").glob("*.h5")):
        found.update(digest_snapshot(path)[0])
    for path in sorted((directory / "probes").glob("*.csv")):
        found["probes/" + path.stem] = path.read_bytes()
    return found


def compare(found, expected, what):
    assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
    other = [name for name in expected if found[name] != expected[name]]
    assert not other, f"{what}: different: {', '.join(other)}"
    print(what + ": the same")


def last_row(directory, name):
    header, *rows = (directory / name).read_text().splitlines()
    return dict(zip((field.split(" [")[0] for field in header.split(",")), map(float, rows[-1].split(","))))


def look(directory):
    """That all of it did something, and that the condition ended the run."""
    series = last_row(directory, "series.csv")
    assert series["time"] < 0.5, series["time"]
    assert series["removed"] > 0, series
    assert last_row(directory, "probes/load.csv")["force_z_mean"] > 20.0
    assert abs(last_row(directory, "probes/hinge.csv")["angle"] - 0.05) < 0.04
    assert last_row(directory, "probes/core.csv")["count"] > 1


def main():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        expected = {}
        for ranks in (1, 3, 4):  # on two it is resumed below
            first, second = work / f"first{ranks}", work / f"second{ranks}"
            run(ranks, first, *FIRST_END)
            run(ranks, second, "--from", str(first))
            found = {"first": digests(first), "second": digests(second)}
            expected = expected or found
            for part, of in found.items():
                compare(of, expected[part], f"{part} on {ranks} ranks")
        look(work / "second1")
        # 70 ms are no multiple of the intervals
        run(3, work / "parts", "--from", str(work / "first3"), "--set", "time.end=70 ms")
        run(2, work / "parts", "--resume")
        # where it stopped it left a snapshot that the whole run has not
        parts = {name: of for name, of in digests(work / "parts").items() if not name.startswith("00000035.h5/")}
        compare(parts, expected["second"], "stopped on 3 ranks, resumed on 2")
        run(1, work / "other", *FIRST_END, "--set", "parallel.tile_bodies=15")
        assert digests(work / "other") != expected["first"]  # a comparison that can fail
    return 0


if __name__ == "__main__":
    sys.exit(main())
