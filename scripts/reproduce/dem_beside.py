#!/usr/bin/python3
"""Runs the same grains through LAMMPS (granular), LIGGGHTS and Catena and prints the section "Beside DEM" of
docs/benchmarks.md: single impacts, a bed in a box, flow out of a slot, a column that collapses, a drum, a shear cell.

    scripts/reproduce/dem_beside.py [impacts] [bed] [silo] [heap] [drum] [shear] [--seeds 3] [--write]
                                    [--lammps lmp] [--liggghts liggghts] [--codes lammps,...] [--no-run]

One description of each scene (SCENES) makes the inputs of all programs, and one evaluation reads what they leave.
Catena runs four times: with Hertz's law at the step of the others, at twenty and at a hundred times that, and with
stiffness `auto` at a hundred times that. A program that is not there is said to be missing and its columns stay empty
(Debian: apt-get install lammps liggghts). One core; twenty minutes. Runs stay in --work; --no-run reads those that are
there, and with --codes only these are run anew. --short: the impacts alone. Needs python3-h5py, python3-numpy,
python3-scipy and, with --write, python3-matplotlib.
"""
import os
import sys

import numpy as np
import scipy.spatial

from benchmark_report import ROOT, Table, begin, finish, options
from dem_programs import CODES, CATENA, directory_of, made_by, read, run, version
from dem_scenes import (CONTACT_MODULUS, D, DENSITY, DRUM_FROM, DRUM_RADIUS, IMPACTS, SCENES, SHEAR_FROM, SHEAR_SIZE,
                        SHEAR_SPEED, STEP, overlaps)

TITLES = {"lammps": "LAMMPS", "liggghts": "LIGGGHTS",
          **{c: "Catena, `%s`, %g ms" % (law, 1e3 * factor * STEP) for c, (law, factor, _) in CATENA.items()}}


# --- evaluation, the same for all -----------------------------------------------------------------

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


def bed_figures(scene, run):
    """Forces on floor and walls over the weight; stresses, solid fraction and coordination inside."""
    contacts, state = run.contacts, run.states[-1]
    x = state.x[np.argsort(state.number)]
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
            "largest speed at the end, mm/s": 1e3 * np.linalg.norm(state.v, axis=1).max()}


def outflow(scene, states):
    """Times, and grains that have fallen through."""
    return (np.array([s.time for s in states]),
            np.array([len(scene.radius) - (s.x[:, 2] > -2 * D).sum() for s in states]))


def silo_figures(scene, run):
    states, (t, out) = run.states, outflow(scene, run.states)
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


def heap_figures(scene, run):
    states = run.states
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


def surface(x, top):
    """Slope and height above the origin of a line along the tops: of each column, D wide, the mean of three strips."""
    columns = np.round(x[:, 0] / D).astype(int)
    at, height = [], []
    for column in np.unique(columns):
        here = columns == column
        strips = np.minimum(2, np.floor(3 * x[here, 1] / x[:, 1].max()).astype(int))
        at.append(column * D)
        height.append(np.mean([top[here][strips == k].max() for k in np.unique(strips)]))
    return np.polyfit(at, height, 1)


def unlike_neighbours(x, kind):
    """Mean share of neighbours, the six nearest, of the other kind, over what it is if kinds are dealt at random."""
    _, near = scipy.spatial.cKDTree(x).query(x, k=7)
    share = kind.mean()
    return (kind[near[:, 1:]] != kind[:, None]).mean() / (2.0 * share * (1.0 - share))


def drum_figures(scene, run):
    """The mean over the time from DRUM_FROM on, of the surface within half the radius from the middle."""
    late = [s for s in run.states if s.time > DRUM_FROM - 1e-9]
    slopes, speeds, arms = [], [], []
    for s in late:
        middle = np.abs(s.x[:, 0]) < 0.5 * DRUM_RADIUS
        x, v, top = s.x[middle], s.v[middle], s.x[middle, 2] + scene.radius[s.number[middle]]
        slope, height = surface(x, top)
        slopes.append(slope)
        downhill = np.array([-1.0, 0.0, -slope]) / np.hypot(1.0, slope)
        upper = (slope * x[:, 0] + height - top) / np.hypot(1.0, slope) < D
        speeds.append((v[upper] @ downhill).mean())
        mass = scene.mass[s.number]
        arms.append((mass * s.x[:, 0]).sum() / mass.sum())
    weight = scene.mass.sum() * scene.gravity
    torque = run.load[run.load[:, 0] > DRUM_FROM + 1e-9, 4].mean()
    end = late[-1]
    lower = run.states[0].x[np.argsort(run.states[0].number), 2]
    lower = lower < np.median(lower)
    return {"angle of the surface, degrees": np.degrees(np.arctan(np.abs(np.mean(slopes)))),
            "speed down the surface, mm/s": 1e3 * np.abs(np.mean(speeds)),
            "torque, of weight times radius": np.abs(torque) / (weight * DRUM_RADIUS),
            "torque, of that of the grains' weight": torque / (weight * np.mean(arms)),
            "unlike neighbours at the end, of a mixed bed's": unlike_neighbours(end.x, lower[end.number])}


