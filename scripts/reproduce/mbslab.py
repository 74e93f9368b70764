#!/usr/bin/python3
"""Runs the mechanisms A01 to A05 of the library of multibody benchmarks (MbsLab, La Coruna) and prints the section
"Mechanisms of MbsLab" of docs/benchmarks.md: CPU time at both of its precisions, and work-precision curves.

    scripts/reproduce/mbslab.py [A01 A02 A02-40 A03 A04 A05] [--write]

Each stepper (spook; natural with rk4 and with dop853) goes from a coarse step, or tolerance, to finer ones until its error
is below 1e-6 or the next run might take longer than --limit: twice as long as the last one, unless that took no more
than 1.5 times as long as the one before it, as where coarse steps are divided. The error is the library's: the largest over rows of the reference and
quantities of |y - y_ref| / max(|y_ref|, 1e-3); what is compared is what scripts/studies/validate.py compares, and
references are those of tests/data/validation. Snapshots are many: a --work in /dev/shm saves time. Six minutes on one
core. Needs python3-numpy, python3-h5py, python3-yaml and, with --write, python3-matplotlib.
"""
import json
import math
import os
import subprocess
import sys

import numpy as np

from benchmark_report import ROOT, Table, begin, finish, options

sys.path.insert(0, os.path.join(ROOT, "scripts", "studies"))
from mechanism_cases import CASES, Result, read_reference  # noqa: E402

THRESHOLD = 1e-3
PRECISIONS = (1e-1, 1e-3)
ENOUGH = 1e-6  # curves end there
MECHANISMS = [c for c in CASES if c.key in ("A01", "A02", "A02-40", "A03", "A04", "A05")]
STEPPERS = ["spook", "rk4", "dop853"]


def ladder(stepper, case, short):
    """(label, step in s, settings), coarse to fine."""
    if stepper == "dop853":
        for k in (2,) if short else range(2, 13, 2):
            yield ("tolerance 1e-%d" % k, case.interval,
                   ["time.natural.scheme=dop853", "time.natural.relative_tolerance=1e-%d" % k,
                    "time.natural.absolute_tolerance=1e-%d" % k])
        return
    for k in range(1 if short else 14):
        step = case.interval / 2**k
        yield ("%.4g ms" % (1e3 * step), step, ["time.natural.scheme=rk4"] if stepper == "rk4" else [])


def run(args, case, stepper, step, sets):
    """(error, CPU time of the steps in s), or None where the run broke off."""
    directory = os.path.join(args.work, "runs", "%s-%s" % (case.key, stepper))
    command = [os.environ["CATENA"], "run", os.path.join(ROOT, "configs", "validation", case.config), "-o", directory,
               "--force", "--quiet"]
    sets = sets + ["time.stepper=" + ("spook" if stepper == "spook" else "natural"), "time.step=%.17g" % step,
                   "output.snapshot_interval=%.17g" % case.interval, "output.series_steps=%d" % round(case.interval / step)]
    if args.short:
        sets.append("time.end=%.17g" % (10 * case.interval))
    for item in sets + (case.sets if stepper != "spook" else []):
        command += ["--set", item]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 6:  # the mechanism blew up
        return None
    if done.returncode != 0:
        raise RuntimeError("%s\n%s" % (" ".join(command), done.stderr))
    with open(os.path.join(directory, "profile.json")) as f:
        seconds = json.load(f)["per_rank"]["steps_cpu_s"]["max"]
    return error_of(case, directory, step), seconds


def error_of(case, directory, step):
    reference = read_reference(case.reference)
    result = Result(directory, step)
    rows = [int(np.argmin(abs(reference["t"] - t))) for t in result.t]
    kept = [k for k, j in enumerate(rows) if abs(reference["t"][j] - result.t[k]) < 1e-6 * case.interval]
    for name in ("t", "x", "q", "v", "w", "reaction"):
        if len(getattr(result, name)):
            setattr(result, name, getattr(result, name)[kept])
    at_rows = {name: values[[rows[k] for k in kept]] for name, values in reference.items()}
    pairs = case.compare(result, at_rows, reference).library
    return float(max(np.max(abs(y - r) / np.maximum(abs(r), THRESHOLD)) for y, r in pairs))


