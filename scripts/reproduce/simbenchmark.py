#!/usr/bin/python3
"""Runs the scenes of SimBenchmark (ETH Zurich, 2018) and prints the section "SimBenchmark" of docs/benchmarks.md:
rolling, 666, elastic 666, bouncing, the house of kapla, and a quadruped that stands and one that falls.

    scripts/reproduce/simbenchmark.py [rolling 666 elastic bouncing kapla quadruped] [--peers DIR] [--write]

Errors are judged from the states alone: by a closed form, overlaps, the energy. Bullet and ODE run the same
scenes, judged by the same evaluation of their states, if --peers names the folder that scripts/reproduce/peers/build
has made. Published figures stand beside. --kapla-steps is the length of the run of the house. Five minutes on one core.
Needs python3-numpy, python3-scipy, python3-yaml, python3-h5py and Catena built with its Python extension.
"""
import numpy as np
import scipy.spatial

from benchmark_report import Table, begin, finish, options, peer
from benchmark_scene import Body, Scene, State, run_catena, run_peer

G = 9.81
EXACT = {"relative_tolerance": 1e-22}  # sweeps go on until round-off ends them


# --- rolling ---------------------------------------------------------------------------------

def rolling(direction, steps):
    """25 balls on a plate that is pushed over a plane: all balls roll, the plate slips."""
    plate = Body((20.0, 20.0, 1.0), 10.0, (0.0, 0.0, 0.5), 0.5, force=tuple(150.0 * d for d in direction))
    balls = [Body((0.5,), 1.0, (4.0 * 0.5 * (i - 2), 4.0 * 0.5 * (j - 2), 1.5), 1.6) for i in range(5) for j in range(5)]
    return Scene("rolling", [plate, *balls, Body((), friction=0.8)], 1e-3, steps, gravity=G)


class RollingError:
    """Mean over steps of the squared velocity errors of the plate and of the ball that is farthest off, (m/s)^2.

    A ball that rolls on a plate with acceleration a has 2/7 a: friction f gives it f/m, and its surface 5/2 f/m more.
    """

    def __init__(self, scene, direction):
        weight = sum(b.mass for b in scene.moving) * G
        a = (150.0 - 0.4 * weight) / (10.0 + 25.0 * 2.0 / 7.0)
        self.acceleration = np.outer([a] + 25 * [2.0 / 7.0 * a], direction)
        self.step, self.squares = scene.step, []

    def __call__(self, state):
        off = np.sum((state.velocity - self.acceleration * state.step * self.step) ** 2, axis=1)
        self.squares.append(off[0] + off[1:].max())

    def value(self):
        return float(np.mean(self.squares))


# --- 666 -------------------------------------------------------------------------------------

def cube_of_balls(lowest, restitution, step, end):
    """6 x 6 x 6 balls, hardly askew, that fall upon a plane without friction."""
    grid = np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), -1).reshape(-1, 3)
    jitter = np.random.default_rng(1).uniform(-1e-3, 1e-3, grid.shape)
    jitter[:, 2] = abs(jitter[:, 2])
    x = 0.21 * (grid - [2.5, 2.5, 0.0]) + jitter + [0.0, 0.0, lowest]
    return Scene("666", [Body((0.1,), 10.0, tuple(p)) for p in x] + [Body(())], step, round(end / step), restitution)


class Overlaps:
    """Mean over steps of the sum of the squared overlaps of balls, and of balls and the plane, m^2."""

    def __init__(self, scene):
        self.radius, self.sums = scene.moving[0].size[0], []

    def __call__(self, state):
        x, r = state.position, self.radius
        pairs = scipy.spatial.cKDTree(x).query_pairs(2.0 * r, output_type="ndarray")
        gaps = np.concatenate([np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1) - 2.0 * r, x[:, 2] - r])
        self.sums.append(np.sum(np.minimum(gaps, 0.0) ** 2))

    def value(self):
        return float(np.mean(self.sums))


