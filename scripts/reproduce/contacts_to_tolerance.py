#!/usr/bin/python3
"""What a tolerance of a step's contacts costs and gives, and prints the section "Contacts to tolerance" of
docs/benchmarks.md: time, iterations, overlap and creep at energy errors of 1e-2 to 1e-8 of the error at zero impulses.

    scripts/reproduce/contacts_to_tolerance.py [spheres boxes hulls] [--edges 10] [--write]

A cube of edge^3 bodies (spheres 0.2 m wide, boxes with edges of 0.16 m, icosahedra in spheres of 0.2 m; glass, friction 0.5)
settles in a box, h 5 ms, everything else as it comes, until its kinetic energy is that of an rms speed of 1 mm/s. It goes on
for ten steps under Coulomb's law, the lagged and the convex one each, and the last step, dumped, is solved by `auto` and
`gauss_seidel` from zero and from the run's own guess: the first evaluation of the error below each tolerance counts, with
its wall time, evaluations included. Then the pile goes on for fifty
steps at each tolerance; overlaps are held against half the width, and creep is the rms speed of what should rest. At most
eight minutes on one core, of which each of the 36 solves may take --limit; --edges 22, 46 and 100 are 10^4, 10^5 and 10^6
bodies. Needs python3-numpy, python3-yaml and python3-h5py.
"""
import csv
import json
import os
import subprocess
import sys
import time

import numpy as np

from benchmark_report import Table, begin, finish, options

TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-8)
STEP, RADIUS = 5e-3, 0.1
DENSITY = 2500.0  # kg/m^3
REST = 1e-3  # m/s
MISSED = 4  # exit code of a missed tolerance (docs/cli.md)
GOLDEN = 0.5 * (1.0 + 5.0**0.5)
ICOSAHEDRON = RADIUS / np.hypot(1.0, GOLDEN) * np.array(
    [p for a in (-1.0, 1.0) for b in (-GOLDEN, GOLDEN) for p in ((0.0, a, b), (a, b, 0.0), (b, 0.0, a))])
# shape, distance of neighbours in the lattice that they fall from, and half the width
SHAPES = {"spheres": ({"sphere": {"radius": RADIUS}}, 0.205, RADIUS),
          "boxes": ({"box": {"size": [0.16, 0.16, 0.16]}}, 0.2, 0.08),
          "hulls": ({"hull": {"vertices": ICOSAHEDRON.tolist()}}, 0.205, RADIUS)}
# of a body, m^3; the icosahedron's edge is 2 RADIUS / hypot(1, GOLDEN)
VOLUMES = {"spheres": 4.0 / 3.0 * np.pi * RADIUS**3, "boxes": 0.16**3,
           "hulls": 5.0 / 12.0 * (3.0 + 5.0**0.5) * (2.0 * RADIUS / np.hypot(1.0, GOLDEN))**3}


def pile(kind, edge, end, **keys):
    """The case of edge^3 bodies over the floor of their box."""
    shape, spacing, _ = SHAPES[kind]
    width = edge * spacing + 0.1
    first = 0.5 * (width - (edge - 1) * spacing)
    return {"catena": 1, "name": "%s-%d" % (kind, edge**3), "gravity": [0.0, 0.0, -9.81],
            "materials": {"glass": {"density": DENSITY, "friction": 0.5}},
            "generators": [
                {"container": {"name": "bin", "material": "glass", "size": [width, width, ".inf"], "origin": [0, 0, 0]}},
                {"lattice": {"name": "grains", "material": "glass", "shape": shape, "count": [edge] * 3, "spacing": spacing,
                             "origin": [first, first, 0.12], "position_jitter": 2e-3}}],
            "time": {"step": STEP, "end": end}, **keys}


def settling(kind, edge, end):
    """The case that ends once the kinetic energy is that of bodies with REST, at `end` at the latest."""
    energy = 0.5 * DENSITY * VOLUMES[kind] * edge**3 * REST**2
    return pile(kind, edge, end, probes=[{"name": "pile", "type": "energy", "on": "grains", "interval": STEP}],
                stop_when="pile.kinetic < %.6g J" % energy)


def at_rest(out):
    """Whether the run of settling() ended by its energy."""
    with open(os.path.join(out, "profile.json")) as file:
        return json.load(file)["ended"] == "stop_when"


def run(args, name, case):
    """Directory of the case's run."""
    import catena
    out = os.path.join(args.work, name)
    catena.run(case, out=out, force=True, progress=False)
    return out


def dumped(args, kind, edge, settled, law, **contact):
    """File of the last of ten steps of the settled pile under the law."""
    case = pile(kind, edge, 10 * STEP, contact={"law": law, **contact}, initial={"from": settled, "bodies": ["all"]},
                output={"dump_interval": 10 * STEP})
    name = "-".join([kind, str(edge**3), law, *contact.values()])
    return os.path.join(run(args, name, case), "step-%08d.hdf5" % 10)