def curve(args, case, stepper):
    """(label, error, seconds) of each run, and whether the limit ended them; what blew up is left out."""
    points, before = [], math.inf
    for label, step, sets in ladder(stepper, case, args.short):
        made = run(args, case, stepper, step, sets)
        if made is None or not math.isfinite(made[0]):
            continue
        points.append((label, *made))
        if made[0] < ENOUGH:
            break
        # half the step costs at most twice as much; where costs grow less, coarse steps were divided, and it may cost less
        if 2.0 * made[1] > args.limit and made[1] > 1.5 * before:
            return points, True
        before = made[1]
    return points, False


def draw(curves, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.5), sharex=True)
    for axis, case in zip(axes.flat, MECHANISMS):
        for stepper, style in zip(STEPPERS, ("C0o-", "C1s-", "C2^-")):
            points = curves.get((case.key, stepper), [])
            axis.loglog([p[1] for p in points], [p[2] for p in points], style, ms=4, lw=1, label=stepper)
        for precision in PRECISIONS:
            axis.axvline(precision, color="k", lw=0.5, ls=":")
        axis.set(title="%s: %s" % (case.key, case.title), xlim=(3.0, 1e-12))
        axis.grid(True, alpha=0.3)
    for axis in axes[1]:
        axis.set_xlabel("error")
    for axis in axes[:, 0]:
        axis.set_ylabel("CPU time [s]")
    axes[0, 0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=80, pil_kwargs={"optimize": True})


def first_of_spook(cheapest):
    """Where `spook` meets a precision at the least time, in a sentence; `cheapest`: s by case, precision and stepper."""
    won = ["%s (%g)" % (key, precision) for (key, precision, stepper), seconds in cheapest.items()
           if stepper == "spook" and seconds < min(cheapest[key, precision, other] for other in STEPPERS[1:])]
    return "`spook` is the cheapest on %s. " % ", ".join(won) if won else ""


def main():
    parser = options(__doc__, "mbslab")
    parser.add_argument("cases", nargs="*", choices=[[], *[c.key for c in MECHANISMS]], help="default: all")
    parser.add_argument("--limit", type=float, default=15.0, metavar="S", help="CPU time of a run's steps, s")
    args = begin(parser)
    cases = [c for c in MECHANISMS if not args.cases or c.key in args.cases]
    if args.write and len(cases) < len(MECHANISMS):
        parser.error("--write wants all cases")
    best = Table("CPU time of the steps at errors below 0.1 and 1e-3, the cheapest run of each stepper",
                 ["", *["%s, %s" % (s, p) for s in STEPPERS for p in ("0.1", "1e-3")], "simulated, s"])
    every = Table("All runs", ["case", "stepper", "step or tolerance", "error", "s"])
    curves, cheapest = {}, {}
    for case in cases:
        cells = []
        for stepper in STEPPERS:
            points, limited = curve(args, case, stepper)
            curves[case.key, stepper] = points
            for label, error, seconds in points:
                every.add(case.key, stepper, label, error, seconds)
            for precision in PRECISIONS:
                met = min((p for p in points if p[1] <= precision), key=lambda p: p[2], default=None)
                cheapest[case.key, precision, stepper] = met[2] if met else math.inf
                cells.append("%.2g s (%s)" % (met[2], met[0]) if met else "not reached" if limited else "not met")
        best.add("%s %s" % (case.key, case.title), *cells, float(read_reference(case.reference)["t"][-1]))
    note = ("`spook` is of first order, made for contact; `natural`, with `rk4` and `dop853`, is the stepper for mechanisms. On "
            "the stiff governor `natural` needs sub-steps for stability, whatever precision is asked for. %sSteps are halved "
            "until the error is below 1e-6 or the next run might take longer than %g s, that is, twice as long as the last one "
            "(where that took no more than 1.5 times as long as the one before it, as with coarse steps that are divided, "
            "one run more is made); what no run had met by then is \"not reached\", and what no step of the ladder met "
            "\"not met\". Runs that blew up are left out. Published, on other machines: OpenSim 0.46 s for the two parallelograms over "
            "10 s and 0.64 s for the pendulum." % (first_of_spook(cheapest), args.limit))
    parts = [best, note]
    if args.write:
        draw(curves, os.path.join(ROOT, "docs", "images", "mbslab.png"))
        parts.append("![CPU time over error of the three steppers](images/mbslab.png)")
    finish(args, "mbslab", "Mechanisms of MbsLab", parts, [every])


if __name__ == "__main__":
    main()
