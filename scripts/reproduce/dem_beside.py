#!/usr/bin/python3
"""Runs the same grains through LAMMPS (granular), LIGGGHTS and Catena and prints the tables of docs/validation.md,
"Beside DEM": single impacts, a bed in a box, flow out of a slot, a column that collapses.

    scripts/reproduce/dem_beside.py [impacts] [bed] [silo] [heap] [--catena build/release/drivers/catena]
                                    [--lammps lmp] [--liggghts liggghts] [--seeds 3] [--work dem_beside]
                                    [--images docs/images] [--codes lammps,...] [--lock ""] [--no-run]

One description of each scene (SCENES) makes the inputs of all programs, and one evaluation reads what they leave.
Catena runs three times: with Hertz's law at the step of the others and at twenty times that, and with stiffness `auto`
at a hundred times that. A program that is not there is said to be missing and its columns stay empty (Debian: apt-get
install lammps liggghts). One core; eight minutes. Results stay in --work; --no-run reads those that are there, and with
--codes only these are run anew. --lock CMD goes before each program's command (a lock, taskset). Needs python3-h5py,
python3-numpy, python3-scipy and python3-matplotlib.
"""
import argparse
import dataclasses
import os
import platform
import shutil
import subprocess
import sys
import time

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.spatial

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "user"))
import _package  # noqa: E402, F401
import catena  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
G = 9.81
STEP = 5e-5  # s, of the explicit programs: 13 % of the Rayleigh time of the smallest grain
DENSITY, YOUNG, POISSON, FRICTION, RESTITUTION = 2500.0, 1e7, 0.3, 0.5, 0.5
CONTACT_MODULUS = YOUNG / (2.0 * (1.0 - POISSON**2))  # E* of two equal materials
TANGENTIAL_RATIO = 2.0 * (1.0 - POISSON) / (2.0 - POISSON)  # Mindlin's 8 G* sqrt(R* d) over Hertz's 2 E* sqrt(R* d)
D = 0.01  # m, mean diameter
# Catena's runs: contact.stiffness, steps of the others in one of its own, sweeps between looks at the error
CATENA = {"material": ("material", 1, 2), "coarse": ("material", 20, 5), "auto": ("auto", 100, 10)}
CODES = ["lammps", "liggghts", *CATENA]
TITLES = {"lammps": "LAMMPS", "liggghts": "LIGGGHTS",
          **{c: "Catena, `%s`, %g ms" % (law, 1e3 * factor * STEP) for c, (law, factor, _) in CATENA.items()}}


# --- scenes ----------------------------------------------------------------------------------

@dataclasses.dataclass
class Plane:
    """The half space below `at` on axis 0-2 (side 1) or above it (side -1), there until `until`."""
    axis: int
    side: int
    at: float
    until: float = np.inf


@dataclasses.dataclass
class Scene:
    name: str
    radius: np.ndarray
    x: np.ndarray
    v: np.ndarray
    planes: list
    lower: np.ndarray  # what the other programs take as their box; grains below it are gone
    upper: np.ndarray
    end: float
    every: float  # s between snapshots
    fixed_radius: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0))
    fixed_x: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros((0, 3)))
    gravity: float = G
    contacts: bool = False  # the forces of the last state are wanted

    @property
    def mass(self):
        return DENSITY * 4.0 / 3.0 * np.pi * self.radius**3

    def gate(self):
        return min(p.until for p in self.planes)


def lattice(counts, lower, seed):
    """Grains of radii D/2 +- 10 %, on a grid with a little play, with random velocities."""
    rng = np.random.default_rng(seed)
    spacing, n = 1.14 * D, int(np.prod(counts))
    grid = np.stack(np.meshgrid(*[np.arange(c) for c in counts], indexing="ij"), -1).reshape(-1, 3)
    grid = grid[np.argsort(grid[:, 2], kind="stable")]
    x = np.asarray(lower) + spacing * (grid + 0.5) + rng.uniform(-0.015, 0.015, (n, 3)) * D
    return 0.5 * D * rng.uniform(0.9, 1.1, n), x, rng.uniform(-0.3, 0.3, (n, 3))


def box_planes(width, depth, bottom=True):
    planes = [Plane(2, 1, 0.0)] if bottom else []
    return planes + [Plane(0, 1, 0.0), Plane(0, -1, width), Plane(1, 1, 0.0), Plane(1, -1, depth)]


def rough_floor(xs, ys):
    grid = np.stack(np.meshgrid(xs, ys, indexing="ij"), -1).reshape(-1, 2)
    return np.full(len(grid), 0.5 * D), np.column_stack([grid, np.zeros(len(grid))])


def bed(seed):
    radius, x, v = lattice((7, 7, 14), (0.0, 0.0, 0.0), seed)
    return Scene("bed", radius, x, v, box_planes(8 * D, 8 * D), np.array([-D, -D, -D]),
                 np.array([9 * D, 9 * D, 25 * D]), 1.0, 0.1, contacts=True)