def solved(dump, *more, files):
    """`catena solve` of the dumped step. `files`: what it is to write, removed before, so that a solve that fails leaves
    none of an earlier one. A tolerance that was missed is a result; any other failure ends the script."""
    for path in files:
        if os.path.exists(path):
            os.remove(path)
    done = subprocess.run([os.environ["CATENA"], "solve", dump, *more, "--force", "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, MISSED):
        raise SystemExit("catena solve %s: exit code %d\n%s" % (" ".join([dump, *more]), done.returncode, done.stderr))


def solve(args, dump, method, law, start):
    """Of one solve: iterations, wall time in s and error in J at each evaluation of the error, in a list."""
    history = os.path.join(args.work, "history.csv")
    solved(dump, "--solver", method, "--law", law, "--" + start, "--tolerance", "1e-8", "--max-iterations", "100000",
           "--time-limit", str(args.limit), "--history", history, files=[history])
    with open(history, newline="") as f:
        return [(int(r["iteration"]), float(r["wall_s (s)"]), float(r["energy (J)"])) for r in csv.DictReader(f)]


def first_below(rows, limit):
    return next(((i, t) for i, t, error in rows if error <= limit), None)


def cold_and_warm(args, table, kind, edge, settled):
    for law in ("coulomb", "lagged", "ccp"):
        dump = dumped(args, kind, edge, settled, law)
        for method in ("auto", "gauss_seidel"):
            cold = solve(args, dump, method, law, "cold")
            for start, rows in (("zero", cold), ("the run's", solve(args, dump, method, law, "warm"))):
                found = [first_below(rows, tolerance * cold[0][2]) for tolerance in TOLERANCES]
                iterations, seconds, error = rows[-1]
                ended = "not: %.1e; %d; %.3g" % (error / cold[0][2], iterations, 1e3 * seconds)
                table.add(kind, edge**3, law, method, start, *("%d; %.3g" % (at[0], 1e3 * at[1]) if at else ended for at in found))


def go_on(args, table, kind, edge, settled, steps):
    """The settled pile for `steps` more at each tolerance."""
    import catena
    for tolerance in TOLERANCES:
        case = pile(kind, edge, steps * STEP, initial={"from": settled, "bodies": ["all"]},
                    solver={"relative_tolerance": tolerance})
        seconds, iterations, missed = 0.0, [], 0
        with catena.Simulation(case) as sim:
            for _ in range(steps):
                start = time.process_time()
                sim.step()
                seconds += time.process_time() - start
                iterations.append(int(sim.report.iterations))
                missed += sim.report.status != "converged"
            gap = np.asarray(sim.contacts().gap)
            speed = np.linalg.norm(np.asarray(sim.velocities), axis=1)
            overlap = np.maximum(-gap, 0.0) / SHAPES[kind][2]
            table.add(kind, edge**3, len(gap), tolerance, 1e3 * seconds / steps, float(np.mean(iterations)), missed,
                      float(overlap.mean()), float(overlap.max()), float(np.sqrt(np.mean(speed**2))))


def main():
    parser = options(__doc__, "contacts_to_tolerance")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help="spheres, boxes, hulls; all")
    parser.add_argument("--edges", type=int, nargs="+", default=[10], help="bodies along an edge of the cube")
    parser.add_argument("--settle", type=float, default=10.0, help="s at most in which the pile comes to rest")
    parser.add_argument("--limit", type=float, default=10.0, help="s of wall time of one solve")
    args = begin(parser)
    unknown = sorted(set(args.shapes) - set(SHAPES))
    if unknown:
        parser.error("%s: no such shape; %s" % (unknown[0], ", ".join(SHAPES)))
    if args.write and args.shapes and set(args.shapes) != set(SHAPES):
        parser.error("--write wants all shapes")
    edges, end, steps = ([3], 0.1, 3) if args.short else (args.edges, args.settle, 50)
    solves = Table("One step: iterations; ms of wall time to the tolerance",
                   ["bodies", "number", "law", "method", "start", *("%.0e" % t for t in TOLERANCES)])
    runs = Table("%d steps at a tolerance under the defaults" % steps,
                 ["bodies", "number", "contacts", "tolerance", "ms of CPU time per step", "iterations/step",
                  "steps that missed", "mean overlap", "largest overlap", "creep, m/s"])
    for edge in edges:
        for kind in args.shapes or SHAPES:
            settled = run(args, "%s-%d" % (kind, edge**3), settling(kind, edge, end))
            if not args.short and not at_rest(settled):
                sys.exit("%s: the pile does not rest after %g s; give --settle more" % (settled, end))
            cold_and_warm(args, solves, kind, edge, settled)
            go_on(args, runs, kind, edge, settled, steps)
    finish(args, "contacts_to_tolerance", "Contacts to tolerance", [
        "Errors are energies, recomputed from the impulses, relative to the error at zero impulses; overlaps are held against "
        "half a body's width (spheres and the spheres around icosahedra: 0.1 m; boxes: 0.08 m). *not*: the solve ended before, "
        "by its limit of %g s, by that of iterations or since it got no further, with this error; iterations; ms. Creep is "
        "the rms speed after the last step of bodies that should rest; a step without contacts "
        "would give them %.3g m/s." % (args.limit, 9.81 * STEP), solves, runs])


if __name__ == "__main__":
    main()
