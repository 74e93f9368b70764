#!/usr/bin/python3
"""Repeats the comparisons of L. Fang, "An Analysis of Primal-Dual Interior Point Method for Computing
Frictional Contact Forces" (2014): its three linear systems against APGD to equal objective on settled
spheres, and first-order methods against interior point on 4,000 spheres under a heavy block. The problems are
scenes of Catena's of the same sizes, not the paper's own.

    scripts/reproduce/fang.py [forms] [block] [--problems FOLDER]... [--catena build/release/drivers/catena]
                              [--images docs/images] [-o fang] [--time-limit 60] [--quick]

forms   s512, s1024, s2048: kkt, schur and schur_pcg with both preconditioners until the objective changes by
        less than 1e-7 of itself a stage (the first of the paper's criteria; the second, the force
        magnitude, for schur), and apgd until its objective is that of schur
block   s4000h: jacobi, gauss_seidel, apgd, schur and cone until the residual is 7e-6

The paper does not say what its residual is; here |g - P_K(g - a w)| / (n a) with n = 3 Nc, a = 1/n^2, as the
solvers of its group had it (H. Mazhar, T. Heyn, D. Negrut, A. Tasora 2015); the largest natural map, m/s, stands
beside it because that residual depends on units. Where a method stops by its own measure only (apgd,
gauss_seidel, jacobi), the iterations that it takes are sought by solving again with more: doubled, then
halved in between. A method that is not there after --time-limit seconds is said so.

FOLDER holds s512.hdf5 and so on (also: environment variable CATENA_PROBLEMS, a:b, and tests/data/fclib); what is
nowhere is left out with a message. Writes fang.md into -o, and fang_forms.png and fang_block.png.
Exit code 1: a form that ended by the criterion took more than the paper's 75 stages, or its objective is not
that of schur to 1e-5.
Times are whole solves with their set-up: the smaller of the report's `wall_s` and the CPU time of the program (one
thread). --quick: s512 alone, coarse,
without the barrier preconditioner. Needs python3-numpy, python3-h5py, python3-matplotlib.
"""
import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHANGE = 1e-7
RESIDUAL = 7e-6
MOST_STAGES = 75
FORMS = {
    "kkt": ["interior_point.form=kkt"],
    "schur": ["interior_point.form=schur"],
    "schur_pcg, diagonal": ["interior_point.form=schur_pcg"],
    "schur_pcg, barrier": ["interior_point.form=schur_pcg", "interior_point.preconditioner=barrier"],
}
# spheres: stages and s of the paper's PDIP, s of its APGD (30,000 iterations), Matlab
PUBLISHED = {"s512": (65, 39.14, 466.35), "s1024": (64, 192.0, 1808.0), "s2048": (67, 751.0, 3256.0)}
# 512 bodies, no more change of the objective: stages by system
PUBLISHED_STAGES = {"kkt": 56, "schur": 74, "schur_pcg": 75}
# 4,000 spheres and a block: iterations and s to the residual 7e-6
PUBLISHED_BLOCK = {"jacobi": "500,000 in 24,300 s, not there", "gauss_seidel": "11,485 in 494.8 s",
                   "apgd": "202 in 10.6 s"}


