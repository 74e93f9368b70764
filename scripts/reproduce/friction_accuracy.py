#!/usr/bin/python3
"""Measures how well contacts and friction are solved, and prints the section "Friction" of docs/benchmarks.md: stacks whose
top is 10^k times as heavy as the rest, cubes that two plates hold by friction, a cube that slides and comes to rest, and
of each the parts of the contact law one by one.

    scripts/reproduce/friction_accuracy.py [stacks squeezed sliding] [--peers DIR] [--write]

All solvers of Catena run the scenes with rigid contacts, and the defaults as they are; ODE and Bullet if --peers names
the folder that scripts/reproduce/peers/build has made. What is told follows from positions, velocities and the impulses of
contacts alone, in the same way for all. Five minutes on one core. Needs python3-numpy, python3-scipy, python3-yaml and
Catena built with its Python extension.
"""
import numpy as np
import scipy.integrate

from benchmark_report import Table, begin, finish, options, peer
from benchmark_scene import Body, Scene, run_catena, run_peer

G = 9.81
RIGID = {"contact": {"stiffness": "rigid"}}
METHODS = ["gauss_seidel", "jacobi", "apgd", "interior_point", "dantzig", "auto"]


def asked(method, tolerance):
    return {**RIGID, "solver": {"method": method, "relative_tolerance": tolerance}}


class Watch:
    """Keeps the first and the last state, and the worst of each part of the contact law over the steps.

    With p an impulse, u the relative velocity after the step (second body less first) and g the gap before it:
      signorini       largest approach that is left, -(u_n + max(g, 0)/h), over gravity's g h
      complementarity sum of p_n |u_n + max(g, 0)/h| over E: a contact that presses does not open
      dissipation     sum of mu p_n |u_t| + p_t u_t over E: friction is as large as it may be, against the slip
      cone            sum of what |p_t| exceeds mu p_n by, over the sum of p_n
    E is the sum of p_n g h: what its weight does to a contact in a step. All are 0 for exact rigid contacts."""

    PARTS = ["signorini", "complementarity", "dissipation", "cone"]

    def __init__(self, scene, after=0):
        self.scene, self.after, self.first, self.last = scene, after, None, None
        self.worst = dict.fromkeys(self.PARTS, 0.0)
        self.friction = np.array([b.friction for b in scene.bodies])

    def __call__(self, state):
        if self.first is None:
            self.first = state
        self.last = state
        if state.step <= self.after:
            return
        for name, value in self.parts(state).items():
            self.worst[name] = max(self.worst[name], value)

    def parts(self, state):
        h, (bodies, point, normal, gap, impulse) = self.scene.step, state.contacts()
        if not len(gap):
            return dict.fromkeys(self.PARTS, 0.0)

        def velocity(rows):
            # bodies behind the moving ones are fixed: a row of zeros
            rows = np.minimum(rows, len(state.position))
            v, w, x = (np.vstack([a, np.zeros(3)])[rows] for a in (state.velocity, state.angular_velocity, state.position))
            return v + np.cross(w, point - x)

        u = velocity(bodies[:, 1]) - velocity(bodies[:, 0])
        mu = self.friction[bodies[:, 0]] * self.friction[bodies[:, 1]]
        un, pn = np.sum(u * normal, axis=1), np.sum(impulse * normal, axis=1)
        ut, pt = u - un[:, None] * normal, impulse - pn[:, None] * normal
        closing = un + np.maximum(gap, 0.0) / h
        total = max(pn.sum(), 1e-300)
        scale = total * self.scene.gravity * h
        slip, held = np.linalg.norm(ut, axis=1), np.linalg.norm(pt, axis=1)
        return {"signorini": float(np.max(-closing, initial=0.0) / (self.scene.gravity * h)),
                "complementarity": float(np.sum(np.maximum(pn, 0.0) * abs(closing)) / scale),
                "dissipation": float(abs(np.sum(mu * pn * slip + np.sum(pt * ut, axis=1))) / scale),
                "cone": float(np.sum(np.maximum(held - mu * pn, 0.0)) / total)}

    def fall(self):
        """m, the largest downward displacement of a body since the first state."""
        return float(np.max(self.first.position[:, 2] - self.last.position[:, 2]))


def contenders(args, tolerance=1e-12, direct=True):
    """(title, run) where run(scene, watch) takes a scene to its end."""
    out = [("Catena, defaults", lambda scene, watch: run_catena(scene, watch))]
    for method in METHODS:
        out.append(("Catena, rigid, `%s`" % method,
                    lambda scene, watch, m=method: run_catena(scene, watch, **asked(m, tolerance))))
    for title, name, words in [("ODE, 50 sweeps", "ode_scene", ("quick", 50, 0.2)),
                               ("ODE, 1,000 sweeps", "ode_scene", ("quick", 1000, 0.2)),
                               ("ODE, direct", "ode_scene", ("step", 1, 0.2)),
                               ("Bullet, 50 sweeps", "bullet_scene", (50, 0.2)),
                               ("Bullet, 1,000 sweeps", "bullet_scene", (1000, 0.2))]:
        if peer(args, name) and (direct or "direct" not in title):
            out.append((title, lambda scene, watch, p=peer(args, name), w=words: run_peer(p, scene, watch, 1, w)))
    return out


