#!/usr/bin/python3
"""Redraws the figure of A. Enzenhofer, A. Peiret, M. Teichmann and J. Kovecses, "Measuring the Error in
Mixed Linear Complementarity Problem Formulations for Multibody Systems with Contact", and records that error
of direct and iterative solvers.

    scripts/reproduce/enzenhoefer.py [--catena build/release/drivers/catena] [--images docs/images]
                                     [--work FOLDER] [--quick]

isolines: the error (5) over impulse x and velocity w of one row of unit effective mass, for a normal
(0 <= x) and a friction force (-1 <= x <= 1), with the two signs mended that the paper's text has wrong:
sigma_u = u - (x0 - dx_l), and p taken negative in (1). Says how far (5) is from
1/2 a (x - P(x - w/a))^2, which is the same, and what the printed signs would give.

errors: error_energy at every step of configs/studies/enzenhoefer.yaml with a direct solver and with
Gauss-Seidel stopped after some sweeps, for friction in two directions (law box) and on the cone (law
coulomb); and within one solve, where the last iterate of an iterative solver is worse than
the best, which `keep_best` returns.

Exit code 1 if the direct solvers are not more exact than the iterative ones, more sweeps not better than few,
or the iterate kept not the best. --quick: the first 0.1 s of the run. Needs python3-numpy and
python3-matplotlib.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Label, law, and settings of the runs.
RUNS = [("Dantzig", "box", ["method=dantzig"], 20),
        ("Gauss-Seidel, 10 sweeps", "box", [], 10),
        ("Gauss-Seidel, 50 sweeps", "box", [], 50),
        ("Gauss-Seidel, 250 sweeps", "box", [], 250),
        ("interior point", "coulomb", ["method=interior_point"], 100),
        ("Gauss-Seidel, 10 sweeps", "coulomb", [], 10),
        ("Gauss-Seidel, 50 sweeps", "coulomb", [], 50),
        ("Gauss-Seidel, 250 sweeps", "coulomb", [], 250)]
# One object on a plane: published (tests/data/fclib/ATTRIBUTION), hard for sweeps.
PROBLEM = os.path.join(ROOT, "tests", "data", "fclib", "OneObject-i100000-316.hdf5")
SWEEPS = 134


def energy_error(x, w, lower, upper, a=1.0, as_printed=False):
    """(5), per row; `as_printed` with sigma_u = u - (x0 + dx_l)."""
    x0 = np.clip(x, lower, upper)
    above, below = np.maximum(x - upper, 0.0), np.maximum(lower - x, 0.0)
    w_lower, w_upper = np.maximum(w, 0.0), np.maximum(-w, 0.0)
    to_lower = x0 + above - lower
    to_upper = upper - (x0 + below if as_printed else x0 - below)
    return np.maximum.reduce([0.5 * a * (above ** 2 + below ** 2),
                              np.minimum(w_lower ** 2 / (2 * a), 0.5 * a * to_lower ** 2),
                              np.minimum(w_upper ** 2 / (2 * a), 0.5 * a * to_upper ** 2)])


def draw_isolines(path):
    """Returns the largest difference of (5) to the projection's form."""
    x, w = np.meshgrid(np.linspace(-2.0, 2.0, 801), np.linspace(-2.0, 2.0, 801))
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.2))
    worst = 0.0
    for axis, title, lower, upper in ((axes[0], "normal", 0.0, np.inf), (axes[1], "friction", -1.0, 1.0)):
        error = energy_error(x, w, lower, upper)
        worst = max(worst, np.max(abs(error - 0.5 * (x - np.clip(x - w, lower, upper)) ** 2)))
        printed = np.max(abs(energy_error(x, w, lower, upper, as_printed=True) - error))
        print(f"{title}: printed sign of sigma_u changes the error by up to {printed:.3g} J for |x|, |w| <= 2")
        lines = axis.contour(x, w, error, levels=[0.02, 0.08, 0.18, 0.32, 0.5, 0.72, 0.98, 1.28],
                             colors="gray", linestyles="dashed", linewidths=0.9)
        axis.clabel(lines, fontsize=7, fmt="%g")
        feasible = ([0.0, 0.0, 2.0], [2.0, 0.0, 0.0]) if np.isinf(upper) else (
            [lower, lower, upper, upper], [2.0, 0.0, 0.0, -2.0])
        axis.plot(*feasible, color="tab:blue", linewidth=2.5)
        axis.set_title(f"{title} force: isolines of the error [J]", fontsize=10)
        axis.set_xlabel("impulse x [N s]")
        axis.set_ylabel("velocity w [m/s]")
        axis.set_aspect("equal")
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    print(f"(5) is 1/2 a (x - P(x - w/a))^2 to {worst:.1g} J; wrote {path}")
    return worst


