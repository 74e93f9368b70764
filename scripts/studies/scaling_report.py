"""Tables, predictions and plots of a scaling study, from what its points left (scaling_study.py)."""
import csv
import json
import math
import os
import re
import statistics

import cost_model

PHASES = ["contacts", "rows", "solver_setup", "sweeps", "motion", "checks", "flow", "balance"]
CACHED_CONTACTS = 50000  # contacts of a rank, below which a sweep's data stay in cache


# --- what was measured ----------------------------------------------------------------------------

def read_json(path):
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def read_point(study, point):
    """Profile of a point that is done, with the wall times of its steps."""
    if not study.is_done(point):
        return None
    path = study.path(point)
    profile, note = read_json(os.path.join(path, "profile.json")), read_json(os.path.join(path, "point.json"))
    with open(os.path.join(path, "series.csv")) as f:
        steps = [float(row["step_wall_s [s]"]) for row in csv.DictReader(f)]
    profile["step_walls"], profile["note"] = steps, note
    return profile


def step_seconds(profile):
    return profile["per_rank"]["steps_wall_s"]["max"] / profile["steps"]


def measured_row(run, ranks, profiles):
    """One line of results.csv: the fastest repeat, with the spread of all."""
    best = min(profiles, key=step_seconds)
    steps, per_rank = best["steps"], best["per_rank"]
    cores = best["note"]["cores"]
    times = sorted(map(step_seconds, profiles))
    row = {"run": run, "ranks": ranks, "oversubscribed": int(cores is not None and ranks > cores),
           "repeats": len(profiles), "steps": steps, "steps_missed": best["steps_missed"],
           "bodies": round(per_rank["bodies"]["mean"] * ranks), "contacts": best["contacts_per_step"],
           "step_s": times[0], "step_median_s": statistics.median(times), "step_worst_s": times[-1],
           "fastest_step_s": min(min(p["step_walls"]) for p in profiles),
           "sweeps_s": min(p["phases"]["sweeps"]["max"] / p["steps"] for p in profiles),
           "setup_s": best["phases"]["setup"]["max"], "output_s": best["phases"]["output"]["max"],
           "iterations": best["iterations"] / steps, "most_iterations": best["most_iterations"],
           "updates_per_s": per_rank["contact_updates"]["mean"] * ranks / per_rank["steps_wall_s"]["max"],
           "halo_bytes": per_rank["bytes"]["max"] / steps, "messages": per_rank["messages"]["max"] / steps,
           "ghosts": per_rank["ghosts"]["max"], "neighbours": per_rank["neighbours"]["max"],
           "imbalance": best["imbalance"], "edge_cut": best["edge_cut"],
           "memory_bytes": per_rank["peak_memory"]["max"],
           "cpu_share": per_rank["steps_cpu_s"]["mean"] / per_rank["steps_wall_s"]["mean"],
           "load_average": max(p["note"]["load"] for p in profiles)}
    for phase in PHASES:
        for part in ("min", "mean", "max"):
            row[f"{phase}_{part}"] = best["phases"][phase][part] / steps
    row["profile"] = best
    return row


def measured_rows(study):
    rows = []
    for run in study.study["runs"]:
        for ranks in study.study["ranks"]:
            repeats = [read_point(study, (run, ranks, k)) for k in range(study.study["repeats"])]
            done = [p for p in repeats if p and p["steps"] > 0]
            if done:
                rows.append(measured_row(run, ranks, done))
    for row in rows:
        add_efficiency(row, base_of(rows, row["run"]), study.study["kind"])
    return rows


def base_of(rows, run):
    return next(r for r in rows if r["run"] == run)


def add_efficiency(row, base, kind):
    """Efficiency of time per step, of sweeps and of contact updates per second and rank, against the base."""
    growth = row["ranks"] / base["ranks"] if kind == "strong" else 1.0
    row["speed_up"] = base["step_s"] / row["step_s"] * (1.0 if kind == "strong" else row["ranks"] / base["ranks"])
    row["efficiency"] = base["step_s"] / row["step_s"] / growth
    row["sweeps_efficiency"] = base["sweeps_s"] / row["sweeps_s"] / growth if row["sweeps_s"] > 0.0 else None
    rate = base["updates_per_s"] / base["ranks"]
    row["rate_efficiency"] = row["updates_per_s"] / row["ranks"] / rate if rate > 0.0 else None