SLOT = 4.5 * D


def silo(seed):
    """A box on a floor of fixed grains with a slot across, which a plane closes until 0.4 s."""
    width, depth = 14 * D, 5.7 * D
    radius, x, v = lattice((12, 5, 14), (0.0, 0.0, 1.0 * D), seed)
    # floor grains overlap; the innermost ones leave SLOT between their surfaces
    reach = np.arange(0.5 * (SLOT + D), 0.5 * width + 0.5 * D, 0.8 * D)
    floor = rough_floor(np.concatenate([0.5 * width - reach, 0.5 * width + reach]), np.arange(0.0, depth, 0.8 * D))
    return Scene("silo", radius, x, v, [Plane(2, 1, 0.0, 0.4)] + box_planes(width, depth, bottom=False),
                 np.array([-2 * D, -2 * D, -8 * D]), np.array([16 * D, 8 * D, 25 * D]), 1.2, 0.01, *floor)


def heap(seed):
    """A column between planes on a floor of fixed grains; the plane in front is taken away at 0.4 s."""
    depth, length = 5.7 * D, 40 * D
    radius, x, v = lattice((8, 5, 14), (0.0, 0.0, 0.8 * D), seed)
    floor = rough_floor(np.arange(0.0, length, 0.8 * D), np.arange(0.0, depth, 0.8 * D))
    planes = [Plane(0, -1, 9.12 * D, 0.4), Plane(0, 1, 0.0), Plane(1, 1, 0.0), Plane(1, -1, depth)]
    return Scene("heap", radius, x, v, planes, np.array([-2 * D, -2 * D, -2 * D]),
                 np.array([42 * D, 8 * D, 25 * D]), 1.2, 0.05, *floor)


IMPACTS = [("plane, 1 m/s", (0.0, -1.0)), ("plane, 0.1 m/s", (0.0, -0.1)), ("plane, oblique 0.5", (0.5, -1.0)),
           ("plane, oblique 1", (1.0, -1.0)), ("plane, oblique 3", (3.0, -1.0))]


def impacts(_seed):
    """Balls of 5 mm that hit a plane, and two that hit each other, without gravity; far from each other."""
    r, gap = 0.5 * D, 1e-4
    x = [[0.2 * i, 0.0, r + gap] for i in range(len(IMPACTS))] + [[0.0, 0.2, 0.1], [2 * r + gap, 0.2, 0.1]]
    v = [[vx, 0.0, vz] for _, (vx, vz) in IMPACTS] + [[0.5, 0.0, 0.25], [-0.5, 0.0, -0.25]]
    return Scene("impacts", np.full(len(x), r), np.array(x), np.array(v), [Plane(2, 1, 0.0)],
                 np.array([-0.2, -0.2, -0.1]), np.array([1.5, 0.4, 0.3]), 0.04, 0.02, gravity=0.0)


def rest(_seed):
    """A ball on a plane and one on a fixed ball."""
    r = 0.5 * D
    return Scene("rest", np.full(2, r), np.array([[0.0, 0.0, r], [0.1, 0.0, 3 * r]]), np.zeros((2, 3)),
                 [Plane(2, 1, 0.0)], np.array([-0.1, -0.1, -0.1]), np.array([0.2, 0.1, 0.1]), 1.0, 0.5,
                 np.array([r]), np.array([[0.1, 0.0, r]]), contacts=True)


SCENES = {"impacts": impacts, "rest": rest, "bed": bed, "silo": silo, "heap": heap}


# --- the damping of a given restitution ------------------------------------------------------

def rebound(alpha):
    """e of m x'' = -k x^(3/2) - alpha sqrt(m k) x^(1/4) x', which does not pull."""
    def force(x, v):
        x = max(x, 0.0)
        return x**1.5 + alpha * x**0.25 * v

    def ends(_t, y):
        return force(*y) if y[1] < 0.0 else 1.0
    ends.terminal = True
    run = scipy.integrate.solve_ivp(lambda _t, y: [y[1], -force(*y)], (0.0, 100.0), [1e-12, 1.0], events=ends,
                                    rtol=1e-9, atol=1e-12)
    return -run.y[1, -1]


def damping(e):
    """alpha with rebound(alpha) = e."""
    return scipy.optimize.brentq(lambda a: rebound(a) - e, 1e-3, 5.0, xtol=1e-7)


def lammps_restitution(alpha):
    """What `damping tsuji` must be told to take this alpha: its polynomial's root."""
    tsuji = [4.8218, -18.022, 27.467, -22.348, 11.087, -4.2783, 1.2728 - alpha]
    roots = np.roots(tsuji)
    return min(r.real for r in roots if abs(r.imag) < 1e-9 and 0.0 < r.real <= 1.0)


