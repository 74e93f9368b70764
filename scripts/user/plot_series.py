#!/usr/bin/python3
"""Plots the series of a result: energies, dissipation, errors, contacts, iterations, time per step.

    scripts/user/plot_series.py RESULT_DIR [-o series.png]
    scripts/user/plot_series.py RESULT_DIR --joint NAME    coordinates and reactions of a joint
    scripts/user/plot_series.py RESULT_DIR --probe NAME    what a probe measured

Reads series.csv and probes/NAME.csv, so it also works while the run is going on; what joints do is in the snapshots.
Needs python3-numpy and python3-matplotlib, and for joints python3-h5py.
"""
import argparse
import glob
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

# Panels: title, columns to draw if the series has them, logarithmic axis.
PANELS = [
    ("energy", ["kinetic_energy", "potential_energy", "total_energy"], False),
    ("audit", ["dissipation_friction", "dissipation_impact", "recovery_work", "external_work",
               "energy_residual"], False),
    ("work of joints", ["joint_work", "motor_work", "projection_work"], False),
    ("largest misfit of joints", ["joint_misfit"], True),
    ("energy error of the solve", ["error_energy"], True),
    ("largest natural map", ["error_natural_map", "error_natural_map_rms"], True),
    ("contacts", ["contacts"], False),
    ("iterations per step", ["iterations"], False),
    ("wall time per step", ["step_wall_s", "step_wall"], True),
    ("imbalance", ["imbalance"], False),
]


def read_series(path):
    """Names, units and values by name; a half-written last row is left out."""
    with open(path) as f:
        lines = f.read().split("\n")
    fields = [name.strip() for name in lines[0].split(",")]
    names = [f.split(" [")[0] for f in fields]
    units = {f.split(" [")[0]: f.split(" [")[1].rstrip("]") if " [" in f else "" for f in fields}
    units = {name: "" if unit == "1" else unit for name, unit in units.items()}
    rows = [line.split(",") for line in lines[1:-1]]
    rows = [[float(x) for x in row] for row in rows if len(row) == len(names)]
    values = np.array(rows, float).reshape(-1, len(names))
    return units, {name: values[:, k] for k, name in enumerate(names)}


def draw(axes, title, names, logarithmic, units, series):
    for name in names:
        y = series[name]
        if logarithmic:
            y = np.where(y > 0.0, y, np.nan)
        axes.plot(series["time"], y, label=name, linewidth=1.2)
    if logarithmic and any(np.any(series[name] > 0.0) for name in names):
        axes.set_yscale("log")
    unit = units[names[0]]
    axes.set_ylabel(title + (" [%s]" % unit if unit else ""))
    axes.grid(True, alpha=0.3)
    if len(names) > 1:
        axes.legend(fontsize="small")


def plot_joint(directory, name, output):
    """Draws what the snapshots hold of a joint, forces as means over the step before each."""
    import h5py
    with h5py.File(os.path.join(directory, "bodies.h5"), "r") as f:
        names = list(f["joints/name"].asstr()[()]) if "joints" in f else []
        ids = f["joints/id"][()] if "joints" in f else []
    if name not in names:
        sys.exit("%s: no joint %s; there are %d%s" % (directory, name, len(names),
                 ": " + ", ".join(names[:10]) + (", ..." if len(names) > 10 else "") if names
                 else ""))
    joint, rows = ids[names.index(name)], []
    for path in sorted(glob.glob(os.path.join(directory, "snapshots", "*.h5"))):
        with h5py.File(path, "r") as f:
            time, step = float(f.attrs["time"]), int(f.attrs["step"])
            joints = f["joints"]
            here = np.flatnonzero(joints["id"][()] == joint)
            if len(here) == 0:  # before the first step, or gone through an outflow
                continue
            j = here[0]
            over_h = step / time if step > 0 else 0.0
            rows.append(np.concatenate([[time], joints["coordinate"][j],
                                        joints["reaction"][j] * over_h,
                                        joints["drive"][j] * over_h]))
    if not rows:
        sys.exit("%s: no snapshot holds joint %s" % (directory, name))
    rows = np.array(rows)
    t = rows[:, 0]
    panels = [("coordinate [m or rad]", [("%d" % (k + 1), rows[:, 1 + k]) for k in range(3)]),
              ("force on body b [N]", [("xyz"[k], rows[:, 4 + k]) for k in range(3)]),
              ("torque on body b [N m]", [("xyz"[k], rows[:, 7 + k]) for k in range(3)]),
              ("drive [N or N m]", [(label, rows[:, 10 + k]) for k, label in enumerate(
                  ["limit", "motor", "friction", "limit 2", "motor 2", "friction 2"])])]
    figure, axes = plt.subplots(4, 1, figsize=(9, 10), sharex=True)
    for (title, lines), a in zip(panels, axes):
        for label, y in lines:
            if title[0] != "d" or np.any(y != 0.0):
                a.plot(t, y, label=label, linewidth=1.2)
        a.set_ylabel(title)
        a.grid(True, alpha=0.3)
        if a.get_legend_handles_labels()[0]:
            a.legend(fontsize="small")
        else:
            a.text(0.5, 0.5, "no limit, motor or friction acted", ha="center", va="center",
                   transform=a.transAxes)
    axes[-1].set_xlabel("time [s]")
    figure.suptitle("%s: joint %s" % (os.path.basename(os.path.abspath(directory)), name))
    figure.tight_layout()
    figure.savefig(output, dpi=110)
    print(output)