# --- stacks ----------------------------------------------------------------------------------

def stack(ratio, steps, height=5):
    """Cubes of 1 m and 1 kg on each other; the top one weighs `ratio` times as much."""
    mu = 0.5**0.5
    cubes = [Body((1.0, 1.0, 1.0), 1.0 if i < height - 1 else ratio, (0.0, 0.0, i + 0.5), mu) for i in range(height)]
    return Scene("stack", cubes + [Body((), friction=mu)], 5e-3, steps)


def stacks_table(args):
    """Iterations per step, warm-started, and where the top is after a second."""
    powers = (0, 3) if args.short else (0, 1, 2, 3, 4, 5, 6)
    steps = 10 if args.short else 200
    counts = Table("Stacks of five cubes, the top 10^k times as heavy: iterations per step over 200 steps of 5 ms, warm-started "
                   "(in brackets steps that missed), rigid contacts to 1e-8 of the energy error, the defaults to theirs, 1e-6; "
                   "units of iterations are the methods' own",
                   ["", *["k = %d" % k for k in powers]])
    sinks = Table("The same: displacement of the top after 1 s, m", ["", *["k = %d" % k for k in powers]])
    for title, run in contenders(args, 1e-8, False):
        cells, falls = [], []
        for k in powers:
            scene = stack(10.0**k, steps)
            watch = Watch(scene, steps)
            done = run(scene, watch)
            cells.append("%.3g%s" % (done.iterations / done.steps, " (%d)" % done.missed if done.missed else ""))
            falls.append(float(np.linalg.norm(watch.last.position[-1] - [0.0, 0.0, len(scene.moving) - 0.5])))
        if title.startswith("Catena"):
            counts.add(title, *cells)
        sinks.add(title, *falls)
    fallen = [k for k, way in zip(powers, sinks.rows[0][1:]) if not way < 0.5]
    return [counts, sinks, "Contacts that give are as stiff as the lighter body of a pair asks for, whatever stands on it: under "
            "a heavy top they sink%s. Rigid contacts hold it, where the solver gets there." % (
                ", and with k = %s the stack falls" % ", ".join(map(str, fallen)) if fallen else "")]


# --- squeezed --------------------------------------------------------------------------------

def squeezed(count, step, end):
    """A row of cubes of 1 m and 1 kg in the air, which friction (0.5) holds between a fixed plate and one that 100 N a
    cube push, and which slides on a smooth floor."""
    mu, height = 0.5**0.5, 2.0
    cubes = [Body((1.0, 1.0, 1.0), 1.0, (i + 0.5, 0.0, height), mu) for i in range(count)]
    plate = Body((1.0, 2.0, 2.0 * height), 100.0, (count + 0.5, 0.0, height), mu, force=(-100.0 * count, 0.0, 0.0))
    wall = Body((1.0, 2.0, 2.0 * height), 0.0, (-0.5, 0.0, height), mu)
    return Scene("squeezed", [*cubes, plate, wall, Body(())], step, round(end / step))


def squeezed_table(args):
    counts = (1, 3) if args.short else (1, 2, 3, 5, 8, 11)
    table = Table("Cubes between plates: downward displacement of the lowest cube at the end of the run at 10 ms, m",
                  ["", "run, s", *["%d" % n for n in counts], "ms per step, %d" % counts[-1]])
    for title, run in contenders(args):
        slow = "rigid" in title or "direct" in title or "1,000" in title
        end = 0.1 if args.short else 10.0 if slow else 100.0
        cells = []
        for n in counts:
            scene = squeezed(n, 1e-2, end)
            watch = Watch(scene, scene.steps)
            done = run(scene, Falls(watch, n))
            fall = float(np.max(2.0 - watch.last.position[:n, 2]))
            cells.append("falls, %.2g s" % (watch.last.step * scene.step) if fall > 1.0 else fall)
        table.add(title, end, *cells, done.ms_per_step)
    return [table]


class Falls:
    """Ends the run when a cube has fallen by more than a metre."""

    def __init__(self, watch, count):
        self.watch, self.count = watch, count

    def __call__(self, state):
        self.watch(state)
        return bool(np.max(2.0 - state.position[:self.count, 2]) > 1.0)


# --- sliding ---------------------------------------------------------------------------------