def shear_figures(scene, run):
    """The mean over the time from SHEAR_FROM on; the middle is the half of the height between the quarters at the walls."""
    area = SHEAR_SIZE[0] * SHEAR_SIZE[1]
    load = run.load[run.load[:, 0] > SHEAR_FROM + 1e-9].mean(axis=0)
    late = [s for s in run.states if s.time > SHEAR_FROM - 1e-9]
    z, v = np.concatenate([s.x[:, 2] for s in late]) / SHEAR_SIZE[2], np.concatenate([s.v for s in late])
    speed = v[:, 0] / SHEAR_SPEED
    middle = np.abs(z - 0.5) < 0.25
    rate, offset = np.polyfit(z[middle], speed[middle], 1)
    rest = v[middle].copy()
    rest[:, 0] -= SHEAR_SPEED * (rate * z[middle] + offset)
    return {"normal stress on the moved wall, Pa": load[3] / area,
            "shear stress on it, Pa": -load[1] / area,
            "shear over normal stress": -load[1] / load[3],
            **{"speed between %g and %g of the height, of the wall's" % (low, low + 0.2):
               speed[(z >= low) & (z < low + 0.2)].mean() for low in (0.0, 0.2, 0.4, 0.6, 0.8)},
            "shear rate in the middle, of speed over height": rate,
            "fluctuation of speed there, mm/s": 1e3 * np.sqrt((rest**2).sum(axis=1).mean())}


def largest_overlap(scene, run):
    """The largest overlap of grains in a snapshot, of their mean radius."""
    largest = 0.0
    for s in run.states:
        overlap = overlaps(scene, s.x, scene.radius[s.number])[3]
        largest = max(largest, overlap.max(initial=0.0))
    return 2.0 * largest / D


def impact_figures(scene, run):
    """Velocities after over speeds of approach before."""
    state = run.states[-1]
    v, spin, order = state.v, state.spin, np.argsort(state.number)
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


def rest_figures(scene, run):
    z = run.states[-1].x[np.argsort(run.states[-1].number), 2]
    radius = scene.radius[0]

    def sunk(effective):
        return (0.75 * scene.mass[0] * scene.gravity / (CONTACT_MODULUS * np.sqrt(effective)))**(2.0 / 3.0)
    return {"ball on a plane: overlap, of Hertz's": (radius - z[0]) / sunk(radius),
            "ball on a fixed ball: overlap, of Hertz's": (3 * radius - z[1]) / sunk(0.5 * radius)}


FIGURES = {"impacts": impact_figures, "rest": rest_figures, "bed": bed_figures, "silo": silo_figures,
           "heap": heap_figures, "drum": drum_figures, "shear": shear_figures}


ONCE = ("impacts", "rest")  # of these scenes seeds make no difference
MORE = {"shear": 2}  # seeds more than of the others, as its runs scatter most
TIME = "CPU time per simulated second, s"
HEADS = {"impacts": "Impacts of a ball of 10 mm", "rest": "A ball at rest", "bed": "Bed", "silo": "Silo", "heap": "Heap",
         "drum": "Drum", "shear": "Shear"}
INTRO = (
    "Grains have 10 mm ± 10 %%, 2500 kg/m³, E = 10 MPa, Poisson's ratio 0.3, friction 0.5, restitution 0.5; walls are of the "
    "same. The step of LAMMPS and LIGGGHTS is 50 µs, 13 %% of the smallest grain's Rayleigh time. All programs start from the "
    "same places and speeds, and one evaluation reads what they leave. *Bed*: 686 grains fall into a box eight diameters wide "
    "and rest for half a second; the inside is 1.5 diameters from all walls. *Silo*: 840 grains on a floor of fixed grains "
    "with a slot of 4.5 diameters, opened at 0.4 s. *Heap*: 560 grains on such a floor, whose front wall is taken away at "
    "0.4 s. *Drum*: 440 grains in a ring of fixed grains, 160 mm wide inside, that turns with 2 rad/s (ω²R/g = 0.033) and "
    "repeats itself along its axis; means from 1 to 2.5 s. *Shear*: 400 grains, 51 %% of the free volume, between two walls of "
    "fixed grains 88 mm apart, of which the upper one moves with 0.5 m/s; the sides are periodic, gravity is off; means from "
    "0.5 to 3 s.\n\nNumbers are mean ± standard deviation of %d seeds, of the shear cell, which scatters most, "
    "of %d; in brackets Catena's distance from the mean of LAMMPS and LIGGGHTS in standard deviations of single runs (of so few seeds rough). Impacts and the ball at rest are one run "
    "each. What the laws have in common and where they differ stands in [validation](validation.md#beside-dem).")