def probe_panels(names):
    """Quantities by panel: components of a vector or tensor, or bins, go together. Of each the name without
    what its values share, and the columns of mean, least and largest value, or of the value at the end."""
    panels = {}
    for name in names:
        if name in ("time", "step") or name.rpartition("_")[2] in ("mean", "min", "max"):
            continue
        stem, _, part = name.rpartition("_")
        together = stem and (part.isdigit() or part in ("w", "x", "y", "z", "xx", "yy", "zz", "xy", "yz", "zx"))
        panels.setdefault(stem if together else name, []).append((part if together else name, name))
    return panels


def plot_probe(directory, probe, output):
    """Draws the means over the probe's intervals, and the range of values in them."""
    folder = os.path.join(directory, "probes")
    path = os.path.join(folder, probe + ".csv")
    if not os.path.exists(path):
        there = sorted(f[:-4] for f in os.listdir(folder) if f.endswith(".csv")) if os.path.isdir(folder) else []
        sys.exit("%s: no probe %s; there are %s" % (directory, probe, ", ".join(there) or "none"))
    units, series = read_series(path)
    if len(series.get("time", [])) == 0:
        sys.exit("%s: holds no rows yet" % path)
    panels = probe_panels(list(series))
    rows = (len(panels) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(12, 2.6 * rows), sharex=True, squeeze=False)
    for (title, lines), a in zip(panels.items(), axes.flat):
        for label, name in lines:
            y = series.get(name + "_mean", series[name])
            line, = a.plot(series["time"], y, label=label, linewidth=1.2)
            if name + "_min" in series:
                a.fill_between(series["time"], series[name + "_min"], series[name + "_max"], alpha=0.15,
                               color=line.get_color(), linewidth=0)
        unit = units[lines[0][1]]
        a.set_ylabel(title + (" [%s]" % unit if unit else ""))
        a.grid(True, alpha=0.3)
        if len(lines) > 1:
            a.legend(fontsize="small", ncol=1 + len(lines) // 8)
    for a in axes.flat[len(panels):]:
        a.set_visible(False)
    for a in axes[-1]:
        a.set_xlabel("time [%s]" % units["time"])
    figure.suptitle("%s: probe %s" % (os.path.basename(os.path.abspath(directory)), probe))
    figure.tight_layout()
    figure.savefig(output, dpi=110)
    print(output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", help="result directory")
    parser.add_argument("-o", "--output", help="picture; default RESULT_DIR/series.png")
    parser.add_argument("--joint", metavar="NAME", help="a joint in place of the series")
    parser.add_argument("--probe", metavar="NAME", help="a probe in place of the series")
    args = parser.parse_args()
    if args.probe:
        return plot_probe(args.result, args.probe, args.output or os.path.join(
            args.result, "probe-%s.png" % args.probe))
    if args.joint:
        return plot_joint(args.result, args.joint, args.output or os.path.join(
            args.result, "joint-%s.png" % args.joint))
    path = os.path.join(args.result, "series.csv")
    if not os.path.exists(path):
        sys.exit("%s: no series there; is this a result directory?" % path)
    units, series = read_series(path)
    if len(series.get("time", [])) == 0:
        sys.exit("%s: holds no rows yet" % path)
    panels = [(title, [n for n in names if n in series], log) for title, names, log in PANELS]
    panels = [panel for panel in panels if panel[1]]
    rows = (len(panels) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(12, 2.6 * rows), sharex=True, squeeze=False)
    for panel, a in zip(panels, axes.flat):
        draw(a, *panel, units, series)
    for a in axes.flat[len(panels):]:
        a.set_visible(False)
    for a in axes[-1]:
        a.set_xlabel("time [%s]" % units["time"])
    figure.suptitle(os.path.basename(os.path.abspath(args.result)))
    figure.tight_layout()
    output = args.output or os.path.join(args.result, "series.png")
    figure.savefig(output, dpi=110)
    print(output)


if __name__ == "__main__":
    main()
