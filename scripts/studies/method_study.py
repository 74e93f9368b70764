#!/usr/bin/python3
"""Which method meets the tolerance of every step, and what it takes: runs twenty scenes with each.

    scripts/studies/method_study.py [-o DIR] [--catena PATH] [--methods auto gauss_seidel ...]
                                    [--scenes NAME ...] [--force]

The scenes are the examples with contacts and variants of them, shortened to a minute or less, under
the defaults of all other keys. Prints a table in Markdown: steps, and for each method those that
missed their tolerance, the work per step (in the method's unit) and the time per step (ms, output
left out). DIR (./methods) holds the runs; what was run with the same program and scene is not run
again (--force does it again). Times are of this machine, one run each.

Exit code: 0 done, 1 a run failed, 3 wrong usage.
"""
import argparse
import csv
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PILE = "settled_spheres"
# name: (example, settings)
SCENES = {
    "arch": ("arch", []),
    "box_stack": ("box_stack", []),
    "box_stack, top 100 times as heavy": ("box_stack", ["bodies.box-9.mass=1260"]),
    "brick_wall": ("brick_wall", ["time.end=0.4"]),
    "capsules_and_boxes": ("capsules_and_boxes", ["time.end=1"]),
    "capsules_and_boxes, friction 1": ("capsules_and_boxes", [
        "time.end=1", "materials.rubber.friction=1", "materials.wood.friction=1"]),
    "chain_on_pile": ("chain_on_pile", ["time.end=1"]),
    "crane": ("crane", ["time.end=2"]),
    "dominoes": ("dominoes", []),
    "hopper": ("hopper", ["time.end=2"]),
    "house_of_cards": ("house_of_cards", ["time.end=0.5"]),
    "newtons_cradle": ("newtons_cradle", []),
    "rotating_drum": ("rotating_drum", ["time.end=2"]),
    "settled_spheres": (PILE, []),
    "settled_spheres, friction 0": (PILE, ["materials.glass.friction=0"]),
    "settled_spheres, friction 1": (PILE, ["materials.glass.friction=1"]),
    "settled_spheres, step 1 ms": (PILE, ["time.step=1 ms", "time.end=1"]),
    "settled_spheres, rigid": (PILE, ["contact.stiffness=rigid", "time.end=1"]),
    "track": ("track", ["time.end=2"]),
    "wheel_on_soil": ("wheel_on_soil", []),
}


def run(args, name, method, folder):
    """Runs a scene with a method; a line of results."""
    example, settings = SCENES[name]
    out = folder / (name.replace(", ", "-").replace(" ", "_") + "-" + method)
    command = [args.catena, "run", ROOT / "configs" / "examples" / (example + ".yaml"), "-o", out,
               "--quiet", "--force"]
    for setting in settings + ["solver.method=" + method, "output.snapshot_interval=.inf"]:
        command += ["--set", setting]
    if args.force or not (out / "profile.json").exists():
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        if done.returncode != 0:
            print(" ".join(str(c) for c in command) + "\n" + done.stderr, file=sys.stderr)
            sys.exit(1)
    with open(out / "series.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    columns = {c.split(" ")[0]: c for c in rows[0]}
    mean = lambda c: sum(float(r[columns[c]]) for r in rows) / len(rows)
    profile = json.loads((out / "profile.json").read_text())
    profile = profile.get("run", profile)
    return profile["steps"], profile["steps_missed"], mean("iterations"), 1e3 * mean("step_wall_s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", default="methods")
    parser.add_argument("--catena", default=shutil.which("catena") or
                        ROOT / "build" / "release" / "drivers" / "catena")
    parser.add_argument("--methods", nargs="+", default=["auto", "gauss_seidel", "apgd"])
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), default=list(SCENES),
                        metavar="NAME")
    parser.add_argument("--force", action="store_true")
    try:
        args = parser.parse_args()
    except SystemExit as e:
        sys.exit(3 if e.code else 0)
    folder = pathlib.Path(args.o)
    folder.mkdir(parents=True, exist_ok=True)
    head = "| scene | steps |" + "".join(" %s |" % m for m in args.methods)
    print(head + "\n|---|---|" + "---|" * len(args.methods))
    for name in args.scenes:
        line, steps = "", 0
        for method in args.methods:
            steps, missed, iterations, ms = run(args, name, method, folder)
            line += " %d; %.3g; %.3g |" % (missed, iterations, ms)
        print("| %s | %d |%s" % (name, steps, line), flush=True)


if __name__ == "__main__":
    main()
