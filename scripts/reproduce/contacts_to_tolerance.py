#!/usr/bin/python3
"""What a tolerance of a step's contacts costs and gives, and prints the section "Contacts to tolerance" of
docs/benchmarks.md: time, iterations, overlap and creep at energy errors of 1e-2 to 1e-8 of the error at zero impulses.

    scripts/reproduce/contacts_to_tolerance.py [spheres boxes hulls] [--edges 10] [--peers DIR] [--write]

A cube of edge^3 bodies (spheres 0.2 m wide, boxes with edges of 0.16 m, icosahedra in spheres of 0.2 m; glass, friction 0.5)
settles in a box, h 5 ms, everything else as it comes. It goes on for ten steps under Coulomb's law, the lagged and the convex
one each, and the last step, dumped, is solved by `auto` and `gauss_seidel` from zero and from the run's own guess: the first
evaluation of the error below each tolerance counts, with its wall time, evaluations included. Then the pile goes on for fifty
steps at each tolerance; overlaps are held against half the width, and creep is the rms speed of what should rest. With --peers
the same is dumped with rigid contacts, and its bodies and contacts, as the file states them, are given to Bullet's and ODE's
solvers; scripts/user/check_solution.py judges the impulses of all. At most eight minutes on one core, of which each of the
36 solves may take --limit; --edges 22, 46 and 100 are 10^4, 10^5 and 10^6 bodies. Needs python3-numpy, python3-yaml and
python3-h5py.
"""
import collections
import csv
import json
import os
import subprocess
import sys
import time

import h5py
import numpy as np

from benchmark_report import ROOT, Table, begin, finish, options, peer

sys.path.insert(0, os.path.join(ROOT, "scripts", "user"))
from check_solution import judge  # noqa: E402

SWEEPS = (10, 50, 200, 1000)
TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-8)
STEP, RADIUS = 5e-3, 0.1
GOLDEN = 0.5 * (1.0 + 5.0**0.5)
ICOSAHEDRON = RADIUS / np.hypot(1.0, GOLDEN) * np.array(
    [p for a in (-1.0, 1.0) for b in (-GOLDEN, GOLDEN) for p in ((0.0, a, b), (a, b, 0.0), (b, 0.0, a))])
# shape, distance of neighbours in the lattice that they fall from, and half the width
SHAPES = {"spheres": ({"sphere": {"radius": RADIUS}}, 0.205, RADIUS),
          "boxes": ({"box": {"size": [0.16, 0.16, 0.16]}}, 0.2, 0.08),
          "hulls": ({"hull": {"vertices": ICOSAHEDRON.tolist()}}, 0.205, RADIUS)}


def pile(kind, edge, end, **keys):
    """The case of edge^3 bodies over the floor of their box."""
    shape, spacing, _ = SHAPES[kind]
    width = edge * spacing + 0.1
    first = 0.5 * (width - (edge - 1) * spacing)
    return {"catena": 1, "name": "%s-%d" % (kind, edge**3), "gravity": [0.0, 0.0, -9.81],
            "materials": {"glass": {"density": 2500.0, "friction": 0.5}},
            "generators": [
                {"container": {"name": "bin", "material": "glass", "size": [width, width, ".inf"], "origin": [0, 0, 0]}},
                {"lattice": {"name": "grains", "material": "glass", "shape": shape, "count": [edge] * 3, "spacing": spacing,
                             "origin": [first, first, 0.12], "position_jitter": 2e-3}}],
            "time": {"step": STEP, "end": end}, **keys}


def run(args, name, case):
    """Directory of the case's run."""
    import catena
    out = os.path.join(args.work, name)
    catena.run(case, out=out, force=True, progress=False)
    return out


def settled_pile(args, kind, edge, end):
    """Directory of the pile at rest; with --again that of an earlier run, if it came to its end."""
    name, case = "%s-%d" % (kind, edge**3), pile(kind, edge, end)
    try:
        with open(os.path.join(args.work, name, "profile.json")) as f:
            there = args.again and json.load(f)["steps"] == round(end / STEP)
    except FileNotFoundError:
        there = False
    return os.path.join(args.work, name) if there else run(args, name, case)


def dumped(args, kind, edge, settled, law, **contact):
    """File of the last of ten steps of the settled pile under the law."""
    case = pile(kind, edge, 10 * STEP, contact={"law": law, **contact}, initial={"from": settled, "bodies": ["all"]},
                output={"dump_interval": 10 * STEP})
    name = "-".join([kind, str(edge**3), law, *contact.values()])
    return os.path.join(run(args, name, case), "step-%08d.hdf5" % 10)