SPEED, PULL = 2.0, 0.3  # m/s along y, and a pull of 0.3 of the weight along x; friction 0.5


def sliding(step, end):
    """A cube of 1 m that slides across its pull, turns into it, and rests."""
    mu = 0.5**0.5
    cube = Body((1.0, 1.0, 1.0), 1.0, (0.0, 0.0, 0.5), mu, (0.0, SPEED, 0.0), (PULL * G, 0.0, 0.0))
    return Scene("sliding", [cube, Body((), friction=mu)], step, round(end / step))


def slide():
    """Velocity of the closed problem dv/dt = F/m - mu g v/|v|, over time, until it rests; and when it does."""
    def rate(_, v):
        return np.array([PULL * G, 0.0]) - 0.5 * G * v / max(np.linalg.norm(v), 1e-12)

    def rests(_, v):
        return np.linalg.norm(v) - 1e-9

    rests.terminal = True
    way = scipy.integrate.solve_ivp(rate, (0.0, 5.0), [0.0, SPEED], "DOP853", rtol=1e-12, atol=1e-13, events=rests,
                                    dense_output=True)
    return way.sol, float(way.t_events[0][0])


class Slide:
    """Largest error of the velocity while it slides, m/s; when it rests, s; speed afterwards, m/s."""

    def __init__(self, scene, watch):
        self.scene, self.watch, self.error, self.rest, self.creep = scene, watch, 0.0, None, 0.0
        self.exact, self.end = slide()

    def __call__(self, state):
        self.watch(state)
        t, v = state.step * self.scene.step, state.velocity[0, :2]
        if t < self.end:
            self.error = max(self.error, float(np.linalg.norm(v - self.exact(t))))
        if self.rest is None and np.linalg.norm(v) < 1e-3:
            self.rest = t
        if t > self.end + 0.1:
            self.creep = max(self.creep, float(np.linalg.norm(v)))


def sliding_table(args):
    exact, end = slide()
    table = Table("A cube slides across its pull and rests (after %.4f s), 5 ms" % end,
                  ["", "largest error of the velocity, m/s", "the same at 1 ms", "rests, s", "speed afterwards, m/s"])
    for title, run in contenders(args):
        cells = []
        for step in (5e-3, 1e-3):
            scene = sliding(step, 0.05 if args.short else 1.2 * end)
            seen = Slide(scene, Watch(scene, scene.steps))
            run(scene, seen)
            cells.append((seen.error, "%.3f" % seen.rest if seen.rest else "not", seen.creep))
        table.add(title, cells[0][0], cells[1][0], *cells[0][1:])
    return [table]


# --- parts of the law ------------------------------------------------------------------------

def parts_table(args):
    """Each part of the law, its worst over the second half of 0.4 s."""
    out = []
    steps = 10 if args.short else 80
    scenes = {"stacks": ("a stack under 1,000 times the weight", lambda: stack(1000.0, steps)),
              "squeezed": ("five squeezed cubes", lambda: squeezed(5, 5e-3, steps * 5e-3)),
              "sliding": ("the sliding cube", lambda: sliding(5e-3, steps * 5e-3))}
    for name in (n for n in scenes if n in args.scenes):
        title, make = scenes[name]
        table = Table("Parts of the contact law, %s: worst over the second half of 0.4 s" % title,
                      ["", *Watch.PARTS, "ms per step"])
        for who, run in contenders(args):
            scene = make()
            watch = Watch(scene, steps // 2)
            done = run(scene, watch)
            table.add(who, *[watch.worst[part] for part in Watch.PARTS], done.ms_per_step)
        out.append(table)
    return out


LEGEND = ("*signorini*: the approach that is left at a contact, over g h. *complementarity*: Σ p_n |u_n + max(gap, 0)/h| over "
          "Σ p_n g h, a contact that presses does not open. *dissipation*: |Σ (μ p_n |u_t| + p_t u_t)| over the same, friction "
          "acts against the slip and to its bound. *cone*: what |p_t| exceeds μ p_n by, over Σ p_n. p and u are impulses and "
          "relative velocities after the step. All are 0 for exact rigid contacts; contacts that give, and overlaps that are "
          "taken back, move apart under load and count in the first two.")
TABLES = {"stacks": stacks_table, "squeezed": squeezed_table, "sliding": sliding_table}


def main():
    parser = options(__doc__, "friction_accuracy", peers=True)
    parser.add_argument("scenes", nargs="*", choices=[[], *TABLES], help="default: all")
    args = begin(parser)
    args.scenes = args.scenes or list(TABLES)
    if args.write and len(args.scenes) < len(TABLES):
        parser.error("--write wants all scenes")
    parts = [table for name in args.scenes for table in TABLES[name](args)]
    finish(args, "friction_accuracy", "Friction", parts + parts_table(args) + [LEGEND])


if __name__ == "__main__":
    main()