REASONS = (
    "**With Hertz's law at DEM's step Catena is within the scatter**: in the drum and the shear cell no figure is "
    "farther than one standard deviation of a run, in silo and heap none either, in the bed two are (1.5 and 1.7). The torque "
    "on the drum that each program adds up from its contacts is that of the grains' weight about the axis, to 0.4 %, in all of "
    "them.\n\n"
    "Lost is time: Catena takes 7 to 13 times as long there. A step of the drum takes 1.5 ms, in LAMMPS 0.12 ms, though 1.7 "
    "sweeps are enough for its tolerance: finding contacts anew is 32 % of the time, their rows 24 %, the solver with its "
    "preparation 24 %, motion with the balance of energy 17 % (`profile.json`). None of this gets less as the step gets "
    "shorter, while the others keep a list of neighbours over many steps and evaluate one force for each. What the work "
    "is for are longer steps.\n\n"
    "*At twenty times the step* (1 ms) it takes 0.6 to 1.2 times as long as they do. But for overlaps no figure is "
    "farther than about two standard deviations: the bed packs 1.1 % more loosely, the heap runs out 4 % less far, speeds in the "
    "shear cell fluctuate 10 % less.\n\n"
    "*`material` at a hundred times the step* (5 ms) is not to be had: in such a step grains that fall with 1.4 m/s go 7 mm, "
    "more than their radius, and run into each other by as much (0.99 to 1.8 radii in a snapshot of bed, silo, heap and drum, "
    "and the run warns). The bed's walls then bear 0.88 of its weight each in place of 0.49, and it lies 4 mm lower; the "
    "drum's surface is 2.3 degrees flatter and its torque 4 % less. In the shear cell, where grains meet slowly, they overlap "
    "by 0.27 of a radius and press on the wall 32 % less.\n\n"
    "*`auto` at a hundred times the step* takes 0.26 to 0.66 of DEM's time and holds such grains apart, but misses: the "
    "silo flows 14 % too slowly, the heap runs out 8 % too short and 1.8 degrees too steep, the bed is 2.4 % too loose and "
    "presses its walls 17 % less, the drum's surface is 2 degrees steeper and its torque 3.5 % larger. The shear cell's "
    "stresses and profile stay within the scatter or near it, shear over normal stress is 5 % larger. Take 5 ms of grains "
    "that rest, creep or shear slowly, 1 ms of grains that flow.")


# --- tables ---------------------------------------------------------------------------------------

def apart(values, code):
    """Difference of a code's mean from that of LAMMPS and LIGGGHTS, in standard deviations of single runs."""
    others = [values[c] for c in ("lammps", "liggghts") if len(values[c])]
    if code in ("lammps", "liggghts") or not others or len(values[code]) < 2:
        return None
    groups = others + [values[code]]
    spread = np.sqrt(np.mean([np.var(g, ddof=1) for g in groups]))
    return (np.mean(values[code]) - np.mean(np.concatenate(others))) / spread if spread > 0.0 else None


def cell(figure, values, code):
    if not len(values[code]):
        return ""
    if figure == TIME:
        return "%.3g" % np.median(values[code])
    if len(values[code]) == 1:
        return "%.4g" % values[code][0]
    digits = max(0, 1 - int(np.floor(np.log10(max(1e-12, np.std(values[code], ddof=1))))))
    text = "%.*f ± %.*f" % (digits, np.mean(values[code]), digits, np.std(values[code], ddof=1))
    away = apart(values, code)
    return text if away is None else text + " (%+.1f)" % away


def table(title, rows):
    made = Table(title, ["", *(TITLES[c] for c in CODES)])
    for name, cells in rows:
        made.add(name, *cells)
    return made


def evaluate(args, name, seeds):
    """Figures of all codes and seeds: {figure: {code: values}}; also what `draw` needs, and what was run."""
    figures, kept, made = {}, {}, {c: [] for c in CODES}
    for seed in seeds:
        scene = SCENES[name](seed)
        for code in CODES:
            found = read(args, scene, seed, code)
            if found is None:
                continue
            kept[code, seed] = scene, found.states
            made[code].append(made_by(directory_of(args, name, seed, code)))
            seen = FIGURES[name](scene, found)
            if name not in ONCE:
                seen["largest overlap in a snapshot, of a radius"] = largest_overlap(scene, found)
                seen[TIME] = made[code][-1]["seconds"] / scene.end
            for figure, value in seen.items():
                figures.setdefault(figure, {c: [] for c in CODES})[code].append(value)
    return figures, kept, made