def solve(args, dump, method, law, start):
    """Of one solve: iterations, wall time in s and error in J at each evaluation of the error, in a list."""
    history = os.path.join(args.work, "history.csv")
    done = subprocess.run([os.environ["CATENA"], "solve", dump, "--solver", method, "--law", law, "--" + start, "--tolerance",
                           "1e-8", "--max-iterations", "100000", "--time-limit", str(args.limit), "--history", history, "--force",
                           "--quiet"], capture_output=True, text=True)
    if not os.path.exists(history):
        raise SystemExit("catena solve %s: %s" % (dump, done.stderr))
    with open(history, newline="") as f:
        rows = [(int(r["iteration"]), float(r["wall_s (s)"]), float(r["energy (J)"])) for r in csv.DictReader(f)]
    os.remove(history)
    return rows


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


# --- the same problem for Bullet and ODE --------------------------------------------------------

Stated = collections.namedtuple("Stated", "mass moments axes place velocity spin a b normal tangent arm_a arm_b bias "
                                "friction order")


def stated(dump):
    """Bodies and contacts of a dumped step of rigid contacts, from its group /catena/step: principal moments with their
    axes as quaternions; a, b: rows of bodies, -1 for fixed ones; `order` sorts contacts as FCLIB's rows."""
    with h5py.File(dump, "r") as f:
        bodies, contacts = f["catena/step/bodies"], f["catena/step/contacts"]
        moving = bodies["mass_kind"][()] == 1
        inverse = bodies["inverse_mass"][()].reshape(-1, 7)
        twist = bodies["free_velocity"][()].reshape(-1, 6)
        between = contacts["body"][()].reshape(-1, 2)
        key = contacts["key"][()].reshape(-1, 4)
        numbers = contacts["numbers"][()].reshape(-1, 19)
    assert len(inverse) == moving.sum() and not twist[~moving].any() and not numbers[:, 17:].any(), "rigid contacts, fixed walls"
    moments, axes = np.linalg.eigh(np.linalg.inv(inverse[:, [1, 2, 3, 2, 4, 5, 3, 5, 6]].reshape(-1, 3, 3)))
    axes[:, :, 2] *= np.linalg.det(axes)[:, None]
    row = np.where(moving, np.cumsum(moving) - 1, -1)
    a, b = row[between[:, 0]], row[between[:, 1]]
    arm_a, arm_b = numbers[:, 6:9], numbers[:, 9:12]
    return Stated(1.0 / inverse[:, 0], moments, quaternions(axes), places(len(inverse), a, b, arm_a - arm_b), twist[moving, :3],
                  twist[moving, 3:], a, b, numbers[:, 0:3], numbers[:, 3:6], arm_a, arm_b, numbers[:, 12], numbers[:, 13],
                  np.lexsort(key.T[::-1]))


def quaternions(rotations):
    """(w, x, y, z) of matrices (n, 3, 3): eigenvectors of the largest eigenvalue of Bar-Itzhack's matrix."""
    r = rotations
    k = np.empty((len(r), 4, 4))
    k[:, 1:, 1:] = r + r.transpose(0, 2, 1) - np.trace(r, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    k[:, 0, 0] = np.trace(r, axis1=1, axis2=2)
    turn = np.stack([r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]], axis=1)
    k[:, 0, 1:] = k[:, 1:, 0] = turn
    return np.linalg.eigh(k)[1][:, :, -1]


def places(n, a, b, apart):
    """Places of bodies, up to those of each connected group: b is `apart` from a where both move."""
    neighbours = [[] for _ in range(n)]
    for k in np.flatnonzero((a >= 0) & (b >= 0)):
        neighbours[a[k]].append((b[k], apart[k]))
        neighbours[b[k]].append((a[k], -apart[k]))
    place = np.full((n, 3), np.nan)
    for first in range(n):
        if np.isnan(place[first, 0]):
            place[first] = 0.0
            near = [first]
            while near:
                i = near.pop()
                for j, way in neighbours[i]:
                    if np.isnan(place[j, 0]):
                        place[j] = place[i] + way
                        near.append(j)
    both = (a >= 0) & (b >= 0)
    assert np.allclose(place[b[both]] - place[a[both]], apart[both], atol=1e-9), "contacts do not close"
    return place


