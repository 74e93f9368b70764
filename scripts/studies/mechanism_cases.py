"""The cases of scripts/studies/validate.py: what is read of a run, how it is compared, and the bounds.

References are in tests/data/validation; nothing in them comes from Catena.
"""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "user"))
import _package  # noqa: E402, F401
import catena  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REFERENCES = os.path.join(ROOT, "tests", "data", "validation")
G = 9.81


def read_reference(name):
    with open(os.path.join(REFERENCES, name, "reference.csv")) as f:
        names = f.readline().lstrip("# ").strip().split(",")
        rows = np.loadtxt(f, delimiter=",", ndmin=2)
    return {n: rows[:, k] for k, n in enumerate(names)}


def read_values(name):
    with open(os.path.join(REFERENCES, name, "values.csv")) as f:
        pairs = [line.rsplit(",", 1) for line in f.read().split("\n") if line and line[0] != "#"]
    return {key: float(value) for key, value in pairs}


class Result:
    """Snapshots and series of a run: arrays over times, then bodies or joints in order of ids."""

    def __init__(self, directory, step):
        self.step = step
        run = catena.Result(directory)
        self.names = list(run.bodies.name)
        self.mass, self.inertia = np.asarray(run.bodies.mass), np.asarray(run.bodies.inertia)
        states = list(run)
        self.t = np.array([s.time for s in states])
        self.x, self.q, self.v, self.w = (np.array([getattr(s, name) for s in states]) for name in (
            "position", "orientation", "velocity", "angular_velocity"))
        self.reaction = np.array([s.joints["reaction"] for s in states if len(s.joints.get("id", ()))])
        # the first snapshot is before any step
        if len(self.reaction):
            self.reaction = np.concatenate([np.full((1,) + self.reaction.shape[1:], np.nan),
                                            self.reaction])
        self.series = {name: np.asarray(values) for name, values in run.series.items()}

    def body(self, name):
        return self.names.index(name)

    def point(self, body, local):
        """Place over time of a point given on the axes of the body's shape."""
        return self.x[:, body] + rotate(self.q[:, body], local)

    def point_velocity(self, body, local):
        return self.v[:, body] + np.cross(self.w[:, body], rotate(self.q[:, body], local))

    def turn(self, body, axis):
        """Angle over time about a fixed axis, unwrapped."""
        q = self.q[:, body]
        return np.unwrap(2.0 * np.arctan2(q[:, 1 + axis], q[:, 0]), period=2.0 * np.pi)

    def spin(self, body):
        """Angular velocity on the body's axes."""
        conjugate = self.q[:, body] * np.array([1.0, -1.0, -1.0, -1.0])
        return rotate(conjugate, self.w[:, body])

    def force(self, joint):
        """Mean force of a joint on its body b over the step before each snapshot."""
        return self.reaction[:, joint, :3] / self.step


def rotate(q, v):
    """R(q) v for quaternions (w, x, y, z) in rows."""
    v = np.broadcast_to(v, q.shape[:-1] + (3,))
    t = 2.0 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * t + np.cross(q[..., 1:], t)


def angle_between(p, q):
    """Angle of the turn from p to q, quaternions in rows."""
    vector = (p[..., :1] * q[..., 1:] - q[..., :1] * p[..., 1:]
              - np.cross(p[..., 1:], q[..., 1:]))
    return 2.0 * np.arcsin(np.minimum(np.linalg.norm(vector, axis=-1), 1.0))


