#!/usr/bin/python3
"""Runs three scenes at several steps and tolerances and prints the tables of docs/choosing-step.md: spheres that
settle under a block, a crane that lifts a load, a stack of boxes.

    scripts/reproduce/choosing_step.py [heap|margin|crane|stack ...] [--catena build/release/drivers/catena]
                                       [--work choosing_step] [--no-run] [--quick]

One rank; some minutes. Results stay in --work; --no-run reads those that are there. Needs python3-h5py and
python3-numpy.
"""
import argparse
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "user"))
import _package  # noqa: E402, F401
import catena  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES = os.path.join(ROOT, "configs", "examples")


def run(args, case, out, sets):
    """catena run CASE -o WORK/OUT with rigid contacts, unless --no-run; returns its Result."""
    directory = os.path.join(args.work, out)
    if not args.no_run:
        command = [args.catena, "run", os.path.join(CASES, case), "-o", directory, "--force", "--quiet"]
        for item in ["contact.stiffness=rigid", "contact.margin=1 mm"] + sets:
            command += ["--set", item]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(" ".join(command) + "\n" + done.stderr)
    return Result(directory)


class Result:
    def __init__(self, directory):
        result = catena.Result(directory)
        self.series = {name: np.asarray(values) for name, values in result.series.items()}
        # the same bodies throughout
        free = np.asarray(result.bodies.kind) == "dynamic"
        self.names = list(result.bodies.name[free])
        self.states = [(s.time, np.asarray(s.position)[free]) for s in result]

    def last(self, column, since):
        return self.series[column][self.series["time"] > since]

    def creep(self, since):
        """Median and largest mean speed of a body from `since` to the end, m/s."""
        t, x = min(self.states, key=lambda state: abs(state[0] - since))
        t_end, x_end = self.states[-1]
        speed = np.linalg.norm(x_end - x, axis=1) / (t_end - t)
        return np.median(speed), speed.max()

    def height(self, name):
        """At the end, m."""
        return self.states[-1][1][self.names.index(name), 2]

    def seconds(self):
        return self.series["step_wall_s"].sum()

    def sweeps(self):
        return self.series["iterations"].mean()


def table(title, head, rows):
    print("\n%s\n\n| %s |\n|%s" % (title, " | ".join(head), "---|" * len(head)))
    for row in rows:
        print("| %s |" % " | ".join(v if isinstance(v, str) else "%.2g" % v for v in row), flush=True)


def chosen(args, rows):
    return rows[:1] if args.quick else rows


def named(name, h, tolerance):
    return "%s-%g-%g" % (name, 1e3 * h, tolerance)


def heap_run(args, name, sets):
    """216 spheres that fall into a bin, and a block nearly as wide as it on top."""
    return run(args, "settled_spheres.yaml", name,
               ["generators.grains.count=[6, 6, 6]",
                "generators.bin.size=[1.5, 1.5, .inf]", "bodies.block.position=[0.75, 0.75, 2]", "time.end=4",
                "solver.max_iterations=3000", "output.snapshot_interval=0.5", *sets])


def heap(args):
    """At rest from 3.5 s on; what is seen then comes from step and tolerance alone."""
    rows = []
    for h, tolerance in chosen(args, [(8e-3, 1e-3), (4e-3, 1e-3), (2e-3, 1e-3), (1e-3, 1e-3),
                                      (4e-3, 1e-1), (4e-3, 1e-2), (4e-3, 1e-4), (4e-3, 1e-5)]):
        result = heap_run(args, named("heap", h, tolerance), ["time.step=%g" % h, "solver.relative_tolerance=%g" % tolerance])
        median, largest = result.creep(3.5)
        rows.append(["%g" % (1e3 * h), "%g" % tolerance, 1e6 * result.last("penetration", 3.5).max(),
                     1e6 * median, 1e6 * largest, np.median(result.last("error_energy", 3.5)),
                     np.median(result.last("error_natural_map", 3.5)), "%.0f" % result.sweeps(),
                     result.seconds()])
    table("Heap", ["h, ms", "`relative_tolerance`", "`penetration` at rest, µm", "creep, median µm/s", "creep, largest µm/s",
                   "`error_energy` at rest, J", "`error_natural_map` at rest, m/s", "sweeps a step", "s"], rows)


