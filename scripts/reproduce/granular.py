#!/usr/bin/python3
"""Runs the granular validation cases through `catena run` and draws what was measured over the
published bands (docs/validation.md): pressure in a silo (Janssen), flow through a hole
(Beverloo), angle of repose.

    scripts/reproduce/granular.py janssen|beverloo|repose|all [--catena build/release/drivers/catena]
                                  [--work granular] [--images docs/images] [--ranks 1] [--no-run]

Prints one line per number with its band and ends with exit code 1 if one lies outside. Results
of runs stay in --work; --no-run measures and draws those that are there. Needs python3-h5py,
python3-numpy and python3-matplotlib.
"""
import argparse
import os
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "user"))
import _package  # noqa: E402, F401
import catena  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES = os.path.join(ROOT, "configs", "validation")
G = 9.81


def run(args, case, out, sets=()):
    """catena run CASE -o WORK/OUT, unless --no-run; returns the directory."""
    directory = os.path.join(args.work, out)
    if args.no_run:
        return directory
    command = [args.catena, "run", os.path.join(CASES, case), "-o", directory, "--force", "--quiet"]
    for item in sets:
        command += ["--set", item]
    if args.ranks > 1:
        command = ["mpirun", "-n", str(args.ranks)] + command
    print("$", " ".join(command), flush=True)
    subprocess.run(command, check=True)
    return directory


class Verdict:
    def __init__(self):
        self.failed = 0

    def check(self, what, value, low, high):
        inside = low <= value <= high
        self.failed += not inside
        print(f"{'ok  ' if inside else 'MISS'} {what}: {value:.4g}, band {low:.4g} .. {high:.4g}")


def save(figure, args, name):
    path = os.path.join(args.images, name)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print("wrote", path)


# --- Janssen ---------------------------------------------------------------------------------

def janssen_profile(result, area, mu_wall, start):
    """Mean over the snapshots after `start` of vertical stress and wall stresses at depths."""
    n_bins, taken = 30, 0
    bottom, weight, worst, top = [], 0.0, 0.0, 0.0
    heights, sigma, shear_ratio, bulk = None, None, [], []
    bodies = result.bodies
    floor = bodies.id[bodies.rows("floor")[0]]
    for state in result:
        if state.time < start:
            continue
        ids, x = np.asarray(state.id), np.asarray(state.position)
        pair, point, normal, force = (np.asarray(getattr(state.contacts, name))
                                      for name in ("bodies", "point", "normal", "force"))
        grain = np.asarray(state.kind) == "dynamic"
        mass, z = np.asarray(state.mass)[grain], x[grain, 2]
        z_floor = x[ids == floor][0, 2] if floor in ids else 0.0
        is_wall = np.asarray(bodies.kind)[bodies.row_of(pair[:, 0])] != "dynamic"
        on_floor = is_wall & (pair[:, 0] == floor)
        on_wall = is_wall & ~on_floor
        normal_force = np.einsum("ij,ij->i", force, normal)
        shear = np.linalg.norm(force - normal_force[:, None] * normal, axis=1)
        loaded = on_wall & (normal_force > 0.01 * normal_force[on_wall].mean())
        worst = max(worst, (shear[loaded] / normal_force[loaded]).max())
        shear_ratio.append(force[on_wall, 2].sum() / normal_force[on_wall].sum())
        top = np.quantile(z, 0.995) + np.asarray(state.radius)[grain].mean()
        if heights is None:
            heights = np.linspace(z_floor + 0.02 * (top - z_floor), top, n_bins)
            sigma = np.zeros(n_bins)
        for k, height in enumerate(heights):
            above = G * mass[z > height].sum()
            carried = force[on_wall & (point[:, 2] > height), 2].sum()
            sigma[k] += (above - carried) / area
        middle = (z > z_floor + 0.2 * (top - z_floor)) & (z < z_floor + 0.8 * (top - z_floor))
        bulk.append(mass[middle].sum() / (0.6 * (top - z_floor) * area))
        bottom.append(force[on_floor, 2].sum())
        weight = G * mass.sum()
        taken += 1
    return {"depth": top - heights, "sigma": sigma / taken, "bottom": np.mean(bottom),
            "scatter": np.std(bottom) / np.sqrt(taken),
            "weight": weight, "bulk": np.mean(bulk), "mobilised": np.mean(shear_ratio) / mu_wall,
            "worst": worst, "height": top - z_floor}


def janssen_curve(depth, bulk, width, mu_wall, k):
    length = width / (4.0 * mu_wall * k)
    return bulk * G * length * (1.0 - np.exp(-depth / length))


