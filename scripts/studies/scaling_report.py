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
BOX_TEST = 2.3e-8  # s to look at a box of another rank: those of 131,072 in 24 ms, on a busy 2.9 GHz core of an AMD EPYC


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
           "collectives": per_rank["collectives"]["max"] / steps,
           "posted_reductions": per_rank["posted_reductions"]["max"] / steps,
           "gathered_bytes": per_rank["gathered_bytes"]["max"] / steps,
           "ghosts": per_rank["ghosts"]["max"], "shared": per_rank["shared"]["max"], "neighbours": per_rank["neighbours"]["max"],
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


def box_exchanges_of(profile):
    """Exchanges of boxes in a step, without those that the start of a run has whatever its steps do: one, and two where
    it goes on from a checkpoint."""
    starts = 2 if profile["step"] > profile["steps"] else 1
    exchanges = profile["per_rank"]["gathered_bytes"]["max"] / cost_model.gathered_bytes(profile["ranks"])
    return max(0.0, exchanges - starts) / profile["steps"]


def load_of(row):
    """What a step is on the row's ranks (cost_model.py)."""
    profile = row["profile"]
    per_rank, steps = profile["per_rank"], profile["steps"]
    return {"bodies": per_rank["bodies"]["mean"], "contacts": per_rank["contacts"]["mean"],
            "imbalance": max(1.0, profile["imbalance"]), "iterations": profile["iterations"] / steps,
            "messages": per_rank["messages"]["max"] / steps, "bytes": per_rank["bytes"]["max"] / steps,
            "collectives": per_rank["collectives"]["max"] / steps,
            "box_exchanges": box_exchanges_of(profile)}


def base_phases_of(row):
    """What the model starts from: without the time in which other programs had the core."""
    return {phase: seconds * min(1.0, row["cpu_share"]) for phase, seconds in phases_of(row).items()}


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
        times, causes = cost_model.predict(load_of(base), base_phases_of(base), load_of(row), row["ranks"], machine,
                                           slowdown(calibrations, base, row))
        entries.append({"run": row["run"], "ranks": row["ranks"], "times": times, "causes": causes,
                        "step_s": sum(times.values()), "measured_s": row["step_s"], "measured": phases_of(row),
                        "iterations": row["iterations"]})
    return entries


def parse_plan(text):
    """Largest numbers of a rank, and the imbalance."""
    plan = {}
    for name in ("bodies", "contacts", "joints", "halo", "neighbours"):
        match = re.search(rf"^{name} +\S+ +(\S+) +(\S+)", text, re.MULTILINE)
        plan[name], plan["mean " + name] = (float(match[2]), float(match[1])) if match else (0.0, 0.0)
    plan["imbalance"] = float(re.search(r"imbalance ([\d.]+)", text)[1])
    return plan


def growth(rows, run):
    """Iterations to the tolerance over ranks, of all points that were run, also those that share cores."""
    if run != "tolerance":
        return None
    return cost_model.growth_of([(r["ranks"], r["iterations"]) for r in rows if r["run"] == run])


def iterations_elsewhere(rows, run, base, ranks, slope_factor=1.0):
    """Those of the most ranks that were run, and what the growth up to there adds; never less."""
    most = [r for r in rows if r["run"] == run][-1]
    law = growth(rows, run)
    if law is None:
        return most["iterations"] if run == "tolerance" else base["iterations"]
    return most["iterations"] + slope_factor * max(0.0, law[1]) * math.log2(max(1.0, ranks / most["ranks"]))


def load_elsewhere(study, rows, base, ranks, slope_factor=1.0):
    """The load on a rank count that was not run: counts of the most ranks that were run, of borders in proportion to
    the part's surface, or from a plan where the study asks for one."""
    run = base["run"]
    load = dict(load_of(base))
    if study.study["kind"] == "strong":
        load["bodies"] *= base["ranks"] / ranks
        load["contacts"] *= base["ranks"] / ranks
    load["iterations"] = iterations_elsewhere(rows, run, base, ranks, slope_factor)
    several = [r for r in rows if r["run"] == run and r["ranks"] > 1]
    if not several:
        border, neighbours = cost_model.border_of(load["bodies"]), cost_model.NEIGHBOURS
        load["messages"] = cost_model.messages_to(neighbours, load["iterations"])
        load["bytes"] = border * cost_model.ITEM_BYTES * load["iterations"]
        load["collectives"] = cost_model.COLLECTIVES + load["iterations"]
        return load
    most = several[-1]
    there = load_of(most)
    more = load["iterations"] / there["iterations"]
    load["imbalance"] = max(r["profile"]["imbalance"] for r in several)
    load["box_exchanges"] = there["box_exchanges"]
    load["collectives"] = there["collectives"] + load["iterations"] - there["iterations"]
    if load["contacts"] == 0:  # joints alone: rounds up and down the tree of ranks
        load["messages"] = several[0]["messages"] * math.log2(ranks) / math.log2(several[0]["ranks"])
        load["bytes"] = there["bytes"]
        return load
    surface = (load["bodies"] / there["bodies"]) ** (2.0 / 3.0)
    load["messages"], load["bytes"] = there["messages"] * more, there["bytes"] * more * surface
    if study.study["predict"]["plan"]:
        plan = parse_plan(study.plan(ranks))
        load["imbalance"] = plan["imbalance"]
        load["messages"] = cost_model.messages_to(plan["neighbours"], load["iterations"])
        # a plan counts what a rank needs; on the mean it gives as much
        border = plan["halo"] + plan["mean halo"]
        measured = most["profile"]["per_rank"]
        load["bytes"] = there["bytes"] * more * border / max(1.0, measured["ghosts"]["max"] + measured["shared"]["mean"])
    return load