# --- the model --------------------------------------------------------------------------------------

def best_constants(calibration):
    """The least time or largest rate of each constant, as the fastest repeat of a point counts."""
    if calibration is None:
        return {}
    return {name: {"value": c["low" if c["unit"] == "s" else "high"]} for name, c in calibration["constants"].items()
            if c["value"] is not None}


def slowdown(calibrations, base, row):
    """Slowdown of a contact update with as many ranks at work as the row has."""
    name = "update_spheres_cached" if row["contacts"] / row["ranks"] < CACHED_CONTACTS else "update_spheres"
    here, there = (best_constants(calibrations.get(r["ranks"])).get(name) for r in (row, base))
    return here["value"] / there["value"] if here and there else 1.0


def load_of(row):
    """The slowest rank's."""
    profile = row["profile"]
    per_rank, steps = profile["per_rank"], profile["steps"]
    return {"bodies": per_rank["bodies"]["max"], "ghosts": per_rank["ghosts"]["max"],
            "contacts": per_rank["contacts"]["max"], "updates": per_rank["contact_updates"]["max"] / steps,
            "neighbours": per_rank["neighbours"]["max"], "iterations": profile["iterations"] / steps,
            "messages": per_rank["messages"]["max"] / steps if per_rank["contacts"]["max"] == 0 else 0.0}


def phases_of(row):
    return {phase: row[f"{phase}_max"] if phase == "sweeps" else row[f"{phase}_mean"] for phase in PHASES}


def predicted_measured(rows, calibrations):
    """For each measured point but the base: what the model says of it."""
    entries = []
    for row in rows:
        base = base_of(rows, row["run"])
        if row is base or row["oversubscribed"]:
            continue
        constants = best_constants(calibrations.get(row["ranks"]))
        machine = cost_model.Machine(constants)
        times = cost_model.predict(load_of(base), phases_of(base), load_of(row), row["ranks"], machine,
                                   slowdown(calibrations, base, row))
        share = row["edge_cut"] / (3.0 * row["contacts"]) if row["contacts"] else 0.0
        entries.append({"run": row["run"], "ranks": row["ranks"], "times": times, "step_s": sum(times.values()),
                        "measured_s": row["step_s"], "measured": phases_of(row),
                        "iterations": cost_model.iterations_of(base["iterations"], share),
                        "measured_iterations": row["iterations"]})
    return entries


def parse_plan(text):
    """Largest numbers of a rank, and the edge cut."""
    plan = {}
    for name in ("bodies", "contacts", "halo", "neighbours"):
        match = re.search(rf"^{name} +\S+ +\S+ +(\S+)", text, re.MULTILINE)
        plan[name] = float(match[1]) if match else 0.0
    plan["cut"] = float(re.search(r"cut (\d+) rows", text)[1])
    plan["all_contacts"] = float(re.search(r"^ranks \d+, bodies \d+, contacts (\d+)", text, re.MULTILINE)[1])
    return plan


def load_elsewhere(study, base, ranks):
    """The slowest rank's load on a rank count that was not run, and the share of contacts between
    ranks; from a plan where the study asks for one, else from formulas."""
    load = dict(load_of(base))
    strong = study.study["kind"] == "strong"
    growth = base["ranks"] / ranks if strong else 1.0
    messages = base["messages"] if load["messages"] else 0.0
    for key in ("bodies", "contacts", "updates"):
        load[key] *= growth
    load["ghosts"], load["neighbours"] = cost_model.ghosts_of(load["bodies"]), 13.0
    share = min(1.0, load["ghosts"] / (3.0 * max(1.0, load["bodies"])))
    if study.study["predict"]["plan"]:
        plan = parse_plan(study.plan(ranks))
        factor = plan["contacts"] * (base["ranks"] if strong else ranks) / max(1.0, plan["all_contacts"])
        mean = load_of(base)
        load["bodies"] = plan["bodies"]
        if plan["all_contacts"]:
            load["contacts"], load["updates"] = mean["contacts"] * factor, mean["updates"] * factor
            share = plan["cut"] / (3.0 * plan["all_contacts"])
        load["ghosts"], load["neighbours"] = plan["halo"], plan["neighbours"]
    load["messages"] = messages * math.log2(ranks)
    return load, share