# --- bouncing --------------------------------------------------------------------------------

def bouncing(step, end):
    """7 x 7 balls that fall from 5 m and bounce for ever."""
    balls = [Body((0.1,), 10.0, (float(i - 3), float(j - 3), 5.0)) for i in range(7) for j in range(7)]
    return Scene("bouncing", balls + [Body(())], step, round(end / step), 1.0)


def energy(scene, state):
    m, inertia, q = scene.array("mass"), scene.array("inertia"), state.orientation
    w = turned(q, state.angular_velocity, back=True)
    return (0.5 * np.sum(m * np.sum(state.velocity**2, axis=1)) + 0.5 * np.sum(inertia * w**2)
            + scene.gravity * np.sum(m * state.position[:, 2]))


class EnergyError:
    """Mean over steps of the squared error of the energy, J^2, and over the squared energy at the start."""

    def __init__(self, scene):
        self.scene, self.errors, self.shifted = scene, [], []
        self.start = scene.gravity * float(np.sum(scene.array("mass") * scene.array("position")[:, 2]))

    def __call__(self, state):
        self.errors.append(energy(self.scene, state) - self.start)
        # a step ends where a parabola has the velocity v - g h/2: sum of m ((v - g h/2)^2 - v^2)/2, along z up
        m, half = self.scene.array("mass"), 0.5 * self.scene.gravity * self.scene.step
        self.shifted.append(self.errors[-1] + np.sum(m * (0.5 * half**2 - half * state.velocity[:, 2])))

    def value(self):
        return float(np.mean(np.square(self.errors)))

    def relative(self):
        return self.value() / self.start**2

    def relative_at_mid_step(self):
        """The same with the velocities of the moment that positions are of."""
        return float(np.mean(np.square(self.shifted))) / self.start**2

    def gain(self):
        """Mean error of the second half less that of the first, over the energy: growth from bounce to bounce."""
        first, second = np.array_split(self.errors, 2)
        return float((np.mean(second) - np.mean(first)) / self.start)


# --- kapla -----------------------------------------------------------------------------------

def kapla(steps, floors=6):
    """The house of wooden blocks: floors of eight uprights with nine planks on them."""
    blocks = []
    for i in range(floors):
        blocks += [((0.05, 0.25, 0.1), (0.2 * j, 0.0, 0.2 * i + 0.05)) for j in range(8)]
        at = [(0.4 * j + 0.1, -0.1) for j in range(4)] + [(0.4 * j + 0.3, 0.1) for j in range(3)] + [(0.1, 0.1), (1.3, 0.1)]
        blocks += [((0.2, 0.05, 0.1), (x, y, 0.2 * i + 0.15)) for x, y in at]
    friction = 0.8**0.5
    bodies = [Body(size, 10.0, at, friction) for size, at in blocks]
    return Scene("kapla", bodies + [Body((), friction=friction)], 1e-2, steps)


