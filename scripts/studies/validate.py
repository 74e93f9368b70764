#!/usr/bin/python3
"""Runs the smooth mechanisms of configs/validation with stepper natural beside their references.

    scripts/studies/validate.py --catena build/release/drivers/catena -o validation
    scripts/studies/validate.py --cases A03,A04 --catena ...    some cases only
    scripts/studies/validate.py --quick --catena ...            a few cases with coarse steps, in seconds
    scripts/studies/validate.py --ladder --catena ...           rk4 at ten steps each
    scripts/studies/validate.py --stepper spook --catena ...    another stepper, without bounds

Each case (scripts/studies/mechanism_cases.py) is run with rk4 at several steps and with dop853. Writes
DIR/validation.md, DIR/validation.csv (a row per run and quantity) and DIR/CASE.png (curve over
reference, errors below), and ends with 1 if a case misses its bound. Runs stay in DIR/runs;
--no-run measures those that are there. A run writes hundreds of snapshots: a DIR in memory, such as
one in /dev/shm, saves most of the time.

--ladder is a study of convergence: each case runs with rk4 at ten steps from a tenth to the whole
of 10 ms, or of 2/omega where its fastest frequency omega allows less. Every error has to be at most
4 C h^4, or below 1e-10 of the quantity's range. C is fitted to all ten, as the geometric mean of
error/h^4 over those above that range, which are the method's and not round-off; steps that were
divided as doubtful count like any other. A step beyond the method's stability has to be refused.
Writes DIR/ladder.md. Needs python3-h5py, python3-numpy and python3-matplotlib.
"""
import argparse
import csv
import os
import subprocess
import sys
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

from mechanism_cases import CASES, ROOT, Result, read_reference  # noqa: E402

CONFIGS = os.path.join(ROOT, "configs", "validation")
THRESHOLD = 1e-3  # the benchmark library's error measure


# --- runs ------------------------------------------------------------------------------------

PICTURES = {"A02-40": "four_bars", "A03": "andrews", "A04": "bricard", "A05": "flyball",
            "B01": "slider_crank"}


class Run:
    """One setting of a case: where it is and what it shows."""

    def __init__(self, label, step, directory):
        self.label, self.step, self.directory = label, step, directory


def settings(args, case):
    """(label, step, sets) of every run."""
    if args.ladder:
        return [("rk4 %.6g ms" % (1e3 * h), h, ["time.natural.scheme=rk4"])
                for h in case.ladder.steps(case.interval)]
    steps = case.quick.steps if args.quick else case.steps
    if args.stepper != "natural":
        return [("%s %g ms" % (args.stepper, 1e3 * h), h, []) for h in steps]
    runs = [("rk4 %g ms" % (1e3 * h), h, ["time.natural.scheme=rk4"]) for h in steps]
    if case.dop853 is not None and not args.quick:
        runs.append(("dop853", case.interval, ["time.natural.scheme=dop853"] + case.dop853))
    return runs


def run(args, case, label, step, sets):
    directory = os.path.join(args.output, "runs", case.key + "-" + label.replace(" ", "-"))
    made = Run(label, step, directory)
    if args.no_run:
        return made
    interval = case.quick.interval if args.quick and not args.ladder else case.interval
    config = case.config
    if callable(config):
        path = os.path.join(args.output, "runs", case.key + ".yaml")
        config(path)
        config = path
    else:
        config = os.path.join(CONFIGS, config)
    sets = sets + ["time.stepper=" + args.stepper, "time.step=%.17g" % step,
                   "output.snapshot_interval=%.17g" % max(interval, step)]
    end = case.quick.end if args.quick else case.ladder.end if args.ladder else None
    if end is not None:
        sets.append("time.end=%.17g" % (step * max(1, int(end / step + 1e-9))))
    if args.stepper == "natural":  # others know no bodies without inertia
        sets += case.sets
    command = [args.catena, "run", config, "-o", directory, "--force", "--quiet"]
    for item in sets:
        command += ["--set", item]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout)
    except subprocess.TimeoutExpired:
        raise RuntimeError("%s\nnot done after %g s" % (" ".join(command), args.timeout)) from None
    if done.returncode != 0:
        raise RuntimeError("%s\n%s" % (" ".join(command), done.stderr.strip()))
    return made


