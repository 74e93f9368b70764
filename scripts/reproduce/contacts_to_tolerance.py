#!/usr/bin/python3
"""What a tolerance of a step's contacts costs and gives, and prints the section "Contacts to tolerance" of
docs/benchmarks.md: time, iterations, overlap and creep at energy errors of 1e-2 to 1e-8 of the error at zero impulses.

    scripts/reproduce/contacts_to_tolerance.py [spheres boxes hulls] [--edges 10 22 46:spheres,boxes] [--write]

A cube of edge^3 bodies (spheres 0.2 m wide, boxes with edges of 0.16 m, icosahedra in spheres of 0.2 m; glass, friction 0.5)
settles in a box, h 5 ms, everything else as it comes, until its kinetic energy is that of an rms speed of 1 mm/s (spheres,
of which some roll on: 3 mm/s); down to 3 cm/s it does so at a tolerance of 1e-3. It goes on for ten steps under Coulomb's
law, the lagged and the convex one each, and the last step, dumped, is solved by `auto` and `gauss_seidel` from zero and from
the run's own guess: the first evaluation of the error below each tolerance counts, with its wall time, evaluations included.
Then the pile goes on for fifty steps (from 50,000 bodies on ten) at each tolerance; overlaps are held against half the width, and creep is the speed of
what should rest.

--edges 10, 22, 46 and 100 are 10^3, 10^4, 10^5 and 10^6 bodies; 46:boxes,hulls:coulomb:auto takes these shapes, laws and
methods alone, and the section tells what was left out. Some six minutes on one core for 10^3 and 10^4, half of
them for piles to come to rest. Piles at rest stay in --work, and a second call goes on from them. What fails is named,
exit code 1, and what was finished is written. Needs python3-numpy, python3-yaml and python3-h5py.
"""
import argparse
import csv
import glob
import itertools
import json
import os
import shutil
import subprocess
import sys
import time

import numpy as np

from benchmark_report import Table, begin, finish, keep, options, said_by

TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-8)
STEP, RADIUS = 5e-3, 0.1
DENSITY = 2500.0  # kg/m^3
# A pile rests below this rms speed, m/s: of a thousand spheres a few roll on for ever over the floor, at 1.3 mm/s of rms
# speed. It first comes near to rest at the coarse tolerance.
REST = {"spheres": 3e-3, "boxes": 1e-3, "hulls": 1e-3}
COARSE, NEAR_REST = 1e-3, 0.03
LAWS, METHODS = ("coulomb", "lagged", "ccp"), ("auto", "gauss_seidel")
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


def settling(kind, edge, end, speed, **keys):
    """The case that ends once the kinetic energy is that of bodies with the rms speed, at `end` at the latest."""
    energy = 0.5 * DENSITY * VOLUMES[kind] * edge**3 * speed**2
    return pile(kind, edge, end, probes=[{"name": "pile", "type": "energy", "on": "grains", "interval": 10 * STEP}],
                stop_when="pile.kinetic < %.6g J" % energy, output={"contacts": False, "series_steps": 10}, **keys)


def settled(args, kind, edge, end):
    """Directory of the pile at rest, made unless --work holds it."""
    name = "%s-%d" % (kind, edge**3)
    near = os.path.join(args.work, name + "-near")
    rest(args, name + "-near", settling(kind, edge, end, NEAR_REST, solver={"relative_tolerance": COARSE}))
    return rest(args, name, settling(kind, edge, end, REST[kind], initial={"from": near, "bodies": ["all"]}))


def rest(args, name, case):
    """Directory of the case, which has ended by its energy; a run that was broken off goes on from its checkpoint."""
    import catena
    out, stated = (os.path.join(args.work, name + end) for end in ("", ".json"))
    before = case.get("initial", {}).get("from", "") + ".json"  # what the pile it goes on from was made by
    words = [said_by([os.environ["CATENA"], "--version"]), case, open(before).read() if os.path.exists(before) else None]
    same = os.path.exists(stated) and open(stated).read() == json.dumps(words)
    if not (same and ended(out) in ("stop_when", "done")):
        if not same:
            shutil.rmtree(out, ignore_errors=True)
        with open(stated, "w") as f:
            json.dump(words, f)
        resume = same and bool(glob.glob(os.path.join(out, "checkpoint-*.h5")))
        catena.run(case, args.ranks, out, force=not resume, resume=resume, progress=False)
    if not args.short and ended(out) != "stop_when":
        raise RuntimeError("%s does not rest after %g s; give --settle more" % (name, case["time"]["end"]))
    return out


