#!/usr/bin/python3
"""Runs chains, trees, loops and nets of spherical joints at 10^3 to 10^5 links and prints the section "Joints at size"
of docs/benchmarks.md: microseconds a link and step, gaps of joints and drift of the energy, on one rank and on two.

    scripts/reproduce/joints_at_size.py [chain tree loop net] [--peers DIR] [--million] [--write]

Links are boxes of 0.1 x 0.02 x 0.02 m and 0.04 kg (knots of trees and nets: cubes of 0.02 m); all are level at first
and fall as far as what holds them lets them, h 1 ms, without contacts. Up to 10^4 links run for a second, larger ones
for 20 steps; nets from 10^4 knots on a tenth of that, but 5 steps. Simbody, Bullet and ODE run the same links, if
--peers names the folder that scripts/reproduce/peers/build has made; the published figure is of M-ABD (SIGGRAPH 2026).
Eight minutes on one core, of which the nets take most. Needs python3-numpy, python3-yaml, python3-h5py and, for two ranks, mpirun.
"""
import json
import math
import os

import numpy as np

from benchmark_report import Table, begin, finish, options, peer, text
from benchmark_scene import WORLD, Body, Scene, State, run_peer

G, STEP, LINK, MASS = 9.81, 1e-3, 0.1, 0.04
BOX, KNOT = (LINK, 0.02, 0.02), (0.02, 0.02, 0.02)


# --- mechanisms: a generator of Catena, and the same bodies and joints for the others -----------

def chain(n):
    """Level at the start, one end held."""
    x = LINK * (np.arange(n) + 0.5)
    joints = [(i - 1 if i else WORLD, i, (LINK * i, 0.0, 0.0)) for i in range(n)]
    return ({"chain": {"name": "links", "material": "m", "shape": {"box": {"size": list(BOX)}}, "mass": MASS,
                       "links": n, "from": [0, 0, 0], "to": [LINK * n, 0, 0], "anchored": "first", "collide": False}},
            [Body(BOX, MASS, (p, 0.0, 0.0)) for p in x], joints)