def measure(case, made):
    """Fills in errors, the library's measure, drift and time."""
    reference = read_reference(case.reference)
    result = Result(made.directory, made.step)
    if "t" in reference:
        pair = [(k, j) for k, t in enumerate(result.t)
                for j in [int(np.argmin(abs(reference["t"] - t)))]
                if abs(reference["t"][j] - t) < 1e-6 * case.interval]
        kept, rows = (np.array(x) for x in zip(*pair))
        for name in ("t", "x", "q", "v", "w", "reaction"):
            if len(getattr(result, name)):
                setattr(result, name, getattr(result, name)[kept])
        at_rows = {n: y[rows] for n, y in reference.items()}
    else:
        at_rows = reference
    c = case.compare(result, at_rows, reference)
    made.comparison, made.t = c, result.t
    made.errors = {name: float(np.nanmax(e)) for name, e in c.deviations.items()
                   if not np.isnan(e).all()}
    made.library = max((np.max(abs(y - r) / np.maximum(abs(r), THRESHOLD)) for y, r in c.library),
                       default=None)
    s, end = result.series, result.t[-1]
    made.drift = np.nan
    if c.energy is not None:
        scale = max(np.max(s["kinetic_energy"]), 1e-300)
        made.drift = float(np.nanmax(abs(c.energy))) / scale / end
    made.misfit = float(s["joint_misfit"].max())
    # steps during which another program had the processor count ten times the median at most
    wall = s["step_wall_s"]
    made.wall = float(np.minimum(wall, 10.0 * np.median(wall)).sum()) * s["step"][-1] / len(wall)
    made.steps = int(s["step"][-1])
    made.divided = bool(s["iterations"].max() > 1)


def orders(runs, name):
    """Between neighbours with rk4."""
    fixed = [r for r in runs if r.label != "dop853"]
    errors = [r.errors.get(name, np.nan) for r in fixed]
    return [np.log(e / f) / np.log(a.step / b.step) if e > 0 and f > 0 else np.nan
            for a, b, e, f in zip(fixed[:-1], fixed[1:], errors[:-1], errors[1:])]


def ladder_misses(args, case, runs):
    """What of the convergence over ten steps is not as it has to be, in words; and its row of the table."""
    name = case.main_quantity
    curve = runs[-1].comparison.curve
    # of relative quantities it is 1
    reach = 1.0 if "relative" in name else np.ptp(curve[3])
    floor = 1e-10 * reach
    h = np.array([r.step for r in runs])
    error = np.array([r.errors.get(name, np.nan) for r in runs])
    out = []
    counts = ~(error <= floor)  # what is not known, too, which is a miss
    if counts.any():
        c = np.exp(np.mean(np.log(error[counts] / h[counts]**4)))
        ratio = error / (c * h**4)
        constant, most = "%.2g" % c, "%.1f" % np.max(ratio)
        for step, e, r in zip(h, error, ratio):
            if not (e <= floor or r <= 4.0):
                out.append("%g ms: %.1e is %.1f C h^4" % (1e3 * step, e, r))
    else:
        constant, most = "", "below 1e-10 of the range"
    divided = [r.step for r in runs if r.divided]
    row = "| %s %s | %s | %.3g to %.3g | %.1e to %.1e | %s | %s | %s |" % (
        case.key, case.title, name, 1e3 * h[0], 1e3 * h[-1], error[0], error[-1], constant,
        most, "from %.3g" % (1e3 * min(divided)) if divided else "")
    if case.ladder.stable_to is not None:
        step = 1.3 * case.ladder.stable_to
        try:
            run(args, case, "unstable", step, ["time.natural.scheme=rk4"])
            out.append("%g ms, beyond stability, is not refused" % (1e3 * step))
        except RuntimeError as error:
            if "too long" not in str(error):
                out.append("%g ms: %s" % (1e3 * step, error))
    return out, row