def cpu_seconds():
    """CPU time of all programs run so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Run:
    """One `catena solve`: its report, and where asked for its history and residual."""

    def __init__(self, args, problem, solver, sets=(), iterations=None, time_limit=None,
                 history=False, residual=False):
        with tempfile.TemporaryDirectory() as folder:
            report, solution, table = (os.path.join(folder, n) for n in ("r.json", "s.hdf5", "h.csv"))
            command = [args.catena, "solve", problem, "--solver", solver, "--law", "ccp", "--metric", "gap",
                       "--tolerance", "0", "--time-limit", str(time_limit or args.time_limit),
                       "--max-iterations", str(iterations or 1000000000), "--report", report]
            for assignment in [*sets, "keep_best=false"]:
                command += ["--set", assignment]
            command += ["--solution", solution] if residual else []
            command += ["--history", table] if history else []
            before = cpu_seconds()
            done = subprocess.run(command, capture_output=True, text=True)
            used = cpu_seconds() - before
            if not os.path.exists(report):
                raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
            with open(report) as f:
                self.report = json.load(f)
            if history:
                with open(table) as f:
                    self.history = list(csv.DictReader(f))
            self.residual = residual_of(problem, solution) if residual else None
        # both are at least the solve's own work; a busy machine stretches the first
        self.seconds = min(self.report["wall_s"], used)
        self.objective = self.report["objective"]
        self.iterations, self.reason = self.report["iterations"], self.report["reason"]
        self.natural_map = self.report["errors"]["natural_map"]

    def late(self):
        return self.report["status"] == "time_limit"


def residual_of(problem, solution):
    """|g - P_K(g - a w)| / (n a), n = 3 Nc, a = 1/n^2."""
    with h5py.File(problem) as f:
        local = "fclib_local" in f
        mu = f["fclib_local/vectors/mu" if local else "fclib_global/vectors/mu"][:]
    with h5py.File(solution) as f:
        g, w = f["solution/r"][:].reshape(-1, 3), f["solution/u"][:].reshape(-1, 3)
    n = g.size
    a = 1.0 / n**2
    z = g - a * w
    normal, tangent = z[:, 0], np.linalg.norm(z[:, 1:], axis=1)
    projected = np.where(((normal >= 0.0) & (tangent <= mu * normal))[:, None], z, 0.0)
    slides = (tangent > mu * normal) & (mu * tangent > -normal)
    on = (normal + mu * tangent) / (1.0 + mu**2)
    projected[slides, 0] = on[slides]
    projected[slides, 1:] = (mu * on / np.maximum(tangent, 1e-300))[slides, None] * z[slides, 1:]
    return np.linalg.norm(g - projected) / (n * a)


def search(args, problem, solver, good, **options):
    """The run with about the fewest iterations that is good, or the last one tried and False."""
    quiet = ["check_interval=200"]  # errors cost time of their own, but are where limits are seen
    low, high = 0, 100
    while True:
        run = Run(args, problem, solver, quiet, iterations=high, **options)
        if good(run):
            break
        if run.late() or run.iterations < high:
            return run, False
        low, high = high, 2 * high
    best = run
    for _ in range(0 if args.quick else 3):
        middle = (low + high) // 2
        run = Run(args, problem, solver, quiet, iterations=middle, **options)
        if good(run):
            best, high = run, middle
        else:
            low = middle
    return best, True


def find(args, name):
    folders = args.problems + os.environ.get("CATENA_PROBLEMS", "").split(":")
    folders.append(os.path.join(ROOT, "tests", "data", "fclib"))
    for folder in filter(None, folders):
        path = os.path.join(folder, name + ".hdf5")
        if os.path.exists(path):
            return path
    print(f"{name}.hdf5 is in none of {', '.join(filter(None, folders))}: left out (give its folder by "
          "--problems)")
    return None


def how_it_ended(args, run):
    """What a table says of a run that did not end because nothing changes any more."""
    if run.late():
        return f", stopped by the limit of {args.time_limit:g} s"
    return "" if "no more change" in run.reason else ", no further progress"


def seconds(value):
    return f"{value:.3g} s"


def missed(runs):
    """What is not as it should be."""
    optimum = runs["schur"].objective
    for form, run in runs.items():
        if "no more change" not in run.reason:
            if form == "schur":
                yield f"schur did not end by the criterion: {run.reason}"
            continue
        if run.iterations > MOST_STAGES:
            yield f"{form} took {run.iterations} stages"
        if abs(run.objective - optimum) > 1e-5 * abs(optimum):
            yield f"{form} ended at {run.objective:.8g}, schur at {optimum:.8g}"


def forms_table(args):
    lines = ["| problem | method | unknowns | stages (CG iterations) | time | a stage | objective | published |",
             "|---|---|---|---|---|---|---|---|"]
    curves, faults = {}, []
    for name in ["s512"] if args.quick else list(PUBLISHED):
        problem = find(args, name)
        if problem is None:
            continue
        stages, pdip, apgd = PUBLISHED[name]
        stop = ["interior_point.fang.stop=objective", f"interior_point.fang.tolerance={CHANGE}"]
        runs = {}
        for form, sets in FORMS.items():
            if args.quick and form == "schur_pcg, barrier":
                continue  # the slowest by far
            run = runs[form] = Run(args, problem, "interior_point", sets + stop, history=True)
            systems = 5 if form == "kkt" else 3
            inner = run.report["linear_iterations"]
            published = f"{stages} stages, {pdip:g} s"
            if name == "s512":
                published = f"{PUBLISHED_STAGES[form.split(',')[0]]} stages ({published} in the table of times)"
            lines.append(
                f"| {name} | {form} | {systems * run.report['contacts']} | {run.iterations}"
                + (f" ({inner})" if inner else "") + f" | {seconds(run.seconds)}"
                + f" | {seconds(run.seconds / max(1, run.iterations))} | {run.objective:.8g}"
                + f"{how_it_ended(args, run)} | {published} |")
            print(lines[-1], flush=True)
        faults += [f"{name}: {fault}" for fault in missed(runs)]
        target = runs["schur"].objective
        force = Run(args, problem, "interior_point",
                    FORMS["schur"] + [stop[0].replace("objective", "force"), stop[1]])
        lines.append(f"| {name} | schur, force magnitude | | {force.iterations} | {seconds(force.seconds)} | "
                     f"{seconds(force.seconds / max(1, force.iterations))} | {force.objective:.8g} | |")
        run, reached = search(args, problem, "apgd", lambda r: r.objective <= target)
        lines.append(f"| {name} | apgd to {target:.8g} | | {run.iterations} | {seconds(run.seconds)} | "
                     f"| {run.objective:.8g}" + ("" if reached else ", not there")
                     + f" | 30,000 iterations, {apgd:g} s |")
        print(lines[-2], lines[-1], sep="\n", flush=True)
        curves[name] = (runs, run)
    return lines, curves, faults


def block_table(args):
    lines = ["| method | iterations | time | residual | natural map, m/s | objective | published |",
             "|---|---|---|---|---|---|---|"]
    problem = find(args, "s4000h")
    if problem is None:
        return [], {}
    curves, drawn = {}, min(args.time_limit, 30.0)
    for name in ["jacobi", "gauss_seidel", "apgd"]:
        run, reached = search(args, problem, name, lambda r: r.residual <= RESIDUAL, residual=True)
        row = run_row(name, run, reached, PUBLISHED_BLOCK[name])
        lines.append(row)
        print(row, flush=True)
        curves[name] = Run(args, problem, name, history=True, time_limit=drawn)
    for name, sets in (("schur", ["interior_point.form=schur"]), ("cone", [])):
        stages = 8
        while True:
            run = Run(args, problem, "interior_point", sets, iterations=stages, residual=True)
            if run.residual <= RESIDUAL or run.late() or run.iterations < stages:
                break
            stages += 4
        row = run_row("interior_point, " + name, run, run.residual <= RESIDUAL, "")
        lines.append(row)
        print(row, flush=True)
        curves["interior_point, " + name] = Run(args, problem, "interior_point", sets, history=True,
                                                time_limit=drawn)
    return lines, curves


def run_row(name, run, reached, published):
    return (f"| {name} | {run.iterations:,} | {seconds(run.seconds)} | {run.residual:.2e}"
            + ("" if reached else ", not there") + f" | {run.natural_map:.1e} | {run.objective:.8g} | {published} |")


def column(history, name):
    key = next(k for k in history[0] if k.split(" ")[0] == name)
    return np.array([float(row[key]) for row in history])


def draw_forms(args, curves):
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2))
    name = list(curves)[0]
    runs = curves[name][0]
    for form, run in runs.items():
        gap = column(run.history, "gap")[1:]
        axes[0].semilogy(np.arange(1, len(gap) + 1), gap, "-", label=form)
    axes[0].set(xlabel="stages", ylabel="relative gap", title=f"{name}: the paper's systems")
    axes[0].legend(fontsize=8)
    axes[0].grid(alpha=0.3)
    sizes = [int(n[1:]) for n in curves]
    for label, style, values in (
            ("PDIP, published (Matlab)", "k--s", [PUBLISHED[n][1] for n in curves]),
            ("APGD, published (Matlab)", "k--o", [PUBLISHED[n][2] for n in curves]),
            ("kkt", "C0-s", [c[0]["kkt"].seconds for c in curves.values()]),
            ("schur", "C1-s", [c[0]["schur"].seconds for c in curves.values()]),
            ("schur_pcg, diagonal", "C2-s", [c[0]["schur_pcg, diagonal"].seconds for c in curves.values()]),
            ("apgd to the same objective", "C4-o", [c[1].seconds for c in curves.values()])):
        axes[1].loglog(sizes, values, style, ms=4, label=label)
    axes[1].set(xlabel="spheres", ylabel="s", title="time to the same objective")
    axes[1].set_xticks(sizes, [str(s) for s in sizes])
    axes[1].minorticks_off()
    axes[1].set_ylim(top=1e6)  # room for the names
    axes[1].legend(fontsize=8, ncol=2, loc="upper left")
    axes[1].grid(alpha=0.3)
    save(figure, args, "fang_forms.png")


def draw_block(args, curves):
    figure, axis = plt.subplots(figsize=(6.5, 4.2))
    for name, run in curves.items():
        wall = column(run.history, "wall_s")[1:]
        axis.loglog(wall, column(run.history, "natural_map")[1:], label=name)
    axis.set(xlabel="s", ylabel="largest natural map, m/s", title="4,000 spheres under a heavy block")
    axis.legend(fontsize=8)
    axis.grid(alpha=0.3)
    save(figure, args, "fang_block.png")


def save(figure, args, name):
    figure.tight_layout()
    os.makedirs(args.images, exist_ok=True)
    path = os.path.join(args.images, name)
    figure.savefig(path, dpi=90)
    print("wrote", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="forms|block", help="default: both")
    parser.add_argument("--problems", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--catena", default=os.path.join(ROOT, "build", "release", "drivers", "catena"))
    parser.add_argument("--images", default=os.path.join(ROOT, "docs", "images"))
    parser.add_argument("-o", "--output", default="fang", help="folder for fang.md")
    parser.add_argument("--time-limit", type=float, default=60.0, help="s, of one solve")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    parts = args.parts or (["forms"] if args.quick else ["forms", "block"])
    if set(parts) - {"forms", "block"}:
        parser.error("parts are forms and block")
    if not os.path.exists(args.catena):
        parser.error(f"{args.catena} is not there: build Catena, or give --catena")
    text, faults = [], []
    if "forms" in parts:
        lines, curves, faults = forms_table(args)
        text += ["## Settled spheres to equal objective", ""] + lines + [""]
        if curves:
            draw_forms(args, curves)
    if "block" in parts:
        lines, curves = block_table(args)
        text += ["## 4,000 spheres and a block to the residual 7e-6", ""] + lines + [""]
        if curves:
            draw_block(args, curves)
    os.makedirs(args.output, exist_ok=True)
    with open(os.path.join(args.output, "fang.md"), "w") as f:
        f.write("\n".join(text))
    for fault in faults:
        print("MISSED", fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
