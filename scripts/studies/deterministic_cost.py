#!/usr/bin/python3
"""What parallel.deterministic costs: sweeps, wall time and CPU time of the busiest rank to the same tolerance beside a
default run of the same case on the same ranks.

    scripts/studies/deterministic_cost.py CASE.yaml --catena build/release/drivers/catena -n 2 --tiles auto 500 1000
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def run(arguments, directory, *settings):
    """Runs the case; returns sweeps, wall time and CPU time of a step, s."""
    command = ["mpirun", "-n", str(arguments.ranks), arguments.catena, "run", arguments.case, "-o",
               str(directory), "--quiet", "--set", "output.snapshot_interval=.inf"]
    for setting in (*arguments.set, *settings):
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stderr}")
    profile = json.loads((directory / "profile.json").read_text(encoding="utf-8"))
    times = (profile["per_rank"][name]["max"] for name in ("steps_wall_s", "steps_cpu_s"))
    return [value / profile["steps"] for value in (profile["iterations"], *times)]


def row(name, own, default):
    """A line of the table: figures and their ratios."""
    print(f"{name:24} {own[0]:14.1f} {own[0] / max(default[0], 1e-9):6.2f} {own[1]:10.4g} {own[1] / default[1]:6.2f} "
          f"{own[2]:10.4g} {own[2] / default[2]:6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case")
    parser.add_argument("--catena", default="catena", help="the program")
    parser.add_argument("-n", dest="ranks", type=int, default=1, help="ranks")
    parser.add_argument("--tiles", nargs="+", default=["auto"], help="parallel.tile_bodies")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        default = run(arguments, work / "default", "parallel.deterministic=false")
        print(f"{'':24} {'sweeps a step':>14} {'ratio':>6} {'s a step':>10} {'ratio':>6} {'CPU s':>10} {'ratio':>6}")
        row("default", default, default)
        for size in arguments.tiles:
            own = run(arguments, work / f"tiles{size}", "parallel.deterministic=true", f"parallel.tile_bodies={size}")
            row(f"tiles of {size}", own, default)


if __name__ == "__main__":
    main()