def predicted_elsewhere(study, rows, calibrations):
    """Rank counts of the study's `predict`, on its network."""
    predict = study.study["predict"]
    if not predict:
        return []
    entries = []
    for run in study.study["runs"]:
        bound = [r for r in rows if r["run"] == run and not r["oversubscribed"]]
        if not bound:
            continue
        base = bound[0]
        # cores of a node share its memory: as slow as with all cores that were tried
        full = bound[-1]
        constants = best_constants(calibrations.get(full["ranks"]) or calibrations.get(base["ranks"]))
        machine = cost_model.Machine(constants, predict["network"])
        chains = [r for r in bound if r["ranks"] == 2]
        for ranks in predict["ranks"]:
            load, share = load_elsewhere(study, base, ranks)
            if load_of(base)["contacts"] == 0 and chains:
                load["messages"] = chains[0]["messages"] * math.log2(ranks)
            if run == "tolerance":
                iterations = cost_model.iterations_of(base["iterations"], share)
                load["updates"] *= iterations / max(1.0, base["iterations"])
                load["iterations"] = iterations
            times = cost_model.predict(load_of(base), phases_of(base), load, ranks, machine,
                                       slowdown(calibrations, base, full))
            entries.append({"run": run, "ranks": ranks, "times": times, "step_s": sum(times.values()), "load": load,
                            "boundary": share, "iterations": load["iterations"],
                            "efficiency": base["step_s"] / sum(times.values()) *
                            (base["ranks"] / ranks if study.study["kind"] == "strong" else 1.0)})
    return entries


# --- files ------------------------------------------------------------------------------------------

def write_csv(path, rows, columns):
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, columns, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})


def warnings_of(study, rows):
    """What a reader of the figures must know: points whose steps had nothing to solve."""
    empty = [row for row in rows if row["profile"]["per_rank"]["rows"]["max"] == 0.0
             and row["profile"]["per_rank"]["joints"]["max"] == 0.0]
    if not empty:
        return []
    points = ", ".join(f"{row['run']} on {row['ranks']}" for row in empty)
    remedy = "raise warm_up" if study.study["warm_up"] else "give warm_up or checkpoint a state in which bodies touch"
    return [f"no contact and no joint in any step of: {points}. What was measured there is free motion, not the "
            f"solver; {remedy}"]


def write(study):
    """Report, tables and plots; returns the number of points that are done, and warnings."""
    rows = measured_rows(study)
    if not rows:
        return 0, []
    warnings = warnings_of(study, rows)
    calibrations = {ranks: read_json(study.calibration(ranks)) for ranks in study.study["ranks"]}
    calibrations = {ranks: c for ranks, c in calibrations.items() if c}
    here, elsewhere = predicted_measured(rows, calibrations), predicted_elsewhere(study, rows, calibrations)
    columns = [c for c in rows[0] if c != "profile"]
    write_csv(os.path.join(study.directory, "results.csv"), rows, columns)
    flat = [{"network": "this machine" if e in here else study.study["predict"]["network"]["name"], **e,
             **e["times"]} for e in here + elsewhere]
    write_csv(os.path.join(study.directory, "predictions.csv"), flat,
              ["run", "ranks", "network", "step_s", "measured_s", "iterations", "measured_iterations"] + PHASES)
    import scaling_plots
    import scaling_text
    pictures = scaling_plots.draw(study, rows, elsewhere)
    with open(os.path.join(study.directory, "report.md"), "w") as f:
        f.write(scaling_text.report(study, rows, calibrations, here, elsewhere, pictures, warnings))
    return sum(r["repeats"] for r in rows), warnings