def speeds(scene, states):
    """Height and mean speed along the wall's motion, as parts of the walls' distance and of the moved one's speed."""
    late = [s for s in states if s.time > SHEAR_FROM - 1e-9]
    slices = np.concatenate([np.floor(16 * s.x[:, 2] / SHEAR_SIZE[2]) for s in late]).astype(int).clip(0, 15)
    speed = np.concatenate([s.v[:, 0] for s in late]) / SHEAR_SPEED
    there = np.unique(slices)
    return np.array([speed[slices == k].mean() for k in there]), (there + 0.5) / 16


CURVES = {"silo": (outflow, "time, s", "grains out"), "heap": (profile, "distance from the wall, m", "height, m"),
          "shear": (speeds, "speed, of the wall's", "height, of the walls' distance")}


def draw(kept, path):
    """A panel for each scene of CURVES, a line for each program and seed."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(1, len(CURVES), figsize=(4.6 * len(CURVES), 3.4))
    colours = dict(zip(CODES, ("tab:blue", "tab:orange", "tab:green", "tab:purple", "tab:brown", "tab:red")))
    for (name, (curve, along, up)), axis in zip(CURVES.items(), axes):
        for (code, seed), (scene, states) in kept[name].items():
            axis.plot(*curve(scene, states), color=colours[code], lw=0.9,
                      label=TITLES[code].replace("`", "") if seed == 1 else None)
        axis.set(xlabel=along, ylabel=up, title=HEADS[name])
    axes[0].set_xlim(0.35, None)
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def programs(args, made):
    """Each program's version, by the runs that the tables are of; an error where they are of several."""
    for title, codes in (("LAMMPS", ["lammps"]), ("LIGGGHTS", ["liggghts"]), ("Catena", CATENA)):
        found = {run["version"] for by_code in made.values() for c in codes for run in by_code[c]}
        if len(found) > 1:
            sys.exit("--work %s: its runs are of several versions of %s: %s; leave --no-run and --codes out"
                     % (args.work, title, ", ".join(sorted(found))))
        if title != "Catena":  # which the conditions name anyhow
            args.versions += sorted(found)
            if not found:
                print("%s is missing; its columns stay empty" % title)
        elif found - {version(os.environ["CATENA"])}:
            sys.exit("--work %s: its runs are of %s, --build is another one" % (args.work, found.pop()))


def main():
    parser = options(__doc__, "dem_beside")
    parser.add_argument("scenes", nargs="*", metavar="scene", help="impacts, bed, silo, heap, drum, shear; all unless given")
    parser.add_argument("--lammps", default="lmp", help="program")
    parser.add_argument("--liggghts", default="liggghts", help="program")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each scene with grains and starts of their own")
    parser.add_argument("--codes", default=",".join(CODES), help="which to run: " + ", ".join(CODES))
    parser.add_argument("--no-run", action="store_true", help="only evaluate the runs in --work")
    args = begin(parser)
    if args.short:
        args.scenes = ["impacts"]
    names = [n for n in SCENES if n in args.scenes or not args.scenes or (n == "rest" and "impacts" in args.scenes)]
    if unknown := set(args.scenes) - set(SCENES):
        parser.error("no scene %s" % ", ".join(sorted(unknown)))
    if args.write and (args.scenes or args.seeds < 3):
        parser.error("--write wants all scenes, and three seeds or more")
    parts, kept, made = [INTRO % (args.seeds, args.seeds + MORE["shear"])], {}, {}
    for name in names:
        seeds = range(1, 2 if name in ONCE else args.seeds + MORE.get(name, 0) + 1)
        for seed in () if args.no_run else seeds:
            scene = SCENES[name](seed)
            for code in CODES:
                if code in args.codes.split(","):
                    run(args, scene, seed, code)
        figures, kept[name], made[name] = evaluate(args, name, seeds)
        if args.write and min(map(len, made[name].values())) < len(seeds):
            sys.exit("--write wants runs of all programs, and some of %s are not in --work %s" % (name, args.work))
        parts.append(table(HEADS[name], [(f, [cell(f, v, c) for c in CODES]) for f, v in figures.items()]))
    programs(args, made)
    first = [run for by_code in made.values() for runs in by_code.values() for run in runs]
    if first:  # of these are the date and the load
        first = min(first, key=lambda run: run["clock"])
        args.started, args.load = first["started"], first["load"]
    parts.append(REASONS)
    if args.write:
        draw(kept, os.path.join(ROOT, "docs", "images", "dem_beside.png"))
        parts.append("![silo, heap and shear](images/dem_beside.png)")
    finish(args, "dem_beside", "Beside DEM", parts)


if __name__ == "__main__":
    main()