def liggghts_restitution(alpha):
    """The same of LIGGGHTS: alpha = sqrt(5) beta, beta = -ln e/sqrt(ln^2 e + pi^2)."""
    beta = alpha / np.sqrt(5.0)
    return np.exp(-np.pi * beta / np.sqrt(1.0 - beta**2))


# --- inputs ----------------------------------------------------------------------------------

def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def write_catena(scene, directory, code):
    os.makedirs(directory, exist_ok=True)
    stiffness, factor, interval = CATENA[code]
    step = STEP * factor
    np.savetxt(os.path.join(directory, "grains.csv"), np.column_stack([scene.radius, scene.x, scene.v]), fmt="%.17g",
               delimiter=",", header="radius,x,y,z,vx,vy,vz", comments="")
    bodies = []
    for k, p in enumerate(scene.planes):
        at, normal = [0.0] * 3, [0.0] * 3
        at[p.axis], normal[p.axis] = p.at, float(p.side)
        motion = ""
        if np.isfinite(p.until):  # away much faster than anything falls
            away = [0.0] * 3
            away[p.axis] = -float(p.side)
            write(os.path.join(directory, "gate.csv"), "t,x,y,z\n0,0,0,0\n%g,0,0,0\n%g,%g,%g,%g\n"
                  % (p.until, p.until + 0.02, *away))
            motion = ", motion: {table: {file: gate.csv, interpolation: linear}}"
        bodies.append("  - {name: plane-%d, material: grain, position: %s, shape: {plane: {normal: %s}}%s}\n"
                      % (k, at, normal, motion))
    for k, (r, x) in enumerate(zip(scene.fixed_radius, scene.fixed_x)):
        bodies.append("  - {name: base-%d, material: grain, fixed: true, position: [%.17g, %.17g, %.17g], "
                      "shape: {sphere: {radius: %.17g}}}\n" % (k, *x, r))
    # explicit steps are short beside a contact: few sweeps are enough, so look early; and they are short for the
    # default absolute tolerance, which a ball of 10 mm reaches with 4e-5 m/s
    solver = ("solver: {relative_tolerance: 1e-6, absolute_tolerance: 0, check_interval: %d}\n"
              % interval)
    write(os.path.join(directory, "case.yaml"),
          "catena: 1\nname: %s\ngravity: [0, 0, %g]\nmaterials:\n"
          "  grain: {density: %g, friction: %g, restitution: %g, youngs_modulus: %g, poisson_ratio: %g}\n"
          "contact: {stiffness: %s}\nbodies:\n%sgenerators:\n"
          "  - table: {name: grains, material: grain, file: grains.csv}\n"
          "outflow:\n  - {name: below, lower: [-.inf, -.inf, -.inf], upper: [.inf, .inf, %g]}\n"
          "time: {step: %g, end: %g}\n%soutput: {snapshot_interval: %g, series_steps: %d, contacts: %s}\n"
          % (scene.name, -scene.gravity, DENSITY, FRICTION, RESTITUTION, YOUNG, POISSON, stiffness, "".join(bodies),
             scene.lower[2], step, scene.end, solver, scene.every, max(1, 100 // factor),
             "true" if scene.contacts else "false"))
    return os.path.join(directory, "case.yaml")


def write_data(scene, path, style):
    n = len(scene.radius)
    radius = np.concatenate([scene.radius, scene.fixed_radius])
    x = np.concatenate([scene.x, scene.fixed_x])
    v = np.concatenate([scene.v, np.zeros_like(scene.fixed_x)])
    lines = ["grains of dem_beside.py\n", "%d atoms" % len(radius), "2 atom types\n"]
    lines += ["%g %g %slo %shi" % (lo, hi, a, a) for lo, hi, a in zip(scene.lower, scene.upper, "xyz")]
    lines.append("\nAtoms%s\n" % style)
    lines += ["%d %d %.17g %.17g %.17g %.17g %.17g" % (i + 1, 1 if i < n else 2, 2 * radius[i], DENSITY, *x[i])
              for i in range(len(radius))]
    lines.append("\nVelocities\n")
    lines += ["%d %.17g %.17g %.17g 0 0 0" % (i + 1, *v[i]) for i in range(len(radius))]
    write(path, "\n".join(lines) + "\n")


def stages(scene, walls):
    """`run`, with the walls that are taken away in between."""
    total, gate = round(scene.end / STEP), scene.gate()
    if not np.isfinite(gate):
        return "run %d\n" % total
    before = round(gate / STEP)
    gone = "".join("unfix %s\n" % w for w, p in zip(walls, scene.planes) if p.until == gate)
    return "run %d\n%srun %d\n" % (before, gone, total - before)


def write_lammps(scene, directory):
    os.makedirs(directory, exist_ok=True)
    write_data(scene, os.path.join(directory, "grains.data"), " # sphere")
    # numbers and not `hertz/material`, which takes other moduli for walls than for grains. The dashpot is Catena's: no
    # pull; beside the normal one the tangential one is as large as the spring's stiffness beside Hertz's secant
    law = ("hertz %.10g %.10g tangential mindlin_rescale/force %.10g %.10g %g damping tsuji limit_damping"
           % (4.0 / 3.0 * CONTACT_MODULUS, lammps_restitution(damping(RESTITUTION)),
              2.0 * TANGENTIAL_RATIO * CONTACT_MODULUS, 1.5 * TANGENTIAL_RATIO, FRICTION))
    walls = ["w%d" % k for k in range(len(scene.planes))]
    text = ("units si\natom_style sphere\nboundary f f f\nnewton off\ncomm_modify vel yes\nread_data grains.data\n"
            "group grains type 1\ngroup base type 2\nneighbor %g bin\nneigh_modify every 1 delay 0 check yes\n"
            "neigh_modify exclude group base base\npair_style granular\npair_coeff * * %s\ntimestep %g\n"
            "fix gravity grains gravity %g vector 0 0 -1\nfix move grains nve/sphere\nfix hold base freeze\n"
            % (0.3 * D, law, STEP, scene.gravity))
    for w, p in zip(walls, scene.planes):
        text += ("fix %s grains wall/gran granular %s %splane %s contacts\n"
                 % (w, law, "xyz"[p.axis], "%.17g NULL" % p.at if p.side > 0 else "NULL %.17g" % p.at))
    kept = [w for w, p in zip(walls, scene.planes) if scene.contacts]
    columns = "".join(" f_%s[%d]" % (w, k) for w in kept for k in (2, 3, 4))
    text += ("dump state grains custom %d state.dump id x y z vx vy vz omegax omegay omegaz radius%s\n"
             "dump_modify state sort id format float %%.12g\nthermo 2000\nthermo_modify lost ignore\n"
             % (round(scene.every / STEP), columns))
    if scene.contacts:
        text += ("compute pair all pair/local force p1 p2 p3\ncompute ids all property/local patom1 patom2\n"
                 "dump pairs all local %d pairs.dump c_ids[1] c_ids[2] c_pair[1] c_pair[2] c_pair[3] c_pair[4]\n"
                 "dump_modify pairs format float %%.12g\n"
                 % round(scene.end / STEP))
    write(os.path.join(directory, "in.lammps"), text + stages(scene, walls))
    return os.path.join(directory, "in.lammps")


def write_liggghts(scene, directory):
    os.makedirs(directory, exist_ok=True)
    write_data(scene, os.path.join(directory, "grains.data"), "")
    law = "model hertz tangential history"
    e = liggghts_restitution(damping(RESTITUTION))
    walls = ["w%d" % k for k in range(len(scene.planes))]
    text = ("units si\natom_style granular\natom_modify map array\nboundary f f f\nnewton off\n"
            "communicate single vel yes\nread_data grains.data\ngroup grains type 1\ngroup base type 2\n"
            "neighbor %g bin\nneigh_modify every 1 delay 0 check yes\n"
            "%s"
            "fix m1 all property/global youngsModulus peratomtype %g %g\n"
            "fix m2 all property/global poissonsRatio peratomtype %g %g\n"
            "fix m3 all property/global coefficientRestitution peratomtypepair 2 %.10g %.10g %.10g %.10g\n"
            "fix m4 all property/global coefficientFriction peratomtypepair 2 %g %g %g %g\n"
            "pair_style gran %s limitForce on\npair_coeff * *\ntimestep %g\n"
            "fix gravity grains gravity %g vector 0 0 -1\n"
            % (0.3 * D, "neigh_modify exclude group base base\n", *[YOUNG] * 2, *[POISSON] * 2, *[e] * 4,
               *[FRICTION] * 4, law, STEP, scene.gravity))
    for w, p in zip(walls, scene.planes):
        text += ("fix %s grains wall/gran %s primitive type 1 %splane %.17g%s limitForce on\n"
                 % (w, law, "xyz"[p.axis], p.at, " store_force yes" if scene.contacts else ""))
    text += "fix move grains nve/sphere\nfix hold base freeze\n"
    columns = "".join(" f_force_%s[%d]" % (w, k) for w in walls for k in (1, 2, 3)) if scene.contacts else ""
    text += ("dump state grains custom %d state.dump id x y z vx vy vz omegax omegay omegaz radius%s\n"
             "dump_modify state sort id format \"%s\"\nthermo 2000\nthermo_modify lost ignore norm no\n"
             % (round(scene.every / STEP), columns, "%d" + " %.12g" * (10 + len(columns.split()))))
    if scene.contacts:
        text += ("compute pair all pair/gran/local id force\n"
                 "dump pairs all local %d pairs.dump c_pair[1] c_pair[2] c_pair[4] c_pair[5] c_pair[6]\n"
                 "dump_modify pairs format \"%%g %%g %%.12g %%.12g %%.12g\"\n" % round(scene.end / STEP))
    write(os.path.join(directory, "in.liggghts"), text + stages(scene, walls))
    return os.path.join(directory, "in.liggghts")


# --- runs ------------------------------------------------------------------------------------

def directory_of(args, scene, seed, code):
    return os.path.join(args.work, scene, "seed-%d" % seed, code)


def program_of(args, code):
    return {"lammps": args.lammps, "liggghts": args.liggghts}.get(code, args.catena)


def run(args, scene, seed, code):
    """Makes the inputs and runs one program; its seconds of wall time go to DIR/seconds."""
    directory, program = directory_of(args, scene.name, seed, code), shutil.which(program_of(args, code))
    if program is None:
        return
    program = os.path.abspath(program)
    shutil.rmtree(directory, ignore_errors=True)
    if code == "lammps":
        write_lammps(scene, directory)
        command = [program, "-in", "in.lammps", "-log", "none", "-screen", "screen.txt"]
    elif code == "liggghts":
        write_liggghts(scene, directory)
        command = [program, "-in", "in.liggghts", "-log", "none", "-screen", "screen.txt"]
    else:
        write_catena(scene, directory, code)
        command = [program, "run", "case.yaml", "-o", "out", "--force", "--quiet"]
    # the clock is the program's own, so that waiting for a lock does not count
    timed = [sys.executable, "-c", "import subprocess, sys, time\nt = time.time()\nr = subprocess.call(sys.argv[1:])\n"
             "open('seconds', 'w').write(repr(time.time() - t))\nsys.exit(r)"]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run(args.lock.split() + timed + command, cwd=directory, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit("%s in %s ended with %d\n%s" % (" ".join(command), directory, done.returncode, done.stdout[-2000:]))
    print("%-8s seed %d  %-9s %6.1f s" % (scene.name, seed, code, seconds(directory)), flush=True)


def seconds(directory):
    with open(os.path.join(directory, "seconds")) as f:
        return float(f.read())


# --- results ---------------------------------------------------------------------------------

@dataclasses.dataclass
class State:
    """Grains that are still there, by their number in the scene."""
    time: float
    number: np.ndarray
    x: np.ndarray
    v: np.ndarray
    spin: np.ndarray


@dataclasses.dataclass
class Contacts:
    """Force on grain a at a point; b is a grain, -1 - k the scene's plane k, or BASE."""
    a: np.ndarray
    b: np.ndarray
    force: np.ndarray
    point: np.ndarray


BASE = -1000


def dump_blocks(path):
    """Each block of a dump of LAMMPS or LIGGGHTS: step, rows of numbers."""
    with open(path) as f:
        lines = f.read().split("\n")
    k, blocks = 0, []
    while k < len(lines) and lines[k].startswith("ITEM: TIMESTEP"):
        step, n = int(lines[k + 1]), int(lines[k + 3])
        columns = len(lines[k + 8].split()) - 2
        rows = " ".join(lines[k + 9:k + 9 + n])
        blocks.append((step, np.array(rows.split(), dtype=float).reshape(n, columns)))
        k += 9 + n
    return blocks


def read_dump(scene, directory):
    states = [State(step * STEP, rows[:, 0].astype(int) - 1, rows[:, 1:4], rows[:, 4:7], rows[:, 7:10])
              for step, rows in dump_blocks(os.path.join(directory, "state.dump"))]
    if not scene.contacts:
        return states, None
    rows = dump_blocks(os.path.join(directory, "state.dump"))[-1][1]
    state, n, parts = states[-1], len(scene.radius), []
    for k, p in enumerate(scene.planes):
        force = rows[:, 11 + 3 * k:14 + 3 * k]
        on = np.abs(force).max(axis=1) > 0.0
        point = state.x[on].copy()
        point[:, p.axis] = 0.5 * (p.at + point[:, p.axis] - p.side * scene.radius[state.number[on]])
        parts.append((state.number[on], np.full(on.sum(), -1 - k), force[on], point))
    pairs = dump_blocks(os.path.join(directory, "pairs.dump"))[-1][1]
    a, b = pairs[:, 0].astype(int) - 1, pairs[:, 1].astype(int) - 1
    x = np.concatenate([scene.x, scene.fixed_x])
    x[state.number] = state.x
    radius = np.concatenate([scene.radius, scene.fixed_radius])
    between = x[a] - x[b]
    distance = np.linalg.norm(between, axis=1)
    normal = between / distance[:, None]
    force = pairs[:, 2:3] * normal + pairs[:, 3:6] if pairs.shape[1] == 6 else pairs[:, 2:5]
    point = x[b] + normal * (0.5 * (distance + radius[b] - radius[a]))[:, None]
    on = np.abs(force).max(axis=1) > 0.0  # LIGGGHTS lists neighbours that do not touch, too
    a, b, force, point = a[on], b[on], force[on], point[on]
    swap = a >= n
    a[swap], b[swap], force[swap] = b[swap], a[swap], -force[swap]
    parts.append((a, np.where(b >= n, BASE, b), force, point))
    return states, Contacts(*[np.concatenate(c) for c in zip(*parts)])


def read_catena(scene, directory):
    result = catena.Result(os.path.join(directory, "out"))
    place = {}  # grains by number, planes and fixed grains as in Contacts
    for i, name in zip(np.asarray(result.bodies.id), result.bodies.name):
        kind, number = name.split("-")
        place[i] = {"grains": int(number), "plane": -1 - int(number), "base": BASE}[kind]
    states = []
    for state in result:
        number = np.array([place[i] for i in np.asarray(state.id)])
        grain = number >= 0
        states.append(State(state.time, number[grain], *(np.asarray(getattr(state, name))[grain] for name in (
            "position", "velocity", "angular_velocity"))))
    if not scene.contacts:
        return states, None
    found = result[-1].contacts
    pair = np.array([[place[i] for i in p] for p in np.asarray(found.bodies)]).reshape(-1, 2)
    force, point = -np.asarray(found.force), np.asarray(found.point)
    a, b = pair[:, 0].copy(), pair[:, 1].copy()
    swap = a < 0
    a[swap], b[swap], force[swap] = b[swap], a[swap], -force[swap]
    on = np.abs(force).max(axis=1) > 0.0
    return states, Contacts(a[on], b[on], force[on], point[on])


def read(args, scene, seed, code):
    directory = directory_of(args, scene.name, seed, code)
    if not os.path.exists(os.path.join(directory, "seconds")):
        return None
    if code in ("lammps", "liggghts"):
        return read_dump(scene, directory)
    return read_catena(scene, directory)


# --- evaluation, the same for all ------------------------------------------------------------

def solid_fraction(x, radius, lower, upper, points=150000):
    """Part of a box that lies in spheres, by a Kronecker sequence."""
    root = 1.2207440846057596  # g^4 = g + 1
    at = (0.5 + np.arange(1, points + 1)[:, None] * root**-np.arange(1.0, 4.0)) % 1.0
    grid = lower + at * (np.asarray(upper) - lower)
    distance, near = scipy.spatial.cKDTree(x).query(grid, k=min(6, len(x)))
    distance, near = distance.reshape(len(grid), -1), near.reshape(len(grid), -1)
    return float((distance < radius[near]).any(axis=1).mean())


def love_weber(contacts, x, inside, volume):
    """Stress of the grains `inside`, Pa, > 0 where pressed: -1/V of the sum of (point - centre) x force."""
    stress = np.zeros((3, 3))
    for ends, sign in ((contacts.a, 1.0), (contacts.b, -1.0)):
        here = ends >= 0
        here[here] = inside[ends[here]]
        arm = contacts.point[here] - x[ends[here]]
        stress -= np.einsum("ki,kj->ij", arm, sign * contacts.force[here])
    return stress / volume


def bed_figures(scene, states, contacts):
    """Forces on floor and walls over the weight; stresses, solid fraction and coordination inside."""
    x = states[-1].x[np.argsort(states[-1].number)]
    weight = scene.mass.sum() * scene.gravity
    on = [contacts.b == -1 - k for k in range(len(scene.planes))]
    on_sides = [p.side * contacts.force[on[k], p.axis].sum() for k, p in enumerate(scene.planes) if p.axis < 2]
    lower = np.array([p.at for p in scene.planes if p.side > 0])[[1, 2, 0]] + 1.5 * D
    top = np.quantile(x[:, 2], 0.98)
    upper = np.array([*[p.at - 1.5 * D for p in scene.planes if p.side < 0], top - 1.0 * D])
    inside = ((x > lower) & (x < upper)).all(axis=1)
    fraction = solid_fraction(x, scene.radius, lower, upper)
    volume = (scene.mass[inside] / DENSITY).sum() / fraction  # that the grains inside stand for
    stress = love_weber(contacts, x, inside, volume)
    ends = np.concatenate([contacts.a, contacts.b[contacts.b >= 0]])
    touching = np.bincount(ends, minlength=len(x))
    return {"load on the floor, of the weight": contacts.force[on[0], 2].sum() / weight,
            "normal force on a side wall, of the weight": np.mean(on_sides) / weight,
            "vertical stress inside, Pa": stress[2, 2],
            "horizontal over vertical stress": 0.5 * (stress[0, 0] + stress[1, 1]) / stress[2, 2],
            "solid fraction inside": fraction,
            "coordination inside": touching[inside].mean(),
            "mean height, mm": 1e3 * (scene.mass * x[:, 2]).sum() / scene.mass.sum(),
            "largest speed at the end, mm/s": 1e3 * np.linalg.norm(states[-1].v, axis=1).max()}


def outflow(scene, states):
    """Times, and grains that have fallen through."""
    return (np.array([s.time for s in states]),
            np.array([len(scene.radius) - (s.x[:, 2] > -2 * D).sum() for s in states]))


def silo_figures(scene, states, _contacts):
    t, out = outflow(scene, states)
    n = len(scene.radius)
    steady = (out >= 0.1 * n) & (out <= 0.5 * n)
    before = max(s.time for s in states if s.time <= scene.gate() + 1e-9)
    still = next(s for s in states if s.time == before)
    return {"rate from 10 to 50 % out, 1/s": np.polyfit(t[steady], out[steady], 1)[0] if steady.sum() > 1 else np.nan,
            "grains out 0.3 s after opening": float(np.interp(scene.gate() + 0.3, t, out)),
            "grains left at the end": float(n - out[-1]),
            "mean height before opening, mm": 1e3 * still.x[:, 2].mean()}


def profile(scene, states):
    """Middles of slices along x, m, and height of the surface, the mean of three strips."""
    x, r = states[-1].x, scene.radius[states[-1].number]
    depth = max(p.at for p in scene.planes if p.axis == 1)
    slices, strips = np.floor(x[:, 0] / D).astype(int), np.minimum(2, np.floor(3 * x[:, 1] / depth)).astype(int)
    height = np.full((slices.max() + 1, 3), 0.5 * D)
    np.maximum.at(height, (np.maximum(0, slices), np.maximum(0, strips)), x[:, 2] + r)
    return (np.arange(len(height)) + 0.5) * D, height.mean(axis=1)


def heap_figures(scene, states, _contacts):
    x, (at, height) = states[-1].x, profile(scene, states)
    low, high = 0.5 * D, height.max()
    first = int(np.argmax(height))
    slope = (height > low + 0.15 * (high - low)) & (height < low + 0.85 * (high - low)) & (np.arange(len(at)) > first)
    still = min(states, key=lambda s: abs(s.time - scene.gate()))
    return {"slope, degrees": np.degrees(np.arctan(-np.polyfit(at[slope], height[slope], 1)[0])),
            "runout of 95 % of the grains, mm": 1e3 * np.quantile(x[:, 0], 0.95),
            "mean distance from the wall, mm": 1e3 * x[:, 0].mean(),
            "mean height, mm": 1e3 * x[:, 2].mean(),
            "mean height before the collapse, mm": 1e3 * still.x[:, 2].mean(),
            "largest speed at the end, mm/s": 1e3 * np.linalg.norm(states[-1].v, axis=1).max()}


def impact_figures(scene, states, _contacts):
    """Velocities after over speeds of approach before."""
    v, spin = states[-1].v, states[-1].spin
    order = np.argsort(states[-1].number)
    v, spin, figures = v[order], spin[order], {}
    for i, (name, (vx, vz)) in enumerate(IMPACTS):
        figures["%s: rebound" % name] = v[i, 2] / -vz
        if vx:
            figures["%s: speed along, of that before" % name] = v[i, 0] / vx
            figures["%s: rim speed, of speed before" % name] = spin[i, 1] * scene.radius[i] / vx
    figures["two balls: rebound"] = v[-1, 0] - v[-2, 0]
    figures["two balls: speed across, of that before"] = (v[-2, 2] - v[-1, 2]) / 0.5
    figures["two balls: rim speed, of speed before"] = spin[-1, 1] * scene.radius[-1] / 0.25
    return figures


def rest_figures(scene, states, _contacts):
    z = states[-1].x[np.argsort(states[-1].number), 2]
    radius = scene.radius[0]

    def sunk(effective):
        return (0.75 * scene.mass[0] * scene.gravity / (CONTACT_MODULUS * np.sqrt(effective)))**(2.0 / 3.0)
    return {"ball on a plane: overlap, of Hertz's": (radius - z[0]) / sunk(radius),
            "ball on a fixed ball: overlap, of Hertz's": (3 * radius - z[1]) / sunk(0.5 * radius)}


FIGURES = {"impacts": impact_figures, "rest": rest_figures, "bed": bed_figures, "silo": silo_figures,
           "heap": heap_figures}


# --- tables ----------------------------------------------------------------------------------

def apart(values, code):
    """Difference of a code's mean from that of LAMMPS and LIGGGHTS, in standard deviations of single runs."""
    others = [values[c] for c in ("lammps", "liggghts") if len(values[c])]
    if code in ("lammps", "liggghts") or not others or len(values[code]) < 2:
        return None
    groups = others + [values[code]]
    spread = np.sqrt(np.mean([np.var(g, ddof=1) for g in groups]))
    return (np.mean(values[code]) - np.mean(np.concatenate(others))) / spread if spread > 0.0 else None


def cell(values, code):
    if not len(values[code]):
        return ""
    if len(values[code]) == 1:
        return "%.4g" % values[code][0]
    digits = max(0, 1 - int(np.floor(np.log10(max(1e-12, np.std(values[code], ddof=1))))))
    text = "%.*f ± %.*f" % (digits, np.mean(values[code]), digits, np.std(values[code], ddof=1))
    away = apart(values, code)
    return text if away is None else text + " (%+.1f)" % away


def table(head, rows):
    print("\n| %s |\n|%s" % (" | ".join([head] + [TITLES[c] for c in CODES]), "---|" * (len(CODES) + 1)))
    for name, cells in rows:
        print("| %s | %s |" % (name, " | ".join(cells)), flush=True)


def evaluate(args, name, seeds):
    """Figures of all codes and seeds: {figure: {code: values}}; also what `draw` needs."""
    figures, kept, times = {}, {}, {c: [] for c in CODES}
    for seed in seeds:
        scene = SCENES[name](seed)
        for code in CODES:
            result = read(args, scene, seed, code)
            if result is None:
                continue
            kept[code, seed] = scene, result[0]
            times[code].append(seconds(directory_of(args, name, seed, code)) / scene.end)
            for figure, value in FIGURES[name](scene, *result).items():
                figures.setdefault(figure, {c: [] for c in CODES})[code].append(value)
    return figures, kept, times


def draw(args, kept):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    shown = [n for n in ("silo", "heap") if kept.get(n)]
    if not shown:
        return
    figure, axes = plt.subplots(1, len(shown), figsize=(5.2 * len(shown), 3.4), squeeze=False)
    colours = dict(zip(CODES, ("tab:blue", "tab:orange", "tab:green", "tab:purple", "tab:red")))
    for name, axis in zip(shown, axes[0]):
        named = set()
        for (code, _), (scene, states) in kept[name].items():
            label = None if code in named else TITLES[code].replace("`", "")
            named.add(code)
            if name == "silo":
                axis.plot(*outflow(scene, states), color=colours[code], lw=0.9, label=label)
            else:
                at, height = profile(scene, states)
                axis.plot(1e3 * at, 1e3 * height, color=colours[code], lw=0.9, label=label)
        axis.set(**({"xlabel": "time, s", "ylabel": "grains out", "xlim": (0.35, None)} if name == "silo" else
                    {"xlabel": "distance from the wall, mm", "ylabel": "height, mm"}))
        axis.legend(fontsize=7)
    figure.tight_layout()
    path = os.path.join(args.images, "dem_beside.png")
    figure.savefig(path, dpi=110)
    print("wrote", path)


def versions(args):
    """One line per program: its version, or that it is missing."""
    for name, program, command in (("Catena", args.catena, ["--version"]), ("LAMMPS", args.lammps, ["-h"]),
                                   ("LIGGGHTS", args.liggghts, ["-h"])):
        if shutil.which(program) is None:
            print("%s: %s is missing; its columns stay empty" % (name, program))
            continue
        text = subprocess.run([program] + command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        print("%s: %s" % (name, next((line.strip() for line in text.split("\n") if line.strip()), "?")))
    cpu = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    print("%s, %d cores; %s" % (cpu[0] if cpu else platform.processor(), os.cpu_count(), time.strftime("%Y-%m-%d")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", metavar="scene", help="impacts, bed, silo, heap; all unless given")
    parser.add_argument("--catena", default=os.path.join(ROOT, "build/release/drivers/catena"))
    parser.add_argument("--lammps", default="lmp")
    parser.add_argument("--liggghts", default="liggghts")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--work", default="dem_beside")
    parser.add_argument("--images", default=os.path.join(ROOT, "docs/images"))
    parser.add_argument("--codes", default=",".join(CODES))
    parser.add_argument("--lock", default="")
    parser.add_argument("--no-run", action="store_true")
    args = parser.parse_args()
    names = [n for n in SCENES if n in args.scenes or not args.scenes or (n == "rest" and "impacts" in args.scenes)]
    if unknown := set(args.scenes) - set(SCENES):
        parser.error("no scene %s" % ", ".join(sorted(unknown)))
    versions(args)
    all_kept, all_times = {}, {}
    for name in names:
        seeds = range(1, 2 if name in ("impacts", "rest") else args.seeds + 1)
        for seed in seeds:
            for code in CODES:
                if not args.no_run and code in args.codes.split(","):
                    run(args, SCENES[name](seed), seed, code)
        figures, all_kept[name], all_times[name] = evaluate(args, name, seeds)
        table(name, [(f, [cell(v, c) for c in CODES]) for f, v in figures.items()])
    table("wall time per simulated second, s",
          [(n, ["%.3g" % np.median(t[c]) if t[c] else "" for c in CODES])
           for n, t in all_times.items() if n not in ("impacts", "rest")])
    draw(args, all_kept)


if __name__ == "__main__":
    main()