def solved_by_peer(program, problem):
    """(CPU time in s, impulses in FCLIB's rows) for each number of sweeps."""
    rows = [["problem", len(problem.mass), len(problem.a), STEP]]
    rows += np.column_stack([*problem[:6]]).tolist()
    rows += [[int(x) for x in line[:2]] + line[2:] for line in np.column_stack([*problem[6:14]]).tolist()]
    text = "\n".join(" ".join("%.17g" % x if isinstance(x, float) else str(x) for x in row) for row in rows) + "\n"
    done = subprocess.run([program, *map(str, SWEEPS)], input=text.encode(), capture_output=True, check=True)
    found = np.frombuffer(done.stdout, float).reshape(len(SWEEPS), 1 + 3 * len(problem.a))
    frame = np.stack([problem.normal, problem.tangent, np.cross(problem.normal, problem.tangent)], axis=1)
    for seconds, *impulse in found:
        in_frame = np.einsum("kij,kj->ki", frame, np.reshape(impulse, (-1, 3)))
        yield seconds, in_frame[problem.order].ravel()


def judged(args, dump, impulses):
    """Energy error in J of the impulses, by check_solution.py."""
    solution = os.path.join(args.work, "solution.hdf5")
    with h5py.File(solution, "w") as f:
        f["solution/r"] = impulses
    return judge(dump, solution)[1]["energy"]


def solved_by_catena(args, dump, method, sweeps):
    """(wall time in s, the less of two, energy error in J by check_solution.py)."""
    report, solution = (os.path.join(args.work, name) for name in ("report.json", "solution.hdf5"))
    seconds = []
    for _ in range(2):
        subprocess.run([os.environ["CATENA"], "solve", dump, "--solver", method, "--cold", "--tolerance", "1e-14",
                        "--max-iterations", str(sweeps), "--report", report, "--solution", solution, "--force", "--quiet"],
                       capture_output=True)
        with open(report) as f:
            seconds.append(json.load(f)["wall_s"])
    return min(seconds), judge(dump, solution)[1]["energy"]


def beside_peers(args, table, kind, edge, settled):
    dump = dumped(args, kind, edge, settled, "coulomb", stiffness="rigid")
    problem = stated(dump)
    start = judged(args, dump, np.zeros(3 * len(problem.a)))
    for method in ("gauss_seidel", "apgd"):
        cells = [solved_by_catena(args, dump, method, sweeps) for sweeps in SWEEPS]
        table.add(kind, edge**3, len(problem.a), "Catena, " + method, *cells_of(cells, start))
    for title, name in (("Bullet", "bullet_problem"), ("ODE", "ode_problem")):
        if peer(args, name):
            cells = [(seconds, judged(args, dump, r)) for seconds, r in solved_by_peer(peer(args, name), problem)]
            table.add(kind, edge**3, len(problem.a), title, *cells_of(cells, start))


def cells_of(pairs, start):
    return ["%.3g; %.1e" % (1e3 * seconds, error / start) for seconds, error in pairs]


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


BESIDE = ("All take the same file: Bullet and ODE get its bodies, points, normals, friction and bias, and "
          "scripts/user/check_solution.py judges the impulses of all by the file, over its error at zero impulses. "
          "Bullet (sequential impulses with two friction directions) and ODE (QuickStep) bound friction along two axes, "
          "not in the cone, so that sweeps do not take their error below a floor. Sweeps of Catena are accelerated, with an "
          "evaluation of the error every ten. Times: Catena's are the less wall time of two, those of the others "
          "CPU time; reading is not counted, set-up is.")


def main():
    parser = options(__doc__, "contacts_to_tolerance", peers=True)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help="spheres, boxes, hulls; all")
    parser.add_argument("--edges", type=int, nargs="+", default=[10], help="bodies along an edge of the cube")
    parser.add_argument("--settle", type=float, default=3.0, help="s in which the pile comes to rest")
    parser.add_argument("--again", action="store_true", help="take the settled piles that an earlier run left in --work")
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
    peers = Table("One step of rigid contacts, from zero, beside other programs: ms to a number of sweeps or iterations; error",
                  ["bodies", "number", "contacts", "solver", *("{:,}".format(n) for n in SWEEPS)])
    for edge in edges:
        for kind in args.shapes or SHAPES:
            settled = settled_pile(args, kind, edge, end)
            cold_and_warm(args, solves, kind, edge, settled)
            go_on(args, runs, kind, edge, settled, steps)
            if args.peers:
                beside_peers(args, peers, kind, edge, settled)
    finish(args, "contacts_to_tolerance", "Contacts to tolerance", [
        "Errors are energies, recomputed from the impulses, relative to the error at zero impulses; overlaps are held against "
        "half a body's width (spheres and the spheres around icosahedra: 0.1 m; boxes: 0.08 m). *not*: the solve ended before, "
        "by its limit of %g s, by that of iterations or since it got no further, with this error; iterations; ms. Creep is "
        "the rms speed after the last step of bodies that should rest; a step without contacts "
        "would give them %.3g m/s." % (args.limit, 9.81 * STEP), solves, runs] + [peers, BESIDE] * bool(peers.rows))


if __name__ == "__main__":
    main()