def ended(out):
    """How the run of the directory ended; None if it did not."""
    profile = os.path.join(out, "profile.json")
    if not os.path.exists(profile):
        return None
    with open(profile) as f:
        return json.load(f)["ended"]


def run(args, name, case):
    """Directory of the case's run."""
    import catena
    out = os.path.join(args.work, name)
    catena.run(case, out=out, force=True, progress=False)
    return out


def dumped(args, kind, edge, at_rest, law, **contact):
    """File of the last of ten steps of the settled pile under the law."""
    case = pile(kind, edge, 10 * STEP, contact={"law": law, **contact}, initial={"from": at_rest, "bodies": ["all"]},
                output={"dump_interval": 10 * STEP})
    name = "-".join([kind, str(edge**3), law, *contact.values()])
    return os.path.join(run(args, name, case), "step-%08d.hdf5" % 10)


def solved(dump, *more, files):
    """`catena solve` of the dumped step. `files`: what it is to write, removed before, so that a solve that fails leaves
    none of an earlier one. A tolerance that was missed is a result; any other failure an error."""
    for path in files:
        if os.path.exists(path):
            os.remove(path)
    done = subprocess.run([os.environ["CATENA"], "solve", dump, *more, "--force", "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, MISSED):
        raise RuntimeError("catena solve %s: exit code %d\n%s" % (" ".join([dump, *more]), done.returncode, done.stderr))


def limit_of(args, edge):
    """s of wall time of one solve."""
    return args.limit + 1e-3 * edge**3


def solve(args, dump, method, law, start, limit):
    """Of one solve: iterations, wall time in s and error in J at each evaluation of the error, in a list."""
    history = os.path.join(args.work, "history.csv")
    solved(dump, "--solver", method, "--law", law, "--" + start, "--tolerance", "1e-8", "--max-iterations", "100000",
           "--time-limit", str(limit), "--history", history, files=[history])
    with open(history, newline="") as f:
        return [(int(r["iteration"]), float(r["wall_s (s)"]), float(r["energy (J)"])) for r in csv.DictReader(f)]


def first_below(rows, limit):
    return next(((i, t) for i, t, error in rows if error <= limit), None)


def cold_and_warm(args, table, kind, edge, at_rest, law, methods):
    dump = dumped(args, kind, edge, at_rest, law)
    for method in methods:
        cold = solve(args, dump, method, law, "cold", limit_of(args, edge))
        for start, rows in (("zero", cold), ("the run's", solve(args, dump, method, law, "warm", limit_of(args, edge)))):
            found = [first_below(rows, tolerance * cold[0][2]) for tolerance in TOLERANCES]
            iterations, seconds, error = rows[-1]
            missed = "not: %.1e; %d; %.3g" % (error / cold[0][2], iterations, 1e3 * seconds)
            table.add(kind, edge**3, law, method, start, *("%d; %.3g" % (at[0], 1e3 * at[1]) if at else missed for at in found))
    shutil.rmtree(os.path.dirname(dump))  # of 10^6 bodies a GB


def go_on(args, table, kind, edge, at_rest, tolerance, steps):
    """The settled pile for `steps` more at the tolerance."""
    import catena
    case = pile(kind, edge, steps * STEP, initial={"from": at_rest, "bodies": ["all"]},
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
    table.add(kind, edge**3, len(gap), tolerance, steps, 1e3 * seconds / steps, float(np.mean(iterations)), missed,
              float(overlap.mean()), float(overlap.max()), float(np.sqrt(np.mean(speed**2))), float(np.median(speed)))


class Scene:
    """EDGE[:SHAPES[:LAWS[:METHODS]]] of --edges."""

    def __init__(self, words):
        edge, *lists = words.split(":")
        self.edge = int(edge)
        every = (tuple(SHAPES), LAWS, METHODS)
        chosen = [tuple(part.split(",")) if part else names
                  for part, names in itertools.zip_longest(lists[:3], every, fillvalue="")]
        unknown = [name for part, names in zip(chosen, every) for name in part if name not in names]
        if self.edge < 1 or len(lists) > 3 or unknown:
            raise argparse.ArgumentTypeError("%s: no such scene; EDGE[:SHAPES[:LAWS[:METHODS]]] of %s" % (
                words, "; ".join(", ".join(names) for names in every)))
        self.shapes, self.laws, self.methods = chosen
        self.left_out = [name for part, names in zip(chosen, every) for name in names if name not in part]


def take_all(args, scenes, solves, runs, written):
    """What is missing, with the reason. `written`: called with it whenever a part of a scene is finished, so that what
    is there when the script is killed names what is not."""
    parts = []
    for scene in scenes:
        steps = 3 if args.short else 50 if scene.edge**3 < 50000 else 10
        for kind in scene.shapes:
            what = "%s, %d" % (kind, scene.edge**3)
            parts += [("%s, %s" % (what, law), cold_and_warm, solves, kind, scene.edge, law, scene.methods)
                      for law in scene.laws]
            parts += [("%s, %d steps at %g" % (what, steps, tolerance), go_on, runs, kind, scene.edge, tolerance, steps)
                      for tolerance in TOLERANCES]
    missing = {what: "not run" for what, *_ in parts}
    piles = {}
    for what, work, table, kind, edge, *words in parts:
        try:
            if (kind, edge) not in piles:
                piles[kind, edge] = None  # one that fails does not come to rest the next time
                piles[kind, edge] = settled(args, kind, edge, 0.1 if args.short else args.settle)
            if piles[kind, edge]:
                work(args, table, kind, edge, piles[kind, edge], *words)
                del missing[what]
        except Exception as error:  # whatever it is, the rest goes on
            missing[what] = str(error).split("\n")[0]
            print("%s: %s" % (what, missing[what]), file=sys.stderr, flush=True)
        written(missing)
    return missing


ABOUT = ("Errors are energies, recomputed from the impulses, relative to the error at zero impulses; overlaps are held against "
         "half a body's width (spheres and the spheres around icosahedra: 0.1 m; boxes: 0.08 m). *not*: the solve ended "
         "before, by its limit of %g s and a millisecond for each body, by that of iterations or since it got no further, with "
         "this error; iterations; ms. Creep are the speeds after the last step of bodies that should rest, rms and median "
         "(of spheres a few roll on, without resistance); a step without contacts would give them %.3g m/s.")


def main():
    parser = options(__doc__, "contacts_to_tolerance")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help="spheres, boxes, hulls; all")
    parser.add_argument("--edges", type=Scene, nargs="+", default=[Scene("10")], metavar="EDGE[:SHAPES[:LAWS[:METHODS]]]",
                        help="bodies along an edge of the cube, and what of the tables is made of it: all")
    parser.add_argument("--settle", type=float, default=20.0, help="s of the run at most in which the pile comes to rest")
    parser.add_argument("--ranks", type=int, default=1, help="of the runs in which piles come to rest")
    parser.add_argument("--limit", type=float, default=10.0, help="s of wall time of one solve, and a ms more for each body")
    args = begin(parser)
    unknown = sorted(set(args.shapes) - set(SHAPES))
    if unknown:
        parser.error("%s: no such shape; %s" % (unknown[0], ", ".join(SHAPES)))
    if args.write and args.shapes and set(args.shapes) != set(SHAPES):
        parser.error("--write wants all shapes, or those that --edges names")
    scenes = [Scene("3")] if args.short else args.edges
    for scene in scenes:
        scene.shapes = [kind for kind in scene.shapes if not args.shapes or kind in args.shapes]
    solves = Table("One step: iterations; ms of wall time to the tolerance",
                   ["bodies", "number", "law", "method", "start", *("%.0e" % t for t in TOLERANCES)])
    runs = Table("Steps at a tolerance under the defaults",
                 ["bodies", "number", "contacts", "tolerance", "steps", "ms of CPU time per step", "iterations/step",
                  "steps that missed", "mean overlap", "largest overlap", "creep, rms, m/s", "median"])
    left_out = ["%d bodies without %s" % (scene.edge**3, ", ".join(scene.left_out)) for scene in scenes if scene.left_out]

    def parts(missing):
        named = "; ".join("%s (%s)" % item for item in missing.items())
        return [ABOUT % (args.limit, 9.81 * STEP), *["Left out: %s." % "; ".join(left_out)][:len(left_out)],
                *["Missing: %s." % named][:len(missing)], solves, runs]

    name, title = "contacts_to_tolerance", "Contacts to tolerance"
    missing = take_all(args, scenes, solves, runs, lambda missing: keep(args, name, title, parts(missing)))
    finish(args, name, title, parts(missing))
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
