#!/usr/bin/python3
"""Plots the series of a result: energies, dissipation, errors, contacts, iterations, time per step.

    scripts/user/plot_series.py RESULT_DIR [-o series.png]
    scripts/user/plot_series.py RESULT_DIR --joint NAME    coordinates and reactions of a joint
    scripts/user/plot_series.py RESULT_DIR --probe NAME    what a probe measured

Works while the run is going on, too; what joints do is in the snapshots. The ending of the output's name says the format:
png, pdf, svg. Needs python3-numpy, python3-matplotlib and python3-h5py.
"""
import argparse
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

import _package  # noqa: E402,F401
from catena import CatenaError, Result  # noqa: E402

# Panels: title, columns to draw if the series has them, logarithmic axis.
PANELS = [
    ("energy", ["kinetic_energy", "potential_energy", "total_energy"], False),
    ("audit", ["dissipation_friction", "dissipation_impact", "recovery_work", "external_work",
               "energy_residual"], False),
    ("work of joints", ["joint_work", "motor_work", "projection_work"], False),
    ("largest misfit of joints", ["joint_misfit"], True),
    ("energy error of the solve", ["error_energy"], True),
    ("largest natural map", ["error_natural_map", "error_natural_map_rms"], True),
    ("mass that came and left", ["inserted_mass", "removed_mass"], False),
    ("joints that broke", ["broken_joints"], False),
    ("contacts", ["contacts"], False),
    ("iterations per step", ["iterations"], False),
    ("wall time per step", ["step_wall_s", "step_wall"], True),
    ("imbalance", ["imbalance"], False),
]
# Panels of what a scene may not have: left out where all is zero.
OPTIONAL = {"joint_work", "motor_work", "projection_work", "joint_misfit", "inserted_mass", "removed_mass",
            "broken_joints"}


def flow_rate(time, mass, n_bins=100):
    """Times (s) and mean rates (kg/s) of an accumulated mass over equal parts of the run."""
    edges = np.linspace(time[0], time[-1], min(n_bins, len(time)) + 1)
    return (edges[1:] + edges[:-1]) / 2, np.diff(np.interp(edges, time, mass)) / np.diff(edges)


def flows_of(series):
    """Columns of mass that came or left, where any did."""
    return [n for n in ("inserted_mass", "removed_mass") if n in series and np.any(series[n] != 0.0)]


def panels_of(series):
    """Panels to draw: columns that the series has, without those of what the scene does not have."""
    def shown(name):
        return name in series and (name not in OPTIONAL or np.any(series[name] != 0.0))

    panels = [(title, [n for n in names if shown(n)], log) for title, names, log in PANELS]
    return [panel for panel in panels if panel[1]]


def draw_flow(axes, series):
    """Mass flow, where bodies come or go."""
    time = np.asarray(series["time"])
    for name in flows_of(series):
        axes.plot(*flow_rate(time, np.asarray(series[name])), label=name.split("_")[0], linewidth=1.2)
    axes.set_ylabel("mass flow [kg/s]")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small")


def draw(axes, title, names, logarithmic, series):
    for name in names:
        y = np.asarray(series[name])
        if logarithmic:
            y = np.where(y > 0.0, y, np.nan)
        axes.plot(series["time"], y, label=name, linewidth=1.2)
    if logarithmic and any(np.any(series[name] > 0.0) for name in names):
        axes.set_yscale("log")
    unit = series[names[0]].unit
    axes.set_ylabel(title + (" [%s]" % unit if unit else ""))
    axes.grid(True, alpha=0.3)
    if len(names) > 1:
        axes.legend(fontsize="small")


def plot_joint(result, name, output):
    """Draws what the snapshots hold of a joint, forces as means over the step before each."""
    joint = result.joint(name)
    if len(joint.time) == 0:
        raise CatenaError("no snapshot holds joint " + name, result.path)
    t = joint.time
    panels = [("coordinate [m or rad]", [("%d" % (k + 1), joint.coordinate[:, k]) for k in range(3)]),
              ("force on body b [N]", [("xyz"[k], joint.force[:, k]) for k in range(3)]),
              ("torque on body b [N m]", [("xyz"[k], joint.torque[:, k]) for k in range(3)]),
              ("drive [N or N m]", [(label, joint.drive[:, k]) for k, label in enumerate(
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
    figure.suptitle("%s: joint %s" % (os.path.basename(os.path.abspath(result.path)), name))
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


def plot_probe(result, name, output):
    """Draws the means over the probe's intervals, and the range of values in them."""
    series = result.probe(name)
    if len(series["time"]) == 0:
        raise CatenaError("holds no rows yet", "probe " + name)
    panels = probe_panels(list(series))
    rows = (len(panels) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(12, 2.6 * rows), sharex=True, squeeze=False)
    for (title, lines), a in zip(panels.items(), axes.flat):
        for label, column in lines:
            line, = a.plot(series["time"], series[column + "_mean" if column + "_mean" in series else column],
                           label=label, linewidth=1.2)
            if column + "_min" in series:
                a.fill_between(series["time"], series[column + "_min"], series[column + "_max"], alpha=0.15,
                               color=line.get_color(), linewidth=0)
        unit = series[lines[0][1]].unit
        a.set_ylabel(title + (" [%s]" % unit if unit else ""))
        a.grid(True, alpha=0.3)
        if len(lines) > 1:
            a.legend(fontsize="small", ncol=1 + len(lines) // 8)
    for a in axes.flat[len(panels):]:
        a.set_visible(False)
    for a in axes[-1]:
        a.set_xlabel("time [%s]" % series["time"].unit)
    figure.suptitle("%s: probe %s" % (os.path.basename(os.path.abspath(result.path)), name))
    figure.tight_layout()
    figure.savefig(output, dpi=110)
    print(output)


def plot(result, output):
    series = result.series
    if len(series["time"]) == 0:
        raise CatenaError("holds no rows yet", result.path / "series.csv")
    panels = panels_of(series)
    flows = bool(flows_of(series)) and len(series["time"]) > 1
    count = len(panels) + flows
    rows = (count + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(12, 2.6 * rows), sharex=True, squeeze=False)
    for panel, a in zip(panels, axes.flat):
        draw(a, *panel, series)
    if flows:
        draw_flow(axes.flat[len(panels)], series)
    for a in axes.flat[count:]:
        a.set_visible(False)
    for a in axes[-1]:
        a.set_xlabel("time [%s]" % series["time"].unit)
    figure.suptitle(os.path.basename(os.path.abspath(result.path)))
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
    try:
        result = Result(args.result)
        if args.probe:
            return plot_probe(result, args.probe, args.output or os.path.join(
                args.result, "probe-%s.png" % args.probe))
        if args.joint:
            return plot_joint(result, args.joint, args.output or os.path.join(
                args.result, "joint-%s.png" % args.joint))
        plot(result, args.output or os.path.join(args.result, "series.png"))
    except CatenaError as e:
        print(e, file=sys.stderr)
        sys.exit(e.exit_code or 5)
    except OSError as e:
        print("%s: %s" % (e.filename or args.output or args.result, e.strerror or e), file=sys.stderr)
        sys.exit(5)


if __name__ == "__main__":
    main()