LADDER_HEAD = ["| case | quantity | h, ms | error | C, per s^4 | largest error over C h^4 | divided, ms |",
               "|" + 7 * "---|"]


def draw(case, runs, path):
    figure, axes = plt.subplots(2, 1, figsize=(8, 4.5), sharex=True)
    label, unit, values, exact = runs[-1].comparison.curve
    axes[0].plot(runs[-1].t, exact, "k", lw=3, alpha=0.3, label="reference")
    axes[0].plot(runs[-1].t, values, "C3--", lw=1, label=runs[-1].label)
    axes[0].set(ylabel="%s [%s]" % (label, unit), title="%s: %s" % (case.key, case.title))
    for made in runs:
        error = abs(made.comparison.curve[2] - made.comparison.curve[3])
        axes[1].semilogy(made.t, np.where(error > 0, error, np.nan), lw=1, label=made.label)
    axes[1].set(ylabel="error [%s]" % unit, xlabel="time [s]")
    for a in axes:
        a.grid(True, alpha=0.3)
        a.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.tight_layout()
    figure.savefig(path, dpi=72, pil_kwargs={"optimize": True})
    plt.close(figure)


def bounds_of(args, case):
    return case.quick.bounds if args.quick else case.bounds


def misses(args, case, runs):
    """What of the case's bounds is not kept, in words."""
    out = []
    for name, bound in bounds_of(args, case).items():
        if name.startswith("order of "):
            seen = [o for o in orders(runs, name[len("order of "):]) if np.isfinite(o)]
            if not max(seen, default=0.0) > bound:
                out.append("%s: %s, not above %g" % (name, seen, bound))
            continue
        value = min(r.errors.get(name, np.inf) for r in runs)
        if not value <= bound:
            out.append("%s: %.2e, above %g" % (name, value, bound))
    if not all(np.isfinite(e) for r in runs for e in r.errors.values()):
        out.append("an error is not finite")
    return out


def write_tables(args, done):
    with open(os.path.join(args.output, "validation.csv"), "w", newline="") as f:
        rows = csv.writer(f)
        rows.writerow(["case", "run", "step_s", "quantity", "largest_error", "order",
                       "library_error", "energy_drift_per_s", "joint_misfit_m", "steps", "wall_s"])
        for case, runs, _ in done:
            for made in runs:
                for name, error in made.errors.items():
                    fixed = [r for r in runs if r.label != "dop853"]
                    k = fixed.index(made) if made in fixed else 0
                    order = "%.2f" % orders(runs, name)[k - 1] if k > 0 else ""
                    library = "" if made.library is None else "%.3e" % made.library
                    rows.writerow([case.key, made.label, "%g" % made.step, name, "%.3e" % error,
                                   order, library, "%.1e" % made.drift, "%.1e" % made.misfit,
                                   made.steps, "%.3f" % made.wall])
    notes = []
    for case, runs, _ in done:
        if not args.quick:
            notes += ["- %s: %s." % (case.key, case.reason)] if case.reason else []
    with open(os.path.join(args.output, "validation.md"), "w") as f:
        f.write("\n".join(error_table(done) + [""] + library_table(done) + [""] + notes) + "\n")


def error_table(done):
    """A row per case: its main quantity at all steps, the others at their best."""
    lines = ["| case | quantity | rk4, h in ms: largest error | order | dop853 | other quantities, "
             "best run | energy drift, 1/s | joint misfit, m | time, s |", "|" + 9 * "---|"]
    for case, runs, _ in done:
        fixed = [r for r in runs if r.label != "dop853"]
        controlled = [r for r in runs if r.label == "dop853"]
        main = case.main_quantity
        names = [main] + [n for n in dict.fromkeys(n for r in runs for n in r.errors) if n != main]
        last = fixed[-1:] + controlled
        lines.append("| %s |" % " | ".join([
            "%s %s" % (case.key, case.title), main,
            ", ".join("%g: %.1e" % (1e3 * r.step, r.errors[main]) for r in fixed),
            ", ".join("%.1f" % o for o in orders(runs, main)),
            "".join("%.1e" % r.errors[main] for r in controlled),
            ", ".join("%s %.0e" % (n.replace(" [", ", ").replace("]", ""),
                                   min(r.errors.get(n, np.inf) for r in runs)) for n in names[1:]),
            " / ".join("%.0e" % r.drift for r in last if np.isfinite(r.drift)),
            " / ".join("%.0e" % r.misfit for r in last),
            " / ".join("%.2f" % r.wall for r in last)]))
    return lines