def run(args, law, settings, iterations, directory):
    """Time and error_energy at every step."""
    command = [args.catena, "run", os.path.join(ROOT, "configs", "studies", "enzenhoefer.yaml"), "-o",
               directory, "--force", "--quiet", "--set", f"contact.law={law}", "--set",
               f"solver.max_iterations={iterations}"]
    if settings:  # a direct solver stops when it is there
        command += ["--set", "solver.relative_tolerance=1e-16"]
    for setting in settings:
        command += ["--set", "solver." + setting]
    if args.quick:
        command += ["--set", "time.end=0.1"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    with open(os.path.join(directory, "series.csv")) as f:
        rows = list(csv.reader(f))
    names = [field.split(" [")[0].strip() for field in rows[0]]
    values = np.array([[float(v) for v in row] for row in rows[1:]])
    return values[:, names.index("time")], values[:, names.index("error_energy")]


def solve(args, directory, solver, iterations, keep_best):
    """History of the energy over iterations, and the energy returned."""
    history, report = os.path.join(directory, "h.csv"), os.path.join(directory, "r.json")
    command = [args.catena, "solve", PROBLEM, "--solver", solver, "--metric", "energy", "--tolerance", "0",
               "--max-iterations", str(iterations), "--set", f"keep_best={str(keep_best).lower()}",
               "--set", "check_interval=1", "--history", history, "--report", report, "--force", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    with open(history) as f:
        rows = list(csv.DictReader(f))
    with open(report) as f:
        energy = json.load(f)["errors"]["energy"]
    iteration = [int(row["iteration"]) for row in rows]
    return np.array(iteration), np.array([float(row["energy (J)"]) for row in rows]), energy


def draw_run(axis, law, histories):
    for label, (t, error) in histories.items():
        axis.semilogy(t, np.maximum(error, 1e-32), linewidth=1.1, label=label)
    axis.set_title(f"errors in a run, law {law}", fontsize=10)
    axis.set_xlabel("time [s]")
    axis.set_ylabel("energy error of the step [J]")


def draw_solve(axis, args, directory):
    """Returns the energies of the last and of the best iterate and of the two that were returned."""
    for solver, label, iterations in (("jacobi", "Jacobi", 300), ("gauss_seidel", "Gauss-Seidel", 300),
                                      ("apgd", "APGD", 300), ("interior_point", "interior point", 60)):
        k, error, _ = solve(args, directory, solver, iterations, True)
        axis.semilogy(k, np.maximum(error, 1e-32), linewidth=1.1, label=label)
    k, error, last = solve(args, directory, "gauss_seidel", SWEEPS, False)
    kept = solve(args, directory, "gauss_seidel", SWEEPS, True)[2]
    best = k[np.argmin(error)]
    axis.plot([SWEEPS], [last], "rx", label=f"stopped after {SWEEPS} sweeps")
    axis.plot([best], [kept], "ro", mfc="none", label=f"kept: sweep {best}")
    axis.set_title("errors in one solve, law coulomb", fontsize=10)
    axis.set_xlabel("iteration")
    axis.set_ylabel("energy error [J]")
    return last, kept, np.min(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catena", default=os.path.join(ROOT, "build", "release", "drivers", "catena"))
    parser.add_argument("--images", default=os.path.join(ROOT, "docs", "images"))
    parser.add_argument("--work", help="folder for the runs; default a temporary one")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    os.makedirs(args.images, exist_ok=True)
    failures = []

    def expect(fact, what):
        if not fact:
            failures.append(what)

    worst = draw_isolines(os.path.join(args.images, "enzenhoefer_isolines.png"))
    expect(worst < 1e-14, "(5) is the projection's form")
    figure, axes = plt.subplots(1, 3, figsize=(14.0, 4.2))
    with tempfile.TemporaryDirectory() as scratch:
        directory = args.work or scratch
        for axis, law in zip(axes, ("box", "coulomb")):
            histories = {}
            for label, run_law, settings, iterations in RUNS:
                if run_law == law:
                    histories[label] = run(args, law, settings, iterations, os.path.join(directory, "run"))
            draw_run(axis, law, histories)
            medians = [np.median(error) for _, error in histories.values()]
            for label, median in zip(histories, medians):
                print(f"law {law}, {label}: median error {median:.2g} J")
            expect(medians[0] < 1e-6 * medians[1], f"law {law}: the direct solver is far more exact")
            expect(medians[1] > medians[2] > medians[3], f"law {law}: more sweeps, less error")
        last, kept, best = draw_solve(axes[2], args, scratch)
        print(f"Gauss-Seidel after {SWEEPS} sweeps: error of the last iterate {last:.3g} J, kept {kept:.3g} J")
        expect(kept <= best < 0.1 * last, "the best iterate is kept")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    figure.tight_layout()
    path = os.path.join(args.images, "enzenhoefer_errors.png")
    figure.savefig(path, dpi=85)
    print("wrote", path)
    for what in failures:
        print("NOT SO:", what, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
