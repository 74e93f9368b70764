#!/usr/bin/python3
"""One step's contact problem, solved by Catena, Bullet and ODE and judged by one program: prints the section "One problem,
three programs" of docs/benchmarks.md, time and energy error over the number of sweeps.

    scripts/reproduce/contacts_beside.py [spheres boxes hulls] --peers DIR [--edges 10 22] [--write]

The piles of contacts_to_tolerance.py come to rest (those in its --work are taken as they are) and go on for ten steps with rigid contacts; the last one is dumped. Catena
solves the file; Bullet's and ODE's solvers are given its bodies and contacts as it states them; and
scripts/user/check_solution.py judges the impulses of all from the file. Some ten minutes on one core. Needs python3-numpy,
python3-yaml, python3-h5py and the programs that scripts/reproduce/peers/build makes.
"""
import collections
import json
import os
import subprocess
import sys

import h5py
import numpy as np

from benchmark_report import ROOT, Table, begin, finish, options, peer, text
from contacts_to_tolerance import SHAPES, STEP, dumped, settled, solved

sys.path.insert(0, os.path.join(ROOT, "scripts", "user"))
from check_solution import judge  # noqa: E402

SWEEPS = (10, 50, 200, 1000)


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
    lines = "\n".join(" ".join("%.17g" % x if isinstance(x, float) else str(x) for x in row) for row in rows) + "\n"
    done = subprocess.run([program, *map(str, SWEEPS)], input=lines.encode(), capture_output=True, check=True)
    found = np.frombuffer(done.stdout, float).reshape(len(SWEEPS), 1 + 3 * len(problem.a))
    frame = np.stack([problem.normal, problem.tangent, np.cross(problem.normal, problem.tangent)], axis=1)
    for seconds, *impulse in found:
        in_frame = np.einsum("kij,kj->ki", frame, np.reshape(impulse, (-1, 3)))
        yield seconds, in_frame[problem.order].ravel()


def judged(args, dump, impulses, law="coulomb"):
    """Energy error in J of the impulses, by check_solution.py."""
    solution = os.path.join(args.work, "solution.hdf5")
    with h5py.File(solution, "w") as f:
        f["solution/r"] = impulses
    return judge(dump, solution, law)[1]["energy"]


def solved_by_catena(args, dump, method, sweeps):
    """(wall time in s, the less of two below half a second, energy error in J by check_solution.py)."""
    report, solution = (os.path.join(args.work, name) for name in ("report.json", "solution.hdf5"))
    seconds = []
    while len(seconds) < 2 and sum(seconds) < 0.5:
        solved(dump, "--solver", method, "--cold", "--tolerance", "1e-14", "--max-iterations", str(sweeps),
               "--report", report, "--solution", solution, files=[report, solution])
        with open(report) as f:
            seconds.append(json.load(f)["wall_s"])
    return min(seconds), judge(dump, solution)[1]["energy"]


def beside_peers(args, table, kind, edge, at_rest):
    dump = dumped(args, kind, edge, at_rest, "coulomb", stiffness="rigid")
    problem = stated(dump)
    nothing = np.zeros(3 * len(problem.a))
    for method in ("gauss_seidel", "apgd"):
        cells = [solved_by_catena(args, dump, method, sweeps) for sweeps in SWEEPS]
        table.add(kind, edge**3, len(problem.a), "Catena, " + method, *cells_of(cells, judged(args, dump, nothing)))
    # ODE's axes of friction are the file's tangents, so that its own law, a box, can be judged, too
    for title, name, laws in (("Bullet", "bullet_problem", ["coulomb"]), ("ODE", "ode_problem", ["coulomb", "box"])):
        found = list(solved_by_peer(peer(args, name), problem)) if peer(args, name) else []
        for law in laws if found else []:
            cells = [(seconds, judged(args, dump, r, law)) for seconds, r in found]
            table.add(kind, edge**3, len(problem.a), title + ", by friction in a box" * (law == "box"),
                      *cells_of(cells, judged(args, dump, nothing, law)))


def cells_of(pairs, start):
    return ["%s; %.1e" % (text(1e3 * seconds), error / start) for seconds, error in pairs]


BESIDE = ("All take the same file: Bullet and ODE get its bodies, points, normals, friction and bias, and "
          "scripts/user/check_solution.py judges the impulses of all by the file, over its error at zero impulses. Bullet "
          "(sequential impulses with two friction directions) and ODE (QuickStep) bound friction along two axes each, not "
          "in the cone: they converge to another law, in which a quarter to a third of the contacts of spheres and hulls "
          "leave the cone, and by Coulomb's law their error grows as the impulses do. By its own law, friction in a box "
          "along the file's tangents, ODE's falls (Bullet's axes are its own). Sweeps of Catena are accelerated, with an "
          "evaluation of the error every ten. Times: Catena's are wall times, the less of two below half a second, those of "
          "the others CPU time; reading is not counted, set-up is.")


def main():
    parser = options(__doc__, "contacts_beside", peers=True)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help="spheres, boxes, hulls; all")
    parser.add_argument("--edges", type=int, nargs="+", default=[10, 22], help="bodies along an edge of the cube")
    parser.add_argument("--settle", type=float, default=20.0, help="s of the run at most in which the pile comes to rest")
    parser.add_argument("--ranks", type=int, default=1, help="of the runs in which piles come to rest")
    args = begin(parser)
    unknown = sorted(set(args.shapes) - set(SHAPES))
    if unknown:
        parser.error("%s: no such shape; %s" % (unknown[0], ", ".join(SHAPES)))
    if args.write and (args.shapes or not (peer(args, "bullet_problem") and peer(args, "ode_problem"))):
        parser.error("--write wants all shapes, and --peers with the programs bullet_problem and ode_problem, which "
                     "scripts/reproduce/peers/build makes")
    table = Table("One step of rigid contacts, from zero: ms to a number of sweeps or iterations; error",
                  ["bodies", "number", "contacts", "solver", *("{:,}".format(n) for n in SWEEPS)])
    for edge in [3] if args.short else args.edges:
        for kind in args.shapes or SHAPES:
            beside_peers(args, table, kind, edge, settled(args, kind, edge, 0.1 if args.short else args.settle))
    finish(args, "contacts_beside", "One problem, three programs", [table, BESIDE])


if __name__ == "__main__":
    main()