def janssen(args, verdict):
    width, mu_wall, k_low, k_high = 0.12, 0.5, 0.5, 1.1
    result = catena.Result(run(args, "janssen.yaml", "janssen"))
    area = 0.25 * np.pi * width**2
    p = janssen_profile(result, area, mu_wall, start=0.9)
    curve = lambda depth, k: janssen_curve(depth, p["bulk"], width, mu_wall, k)  # noqa: E731
    # standard error of the mean over the snapshots
    error = p["scatter"] / p["weight"]
    verdict.check("Janssen: load on the floor over the weight", p["bottom"] / p["weight"],
                  curve(p["height"], k_high) * area / p["weight"] - error,
                  curve(p["height"], k_low) * area / p["weight"] + error)
    verdict.check("Janssen: largest shear over normal force at the walls", p["worst"], 0.0,
                  mu_wall * (1.0 + 1e-6))
    inside = p["depth"] > width  # the top width is nearly hydrostatic
    ks = np.linspace(0.2, 2.0, 361)
    fit = ks[np.argmin([((curve(p["depth"][inside], k) - p["sigma"][inside])**2).sum()
                        for k in ks])]
    verdict.check("Janssen: ratio K of the fit below one width", fit,
                  k_low * (1.0 - error * p["weight"] / p["bottom"]), k_high)
    print(f"     standard error of the load {error:.3f} of the weight; bands widened by it")
    print(f"     friction of the walls mobilised to {100 * p['mobilised']:.0f} %, bulk density "
          f"{p['bulk']:.0f} kg/m^3, filled to {p['height'] / width:.2f} widths")
    depth = np.linspace(0.0, p["height"], 200)
    figure, axis = plt.subplots(figsize=(6, 5))
    axis.fill_betweenx(depth / width, curve(depth, k_high), curve(depth, k_low), color="0.85",
                       label="Janssen, K = 0.5 .. 1.1")
    axis.plot(p["bulk"] * G * depth, depth / width, "k--", lw=1, label="hydrostatic")
    axis.plot(curve(depth, fit), depth / width, "C0", lw=1, label=f"fit, K = {fit:.2f}")
    axis.plot(p["sigma"], p["depth"] / width, "C3o", ms=4, label="measured")
    axis.set(xlabel="vertical stress [Pa]", ylabel="depth / width", ylim=(p["height"] / width, 0),
             xlim=(0, 2.5 * curve(p["height"], k_low)), title="Silo: vertical stress")
    axis.legend()
    save(figure, args, "granular_janssen.png")


# --- Beverloo --------------------------------------------------------------------------------

def flow_rate(result, start, least_mass):
    """Mass that leaves per second between `start` and the time when less than `least_mass` is left:
    slope of a straight line, its scatter (largest difference between the rates of the two halves
    and the whole) and the end."""
    t, mass = np.asarray(result.series.time), np.asarray(result.series.removed_mass)
    total = np.asarray(result.bodies.mass)[np.asarray(result.bodies.kind) == "dynamic"].sum()
    window = (t >= start) & (total - mass > least_mass)
    t, mass = t[window], mass[window]
    whole = np.polyfit(t, mass, 1)[0]
    half = len(t) // 2
    halves = [np.polyfit(t[:half], mass[:half], 1)[0], np.polyfit(t[half:], mass[half:], 1)[0]]
    return whole, max(abs(h - whole) for h in halves), t[-1]


def bulk_density_2d(result, start, end, width, low, high):
    """Mass per area of the middle of the bin between two heights, mean between two times."""
    values = []
    for state in result:
        if not start <= state.time <= end:
            continue
        x = np.asarray(state.position)
        inside = ((np.asarray(state.kind) == "dynamic") & (x[:, 2] > low) & (x[:, 2] < high)
                  & (abs(x[:, 0]) < 0.5 * width))
        values.append(np.asarray(state.mass)[inside].sum() / (width * (high - low)))
    return np.mean(values)


