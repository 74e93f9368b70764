#!/usr/bin/python3
"""Runs examples, validation cases and stored contact problems with two builds of catena and compares all that
they write bit by bit: what a restructuring must not change.

    scripts/dev/compare_runs.py BASE NEW [--ranks 1 2] [--steps 60] [--only PATTERN] [--solvers NAMES] [-o DIR]

BASE and NEW are programs `catena`. Compared are every dataset of every snapshot, series.csv but for its times, and
of problems u, v and r of each solver's solution. Prints a line per run; exit code 1 if anything differs.
"""
import argparse
import csv
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys

import h5py
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOLVERS = ["gauss_seidel", "jacobi", "apgd", "interior_point", "dantzig", "auto"]
TIMES = re.compile(r"wall|_s$|seconds|cpu|memory")
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def seconds(value):
    """A time of a case file, s."""
    if isinstance(value, (int, float)):
        return float(value)
    number, unit = re.fullmatch(r"\s*([-+.\deE]+)\s*(\w*)\s*", value).groups()
    return float(number) * {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0}[unit]


def datasets(path):
    """Name -> bytes of every dataset of a result file, provenance and times left out."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and not name.startswith("provenance") and not TIMES.search(name):
            found[name] = (item.shape, item[()].tobytes() if item.dtype.kind != "O" else repr(item[()]))

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def series(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    keep = [i for i, name in enumerate(rows[0]) if not TIMES.search(name.split("[")[0].strip())]
    return [[row[i] for i in keep] for row in rows]


def differences(base, new):
    """Names of what differs between two result directories."""
    found = []
    names = {p.name for d in (base, new) for p in d.iterdir()}
    for name in sorted(names):
        a, b = base / name, new / name
        if name.endswith(".h5") and "checkpoint" not in name:
            if not (a.exists() and b.exists()):
                found.append(name + " (missing)")
                continue
            x, y = datasets(a), datasets(b)
            found += [f"{name}:{key}" for key in sorted(x.keys() | y.keys()) if x.get(key) != y.get(key)]
        elif name == "series.csv" and (not a.exists() or not b.exists() or series(a) != series(b)):
            found.append(name)
    return found


def run(command, cwd):
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
    return done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--only", default="*", help="pattern of cases' and problems' names")
    parser.add_argument("--solvers", nargs="*", default=SOLVERS)
    parser.add_argument("-o", dest="output", type=pathlib.Path, default=ROOT / "build" / "compare_runs")
    arguments = parser.parse_args()
    programs = {"base": arguments.base.resolve(), "new": arguments.new.resolve()}
    shutil.rmtree(arguments.output, ignore_errors=True)
    arguments.output.mkdir(parents=True)
    failed = compared = 0

    def report(name, found):
        nonlocal failed, compared
        compared += 1
        failed += bool(found)
        print(f"{'differs' if found else 'same':8s}{name}  {' '.join(found[:4])}", flush=True)

    cases = sorted((ROOT / "configs/examples").glob("*.yaml")) + sorted((ROOT / "configs/validation").glob("*.yaml"))
    for case in cases:
        if not fnmatch.fnmatch(case.stem, arguments.only):
            continue
        time = yaml.safe_load(case.read_text()).get("time", {})
        step, end = seconds(time.get("step", 1e-3)), seconds(time.get("end", 1.0))
        short = min(end, arguments.steps * step)
        for ranks in arguments.ranks:
            codes = []
            for which, program in programs.items():
                out = arguments.output / f"{case.stem}_{ranks}_{which}"
                command = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
                command += [str(program), "run", str(case), "-o", str(out), "--quiet", "--set", f"time.end={short!r}"]
                codes.append(run(command, ROOT))
            found = [f"exit codes {codes}"] if codes[0] != codes[1] else []
            outs = [arguments.output / f"{case.stem}_{ranks}_{which}" for which in programs]
            if all(out.is_dir() for out in outs):
                found += differences(*outs)
            elif codes[0] == 0:
                found.append("no result")
            report(f"{case.parent.name}/{case.stem} on {ranks}", found)
            for out in outs:
                shutil.rmtree(out, ignore_errors=True)

    for problem in sorted((ROOT / "tests/data/fclib").glob("*.hdf5")):
        if not fnmatch.fnmatch(problem.stem, arguments.only):
            continue
        for solver in arguments.solvers:
            codes, solutions = [], []
            for which, program in programs.items():
                out = arguments.output / f"{which}.h5"
                out.unlink(missing_ok=True)
                codes.append(run([str(program), "solve", str(problem), "--solver", solver, "--max-iterations", "60",
                                  "--solution", str(out), "--quiet", "--force"], ROOT))
                solutions.append(datasets(out) if out.exists() else None)
            found = [f"exit codes {codes}"] if codes[0] != codes[1] else []
            if solutions[0] != solutions[1]:
                found.append("solution")
            report(f"{problem.stem} by {solver}", found)
    print(f"{compared} compared, {failed} differ")
    return 1 if failed or not compared else 0


sys.exit(main())
