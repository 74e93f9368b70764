"""Plots of a scaling study: measurements as symbols with solid lines (open where oversubscribed), the
ideal dotted, predictions dashed."""
import os

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

PHASES = ["contacts", "rows", "solver_setup", "sweeps", "motion", "checks", "flow", "balance"]
NAMES = {"fixed": "fixed iterations", "tolerance": "to the tolerance"}
COLORS = {"fixed": "tab:blue", "tolerance": "tab:orange"}


def save(figure, study, name):
    figure.tight_layout()
    figure.savefig(os.path.join(study.directory, name), dpi=80)
    plt.close(figure)
    return name


def rank_axis(axis, rows, elsewhere):
    ticks = sorted({r["ranks"] for r in rows} | {e["ranks"] for e in elsewhere})
    axis.set_xscale("log", base=2)
    axis.set_xticks(ticks, [f"{t:,}" for t in ticks])
    axis.minorticks_off()
    axis.set_xlabel("ranks")
    axis.grid(alpha=0.3)


def curves(axis, rows, elsewhere, value, predicted=None):
    for run in dict.fromkeys(r["run"] for r in rows):
        some = [r for r in rows if r["run"] == run and value(r) is not None]
        color = COLORS[run]
        axis.plot([r["ranks"] for r in some], [value(r) for r in some], "-", color=color, linewidth=1.2)
        for r in some:
            axis.plot(r["ranks"], value(r), "o", color=color, fillstyle="none" if r["oversubscribed"] else "full")
        axis.plot([], [], "o-", color=color, label=f"{NAMES[run]}, measured")
        there = [e for e in elsewhere if e["run"] == run]
        if predicted and there:
            axis.plot([e["ranks"] for e in there], [predicted(e) for e in there], "--", color=color,
                      label=f"{NAMES[run]}, predicted")
    if any(r["oversubscribed"] for r in rows):
        axis.plot([], [], "o", color="gray", fillstyle="none", label="oversubscribed")


def draw_speed_up(study, rows, elsewhere):
    figure, axis = plt.subplots(figsize=(5.6, 4.0))
    base = rows[0]["ranks"]
    curves(axis, rows, elsewhere, lambda r: r["speed_up"], lambda e: e["efficiency"] * e["ranks"] / base)
    ticks = sorted({r["ranks"] for r in rows} | {e["ranks"] for e in elsewhere})
    axis.plot(ticks, [t / base for t in ticks], ":", color="black", label="ideal")
    rank_axis(axis, rows, elsewhere)
    axis.set_yscale("log", base=2)
    axis.set_ylabel("speed-up" if study.study["kind"] == "strong" else "scaled speed-up")
    axis.legend(fontsize=7)
    return save(figure, study, "speed-up.png")


def draw_efficiency(study, rows, elsewhere):
    figure, axis = plt.subplots(figsize=(5.6, 4.0))
    curves(axis, rows, elsewhere, lambda r: r["efficiency"], lambda e: e["efficiency"])
    axis.axhline(1.0, linestyle=":", color="black", label="ideal")
    rank_axis(axis, rows, elsewhere)
    axis.set_ylim(0.0, 1.25)
    axis.set_ylabel("efficiency of a step")
    axis.legend(fontsize=7)
    return save(figure, study, "efficiency.png")


def draw_phases(study, rows):
    figure, axis = plt.subplots(figsize=(6.4, 4.0))
    labels = [f"{r['ranks']}{'*' if r['oversubscribed'] else ''}\n{r['run']}" for r in rows]
    bottom = [0.0] * len(rows)
    for k, phase in enumerate(PHASES):
        heights = [1e3 * r[f"{phase}_mean"] for r in rows]
        axis.bar(labels, heights, bottom=bottom, label=phase, color=plt.cm.tab10(k), width=0.7)
        bottom = [b + h for b, h in zip(bottom, heights)]
    strong = study.study["kind"] == "strong"
    for k, r in enumerate(rows):
        base = next(b for b in rows if b["run"] == r["run"])
        ideal = 1e3 * base["step_s"] * (base["ranks"] / r["ranks"] if strong else 1.0)
        axis.plot([k - 0.4, k + 0.4], [ideal, ideal], ":", color="black", label="ideal" if k == 0 else None)
    axis.set_ylabel("ms per step, mean over ranks" + ("; * oversubscribed" if any(
        r["oversubscribed"] for r in rows) else ""))
    axis.set_xlabel("ranks")
    axis.legend(fontsize=7)
    return save(figure, study, "phases.png")


def draw_iterations(study, rows, elsewhere):
    figure, axis = plt.subplots(figsize=(5.6, 4.0))
    some = [r for r in rows if r["run"] == "tolerance"]
    there = [e for e in elsewhere if e["run"] == "tolerance"]
    curves(axis, some, there, lambda r: r["iterations"], lambda e: e["iterations"])
    axis.axhline(some[0]["iterations"], linestyle=":", color="black", label="ideal: as the base")
    rank_axis(axis, some, there)
    axis.set_ylim(bottom=0.0)
    axis.set_ylabel("iterations per step to the tolerance")
    axis.legend(fontsize=7)
    return save(figure, study, "iterations.png")


def draw(study, rows, elsewhere):
    """(title, file) of each plot."""
    pictures = [("Speed-up", draw_speed_up(study, rows, elsewhere)),
                ("Efficiency", draw_efficiency(study, rows, elsewhere)), ("Phases", draw_phases(study, rows))]
    if any(r["run"] == "tolerance" for r in rows):
        pictures.append(("Iterations", draw_iterations(study, rows, elsewhere)))
    return pictures