def beverloo(args, verdict):
    d, k_mean, start, width = 0.01, 1.4, 0.9, 0.6
    holes = np.array([6.0, 8.0, 10.0, 13.0, 17.0])
    rate, scatter, density = [], [], []
    for hole in holes:
        x = 0.2 + 0.5 * hole * d
        out = run(args, "beverloo_2d.yaml", f"beverloo-{hole:.0f}",
                  [f"bodies.left.position=[{-x}, 0, -0.01]", f"bodies.right.position=[{x}, 0, -0.01]"])
        result = catena.Result(out)
        # the law holds while the fill is higher than two holes
        least = max(2.0 * hole * d, 0.25) * width * 13.5
        w, s, end = flow_rate(result, start, least)
        rate.append(w)
        scatter.append(s)
        density.append(bulk_density_2d(result, start, end, 0.5 * width, 0.2, 0.3))
        print(f"     hole {hole:.0f} d: {w:.4f} +- {s:.4f} kg/s, {density[-1]:.1f} kg/m^2 "
              f"above it, measured until {end:.2f} s")
    rate, scatter = np.array(rate), np.array(scatter)
    exponent = np.polyfit(np.log(holes - k_mean), np.log(rate), 1)[0]
    verdict.check("Beverloo 2-D: exponent, with k = 1.4", exponent, 1.4, 1.6)
    # W^(2/3) is straight in D: its zero is k
    slope, offset = np.polyfit(holes, rate**(2.0 / 3.0), 1)
    k = -offset / slope
    c = slope**1.5 / (np.mean(density) * np.sqrt(G * d) * d)
    verdict.check("Beverloo 2-D: k of the fit with exponent 3/2", k, 1.2, 1.8)
    print(f"     C = {c:.3f} (mass per area {np.mean(density):.1f} kg/m^2)")
    fine = np.linspace(holes[0] - 1.0, holes[-1] + 1.0, 100)
    figure, axis = plt.subplots(figsize=(6, 5))
    middle = np.exp(np.mean(np.log(rate) - 1.5 * np.log(holes - k_mean)))
    pivot = np.exp(np.mean(np.log(holes - k_mean)))
    band = [middle * pivot**1.5 * ((fine - k_mean) / pivot)**n for n in (1.4, 1.6)]
    axis.fill_between(fine - k_mean, *band, color="0.85", label="exponent 1.4 .. 1.6")
    axis.plot(fine - k_mean, middle * (fine - k_mean)**1.5, "k--", lw=1, label="exponent 3/2")
    axis.errorbar(holes - k_mean, rate, scatter, fmt="C3o", label=f"measured, {exponent:.2f}")
    axis.set(xscale="log", yscale="log", xlabel="D/d - 1.4", ylabel="mass flow [kg/s]",
             title="Disks out of a hole of width D")
    axis.legend()
    save(figure, args, "granular_beverloo.png")


# --- Angle of repose -------------------------------------------------------------------------

def surface(x, z, length, n_strips):
    """Middle of strips along x and the mean height of the four highest grains in each."""
    edges = np.linspace(0.0, length, n_strips + 1)
    strips = [np.sort(z[(x >= a) & (x < b)])[-4:] for a, b in zip(edges[:-1], edges[1:])]
    return (edges[:-1] + edges[1:]) / 2, np.array([s.mean() if len(s) == 4 else np.nan
                                                   for s in strips])


def repose_angle(result, after):
    """Slope of the surface between 15 and 80 % of its height, degrees, mean over the snapshots
    after a time, with the last surface and the fit."""
    angles = []
    for state in result:
        if state.time < after:
            continue
        x = np.asarray(state.position)
        grain = np.asarray(state.kind) == "dynamic"
        middle, top = surface(x[grain, 0], x[grain, 2], 0.36, 18)
        slope = (top > 0.15 * np.nanmax(top)) & (top < 0.8 * np.nanmax(top))
        fit = np.polyfit(middle[slope], top[slope], 1)
        angles.append(np.degrees(np.arctan(-fit[0])))
    return np.mean(angles), x[grain], middle[slope], fit


def repose(args, verdict):
    frictions, bands = [0.1, 0.2, 0.5], {0.1: (9, 19), 0.5: (18, 28)}
    angles = []
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    for friction in frictions:
        result = catena.Result(run(args, "repose.yaml", f"repose-{friction}",
                            [f"materials.grain.friction={friction}"]))
        angle, x, middle, fit = repose_angle(result, after=2.2)
        angles.append(angle)
        if friction in bands:
            verdict.check(f"angle of repose at friction {friction}, degrees", angle,
                          *bands[friction])
        else:
            print(f"     angle of repose at friction {friction}: {angle:.1f} degrees")
        if friction == 0.5:
            axes[0].plot(x[:, 0], x[:, 2], "o", ms=4, mfc="0.8", mec="0.5")
            axes[0].plot(middle, np.polyval(fit, middle), "C3", label=f"{angle:.1f} degrees")
            axes[0].set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="friction 0.5, at rest")
            axes[0].legend()
    verdict.check("angle of repose grows with friction: least step, degrees", np.diff(angles).min(),
                  0.0, 90.0)
    for friction, (low, high) in bands.items():
        axes[1].plot([friction, friction], [low, high], color="0.8", lw=14, solid_capstyle="butt")
    axes[1].plot(frictions, angles, "C3o-", label="measured; grey: bands")
    axes[1].set(xlabel="friction", ylabel="angle of repose [degrees]", ylim=(0, 32))
    axes[1].legend()
    save(figure, args, "granular_repose.png")


CASES_BY_NAME = {"janssen": janssen, "beverloo": beverloo, "repose": repose}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=[*CASES_BY_NAME, "all"])
    parser.add_argument("--catena", default=os.path.join(ROOT, "build", "release", "drivers", "catena"))
    parser.add_argument("--work", default="granular", help="where results go")
    parser.add_argument("--images", default=os.path.join(ROOT, "docs", "images"))
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--no-run", action="store_true", help="measure results that are there")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    verdict = Verdict()
    for name, case in CASES_BY_NAME.items():
        if args.case in (name, "all"):
            case(args, verdict)
    sys.exit(1 if verdict.failed else 0)


if __name__ == "__main__":
    main()