def mean_over_step(t, y, times, h, points=10):
    """Mean of y over [time - h, time], from polynomials through the nearest `points` of (t, y)."""
    node, weight = np.polynomial.legendre.leggauss(6)
    out = np.full((len(times),) + y.shape[1:], np.nan)
    for k, end in enumerate(times):
        if end <= h / 2:
            continue
        first = int(np.clip(np.searchsorted(t, end) - points // 2, 0, len(t) - points))
        s, values = t[first:first + points], y[first:first + points]
        at = end - 0.5 * h + 0.5 * h * node
        basis = [np.prod([(at - s[j]) / (s[i] - s[j]) for j in range(points) if j != i], axis=0)
                 for i in range(points)]
        out[k] = np.tensordot(np.array(basis) @ weight / 2.0, values, axes=(0, 0))
    return out


def lengths(rows):
    return np.linalg.norm(rows, axis=1)


# --- what is compared ------------------------------------------------------------------------
# Each function takes a result, the reference's columns at the result's times, and all rows of them.

class Comparison:
    """{quantity: deviation over time}; (label, unit, values, reference) of what is drawn; pairs
    (values, reference) for the benchmark library's measure; energy's deviation over time."""

    def __init__(self, deviations, curve, library=(), energy=None):
        self.deviations, self.curve = deviations, curve
        self.library, self.energy = library, energy


def total_energy(result):
    """Kinetic energy and that of gravity, of the series at the snapshots' times."""
    s = result.series
    total = np.concatenate([[np.nan], s["kinetic_energy"] + s["potential_energy"]])
    time = np.concatenate([[0.0], s["time"]])
    row = np.searchsorted(time, result.t - 1e-9 * max(1.0, time[-1]))
    total = total[np.minimum(row, len(time) - 1)]
    exact = abs(time[np.minimum(row, len(time) - 1)] - result.t) < 1e-9
    return np.where(exact, total, np.nan)


def pendulum(result, ref, reference):
    """A point of 1 kg at 1 m, or a rod of 2 kg with its centre at 0.5 m."""
    is_rod = "rod" in result.names
    arm = np.linalg.norm(result.x[0, 0])
    end = result.x[:, 0] / arm
    place = np.stack([np.sin(ref["theta"]), -np.cos(ref["theta"])], 1)
    speed = ref["omega"][:, None] * np.stack([np.cos(ref["theta"]), np.sin(ref["theta"])], 1)
    exact = np.stack([reference["Rx"], reference["Ry"]], 1)
    if is_rod:  # its hinge carries the weight of 1 kg more
        mean = mean_over_step(reference["t"], exact + np.array([0.0, G]), result.t, result.step)
        force = lengths(result.force(0)[:, :2] - mean)
    else:  # a bar's impulse counts along the bar
        mean = mean_over_step(reference["t"], lengths(exact), result.t, result.step)
        force = abs(lengths(result.force(0)) - mean)
    return Comparison({"place [m]": lengths(end[:, :2] - place),
                       "speed [m/s]": lengths(result.v[:, 0, :2] / arm - speed),
                       "force [N]": force},
                      ("x", "m", end[:, 0], place[:, 0]),
                      [(end[:, k], place[:, k]) for k in range(2)],
                      total_energy(result) - ref["E"])


def four_bars(result, ref, reference):
    crank = result.body("crank0")
    end, speed = (result.point(crank, [0, 0.5, 0]), result.point_velocity(crank, [0, 0.5, 0]))
    place = np.stack([ref["x_B0"], ref["y_B0"]], 1)
    velocity = np.stack([ref["vx_B0"], ref["vy_B0"]], 1)
    n = sum(name.startswith("bar") for name in result.names)
    last = result.point(result.body("crank%d" % n), [0, 0.5, 0])
    skew = lengths(last - end - np.array([float(n), 0.0, 0.0]))
    library = [(end[:, k], place[:, k]) for k in range(2)]
    library += [(speed[:, k], velocity[:, k]) for k in range(2)]
    energy = total_energy(result)
    return Comparison({"place [m]": lengths(end[:, :2] - place),
                       "speed [m/s]": lengths(speed[:, :2] - velocity), "skew [m]": skew},
                      ("x of B0", "m", end[:, 0], place[:, 0]), library, energy - E0_four_bars(n))


def E0_four_bars(n):
    """Energy of n parallelograms of rods of 1 m and 1 kg, upright, with 1 m/s at the top."""
    return 0.5 * ((n + 1) / 3.0 + n) + G * (0.5 * (n + 1) + n)


def andrews(result, ref, reference):
    start = [reference[n][0] for n in ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "eps")]
    beta0, _, gamma0, phi0, delta0, omega0, eps0 = start
    turn = [result.turn(result.body("k%d" % i), 2) for i in range(1, 8)]
    rate = [result.w[:, result.body("k%d" % i), 2] for i in range(1, 8)]
    beta = beta0 + turn[0]
    angles = np.stack([beta, start[1] + turn[1] - turn[0], gamma0 + turn[2],
                       phi0 + turn[3] - turn[4], delta0 + turn[4], omega0 + turn[5] - turn[6],
                       eps0 + turn[6]], 1)
    rates = np.stack([rate[0], rate[1] - rate[0], rate[2], rate[3] - rate[4], rate[4],
                      rate[5] - rate[6], rate[6]], 1)
    names = ["beta", "Theta", "gamma", "Phi", "delta", "Omega", "eps"]
    exact = np.stack([ref[n] for n in names], 1)
    exact_rates = np.stack([ref[n + "_t"] for n in names], 1)
    f = 0.007 * np.stack([np.cos(beta), np.sin(beta)], 1)
    f_exact = 0.007 * np.stack([np.cos(ref["beta"]), np.sin(ref["beta"])], 1)
    return Comparison({"crank [rad]": abs(angles[:, 0] - exact[:, 0]),
                       "other angles [rad]": abs(angles[:, 1:] - exact[:, 1:]).max(1),
                       "rates [rad/s]": abs(rates - exact_rates).max(1),
                       "place of F [m]": lengths(f - f_exact)},
                      ("gamma", "rad", angles[:, 2], exact[:, 2]),
                      [(f[:, k], f_exact[:, k]) for k in range(2)],
                      total_energy(result) - ref["T"])


def bricard(result, ref, reference):
    p3 = result.point(result.body("rod2"), [0, 0, 0.5])
    p2 = result.point(result.body("rod1"), [0, -0.5, 0])
    e3 = np.stack([ref[c + "_P3"] for c in "xyz"], 1)
    e2 = np.stack([ref[c + "_P2"] for c in "xyz"], 1)
    return Comparison({"place of P3 [m]": lengths(p3 - e3), "place of P2 [m]": lengths(p2 - e2)},
                      ("y of P3", "m", p3[:, 1], e3[:, 1]),
                      [(p3[:, k], e3[:, k]) for k in range(3)], total_energy(result) - ref["E"])


def flyball(result, ref, reference):
    slider, shaft, rod = (result.body(n) for n in ("slider", "shaft", "right"))
    along = rotate(result.q[:, rod], np.array([1.0, 0, 0]))
    lean = np.arctan2(-along[:, 2], np.hypot(along[:, 0], along[:, 1]))
    s = result.x[:, slider, 2]
    # the slider turns with the shaft
    psi = result.turn(slider, 2)
    return Comparison({"slider [m]": abs(s - ref["s"]), "rod [rad]": abs(lean - ref["b"]),
                       "shaft [rad]": abs(psi - ref["psi"]),
                       "slider's speed [m/s]": abs(result.v[:, slider, 2] - ref["s_t"]),
                       "shaft's rate [rad/s]": abs(result.w[:, shaft, 2] - ref["psi_t"])},
                      ("slider's height", "m", s, ref["s"]), [(s, ref["s"])],
                      total_energy(result) - (ref["E"] - ref["U_spring"]))


def slider_crank(result, ref, reference):
    slider, crank, rod = (result.body(n) for n in ("slider", "crank", "rod"))
    x, theta = result.x[:, slider, 0], result.turn(crank, 0)
    spin = np.stack([ref["w%s_rod" % c] for c in "xyz"], 1)
    return Comparison({"slider [m]": abs(x - ref["x_slider"]),
                       "crank [rad]": abs(theta - ref["theta"]),
                       "slider's speed [m/s]": abs(result.v[:, slider, 0] - ref["xd_slider"]),
                       "crank's rate [rad/s]": abs(result.w[:, crank, 0] - ref["theta_t"]),
                       "rod's spin [rad/s]": lengths(result.w[:, rod] - spin)},
                      ("slider", "m", x, ref["x_slider"]), [(x, ref["x_slider"])],
                      total_energy(result) - ref["E"])


def free_top(result, ref, reference):
    spin = result.spin(0)
    exact = np.stack([ref["w%d" % k] for k in (1, 2, 3)], 1)
    q = np.stack([ref["q%d" % k] for k in range(4)], 1)
    momentum = rotate(result.q[:, 0], result.inertia[0] * spin)
    start = np.stack([ref["L" + c] for c in "xyz"], 1)
    return Comparison({"turn [rad]": angle_between(result.q[:, 0], q),
                       "spin [rad/s]": lengths(spin - exact),
                       "angular momentum [N m s]": lengths(momentum - start)},
                      ("spin about the middle axis", "rad/s", spin[:, 1], exact[:, 1]), (),
                      total_energy(result) - ref["T"])


def top(result, ref, reference):
    place = np.stack([ref[c] for c in "xyz"], 1)
    spin = np.stack([ref["w%d" % k] for k in (1, 2, 3)], 1)
    return Comparison({"place [m]": lengths(result.x[:, 0] - place),
                       "spin [rad/s]": lengths(result.spin(0) - spin)},
                      ("height", "m", result.x[:, 0, 2], ref["z"]), (),
                      total_energy(result) - ref["E"])


def chain(result, ref, reference):
    n = len(result.names)
    # half of the last link, from its centre of mass away from the joint before
    direction = result.x[0, n - 1] - result.x[0, n - 2]
    half = 0.5 * rotate(result.q[:1, n - 1] * np.array([1.0, -1, -1, -1]), direction)[0]
    tip, speed = result.point(n - 1, half), result.point_velocity(n - 1, half)
    place = np.stack([ref["x_tip"], ref["y_tip"]], 1)
    velocity = np.stack([ref["vx_tip"], ref["vy_tip"]], 1)
    # mean force over a step as long as the reference's rows are apart: from its momenta
    force = np.full(len(result.t), np.nan)
    if abs(result.step - reference["t"][1]) < 1e-9:
        p = np.stack([ref["Px"], ref["Py"]], 1)
        mean = np.diff(p, axis=0) / result.step + np.array([0.0, result.mass.sum() * G])
        force[1:] = lengths(result.force(0)[1:, :2] - mean)
    return Comparison({"tip [m]": lengths(tip[:, :2] - place),
                       "tip's speed [m/s]": lengths(speed[:, :2] - velocity),
                       "force at the ground [N]": force},
                      ("y of the tip", "m", tip[:, 1], place[:, 1]), (),
                      total_energy(result) - ref["E"])


def floating_chain(result, ref, reference):
    place = np.zeros(len(result.t))
    turn, energy = place.copy(), total_energy(result)
    for i in range(4):
        p = np.stack([ref[c + str(i)] for c in "xyz"], 1)
        q = np.stack([ref["q%d_%d" % (c, i)] for c in range(4)], 1)
        place = np.maximum(place, lengths(result.x[:, i] - p))
        turn = np.maximum(turn, angle_between(result.q[:, i], q))
    momentum = np.einsum("i,tij->tj", result.mass, result.v)
    angular = np.einsum("i,tij->tj", result.mass, np.cross(result.x, result.v))
    for i in range(4):
        angular += rotate(result.q[:, i], result.inertia[i] * result.spin(i))
    exact = np.stack([ref["P" + c] for c in "xyz"] + [ref["L" + c] for c in "xyz"], 1)
    return Comparison({"places [m]": place, "turns [rad]": turn,
                       "momentum [kg m/s]": lengths(momentum - exact[:, :3]),
                       "angular momentum [N m s]": lengths(angular - exact[:, 3:])},
                      ("x of the first link", "m", result.x[:, 0, 0], ref["x0"]), (),
                      energy - ref["T"])


MODE = "frequency of mode %d, relative"


def modes(n):
    """Small motions in ten modes at once: of each its frequency's relative error, from how its
    phase drifts, and the change of its amplitude."""
    def compare(result, ref, reference):
        omega, shape, mass = chain_modes(n)
        angles = np.stack([result.turn(i, 2) for i in range(n)], 1) + mode_angles(n)
        rates = result.w[:, :, 2]
        probe = shape.T @ mass
        table = reference["omega_chain_rad_s"]
        count = len(table)
        q, p = (angles @ probe.T)[:, :count], (rates @ probe.T)[:, :count]
        z = (q - 1j * p / table) / q[0]  # exp(i omega t) of an exact run
        phase = np.angle(z * np.exp(-1j * np.outer(result.t, table)))
        slope = (result.t @ phase) / (result.t @ result.t)
        deviations = {MODE % (k + 1): np.full(len(result.t), abs(slope[k] / table[k]))
                      for k in (0, 1, 4, 9)}
        deviations["amplitudes, relative"] = abs(abs(z) - 1.0).max(1)
        exact = np.cos(table[4] * result.t) * q[0, 4]
        return Comparison(deviations, ("mode 5", "rad", q[:, 4], exact), ())
    return compare


def chain_modes(n):
    """Frequencies, shapes (columns) and mass matrix of n rods, 1 m and 2 kg in all, hanging."""
    m, l = 2.0 / n, 1.0 / n
    i = np.arange(n)
    below = n - 1 - np.maximum.outer(i, i)
    mass = m * l * l * np.where(np.equal.outer(i, i), below + 1.0 / 3.0, below + 0.5)
    weight = m * G * l * (0.5 + (n - 1 - i))
    root = 1.0 / np.sqrt(weight)
    value, vector = np.linalg.eigh(root[:, None] * mass * root)
    order = np.argsort(-value)  # the slowest first
    shape = root[:, None] * vector[:, order]
    return 1.0 / np.sqrt(value[order]), shape, mass


def mode_angles(n):
    """The first ten modes at once, 1e-6 rad each."""
    _, shape, _ = chain_modes(n)
    part = shape[:, :10]
    return (1e-6 * part / abs(part).max(0)).sum(1)


def write_modes(n):
    def write(path):
        m, l = 2.0 / n, 1.0 / n
        inertia = [m * l * l / 12.0] * 3
        bodies, joints, at = [], [], np.zeros(3)
        for k, theta in enumerate(mode_angles(n)):
            step = l * np.array([np.sin(theta), -np.cos(theta), 0.0])
            bodies.append({"name": "r%d" % k, "mass": m, "inertia": inertia,
                           "position": list(at + 0.5 * step)})
            joints.append({"name": "j%d" % k, "type": "revolute", "axis": [0, 0, 1],
                           "between": ["world" if k == 0 else "r%d" % (k - 1), "r%d" % k],
                           "at": list(at)})
            at = at + step
        case = {"catena": 1, "name": "modes_%d" % n, "gravity": [0, -G, 0], "bodies": bodies,
                "joints": joints, "time": {"stepper": "natural", "step": 1e-3, "end": 4.0}}
        with open(path, "w") as f:
            json.dump(case, f)
    return write


def catenary(n):
    def compare(result, ref, reference):
        values = read_values("D03_catenary_N%d" % n)
        weight = result.mass[0] * G
        move = abs(result.x - result.x[0]).max(axis=(1, 2))
        speed = abs(result.v).max(axis=(1, 2))
        reaction = result.reaction[:, :, :3] / result.step
        exact = np.stack([np.full(n + 1, -values["H_N"]),
                          values["V_left_N"] - np.arange(n + 1) * weight], 1)
        error = np.linalg.norm(reaction[:, :, :2] - exact, axis=2)
        largest = np.hypot(values["H_N"], max(values["V_left_N"], values["V_right_N"]))
        return Comparison({"places [m]": move, "speeds [m/s]": speed,
                           "forces over the largest": np.fmax.reduce(error, axis=1) / largest},
                          ("y of the middle link", "m", result.x[:, n // 2, 1],
                           np.full(len(result.t), result.x[0, n // 2, 1])), ())
    return compare



# --- the cases -------------------------------------------------------------------------------

class Case:
    """A mechanism, its reference, and what must come out: `bounds` of the best run of each
    quantity, `order of ...` with rk4, the best between two steps; `reason`: what limits them;
    `ladder`: what its ladder of steps is, None where nothing moves."""

    def __init__(self, key, title, config, reference, compare, interval, steps, bounds, reason="",
                 quick=None, sets=(), dop853=(), ladder=None):
        self.key, self.title, self.config, self.reference = key, title, config, reference
        self.compare, self.interval, self.steps = compare, interval, steps
        self.bounds, self.reason, self.quick = bounds, reason, quick
        orders = [name[len("order of "):] for name in bounds if name.startswith("order of ")]
        self.main_quantity = orders[0] if orders else next(iter(bounds))
        self.sets, self.dop853 = list(sets), None if dop853 is None else list(dop853)
        self.ladder = ladder


class Ladder:
    """Ten steps of rk4 up to 10 ms or 2 over `fastest` (rad/s, or 1/s of a damper), over the time
    to `end` (s). `stable_to`: step (s) beyond which rk4 is not stable, where something stands
    still but for that frequency."""

    def __init__(self, fastest, end=None, stable_to=None):
        self.fastest, self.end, self.stable_to = fastest, end, stable_to

    def steps(self, interval):
        """Parts and multiples of `interval`, the reference's, nearest to the tenths."""
        whole = min(0.01, 2.0 / self.fastest)
        fits = [interval / m for m in range(1, 10000)] + [interval * m for m in range(2, 10000)]
        fits = [h for h in fits if 0.0999 * whole <= h <= 1.0001 * whole]
        out = []
        for k in range(1, 11):
            left = [h for h in fits if h not in out]
            if left:
                out.append(min(left, key=lambda h: abs(h - 0.1 * k * whole)))
        return sorted(out)


class Quick:
    """The case's beginning, with few snapshots."""

    def __init__(self, steps, interval, end, bounds):
        self.steps, self.interval, self.end, self.bounds = steps, interval, end, bounds


def tolerances(relative, absolute):
    return ["time.natural.relative_tolerance=%g" % relative,
            "time.natural.absolute_tolerance=%g" % absolute]


SMALL = tolerances(1e-13, 1e-15)  # for motions of 1e-6 rad
SHARP = tolerances(1e-12, 1e-14)  # for fast spins
SINGULAR = ("where all rods lie in line one row per loop more is redundant, and reactions have no "
            "bound; steps near such positions have stages of another kind")
CASES = [
    Case("A01", "pendulum on a hinge", "pendulum.yaml", "A01_simple_pendulum", pendulum, 0.02,
         [0.02, 0.01, 0.005, 0.0025],
         {"place [m]": 1e-9, "speed [m/s]": 1e-9, "force [N]": 1e-6, "order of place [m]": 3.8},
         "forces between the reference's rows are known to 1e-7 N",
         Quick([0.01, 0.005], 0.2, 2.0, {"place [m]": 3e-7, "order of place [m]": 3.7}),
         ladder=Ladder(4.5)),
    Case("A01-point", "point pendulum", "point_pendulum.yaml", "A01_simple_pendulum", pendulum,
         0.02, [0.02, 0.01, 0.005, 0.0025],
         {"place [m]": 1e-9, "speed [m/s]": 1e-9, "force [N]": 1e-7, "order of place [m]": 3.8},
         "forces between the reference's rows are known to 1e-8 N",
         sets=["bodies.point.inertia=[0, 0, 0]"],
         ladder=Ladder(4.5)),
    Case("A02", "two parallelograms", "four_bars_2.yaml", "A02_nfourbar_N2", four_bars, 0.02,
         [0.01, 0.004, 0.002, 0.001],
         {"place [m]": 1e-8, "speed [m/s]": 5e-8, "skew [m]": 1e-9, "order of place [m]": 3.8},
         SINGULAR, Quick([0.002], 0.2, 2.0, {"place [m]": 1e-8, "skew [m]": 1e-9}),
         sets=["time.natural.baumgarte=0"],
         ladder=Ladder(8.0)),
    Case("A02-40", "forty parallelograms", "four_bars_40.yaml", "A02_nfourbar_N40", four_bars, 0.05,
         [0.01, 0.005, 0.0025, 0.00125],
         {"place [m]": 5e-8, "speed [m/s]": 2e-7, "skew [m]": 1e-9, "order of place [m]": 3.8},
         SINGULAR, sets=["time.natural.baumgarte=0"],
         ladder=Ladder(8.0, end=5.0)),
    Case("A03", "Andrews' mechanism", "andrews.yaml", "A03_andrews", andrews, 1e-4,
         [1e-4, 5e-5, 2e-5, 1e-5, 5e-6],
         {"crank [rad]": 1e-10, "other angles [rad]": 1e-10, "rates [rad/s]": 1e-7,
          "place of F [m]": 1e-12, "order of crank [rad]": 3.8},
         "rates reach 1,600 rad/s",
         ladder=Ladder(1609.0)),
    Case("A04", "Bricard's linkage", "bricard.yaml", "A04_bricard", bricard, 0.05,
         [0.0125, 0.00625, 0.003125],
         {"place of P3 [m]": 1e-12, "place of P2 [m]": 1e-12, "order of place of P3 [m]": 3.8},
         quick=Quick([0.0125, 0.00625], 0.2, 2.0,
                     {"place of P3 [m]": 5e-8, "order of place of P3 [m]": 3.7}),
         ladder=Ladder(5.0)),
    Case("A05", "flyball governor", "flyball_governor.yaml", "A05_flyball", flyball, 0.02,
         [2e-4, 1e-4, 5e-5],
         {"slider [m]": 1e-10, "rod [rad]": 1e-10, "shaft [rad]": 1e-9,
          "slider's speed [m/s]": 1e-9, "shaft's rate [rad/s]": 1e-9,
          "order of slider's speed [m/s]": 3.5},
         ladder=Ladder(8000.0, end=1.0, stable_to=2.785 / 8000.0)),
    Case("B01", "slider-crank", "slider_crank.yaml", "B01_spatial_slider_crank", slider_crank, 0.05,
         [0.005, 0.0025, 0.00125, 0.000625],
         {"slider [m]": 1e-11, "crank [rad]": 1e-9, "slider's speed [m/s]": 1e-9,
          "crank's rate [rad/s]": 1e-9, "rod's spin [rad/s]": 1e-8,
          "order of crank's rate [rad/s]": 2.7},
         quick=Quick([0.0025, 0.00125], 0.1, 1.0,
                     {"slider [m]": 2e-7, "order of crank's rate [rad/s]": 3.7}),
         ladder=Ladder(25.0)),
    Case("C01", "free top", "free_top.yaml", "C01_dzhanibekov", free_top, 0.02, [0.02, 0.01, 0.005],
         {"turn [rad]": 1e-8, "spin [rad/s]": 5e-8, "angular momentum [N m s]": 1e-10,
          "order of turn [rad]": 3.7},
         "about its middle axis the top is unstable: errors grow with e^(1.33 t/s) until it turns",
         ladder=Ladder(3.0)),
    Case("C02", "heavy top", "heavy_top.yaml", "C02_heavy_top_bruels", top, 0.025,
         [0.001, 0.0005, 0.00025],
         {"place [m]": 1e-9, "spin [rad/s]": 1e-7, "order of place [m]": 2.9},
         "it spins with 150 rad/s",
         Quick([0.0005], 0.1, 0.5, {"place [m]": 3e-5}), dop853=SHARP,
         ladder=Ladder(150.0)),
    Case("C03-nutation", "gyroscope, nutation", "gyroscope_nutation.yaml", "C03_top_nutation", top,
         0.04, [0.001, 0.0005, 0.00025],
         {"place [m]": 1e-10, "spin [rad/s]": 1e-8, "order of place [m]": 3.5}, dop853=SHARP,
         ladder=Ladder(150.0)),
    Case("C03-precession", "gyroscope, steady precession", "gyroscope_precession.yaml",
         "C03_top_steady_precession", top, 0.06, [0.001, 0.0005, 0.00025],
         {"place [m]": 1e-10, "spin [rad/s]": 1e-8, "order of place [m]": 3.5}, dop853=SHARP,
         ladder=Ladder(150.0)),
    Case("D01-5", "five links let go", "chain_5.yaml", "D01_chain5_release", chain, 0.01,
         [0.002, 0.001, 0.0005],
         {"tip [m]": 1e-9, "tip's speed [m/s]": 1e-8, "force at the ground [N]": 1e-6,
          "order of tip [m]": 3.8}, "forces reach 450 N",
         Quick([0.001], 0.1, 1.0, {"tip [m]": 3e-8}),
         ladder=Ladder(100.0)),
    Case("D01-32", "thirty-two links let go", "chain_32.yaml", "D01_chain32_small", chain, 0.02,
         [0.002, 0.001, 0.0005],
         {"tip [m]": 1e-10, "tip's speed [m/s]": 1e-9, "force at the ground [N]": 1e-8,
          "order of tip [m]": 3.8},
         ladder=Ladder(246.0)),
    Case("D02-10", "modes of ten links", write_modes(10), "D02_chain_modes_N10", modes(10), 0.02,
         [0.002, 0.001, 0.0005],
         {MODE % 1: 1e-9, MODE % 2: 1e-9, MODE % 5: 1e-9, MODE % 10: 1e-9,
          "amplitudes, relative": 1e-8, "order of " + MODE % 10: 3.7}, dop853=SMALL,
         ladder=Ladder(84.3)),
    Case("D02-100", "modes of a hundred links", write_modes(100), "D02_chain_modes_N100",
         modes(100), 0.02, [0.002, 0.001, 0.0005],
         {MODE % 1: 1e-9, MODE % 2: 1e-9, MODE % 5: 1e-9, MODE % 10: 1e-9,
          "amplitudes, relative": 1e-8, "order of " + MODE % 10: 3.8}, dop853=SMALL,
         ladder=Ladder(1032.0, stable_to=2.83 / 1032.0)),
    Case("D03-20", "catenary of 20 links", "catenary_20.yaml", "D03_catenary_N20", catenary(20),
         0.02, [0.002],
         {"places [m]": 1e-13, "speeds [m/s]": 1e-12, "forces over the largest": 1e-12}),
    Case("D03-101", "catenary of 101 rods", "catenary_101.yaml", "D03_catenary_N101",
         catenary(101), 0.02, [0.001],
         {"places [m]": 1e-13, "speeds [m/s]": 1e-12, "forces over the largest": 1e-12},
         sets=["generators.link.inertia=[%.17g, %.17g, 0]" % (2 * (0.05 * 0.02**2 / 12,))]),
    Case("D03-10000", "catenary of 10,000 links", "catenary_10000.yaml", "D03_catenary_N10000",
         catenary(10000), 1e-3, [5e-5],
         {"places [m]": 1e-13, "speeds [m/s]": 1e-10, "forces over the largest": 1e-10},
         dop853=None),
    Case("H02", "floating chain", "floating_chain.yaml", "H02_floating_chain", floating_chain, 0.1,
         [0.01, 0.005, 0.0025],
         {"places [m]": 1e-11, "turns [rad]": 5e-11, "momentum [kg m/s]": 1e-12,
          "angular momentum [N m s]": 1e-11, "order of places [m]": 3.8},
         quick=Quick([0.01, 0.005], 0.1, 1.0, {"places [m]": 2e-8, "order of places [m]": 3.7}),
         ladder=Ladder(3.0)),
]
