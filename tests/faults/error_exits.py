#!/usr/bin/python3
"""Programs that end with an error, many times over: each leaves with its documented exit code and its
message, on one rank and on three, whatever else the machine does.

    error_exits.py CATENA MPIEXEC [--exits N] [--ranks 1|3] [--busy PROCESSES]
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import program

SMALL = """catena: 1
name: small
materials: {m: {density: 1000, friction: 0.5}}
bodies:
  - {name: floor, material: m, shape: plane}
  - {name: a, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.1]}
  - {name: b, material: m, shape: {sphere: {radius: 0.1}}, position: [0.15, 0, 0.22]}
time: {step: 2 ms, end: 10 ms}
output: {snapshot_interval: 2 ms}
"""
LINKED = """catena: 1
name: linked
bodies:
  - {name: a, mass: 1, inertia: [1, 1, 1], position: [0, 0, 1]}
  - {name: b, mass: 1, inertia: [1, 1, 1], position: [1, 0, 1]}
joints:
  - {name: j, type: revolute, between: [a, b], at: [0.5, 0, 1], axis: [0, 1, 0]}
  - {name: k, type: revolute, between: [a, b], at: [0.5, 1, 1], axis: [0, 1, 0]}
forces: [{name: push, type: force, body: b, force: [1e308, 0, 0]}]
time: {step: 2 ms, end: 10 ms}
"""


def cases(directory):
    """Name, arguments, exit code, part of the message."""
    path = pathlib.Path(directory)
    (path / "small.yaml").write_text(SMALL)
    (path / "linked.yaml").write_text(LINKED)
    (path / "broken.yaml").write_text(SMALL.replace("end:", "ende:"))
    (path / "file").write_text("not a directory\n")
    (path / "no.hdf5").write_text("no HDF5\n")
    run = ["run", "small.yaml", "--quiet", "-o"]
    return [
        ("no such case", ["run", "none.yaml"], 5, "none.yaml"),
        ("broken case", ["run", "broken.yaml"], 3, "did you mean time.end?"),
        ("broken usage", ["run"], 3, "CASE"),
        ("check", ["check", "broken.yaml"], 3, "did you mean time.end?"),
        ("no directory", run + ["file/below"], 5, "file/below"),
        ("no result", run + ["/proc/none"], 5, "/proc/none"),
        ("no HDF5", ["solve", "no.hdf5"], 5, "is not an HDF5 file"),
        ("tolerance", run + ["tolerance", "--force", "--set", "solver.max_iterations=1", "--set",
                             "solver.relative_tolerance=0", "--set", "solver.absolute_tolerance=0",
                             "--set", "solver.on_missed_tolerance=stop"], 4, "missed"),
        ("blow-up", ["run", "linked.yaml", "--quiet", "-o", "blown", "--force"], 6, "b"),
        ("PETSc", run + ["petsc", "--force", "--", "-no_such_option", "1"], 3, "-no_such_option"),
        ("stop", run + ["stopped", "--force", "--max-wall", "1 ms"], 2, "go on with --resume"),
    ]


def documented(report, name, done, code, message):
    report.expect(done.returncode == code, "%s: exit code %d" % (name, code), done)
    report.expect(message in done.stderr, "%s: says %r" % (name, message), done)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("catena")
    parser.add_argument("mpiexec")
    parser.add_argument("--exits", type=int, default=22)
    parser.add_argument("--ranks", type=int, choices=(1, 3), help="default: both in turn")
    parser.add_argument("--busy", type=int, default=2, help="processes that only compute meanwhile")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no exit after that")
    args = parser.parse_args()
    report = program.Report()
    started, n = time.time(), 0
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.busy)]
    try:
        with tempfile.TemporaryDirectory() as directory:
            all_cases = cases(directory)
            while n < args.exits and time.time() - started < args.seconds:
                name, arguments, code, message = all_cases[n // (1 if args.ranks else 2) % len(all_cases)]
                ranks = args.ranks or (1, 3)[n % 2]
                done = program.run(args.mpiexec, args.catena, ranks, arguments, directory)
                documented(report, "%s on %d ranks" % (name, ranks), done, code, message)
                n += 1
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print("%d exits, %d failures, %.0f s, load %.1f" % (n, report.failures, time.time() - started,
                                                       os.getloadavg()[0]))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