def base_elsewhere(study, rows, calibrations, run):
    """Base row, machine and slowdown of predictions; None where no point had a core for each rank."""
    bound = [r for r in rows if r["run"] == run and not r["oversubscribed"]]
    if not bound:
        return None
    base, full = bound[0], bound[-1]
    # cores of a node share its memory: as slow as with all cores that were tried
    constants = best_constants(calibrations.get(full["ranks"]) or calibrations.get(base["ranks"]))
    machine = cost_model.Machine(constants, study.study["predict"]["network"], BOX_TEST)
    return base, machine, slowdown(calibrations, base, full)


def efficiency_of(study, base, ranks, seconds):
    return sum(base_phases_of(base).values()) / seconds * (base["ranks"] / ranks if study.study["kind"] == "strong" else 1.0)


def predicted_elsewhere(study, rows, calibrations):
    """Rank counts of the study's `predict`, on its network."""
    entries = []
    for run in study.study["runs"] if study.study["predict"] else []:
        found = base_elsewhere(study, rows, calibrations, run)
        if not found:
            continue
        base, machine, slow = found
        for ranks in study.study["predict"]["ranks"]:
            load = load_elsewhere(study, rows, base, ranks)
            times, causes = cost_model.predict(load_of(base), base_phases_of(base), load, ranks, machine, slow)
            entries.append({"run": run, "ranks": ranks, "times": times, "causes": causes, "load": load,
                            "step_s": sum(times.values()), "iterations": load["iterations"],
                            "efficiency": efficiency_of(study, base, ranks, sum(times.values()))})
    return entries


# what the sensitivity table changes: name in the machine, its network or the load, and what it is
CONSTANTS = [("latency", "latency of the network"), ("overhead", "overhead of a message"), ("bandwidth", "bandwidth of a node"),
             ("pack", "bandwidth of gathering and scattering"), ("noise", "scatter of the cores' speed"),
             ("box_test", "time of a look at another rank's box"), ("messages", "messages to neighbours"),
             ("bytes", "bytes to neighbours"), ("collectives", "operations of all ranks"),
             ("box_exchanges", "exchanges of boxes")]


def sensitivity(study, rows, calibrations):
    """Efficiency on the most ranks of `predict` with each constant at half and at twice its value."""
    entries = []
    for run in study.study["runs"] if study.study["predict"] else []:
        found = base_elsewhere(study, rows, calibrations, run)
        if not found:
            continue
        base, machine, slow = found
        ranks = study.study["predict"]["ranks"][-1]

        def efficiency(load, machine, slow=slow):
            times, _ = cost_model.predict(load_of(base), base_phases_of(base), load, ranks, machine, slow)
            return efficiency_of(study, base, ranks, sum(times.values()))
        load = load_elsewhere(study, rows, base, ranks)
        for name, what in CONSTANTS:
            found = []
            for factor in (0.5, 2.0):
                other, changed = cost_model.with_factor(machine, load, name, factor)
                found.append(efficiency(changed, other))
            entries.append({"run": run, "ranks": ranks, "constant": what, "half": found[0], "as_is": efficiency(load, machine),
                            "twice": found[1]})
        if growth(rows, run):
            half, twice = (efficiency(load_elsewhere(study, rows, base, ranks, f), machine) for f in (0.5, 2.0))
            entries.append({"run": run, "ranks": ranks, "constant": "growth of iterations beyond what was run", "half": half,
                            "as_is": efficiency(load, machine), "twice": twice})
        more = max(0.0, load["imbalance"] - 1.0)
        half, twice = (efficiency({**load, "imbalance": 1.0 + f * more}, machine) for f in (0.5, 2.0))
        entries.append({"run": run, "ranks": ranks, "constant": "imbalance above 1", "half": half,
                        "as_is": efficiency(load, machine), "twice": twice})
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
             **{f"{name}_s": value for kind in ("times", "causes") for name, value in e[kind].items()}}
            for e in here + elsewhere]
    write_csv(os.path.join(study.directory, "predictions.csv"), flat,
              ["run", "ranks", "network", "step_s", "measured_s", "iterations"] +
              [f"{name}_s" for name in PHASES + cost_model.CAUSES])
    changed = sensitivity(study, rows, calibrations)
    import scaling_plots
    import scaling_text
    pictures = scaling_plots.draw(study, rows, elsewhere)
    with open(os.path.join(study.directory, "report.md"), "w") as f:
        f.write(scaling_text.report(study, rows, calibrations, here, elsewhere, changed,
                                    {run: growth(rows, run) for run in study.study["runs"]}, pictures, warnings))
    return sum(r["repeats"] for r in rows), warnings
