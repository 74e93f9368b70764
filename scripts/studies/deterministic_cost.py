#!/usr/bin/python3
"""What parallel.deterministic costs: sweeps and solver time to the same tolerance beside a default run
of the same case on the same ranks.

    scripts/studies/deterministic_cost.py CASE.yaml --catena build/release/drivers/catena -n 2 --tiles 500 1000
"""

import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile


def run(arguments, directory, *settings):
    """Runs the case; returns steps, sweeps and wall time of the steps, s."""
    command = ["mpirun", "-n", str(arguments.ranks), arguments.catena, "run", arguments.case, "-o",
               str(directory), "--quiet", "--set", "output.snapshot_interval=.inf"]
    for setting in (*arguments.set, *settings):
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stderr}")
    with open(directory / "series.csv", newline="", encoding="utf-8") as file:
        rows = [{name.split(" ")[0]: float(value) for name, value in row.items()}
                for row in csv.DictReader(file)]
    return len(rows), sum(r["iterations"] for r in rows), sum(r["step_wall_s"] for r in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case")
    parser.add_argument("--catena", default="catena", help="the program")
    parser.add_argument("-n", dest="ranks", type=int, default=1, help="ranks")
    parser.add_argument("--tiles", type=int, nargs="+", default=[500], help="parallel.tile_bodies")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        steps, sweeps, wall = run(arguments, work / "default", "parallel.deterministic=false")
        print(f"{'':24} {'sweeps a step':>14} {'ratio':>6} {'s a step':>10} {'ratio':>6}")
        print(f"{'default':24} {sweeps / steps:14.1f} {1:6.2f} {wall / steps:10.4g} {1:6.2f}")
        for size in arguments.tiles:
            steps, own, own_wall = run(arguments, work / f"tiles{size}",
                                       "parallel.deterministic=true",
                                       f"parallel.tile_bodies={size}")
            print(f"{f'tiles of {size}':24} {own / steps:14.1f} {own / sweeps:6.2f} "
                  f"{own_wall / steps:10.4g} {own_wall / wall:6.2f}")


if __name__ == "__main__":
    main()