def loop(n):
    """A square of links, level at the start, held at a corner."""
    side = n // 4
    corners = LINK * side * np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    bodies, joints = [], []
    for k in range(4 * side):
        a, b = corners[k // side], corners[(k // side + 1) % 4]
        along = (b - a) / (LINK * side)
        p = a + along * LINK * (k % side)
        half = 0.25 * math.pi * (k // side)  # half of the turn about z
        turn = (math.cos(half), 0.0, 0.0, math.sin(half))
        bodies.append(Body(BOX, MASS, tuple(p + 0.5 * LINK * along), orientation=turn))
        joints.append((k - 1 if k else 4 * side - 1, k, tuple(p)))
    return ({"chain": {"name": "links", "material": "m", "shape": {"box": {"size": list(BOX)}}, "mass": MASS,
                       "links": 4 * side, "path": corners.tolist(), "closed": True, "collide": False}},
            bodies, [*joints, (WORLD, 0, (0.0, 0.0, 0.0))])


def tree(n):
    """Two knots behind each, whose arms reach half-way back to it; level at the start, the root held. As wide as it is
    deep: a knot's arms are longer than LINK at the root only."""
    levels = round(math.log2(n + 1)) - 1
    drop, spread = np.array([0.0, LINK, 0.0]), np.array([LINK * levels / 2**levels, 0.0, 0.0])
    x = [np.zeros((1, 3))] * (levels + 1)
    last = spread * np.arange(2**levels)[:, None]
    for level in range(levels, -1, -1):
        x[level] = last
        last = 0.5 * (last[0::2] + last[1::2]) if level else last
    shift = -x[0][0]
    places = np.concatenate([x[level] + shift + level * drop for level in range(levels + 1)])
    joints = [(WORLD, 0, tuple(places[0] - 0.5 * drop))]
    for i in range(1, len(places)):
        parent = (i - 1) // 2
        joints.append((parent, i, tuple(places[i] - 0.5 * drop)))
    return ({"tree": {"name": "links", "material": "m", "shape": {"box": {"size": list(KNOT)}}, "branching": 2,
                      "levels": levels, "from": [0, 0, 0], "drop": drop.tolist(), "spread": spread.tolist(),
                      "joint": "spherical", "anchored": True, "collide": False}},
            [Body(KNOT, MASS, tuple(p)) for p in places], joints)


def net(n):
    """A square of knots, level at the start, held along one edge."""
    side = round(math.sqrt(n))
    place = lambda i, j: np.array([LINK * i, LINK * j, 0.0])  # noqa: E731
    bodies = [Body(KNOT, MASS, tuple(place(i, j))) for j in range(side) for i in range(side)]
    joints = [(WORLD, i, tuple(place(i, 0))) for i in range(side)]
    for j in range(side):
        for i in range(side):
            joints += [(i + side * j, i + 1 + side * j, tuple(place(i + 0.5, j)))] if i + 1 < side else []
            joints += [(i + side * j, i + side * (j + 1), tuple(place(i, j + 0.5)))] if j + 1 < side else []
    return ({"net": {"name": "links", "material": "m", "shape": {"box": {"size": list(KNOT)}}, "count": [side, side],
                     "from": [0, 0, 0], "spacing": [[LINK, 0, 0], [0, LINK, 0]], "joint": "spherical",
                     "anchored": "edge", "collide": False}}, bodies, joints)


MECHANISMS = {"chain": chain, "tree": tree, "loop": loop, "net": net}


def steps_of(args, kind, n):
    if args.short:
        return 5
    steps = 1000 if n <= 12000 else 20
    return steps if kind != "net" or n < 2000 else max(5, steps // 10)


# --- runs ------------------------------------------------------------------------------------

def catena_run(args, kind, n, ranks):
    """(links, µs of CPU time a link and step, the same of wall time, gap in m, drift of the energy over the largest
    kinetic energy)."""
    import catena
    generator, bodies, joints = MECHANISMS[kind](n)
    volume = np.prod(bodies[0].size)
    steps = steps_of(args, kind, n)
    case = {"catena": 1, "name": "%s-%d" % (kind, n), "gravity": [0, 0, -G], "generators": [generator],
            "materials": {"m": {"density": float(MASS / volume)}}, "time": {"step": STEP, "end": steps * STEP},
            "output": {"snapshot_interval": math.inf}}
    if kind == "loop":
        case["joints"] = [{"name": "held", "type": "spherical", "between": ["world", "links-0"], "at": [0, 0, 0]}]
    out = os.path.join(args.work, "runs", "%s-%d-%d" % (kind, n, ranks))
    result = catena.run(case, ranks=ranks, out=out, force=True, progress=False)
    with open(os.path.join(out, "profile.json")) as f:
        per_rank = json.load(f)["per_rank"]
    s = result.series
    total = np.asarray(s.kinetic_energy) + np.asarray(s.potential_energy)
    start = float(sum(b.mass * G * b.position[2] for b in bodies))
    links = len(bodies)
    per = 1e6 / (links * steps)
    # the gap after the last step, as of the others; the series has that before it
    ends = Ends(Scene(case["name"], bodies, STEP, steps, joints=joints))
    ends(state_of(result[0], links))
    assert np.allclose(ends.state.position, ends.scene.array("position"), atol=1e-9), "bodies in another order"
    ends(state_of(result.snapshot(step=steps), links))
    return (links, per * per_rank["steps_cpu_s"]["max"], per * per_rank["steps_wall_s"]["max"], ends.gap(),
            float(abs(total[-1] - start) / max(np.max(s.kinetic_energy), 1e-300)))


def state_of(snapshot, links):
    """Of a snapshot of Catena, whose rows are ordered by id as the links are."""
    rows = (np.asarray(getattr(snapshot, name))[:links] for name in ("position", "velocity", "orientation", "angular_velocity"))
    return State(snapshot.step, *rows, None)


class Ends:
    """Of the last state: largest gap of a joint, m, and drift of the energy over the largest kinetic energy."""

    def __init__(self, scene):
        x, q = scene.array("position"), scene.array("orientation")
        a, b = (np.array([j[k] for j in scene.joints]) for k in (0, 1))
        at = np.array([j[2] for j in scene.joints])
        self.scene, self.a, self.b, self.at, self.kinetic = scene, a, b, at, 0.0
        self.arm_a, self.arm_b = turned_back(q[a], at - x[a]), turned_back(q[b], at - x[b])
        self.start = G * float(np.sum(scene.array("mass") * x[:, 2]))
        self.total = self.start
        self.state = None

    def __call__(self, state):
        m, inertia = self.scene.array("mass"), self.scene.array("inertia")
        w = turned_back(state.orientation, state.angular_velocity)
        kinetic = 0.5 * float(np.sum(m * np.sum(state.velocity**2, axis=1)) + np.sum(inertia * w**2))
        self.kinetic = max(self.kinetic, kinetic)
        self.total = kinetic + G * float(np.sum(m * state.position[:, 2]))
        self.state = state

    def gap(self):
        x, q = self.state.position, self.state.orientation
        end_b = x[self.b] + turned_back(q[self.b] * [1.0, -1.0, -1.0, -1.0], self.arm_b)
        end_a = x[self.a] + turned_back(q[self.a] * [1.0, -1.0, -1.0, -1.0], self.arm_a)
        end_a[self.a == WORLD] = self.at[self.a == WORLD]
        return float(np.linalg.norm(end_a - end_b, axis=1).max())

    def drift(self):
        return abs(self.total - self.start) / max(self.kinetic, 1e-300)


def turned_back(q, v):
    """R(q)^T v of quaternions (w, x, y, z) in rows."""
    t = -2.0 * np.cross(q[:, 1:], v)
    return v + q[:, :1] * t - np.cross(q[:, 1:], t)


def peer_rows(args, kind, n):
    """(title, links, steps, watch, outcome) of the peers that are there; each gets the steps that fit into a minute."""
    tree = kind in ("chain", "tree")
    wanted = [("Simbody", "simbody_scene", (), 12000 if tree else 0),
              ("Bullet, multibody", "bullet_multibody_scene", (), 2000 if tree else 0),
              ("Bullet, 50 sweeps", "bullet_scene", (50, 0.2), 12000),
              ("ODE, 50 sweeps", "ode_scene", ("quick", 50, 0.2), 12000)]
    for title, name, words, most in wanted:
        if not peer(args, name) or n > most:
            continue
        _, bodies, joints = MECHANISMS[kind](n)
        steps = min(steps_of(args, kind, n), 1000 if n < 2000 else 100)
        scene = Scene("%s-%d" % (kind, n), bodies, STEP, steps, joints=joints, collide=False)
        watch = Ends(scene)
        yield title, len(bodies), steps, watch, run_peer(peer(args, name), scene, watch, max(1, steps // 20), words)


def fastest_tree(table):
    """Who takes the least CPU time on the smallest tree on one core, in a sentence."""
    rows = [row for row in table.rows if row[1] == table.rows[0][1] and not row[0].endswith("ranks")]
    if not rows:
        return ""
    title, links = min(rows, key=lambda row: row[3])[:2]
    return "On the tree of {:,} knots {} takes the least CPU time on one core.".format(links, title)


def time_of_net(table):
    """Who is faster than Catena on the smallest net, and whether a second rank helps there, with the reasons."""
    times = {row[0]: row[3] for row in table.rows if row[1] == table.rows[0][1]}
    one, two = times.get("Catena, 1 rank"), times.get("Catena, 2 ranks")
    faster = ["%s takes %s" % (title.split(",")[0], text(t)) for title, t in times.items()
              if one and not title.startswith("Catena") and t < one]
    said = []
    if faster:
        said.append("On the net of {:,} knots Catena takes {} µs a knot, where {}: its three rows a joint, of two joints a knot, "
                    "are solved to round-off in each step, those of the others are swept 50 times.".format(
                        table.rows[0][1], text(one), " and ".join(faster)))
    if one and two and two > one:
        said.append("Two ranks are no faster on the net of {:,} knots: one of them eliminates so small a mechanism "
                    "(`solver.joints.cut_from`).".format(table.rows[0][1]))
    return " ".join(said)


def loss_of_net(table):
    """Whether the smallest net loses energy in Catena, and what others make of it, in a sentence."""
    rows = [row for row in table.rows if row[1] == table.rows[0][1]]
    own = [row for row in rows if row[0].startswith("Catena")]
    others = [row for row in rows if row not in own]
    drift = max(row[6] for row in own)
    said = "In the net of {:,} knots the energy of Catena is off by {:.2g} % of the largest kinetic energy at the end".format(
        own[0][1], 100.0 * drift)
    if others:
        said += ", that of others by {:.2g} to {:.2g} %".format(*(100.0 * f(row[6] for row in others) for f in (min, max)))
    if drift > 0.05 + 1.0 / own[0][2]:
        said += ("; rows of rigid joints nearly depend on each other there, which a compliance mends ([nets of rigid "
                 "joints](troubleshooting.md#nets-of-rigid-joints-that-lose-energy))")
    return said + "."


def main():
    parser = options(__doc__, "joints_at_size", peers=True)
    parser.add_argument("mechanisms", nargs="*", choices=[[], *MECHANISMS], help="default: all")
    parser.add_argument("--million", action="store_true", help="10^6 links, too")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    args = begin(parser)
    sizes = (100,) if args.short else (1000, 10000, 100000) + (1000000,) * args.million
    kinds = args.mechanisms or list(MECHANISMS)
    if args.write and len(kinds) < len(MECHANISMS):
        parser.error("--write wants all mechanisms")
    tables = []
    for kind in kinds:
        table = Table(kind.capitalize() + "s", ["", "links", "steps of 1 ms", "µs of CPU per link and step (busiest rank)",
                                                "µs of wall time", "joint gap at the end, m",
                                                "energy drift over the largest kinetic energy"])
        for n in sizes:
            for ranks in args.ranks:
                links, *figures = catena_run(args, kind, n, ranks)
                table.add("Catena, %d rank%s" % (ranks, "s" * (ranks > 1)), links, steps_of(args, kind, n), *figures)
            for title, links, steps, watch, done in peer_rows(args, kind, n):
                table.add(title, links, steps, 1e6 * done.seconds / (links * steps), None, watch.gap(), watch.drift())
        tables.append(table)
    note = ("All times are those of steps, without what a program takes to begin. Published: M-ABD, 1,076,748 links in "
            "chains, trees, loops and nets together, 0.84 µs per link and step on one CPU thread, h 10 ms (arXiv "
            "2603.08079). Simbody and Bullet's multibody have coordinates in which the joints of a tree cannot open; the "
            "latter's memory grows as the square of the links. On two ranks CPU time includes what a rank spends polling "
            "for the other. The drift of semi-implicit Euler is 1/k of the kinetic energy after k steps of free fall. "
            + " ".join(filter(None, (say(tables[kinds.index(kind)]) for kind, say in (
                ("tree", fastest_tree), ("net", time_of_net), ("net", loss_of_net)) if kind in kinds))))
    finish(args, "joints_at_size", "Joints at size", tables + [note])


if __name__ == "__main__":
    main()