def library_table(done):
    """The cheapest runs that meet the benchmark library's targets."""
    lines = ["| case | rows | low precision, 0.1 | time, s | high precision, 1e-3 | time, s | "
             "smallest |",
             "|" + 7 * "---|"]
    for case, runs, _ in done:
        if runs[0].library is None:
            continue
        cells = []
        for target in (0.1, 1e-3):
            met = [r for r in runs if r.library <= target]
            best = min(met, key=lambda r: r.wall, default=None)
            cells += ["%s: %.0e" % (best.label, best.library) if best else "not met",
                      "%.2f" % best.wall if best else ""]
        smallest = min(runs, key=lambda r: r.library)
        lines.append("| %s %s | %d | %s | %s: %.0e |" % (
            case.key, case.title, len(runs[0].t) - 1, " | ".join(cells), smallest.label,
            smallest.library))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catena", default=os.path.join(ROOT, "build", "release", "drivers", "catena"))
    parser.add_argument("-o", "--output", default="validation", help="directory")
    parser.add_argument("--cases", help="comma-separated, by their beginnings; default: all")
    parser.add_argument("--quick", action="store_true", help="a few cases, coarse steps")
    parser.add_argument("--ladder", action="store_true", help="rk4 at ten steps each")
    parser.add_argument("--stepper", default="natural", choices=["natural", "spook"])
    parser.add_argument("--no-run", action="store_true", help="measure runs that are there")
    parser.add_argument("--images", help="directory for the documentation's pictures, too")
    parser.add_argument("--timeout", type=float, default=1800.0, help="of one run, s")
    args = parser.parse_args()
    wanted = args.cases.split(",") if args.cases else [""]
    cases = [c for c in CASES if any(c.key.startswith(w) for w in wanted)]
    if args.quick:
        cases = [c for c in cases if c.quick]
    if args.ladder:
        cases = [c for c in cases if c.ladder]
    if not cases:
        sys.exit("no such case; there are " + ", ".join(c.key for c in CASES))
    os.makedirs(os.path.join(args.output, "runs"), exist_ok=True)
    if args.images:
        os.makedirs(args.images, exist_ok=True)
    done, failed, rows = [], 0, list(LADDER_HEAD)
    for case in cases:
        runs = []
        for label, step, sets in settings(args, case):
            start = time.time()
            try:
                made = run(args, case, label, step, sets)
                measure(case, made)
            except RuntimeError as error:
                print("FAIL %s, %s: %s" % (case.key, label, error))
                failed += 1
                continue
            runs.append(made)
            print("%-14s %-14s %s  drift %.0e/s  misfit %.0e m  %.2f s (%.1f s)" % (
                case.key, label, "  ".join("%s %.2e" % x for x in made.errors.items()), made.drift,
                made.misfit, made.wall, time.time() - start), flush=True)
        if not runs:
            continue
        missed = []
        if args.ladder:
            missed, row = ladder_misses(args, case, runs)
            rows.append(row)
        elif args.stepper == "natural":
            missed = misses(args, case, runs)
        failed += bool(missed)
        print("%s %s%s" % ("MISS" if missed else "ok  ", case.key, ": " + "; ".join(missed)
                           if missed else ""))
        if not args.quick and not args.ladder:
            draw(case, runs, os.path.join(args.output, case.key + ".png"))
            if args.images and case.key in PICTURES:
                name = "validation_%s.png" % PICTURES[case.key]
                draw(case, runs, os.path.join(args.images, name))
        done.append((case, runs, missed))
    if args.ladder:
        with open(os.path.join(args.output, "ladder.md"), "w") as f:
            f.write("\n".join(rows) + "\n")
    else:
        write_tables(args, done)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
