#!/usr/bin/python3
"""Compares ratios of the hot loops' times with stored bounds: a loop that has become slow beside the
others is told, whatever the machine.

    scripts/dev/speed_ratios.py [--bench PATH] [--table FILE] [--runs N]

The table (speed_ratios.csv) names two loops of bench_loops, scene/loop, a ratio of their times per item
(the second one taken `times` times), its bound and what was measured when the bound was set. Bounds
leave a margin of a half or more, and where one is passed the loops are timed again, up to N times (4):
of each loop the least time counts, which other programs on the machine cannot lower.

Exit code: 0 all ratios within their bounds, 1 some are not, 3 wrong usage.
"""
import argparse
import csv
import pathlib
import sys

from loop_times import run_loops

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARGUMENTS = ["--bodies", 4000, "--rounds", 5]


def loops_of(table):
    return list(dict.fromkeys(name for row in table for name in (row["loop"], row["under"])))


def take_least(times, loops, names):
    """Lowers the times to those of another run."""
    for name in names:
        here = loops.least(name)
        if here is None:
            sys.exit(f"speed_ratios: the benchmark has no loop {name}")
        times[name] = min(here, times.get(name, here))


def ratio_of(row, times):
    return times[row["loop"]] / (float(row["times"]) * times[row["under"]])


def passed_bounds(table, times):
    # a bound that is not met by a number, NaN, is passed as well
    return [row for row in table if not ratio_of(row, times) <= float(row["bound"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bench", type=pathlib.Path, default=ROOT / "build/release/drivers/bench_loops")
    parser.add_argument("--table", type=pathlib.Path, default=pathlib.Path(__file__).with_suffix(".csv"))
    parser.add_argument("--runs", type=int, default=4, help="of the benchmark at most")
    args = parser.parse_args()
    with open(args.table, newline="") as file:
        table = list(csv.DictReader(file))
    times = {}
    for _ in range(args.runs):
        take_least(times, run_loops(args.bench, ARGUMENTS), loops_of(table))
        passed = passed_bounds(table, times)
        if not passed:
            break
    for row in table:
        print(f"{'PASSED ITS BOUND' if row in passed else 'ok':16}  {ratio_of(row, times):7.2f}  "
              f"bound {row['bound']:>5}, once {row['measured']:>5}  {row['name']}")
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())