def margin(args):
    rows = []
    for millimetres in chosen(args, [0.02, 0.1, 1, 10, 50]):
        result = heap_run(args, "margin-%g" % millimetres,
                          ["time.step=4 ms", "contact.margin=%g mm" % millimetres])
        rows.append(["%g" % millimetres, "%.0f" % result.last("contacts", 3.5).mean(),
                     1e6 * np.quantile(result.series["penetration"], 0.99), result.series["recovery_work"][-1],
                     1e6 * result.creep(3.5)[0], "%.0f" % result.sweeps(), result.seconds()])
    table("Margin", ["`contact.margin`, mm", "contacts at rest", "`penetration`, largest of 99 % of the steps, µm",
                     "`recovery_work`, J", "creep, median µm/s", "sweeps a step", "s"], rows)


def crane(args):
    rows = []
    for h, projection in chosen(args, [(4e-3, "none"), (2e-3, "none"), (1e-3, "none"), (0.5e-3, "none"),
                                       (2e-3, "1e-9")]):
        result = run(args, "crane.yaml", "crane-%g-%s" % (1e3 * h, projection),
                     ["time.step=%g" % h, "solver.joints.projection=%s" % projection, "output.snapshot_interval=1"])
        s = result.series
        rows.append(["%g" % (1e3 * h), projection, 1e6 * s["joint_misfit"].max(), "%.4f" % result.height("load"),
                     "%.0f" % s["motor_work"][-1], s["joint_work"][-1], s["projection_work"][-1], s["energy_residual"][-1],
                     "%.0f" % s["stiffened"].max(), result.sweeps(), result.seconds()])
    table("Crane", ["h, ms", "`joints.projection`", "largest `joint_misfit`, µm", "height of the load at the end, m",
                    "`motor_work`, J", "`joint_work`, J", "`projection_work`, J", "`energy_residual`, J", "`stiffened`, most",
                    "sweeps a step", "s"], rows)


def stack(args):
    rows = []
    for h, tolerance in chosen(args, [(4e-3, 1e-2), (4e-3, 1e-4), (4e-3, 1e-6), (4e-3, 1e-8), (4e-3, 1e-10),
                                      (16e-3, 1e-8), (8e-3, 1e-8), (2e-3, 1e-8), (1e-3, 1e-8)]):
        result = run(args, "box_stack.yaml", named("stack", h, tolerance),
                     ["time.step=%g" % h, "time.end=4", "solver.relative_tolerance=%g" % tolerance,
                      "output.snapshot_interval=1"])
        at_rest = ["fallen", "", "", ""]
        if result.height("box-9") > 1.8:
            at_rest = [1e6 * result.last("penetration", 3.0).max(), 1e6 * result.creep(3.0)[1],
                       np.median(result.last("error_energy", 3.0)), np.median(result.last("error_natural_map", 3.0))]
        rows.append(["%g" % (1e3 * h), "%g" % tolerance, *at_rest, "%.0f" % result.sweeps(), result.seconds()])
    table("Stack", ["h, ms", "`relative_tolerance`", "`penetration` at rest, µm", "creep, largest µm/s",
                    "`error_energy` at rest, J", "`error_natural_map` at rest, m/s", "sweeps a step", "s"], rows)


SCENES = {"heap": heap, "margin": margin, "crane": crane, "stack": stack}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", choices=[*SCENES, []], help="which; all if none is named")
    parser.add_argument("--catena", default=os.path.join(ROOT, "build", "release", "drivers", "catena"))
    parser.add_argument("--work", default="choosing_step", help="where results go")
    parser.add_argument("--no-run", action="store_true", help="read the results that are there")
    parser.add_argument("--quick", action="store_true", help="the first row of each table alone")
    args = parser.parse_args()
    for scene in args.scenes or SCENES:
        SCENES[scene](args)


if __name__ == "__main__":
    main()
