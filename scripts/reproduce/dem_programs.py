"""The scenes of dem_beside.py in LAMMPS, LIGGGHTS and Catena: inputs, runs, and what they leave, in one form."""
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import scipy.integrate
import scipy.optimize

from dem_scenes import CONTACT_MODULUS, D, DENSITY, FRICTION, POISSON, RESTITUTION, STEP, TANGENTIAL_RATIO, YOUNG

# Catena's runs: contact.stiffness, steps of the others in one of its own, sweeps between looks at the error
CATENA = {"material": ("material", 1, 2), "coarse": ("material", 20, 5), "long": ("material", 100, 10),
          "auto": ("auto", 100, 10)}
CODES = ["lammps", "liggghts", *CATENA]


# --- the damping of a given restitution -----------------------------------------------------------

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


# --- inputs ---------------------------------------------------------------------------------------

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
    still, table = len(scene.fixed_radius) - scene.n_moved, np.column_stack([scene.fixed_radius, scene.fixed_x])
    generators = ""
    for name, rows, kept in (("base", table[:still], "fixed: true"),
                             ("moved", table[still:], "motion: {velocity: [%g, %g, %g], angular_velocity: [0, %g, 0], "
                              "about: [0, 0, 0]}" % (*scene.velocity, scene.turn))):
        if len(rows):
            np.savetxt(os.path.join(directory, name + ".csv"), rows, fmt="%.17g", delimiter=",", header="radius,x,y,z",
                       comments="")
            generators += "  - table: {name: %s, material: grain, file: %s.csv, %s}\n" % (name, name, kept)
    box = ", ".join("%s: [%.17g, %.17g]" % ("xyz"[k], scene.lower[k], scene.upper[k]) for k in scene.periodic)
    # explicit steps are short beside a contact: few sweeps are enough, so look early; and they are short for the
    # default absolute tolerance, which a ball of 10 mm reaches with 4e-5 m/s
    solver = ("solver: {relative_tolerance: 1e-6, absolute_tolerance: 0, check_interval: %d}\n"
              % interval)
    write(os.path.join(directory, "case.yaml"),
          "catena: 1\nname: %s\ngravity: [0, 0, %g]\nmaterials:\n"
          "  grain: {density: %g, friction: %g, restitution: %g, youngs_modulus: %g, poisson_ratio: %g}\n"
          "contact: {stiffness: %s}\n%s%sgenerators:\n"
          "  - table: {name: grains, material: grain, file: grains.csv}\n%s%s"
          "outflow:\n  - {name: below, lower: [-.inf, -.inf, -.inf], upper: [.inf, .inf, %g]}\n"
          "time: {step: %g, end: %g}\n%soutput: {snapshot_interval: %g, series_steps: %d, contacts: %s}\n"
          % (scene.name, -scene.gravity, DENSITY, FRICTION, RESTITUTION, YOUNG, POISSON, stiffness,
             "periodic: {%s}\n" % box if box else "", "bodies:\n" + "".join(bodies) if bodies else "", generators,
             "probes:\n  - {name: moved, type: force, on: moved, interval: %g}\n" % scene.every if scene.n_moved else "",
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


def moves(scene):
    """Commands, the same for both, for the fixed grains, for those of them that are moved, and for what these bear."""
    still = len(scene.fixed_radius) - scene.n_moved
    first = len(scene.radius) + still + 1
    text = "group moved id %d:%d\ngroup still subtract base moved\nfix hold still freeze\n" % (
        first, first + scene.n_moved - 1) if scene.n_moved else "fix hold base freeze\n"
    if scene.n_moved:
        every = round(scene.every / STEP)
        motion = ("rotate 0 0 0 0 1 0 %.17g" % (2 * np.pi / scene.turn) if scene.turn else
                  "linear %.17g %.17g %.17g" % scene.velocity)
        text += ("fix motion moved move %s\ncompute turn moved property/atom tqy\n"
                 "variable turn atom z*fx-x*fz+c_turn\ncompute load moved reduce sum fx fy fz v_turn\n"
                 "fix load moved ave/time 5 %d %d c_load[1] c_load[2] c_load[3] c_load[4] file moved.txt\n"
                 % (motion, every // 5, every))
    return text


def boundary(scene):
    return " ".join("p" if axis in scene.periodic else "f" for axis in range(3))


def write_lammps(scene, directory):
    os.makedirs(directory, exist_ok=True)
    write_data(scene, os.path.join(directory, "grains.data"), " # sphere")
    # numbers and not `hertz/material`, which takes other moduli for walls than for grains. The dashpot is Catena's: no
    # pull; beside the normal one the tangential one is as large as the spring's stiffness beside Hertz's secant
    law = ("hertz %.10g %.10g tangential mindlin_rescale/force %.10g %.10g %g damping tsuji limit_damping"
           % (4.0 / 3.0 * CONTACT_MODULUS, lammps_restitution(damping(RESTITUTION)),
              2.0 * TANGENTIAL_RATIO * CONTACT_MODULUS, 1.5 * TANGENTIAL_RATIO, FRICTION))
    walls = ["w%d" % k for k in range(len(scene.planes))]
    text = ("units si\natom_style sphere\nboundary %s\nnewton off\ncomm_modify vel yes\nread_data grains.data\n"
            "group grains type 1\ngroup base type 2\nneighbor %g bin\nneigh_modify every 1 delay 0 check yes\n"
            "neigh_modify exclude group base base\npair_style granular\npair_coeff * * %s\ntimestep %g\n"
            "fix gravity grains gravity %g vector 0 0 -1\nfix move grains nve/sphere\n%s"
            % (boundary(scene), 0.3 * D, law, STEP, scene.gravity, moves(scene)))
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
    text = ("units si\natom_style granular\natom_modify map array\nboundary %s\nnewton off\n"
            "communicate single vel yes\nread_data grains.data\ngroup grains type 1\ngroup base type 2\n"
            "neighbor %g bin\nneigh_modify every 1 delay 0 check yes\nneigh_modify exclude group base base\n"
            "fix m1 all property/global youngsModulus peratomtype %g %g\n"
            "fix m2 all property/global poissonsRatio peratomtype %g %g\n"
            "fix m3 all property/global coefficientRestitution peratomtypepair 2 %.10g %.10g %.10g %.10g\n"
            "fix m4 all property/global coefficientFriction peratomtypepair 2 %g %g %g %g\n"
            "pair_style gran %s limitForce on\npair_coeff * *\ntimestep %g\n"
            "fix gravity grains gravity %g vector 0 0 -1\n"
            % (boundary(scene), 0.3 * D, *[YOUNG] * 2, *[POISSON] * 2, *[e] * 4,
               *[FRICTION] * 4, law, STEP, scene.gravity))
    for w, p in zip(walls, scene.planes):
        text += ("fix %s grains wall/gran %s primitive type 1 %splane %.17g%s limitForce on\n"
                 % (w, law, "xyz"[p.axis], p.at, " store_force yes" if scene.contacts else ""))
    text += "fix move grains nve/sphere\n" + moves(scene)
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


# --- runs -----------------------------------------------------------------------------------------

def directory_of(args, scene, seed, code):
    return os.path.join(args.work, scene, "seed-%d" % seed, code)


def program_of(args, code):
    return {"lammps": args.lammps, "liggghts": args.liggghts}.get(code, os.environ["CATENA"])


def run(args, scene, seed, code):
    """Makes the inputs and runs one program; DIR/made says what it was, when, and the CPU time that it took, s."""
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
    made = {"version": version(program), "clock": time.time(), "started": time.strftime("%d %B %Y"),
            "load": os.getloadavg()[0]}
    before = os.times()
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    after = os.times()
    if done.returncode != 0:
        sys.exit("%s in %s ended with %d\n%s" % (" ".join(command), directory, done.returncode, done.stdout[-2000:]))
    made["seconds"] = after.children_user + after.children_system - before.children_user - before.children_system
    write(os.path.join(directory, "made"), json.dumps(made))
    print("%-8s seed %d  %-9s %6.1f s" % (scene.name, seed, code, made["seconds"]), flush=True)


def made_by(directory):
    """What `run` has recorded, or None where it has not been."""
    try:
        with open(os.path.join(directory, "made")) as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def version(program):
    """What a program says of itself in its first line, in short."""
    option = "--version" if os.path.basename(program) == "catena" else "-h"
    text = subprocess.run([program, option], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, cwd="/tmp").stdout  # LIGGGHTS leaves a file
    line = next((line.strip() for line in text.split("\n") if line.strip()), "?")
    line = line.replace("Large-scale Atomic/Molecular Massively Parallel Simulator -", "LAMMPS")
    return line.replace("LIGGGHTS (Version ", "").split(",")[0]


# --- results --------------------------------------------------------------------------------------

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


@dataclasses.dataclass
class Run:
    """What a program has left; load: rows of time and the mean until then, since the row before, of force and of torque
    about the y axis on the grains that are moved, s, N, N m."""
    states: list
    contacts: Contacts = None
    load: np.ndarray = None


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
    load = np.loadtxt(os.path.join(directory, "moved.txt"), ndmin=2) if scene.n_moved else None
    if load is not None:
        load[:, 0] *= STEP
    if not scene.contacts:
        return Run(states, load=load)
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
    return Run(states, Contacts(*[np.concatenate(c) for c in zip(*parts)]), load)


def read_catena(scene, directory):
    import catena
    result = catena.Result(os.path.join(directory, "out"))
    place = {}  # grains by number, planes and fixed grains as in Contacts
    for i, name in zip(np.asarray(result.bodies.id), result.bodies.name):
        kind, number = name.split("-")
        place[i] = {"grains": int(number), "plane": -1 - int(number), "base": BASE, "moved": BASE}[kind]
    states = []
    for state in result:
        number = np.array([place[i] for i in np.asarray(state.id)])
        grain = number >= 0
        states.append(State(state.time, number[grain], *(np.asarray(getattr(state, name))[grain] for name in (
            "position", "velocity", "angular_velocity"))))
    load = None
    if scene.n_moved:
        found = result.probe("moved")
        load = np.column_stack([found["time"], *[found[name + "_mean"] for name in (
            "force_x", "force_y", "force_z", "torque_y")]])
    if not scene.contacts:
        return Run(states, load=load)
    found = result[-1].contacts
    pair = np.array([[place[i] for i in p] for p in np.asarray(found.bodies)]).reshape(-1, 2)
    force, point = -np.asarray(found.force), np.asarray(found.point)
    a, b = pair[:, 0].copy(), pair[:, 1].copy()
    swap = a < 0
    a[swap], b[swap], force[swap] = b[swap], a[swap], -force[swap]
    on = np.abs(force).max(axis=1) > 0.0
    return Run(states, Contacts(a[on], b[on], force[on], point[on]), load)


def read(args, scene, seed, code):
    directory = directory_of(args, scene.name, seed, code)
    if made_by(directory) is None:
        return None
    if code in ("lammps", "liggghts"):
        return read_dump(scene, directory)
    return read_catena(scene, directory)
