#!/usr/bin/python3
"""Times on two cores with nothing else on them: studies to the default tolerance on one and on two ranks, and steps of
mechanisms beside what `catena plan` predicts for them.

    scripts/studies/two_core_times.py [-o DIR] [--catena PATH] [--repeats N] [--studies NAME ...] [--skip-plan]

Calibrates once on one and once on two ranks, runs the studies of configs/studies and prints the two tables of
docs/scaling.md, "Times on two cores" and "The time that plan predicts", also to DIR/tables.md. Studies that were done with
the same program are not done again. Takes some four minutes.

Exit code: 0 done, 1 a program failed, 3 fewer than two cores.
"""
import argparse
import csv
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUDIES = ["strong_packing", "weak_packing", "strong_chain", "weak_net", "weak_drum", "weak_wall"]
STEPS = 14  # of which the first does not count
HEAD = "catena: 1\nname: plan\ngravity: {gravity}\nmaterials: {{m: {{density: 1000}}}}\ngenerators:\n  - {generator}\n" \
       "time: {{step: 1 ms, end: 14 ms}}\noutput: {{snapshot_interval: .inf}}\n"
BALL = "name: g, material: m, shape: {sphere: {radius: 0.01}}, collide: false"
TREE = "tree: {" + BALL + ", branching: 2, levels: %d, joint: %s, from: [0, 0, 5], drop: [0, 0, -0.5], anchored: true}"
NET = "net: {" + BALL + ", count: [%d, %d], from: [0, 0, 0], spacing: [[0.1, 0, 0], [0, 0.1, 0]], joint: distance}"
FALL, FLOAT = "[0, 0, -9.81]", "[0, 0, -0.01]"
SCENES = [  # trees float: rods of one that hangs have rows across, as many as the tension asks for
    ("tree of arms, branching 2, 8,191 bodies", FLOAT, TREE % (12, "spherical")),
    ("tree of rods, 8,191 bodies", FLOAT, TREE % (12, "distance")),
    ("tree of rods, 131,071 bodies", FLOAT, TREE % (16, "distance")),
    ("net of rods, 100 x 100 knots", FALL, NET % (100, 100)),
    ("net of rods, 200 x 200 knots", FALL, NET % (200, 200)),
    ("chain of 100,000 links", FALL, "chain: {" + BALL + ", links: 100000, joint: spherical, from: [0, 0, 0], "
     "to: [10000, 0, 0], anchored: first}"),
    ("ring of 4,000 links", FALL, "chain: {" + BALL + ", links: 4000, joint: spherical, path: [[0, 0, 0], [100, 0, 0], "
     "[100, 100, 0], [0, 100, 0]], closed: true}")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="DIR", default="two_core_times")
    parser.add_argument("--catena", metavar="PATH", default=str(ROOT / "build" / "release" / "drivers" / "catena"))
    parser.add_argument("--repeats", type=int, default=3, help="of each study's point")
    parser.add_argument("--studies", nargs="*", default=STUDIES, metavar="NAME")
    parser.add_argument("--skip-plan", action="store_true", help="no steps beside catena plan")
    return parser.parse_args()


def run(command):
    """Output of a program; the script ends with 1 where it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr.strip()}", file=sys.stderr)
        sys.exit(1)
    return done.stdout


def launcher(ranks):
    return ["mpirun", "-n", ranks, "--map-by", "core", "--bind-to", "core"]


def calibrate(args, directory):
    """Files of one and of two ranks."""
    files = {ranks: directory / f"calibration-{ranks}.json" for ranks in (1, 2)}
    for ranks, file in files.items():
        run([*launcher(ranks), args.catena, "calibrate", "-o", file, "--force"])
    return files


def rows_of(path):
    with open(path) as f:
        return list(csv.DictReader(f))


def study_table(args, directory, calibrations):
    lines = ["| study | iterations on 1, 2 ranks | step on 1 rank, ms | on 2 | efficiency | predicted step on 2 | steps missed |",
             "|---|---|---|---|---|---|---|"]
    for name in args.studies:
        out = directory / name
        out.mkdir(exist_ok=True)
        for file in calibrations.values():
            shutil.copy(file, out)
        run([sys.executable, ROOT / "scripts" / "scaling_study.py", ROOT / "configs" / "studies" / f"{name}.yaml", "-o", out,
             "--catena", args.catena, "--repeats", args.repeats, "--ranks", 1, 2])
        one, two = rows_of(out / "results.csv")
        predicted = [float(row["step_s"]) for row in rows_of(out / "predictions.csv") if row["network"] == "this machine"]
        lines.append(
            f"| {name} | {float(one['iterations']):.1f}, {float(two['iterations']):.1f} | {1e3 * float(one['step_s']):.3g} | "
            f"{1e3 * float(two['step_s']):.3g} | {float(two['efficiency']):.2f} | "
            f"{format(1e3 * predicted[0], '.3g') if predicted else '-'} | "
            f"{one['steps_missed']}, {two['steps_missed']} of {two['steps']} |")
    return lines


def plan_table(args, directory, calibrations):
    lines = ["| scene | ranks | predicted, ms | measured, ms | predicted over measured |", "|---|---|---|---|---|"]
    for what, gravity, generator in SCENES:
        case = directory / "plan.yaml"
        case.write_text(HEAD.format(gravity=gravity, generator=generator))
        for ranks, file in calibrations.items():
            said = run([args.catena, "plan", case, "-n", ranks, "--calibration", file])
            predicted = float(re.search(r"predicted time of a step.* all ([\d.e+-]+)", said)[1])
            run([*launcher(ranks), args.catena, "run", case, "-o", directory / "plan", "--force", "--quiet"])
            steps = [1e3 * float(row["step_wall_s [s]"]) for row in rows_of(directory / "plan" / "series.csv")]
            if len(steps) != STEPS:
                print(f"{what} on {ranks} ranks: {len(steps)} steps in place of {STEPS}", file=sys.stderr)
                sys.exit(1)
            measured = statistics.median(steps[1:])
            lines.append(f"| {what} | {ranks} | {predicted:.3g} | {measured:.3g} | {predicted / measured:.2g} |")
    return lines


def main():
    args = arguments()
    if len(os.sched_getaffinity(0)) < 2:
        print("two_core_times.py: one core is not enough: ranks that share it say nothing of times", file=sys.stderr)
        return 3
    directory = pathlib.Path(args.output).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    calibrations = calibrate(args, directory)
    lines = study_table(args, directory, calibrations)
    if not args.skip_plan:
        lines += [""] + plan_table(args, directory, calibrations)
    lines += ["", f"{run([args.catena, '--version']).splitlines()[0]}; load of the machine before: {load:.2g}"]
    text = "\n".join(lines) + "\n"
    (directory / "tables.md").write_text(text)
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