class Drift:
    """Largest displacement of a block from where it was after `settled` steps, over all states seen, m. Ends when the highest block
    is below 1 m: `fell` is that step."""

    def __init__(self, settled=100):
        self.settled, self.start, self.fell, self.drift, self.ways = settled, None, None, 0.0, {}

    def __call__(self, state):
        if self.start is None and state.step >= self.settled:
            self.start = state.position.copy()
        if self.start is not None:
            way = float(np.linalg.norm(state.position - self.start, axis=1).max())
            self.drift = max(self.drift, way)
            self.ways[state.step] = way
        if not state.position[:, 2].max() >= 1.0:  # not a number, too
            self.fell = state.step
        return self.fell is not None

    def per_step(self):
        """m a step over the second half of the run."""
        steps = sorted(self.ways)
        if len(steps) < 2:
            return None
        middle = steps[len(steps) // 2]
        return (self.ways[steps[-1]] - self.ways[middle]) / max(steps[-1] - middle, 1)


# --- quadruped -------------------------------------------------------------------------------

TRUNK, THIGH, SHANK = 20.0, 2.0, 1.0  # kg
LEG = 0.3  # m, of a thigh and of a shank


def quadruped(height, step, end, spin=(0.0, 0.0, 0.0)):
    """A trunk of 0.8 x 0.4 x 0.15 m on four straight legs, spherical joints at hips and knees; it turns as a whole."""
    legs = [(x, y) for x in (-0.35, 0.35) for y in (-0.2, 0.2)]
    parts = [((0.8, 0.4, 0.15), TRUNK, (0.0, 0.0, 2.0 * LEG + 0.075))]
    joints = []
    for x, y in legs:
        n = len(parts)
        parts += [((0.06, 0.06, LEG), THIGH, (x, y, 1.5 * LEG)), ((0.05, 0.05, LEG), SHANK, (x, y, 0.5 * LEG))]
        joints += [(0, n, (x, y, 2.0 * LEG + height)), (n, n + 1, (x, y, LEG + height))]
    masses = np.array([m for _, m, _ in parts])
    centre = masses @ np.array([x for _, _, x in parts]) / masses.sum()
    bodies = [Body(size, m, (x[0], x[1], x[2] + height), 0.8**0.5, velocity=tuple(np.cross(spin, np.subtract(x, centre))),
                   spin=spin) for size, m, x in parts]
    return Scene("quadruped", bodies + [Body((), friction=0.8**0.5)], step, round(end / step), joints=joints)


def held(scene):
    """Its joints as hinges across the way it looks, which motors hold at their angle."""
    return [{"name": "j%d" % k, "type": "revolute", "between": ["b%d" % a, "b%d" % b], "at": list(at), "axis": [0, 1, 0],
             "motor": {"position": 0.0}} for k, (a, b, at) in enumerate(scene.joints)]


class FlightError:
    """Of a free flight: largest errors of the momentum (kg m/s), of the angular momentum about the centre of mass
    over that before the first step, and of the kinetic energy about it over that before the first step; largest gap of a
    joint, m."""

    def __init__(self, scene):
        self.scene, self.mass, self.inertia = scene, scene.array("mass"), scene.array("inertia")
        self.momentum = self.angular = self.energy = self.gap = 0.0
        x = scene.array("position")
        self.arms = [(a, b, np.subtract(at, x[a]), np.subtract(at, x[b])) for a, b, at in scene.joints]
        _, self.start, self.kinetic = self.motion(
            State(0, x, scene.array("velocity"), scene.array("orientation"), scene.array("spin"), None))

    def motion(self, state):
        """Velocity of the centre of mass; angular momentum and kinetic energy about it."""
        m, x, v = self.mass[:, None], state.position, state.velocity
        centre, mean = (m * x).sum(0) / m.sum(), (m * v).sum(0) / m.sum()
        local = turned(state.orientation, state.angular_velocity, back=True)
        spin = turned(state.orientation, self.inertia * local)
        angular = (m * np.cross(x - centre, v - mean)).sum(0) + spin.sum(0)
        return mean, angular, 0.5 * np.sum(m * (v - mean) ** 2) + 0.5 * np.sum(self.inertia * local**2)

    def __call__(self, state):
        x, (mean, angular, kinetic) = state.position, self.motion(state)
        fall = np.array([0.0, 0.0, -self.scene.gravity * state.step * self.scene.step])
        self.momentum = max(self.momentum, float(np.linalg.norm(self.mass.sum() * (mean - fall))))
        self.angular = max(self.angular, float(np.linalg.norm(angular - self.start) / np.linalg.norm(self.start)))
        self.energy = max(self.energy, abs(kinetic / self.kinetic - 1.0))
        for a, b, p, q in self.arms:
            ends = x[[a, b]] + turned(state.orientation[[a, b]], np.array([p, q]))
            self.gap = max(self.gap, float(np.linalg.norm(ends[0] - ends[1])))


def turned(q, v, back=False):
    """R(q) v of quaternions (w, x, y, z) in rows, or R(q)^T v."""
    u = -q[:, 1:] if back else q[:, 1:]
    t = 2.0 * np.cross(u, v)
    return v + q[:, :1] * t + np.cross(u, t)


class Standing:
    """Largest displacement of the trunk from where it was after 1 s, m."""

    def __init__(self, scene):
        self.after, self.start, self.way = round(1.0 / scene.step), None, 0.0

    def __call__(self, state):
        if self.start is None and state.step >= self.after:
            self.start = state.position[0].copy()
        if self.start is not None:
            self.way = max(self.way, float(np.linalg.norm(state.position[0] - self.start)))


# --- tables ----------------------------------------------------------------------------------

RIGID = {"contact": {"stiffness": "rigid"}}
CATENA = [("Catena, defaults", {}), ("Catena, rigid", RIGID)]
# published with SimBenchmark, an i7-7700HQ: errors and seconds of the whole run; printed as they stand here
PUBLISHED = {
    "rolling": [("RaiSim", "4.1e-7", "0.31"), ("Bullet", "5.7e-9", "0.56"), ("ODE", "3.1", "0.72"),
                ("MuJoCo 1.5", "7e-3", "1.7"), ("DART", "3.1", "2.7")],
    "666": [("RaiSim", "1.35e-4", "1.5"), ("Bullet", "0.38", "12.0"), ("ODE", "1.55e-4", "10.6"), ("MuJoCo 1.5", "0.095", "12.0"),
            ("DART", "2.8e-4", "22.9")],
    "bouncing": [("RaiSim", "0.0186", "0.24"), ("Bullet", "7.5e4", "0.85"), ("ODE", "185", "1.9"), ("DART", "7.2e4", "3.2")],
    "kapla": [("RaiSim", "60,000", "48.1"), ("Bullet", "147", None),
              ("Bullet with ERP", "55,058", "%.0f (6,955 s over all steps)" % (6955e3 / 55058)),
              ("ODE", "122", None), ("ODE with ERP", "6,453", None), ("MuJoCo 1.5", "218 to 3,297", None),
              ("DART", "19", None)],
}


def peers(args, erp):
    """(title, program, arguments) of those that are there; erp: the share of an overlap that a step takes back."""
    wanted = [("ODE, 50 sweeps, ERP %g" % erp, "ode_scene", ("quick", 50, erp)),
              ("ODE, direct, ERP %g" % erp, "ode_scene", ("step", 1, erp)),
              ("Bullet, 50 sweeps, ERP %g" % erp, "bullet_scene", (50, erp))]
    return [(title, peer(args, name), words) for title, name, words in wanted if peer(args, name)]


def runs(args, scene, watch, catena=CATENA, direct=True, erp=0.2):
    """(title, watch, outcome) of Catena's runs, then of the peers'."""
    for title, keys in catena:
        seen = watch()
        yield title, seen, run_catena(scene, seen, **keys)
    for title, program, words in peers(args, erp):
        if direct or "direct" not in title:
            seen = watch()
            yield title, seen, run_peer(program, scene, seen, 1, words)


def rolling_table(args):
    table = Table("Rolling: mean square of velocity errors, (m/s)²; time of 4 s at 1 ms",
                  ["", "force along y", "s", "force along (1/2, √3/2)", "s"])
    rows = {}
    end = 0.02 if args.short else 4.0
    for direction in ((0.0, 1.0, 0.0), (0.5, 0.75**0.5, 0.0)):
        scene = rolling(direction, round(end / 1e-3))
        exact = [("Catena, rigid, to round-off", {**RIGID, "solver": EXACT})]
        for title, seen, done in runs(args, scene, lambda: RollingError(scene, direction), CATENA + exact):
            rows.setdefault(title, []).extend([seen.value(), done.seconds])
    for title, cells in rows.items():
        table.add(title, *cells)
    for title, error, seconds in PUBLISHED["rolling"]:
        table.add(title + ", published", None, None, error, seconds)
    off = [max(rows[title][0], rows[title][2]) ** 0.5 for title in ("Catena, defaults", "Catena, rigid, to round-off")]
    note = ("The closed form is exact for steps of any length, so that what is left is the solver's. To its default "
            "tolerance, 1e-6 of the energy that a step without impulses would miss, velocities are right to %.0e m/s under the "
            "defaults; asked for all digits, rigid contacts have them to %.0e m/s. Under the defaults contacts "
            "give besides: balls oscillate on what they sink in. ODE's friction is bounded along two fixed axes, which is "
            "right where the force is along one of them and wrong between them." % tuple(off))
    return [table, note]


def cube_tables(args):
    out = []
    for name, lowest, restitution in (("666", 0.101, 0.0), ("elastic 666", 1.101, 1.0)):
        if name.split()[0] not in args.scenes:
            continue
        elastic = restitution > 0.0
        table = Table("%s: mean over the steps of the sum of squared overlaps, m²; time of 10 s" % name,
                      ["", "1 ms", "s", "10 ms", "s"] + ["energy error over 1 ms, mean square over E²"] * elastic)
        rows = {}
        for step in (1e-3, 1e-2):
            scene = cube_of_balls(lowest, restitution, step, 0.1 if args.short else 10.0)

            def watch():
                return Both(Overlaps(scene), EnergyError(scene)) if elastic else Overlaps(scene)

            catena = CATENA + [("Catena, rigid, margin 1 µm", {"contact": {**RIGID["contact"], "margin": 1e-6}})] * elastic
            for title, seen, done in runs(args, scene, watch, catena, direct=False, erp=0.0 if elastic else 0.2):
                first = seen.first if elastic else seen
                rows.setdefault(title, []).extend([first.value(), done.seconds])
                if elastic and step == 1e-3:
                    rows[title].append(seen.second.relative())
        for title, cells in rows.items():
            if elastic:
                cells = cells[:2] + cells[3:] + cells[2:3]
            table.add(title, *cells)
        for title, error, seconds in PUBLISHED[name] if name in PUBLISHED else []:
            table.add(title + ", published", error, seconds, None, None)
        out.append(table)
        if elastic:
            out.append("Contacts that are made before bodies touch keep overlaps away, at a price here: where a ball bounces "
                       "and meets the next one within the same step, the two did not approach before it, have no "
                       "restitution, and their impact loses energy. With a margin of 1 µm it is kept, and balls overlap as "
                       "in ODE.")
    return out


class Both:
    def __init__(self, first, second):
        self.first, self.second = first, second

    def __call__(self, state):
        self.first(state)
        self.second(state)


def bouncing_table(args):
    table = Table("Bouncing: mean square of the energy's error over 20 s",
                  ["", "step, ms", "J²", "over E²", "after taking off the stepper's ½ m g h v, over E²",
                   "second half's mean less the first's, over E", "s"])
    for step in (1e-3, 1e-2):
        scene = bouncing(step, 0.2 if args.short else 20.0)
        for title, seen, done in runs(args, scene, lambda: EnergyError(scene), CATENA[:1], direct=False, erp=0.0):
            table.add(title, 1e3 * step, seen.value(), seen.relative(), seen.relative_at_mid_step(), seen.gain(),
                      done.seconds)
    for title, error, seconds in PUBLISHED["bouncing"]:
        table.add(title + ", published", "1", error, None, None, None, seconds)
    note = ("Semi-implicit Euler is exact on a parabola but for the moment at which it tells the velocity, half a step "
            "late: its energy is off by ½ m g h v, which falls with the step and does not grow; rigid contacts and those that "
            "give do the same here. RaiSim's error has no such offset; with the velocity of the moment that positions are "
            "of (fourth column) that of Catena is lower still. An impact is found at the end of the step in which it happens.")
    return [table, note]


def kapla_table(args):
    table = Table("Kapla: steps of 10 ms that the house stands, at most %s" % "{:,}".format(args.kapla_steps),
                  ["", "stands, steps", "run, steps", "largest displacement of a block after the first second, mm",
                   "the same a step, second half, µm", "ms per step"])
    steps = 20 if args.short else args.kapla_steps

    def add(title, scene, seen, done):
        per_step = seen.per_step()
        table.add(title, "all %d" % scene.steps if seen.fell is None else "%d" % seen.fell, scene.steps, 1e3 * seen.drift,
                  None if per_step is None else 1e6 * per_step, done.ms_per_step)

    scene, seen = kapla(steps), Drift(10 if args.short else 100)
    add("Catena, defaults", scene, seen, run_catena(scene, seen, 10))
    if not args.short:
        wanted = [("ODE, 50 sweeps, ERP 0.2", "ode_scene", ("quick", 50, 0.2), 6500),
                  ("ODE, 1,000 sweeps, ERP 0", "ode_scene", ("quick", 1000, 0.0), 500),
                  ("Bullet, 50 sweeps, ERP 0.2", "bullet_scene", (50, 0.2), 6500),
                  ("Bullet, 1,000 sweeps, ERP 0", "bullet_scene", (1000, 0.0), 500)]
        for title, program, words, most in wanted:
            if peer(args, program):
                scene, seen = kapla(min(steps, most)), Drift()
                add(title, scene, seen, run_peer(peer(args, program), scene, seen, 10, words))
    for title, stands, time in PUBLISHED["kapla"]:
        table.add(title + ", published, 1,000 sweeps", stands, "60,000", None, None, time)
    return [table]


def quadruped_table(args):
    flight = Table("Quadruped, falling: 1 s of free flight, turning with 2.1 rad/s; largest errors",
                   ["", "step, ms", "momentum, kg m/s", "angular momentum, relative", "kinetic energy, relative",
                    "joint gap, m", "ms per step"])
    for step in (1e-3, 1e-2):
        scene = quadruped(10.0, step, 0.02 if args.short else 1.0, (0.6, 2.0, 0.3))
        for title, seen, done in runs(args, scene, lambda: FlightError(scene), CATENA[:1]):
            flight.add(title, 1e3 * step, seen.momentum, seen.angular, seen.energy, seen.gap, done.ms_per_step)
    stand = Table("Quadruped, standing for 10 s on four feet, hips and knees held by motors",
                  ["", "step, ms", "largest displacement of the trunk after 1 s, m", "missed steps", "ms per step"])
    for step in (1e-3, 1e-2):
        scene = quadruped(0.0, step, 0.02 if args.short else 10.0)
        seen = Standing(scene)
        done = run_catena(scene, seen, joints=held(scene))
        stand.add("Catena, defaults", 1e3 * step, seen.way, done.missed, done.ms_per_step)
    return [flight, stand, "Masses: trunk %g kg, thighs %g kg, shanks %g kg, %g kg in all." % (
        TRUNK, THIGH, SHANK, TRUNK + 4.0 * (THIGH + SHANK))]


SCENES = {"rolling": rolling_table, "666": cube_tables, "elastic": cube_tables, "bouncing": bouncing_table,
          "kapla": kapla_table, "quadruped": quadruped_table}


def main():
    parser = options(__doc__, "simbenchmark", peers=True)
    parser.add_argument("scenes", nargs="*", choices=[[], *SCENES], help="default: all")
    parser.add_argument("--kapla-steps", type=int, default=60000, metavar="N", help="of Catena's run of the house")
    args = begin(parser)
    args.scenes = args.scenes or list(SCENES)
    if args.write and len(args.scenes) < len(SCENES):
        parser.error("--write wants all scenes")
    parts = []
    for table in dict.fromkeys(SCENES[name] for name in args.scenes):
        parts += table(args)
    finish(args, "simbenchmark", "SimBenchmark", parts)


if __name__ == "__main__":
    main()
