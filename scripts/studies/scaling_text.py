"""report.md of a scaling study: what was measured, and, apart from it, what the model says."""
import platform

import cost_model

PHASES = ["contacts", "rows", "solver_setup", "sweeps", "motion", "checks", "flow", "balance"]


def table(heads, lines):
    rows = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    return rows + ["| " + " | ".join(line) + " |" for line in lines] + [""]


def number(value, digits=3):
    return "-" if value is None else f"{value:.{digits}g}"


def count(value):
    return f"{value:,.0f}"


def ms(seconds):
    return "-" if seconds is None else f"{1e3 * seconds:.3g}"


def ranks_text(row):
    return f"{row['ranks']}{' (oversubscribed)' if row['oversubscribed'] else ''}"


def start_text(study):
    """Where the measured steps begin."""
    if study.study["checkpoint"]:
        return f" after step {study.first_step()} of `{study.study['checkpoint']}`"
    return f" after {study.study['warm_up']} that are not measured" if study.study["warm_up"] else ""


def head_lines(study, rows, calibrations, warnings):
    profile = rows[0]["profile"]
    cpus = sorted({c["cpu"] for c in calibrations.values()}) or [platform.processor() or "unknown"]
    hosts = sorted({r["profile"]["hosts"] for r in rows})
    loads = max(r["load_average"] for r in rows)
    lines = [f"# {study.study['name']}: {study.study['kind']} scaling", "",
             f"Case `{profile['case']}`, {study.study['steps']} steps a run{start_text(study)}, the fastest of up to "
             f"{study.study['repeats']} repeats made in turns.", "",
             f"- machine: {', '.join(hosts)}; {', '.join(cpus)}; {study.cores} cores; load average up to "
             f"{loads:.1f} when a point began (what is above 0 then are other programs)",
             f"- program: catena {profile['version']} ({profile['git_hash']}), {profile['build']}",
             f"- made by `scripts/scaling_study.py {study.study['file']}`", ""]
    for warning in warnings:
        lines += [f"**Warning:** {warning}.", ""]
    if any(r["oversubscribed"] for r in rows):
        lines += ["**Oversubscribed** points have more ranks than cores: they show that a run works and what it "
                  "exchanges, not how fast it would be. Plots mark them by open symbols.", ""]
    return lines


def measured_lines(rows):
    lines = ["## Measured", ""]
    for run in dict.fromkeys(r["run"] for r in rows):
        some = [r for r in rows if r["run"] == run]
        title = "Fixed number of iterations" if run == "fixed" else "To the tolerance"
        lines += [f"### {title}", "", "Time of a step on the slowest rank, ms: the fastest repeat's mean, the median "
                  "and the worst of the repeats, and the fastest single step. Efficiency of the step, of the sweeps "
                  "alone, and of contact updates per second and rank.", ""]
        lines += table(
            ["ranks", "bodies", "contacts", "iterations a step", "step", "median", "worst", "fastest step", "speed-up",
             "efficiency", "sweeps", "updates"],
            [[ranks_text(r), count(r["bodies"]), count(r["contacts"]), number(r["iterations"], 4), ms(r["step_s"]),
              ms(r["step_median_s"]), ms(r["step_worst_s"]), ms(r["fastest_step_s"]), number(r["speed_up"]),
              number(r["efficiency"]), number(r["sweeps_efficiency"]), number(r["rate_efficiency"])] for r in some])
        lines += ["Phases of a step, ms: least / mean / largest rank.", ""]
        lines += table(["ranks"] + PHASES, [[ranks_text(r)] + [
            " / ".join(ms(r[f"{p}_{part}"]) for part in ("min", "mean", "max")) for p in PHASES] for r in some])
        lines += ["What a step exchanges: of the rank with most of it, bodies that it needs and shares, neighbours, bytes "
                  "and messages to them; operations in which all ranks wait for all, sums that travel meanwhile, and what "
                  "each rank then hears of all others (above 64 ranks the first of 64, of these and of all 64s), the start "
                  "of a run included.", ""]
        lines += table(
            ["ranks", "ghosts", "shared", "neighbours", "halo, kB", "messages", "waits of all", "sums meanwhile",
             "heard of all, kB"],
            [[ranks_text(r), count(r["ghosts"]), count(r["shared"]), count(r["neighbours"]), number(1e-3 * r["halo_bytes"], 4),
              number(r["messages"], 4), number(r["collectives"], 4), number(r["posted_reductions"], 4),
              number(1e-3 * r["gathered_bytes"])] for r in some])
        lines += ["How the work is spread, memory of the largest rank; CPU time over wall time (below 1 a rank was kept "
                  "from its core).", ""]
        lines += table(
            ["ranks", "imbalance", "edge cut, rows", "memory, MB", "set-up, s", "CPU share", "steps missed"],
            [[ranks_text(r), number(r["imbalance"], 4), count(r["edge_cut"]), count(1e-6 * r["memory_bytes"]),
              number(r["setup_s"]), number(r["cpu_share"]), f"{r['steps_missed']} of {r['steps']}"] for r in some])
    return lines


def calibration_lines(calibrations):
    if not calibrations:
        return ["No calibration of this machine is at hand; computing is taken to be as fast on all rank counts.", ""]
    names = list(dict.fromkeys(name for c in calibrations.values() for name in c["constants"]))
    heads = ["constant", "unit"] + [f"{ranks} rank{'s' if ranks > 1 else ''}" for ranks in calibrations]
    lines = []
    for name in names:
        known = [c["constants"].get(name) for c in calibrations.values()]
        unit = next(k["unit"] for k in known if k)
        cells = [f"{k['value']:.3g} ({k['low']:.3g} to {k['high']:.3g})" if k and k["value"] is not None else "-"
                 for k in known]
        lines.append([f"`{name}`", unit] + cells)
    return ["Constants of this machine by `catena calibrate`, median (least to largest of its repeats); the model "
            "takes the best of them, as the fastest repeat of a point counts.", ""] + table(heads, lines)


def beside_lines(here):
    if not here:
        return []
    lines = ["### Beside the measurement", "",
             "The model starts from the measured base point, scales each phase by the work of the mean rank, its "
             "imbalance and what computing loses when all cores are at the memory, and adds messages by the constants "
             "above. Inputs that come from the measured point itself: its counts, not its times. ms.", ""]
    rows = []
    for e in here:
        rows.append([e["run"], str(e["ranks"]), ms(e["step_s"]), ms(e["measured_s"]),
                     f"{100.0 * (e['step_s'] / e['measured_s'] - 1.0):+.0f} %"] +
                    [f"{ms(e['times'][p])} / {ms(e['measured'][p])}" for p in ("contacts", "rows", "solver_setup",
                                                                            "sweeps", "motion")])
    return lines + table(["run", "ranks", "predicted", "measured", "difference", "contacts", "rows", "solver set-up",
                          "sweeps", "motion"], rows)


def law_text(laws):
    """How iterations grow, as far as there are points to say so."""
    found = [law for law in laws.values() if law]
    if not found:
        return "Iterations are those of the most ranks that were run: fewer than three such points have two ranks or more. "
    a, b = found[0]
    return (f"Iterations to the tolerance are those of the most ranks that were run and grow from there by {max(0.0, b):.2g} "
            f"each time the ranks double, as they did on the last three rank counts (by least squares {a:.3g} + {b:.2g} log2 P). ")


def elsewhere_lines(study, elsewhere, laws):
    if not elsewhere:
        return []
    predict = study.study["predict"]
    net = predict["network"]
    source = "`catena plan` for each rank count" if predict["plan"] else \
        "the counts of the most ranks that were run, borders in proportion to the surface of a part"
    lines = [f"### Prediction for {net['name']}", "",
             "**Not measured.** Inputs: the base point's phases, without the time in which other programs had its core; "
             f"this machine's constants for computing and packing; {source}; and, given in the study, a network with "
             f"latency {1e6 * net['latency']:g} us, overhead {1e6 * net['overhead']:g} us a message, "
             f"{1e-9 * net['bandwidth']:g} GB/s a node, {net['ranks_per_node']} ranks a node, noise "
             f"{100.0 * net['noise']:g} %. Cores are taken to be as fast as this machine's. " + law_text(laws).rstrip(), ""]
    lines += table(["run", "ranks", "bodies a rank", "iterations", "imbalance", "messages", "halo, kB", "waits of all",
                    "heard of all, kB", "efficiency"],
                   [[e["run"], count(e["ranks"]), count(e["load"]["bodies"]), number(e["iterations"], 4),
                     number(e["load"]["imbalance"], 4), number(e["load"]["messages"], 4), number(1e-3 * e["load"]["bytes"], 4),
                     number(e["load"]["collectives"], 4), number(1e-3 * e["load"]["box_exchanges"] * cost_model.gathered_bytes(e["ranks"]), 3),
                     number(e["efficiency"])] for e in elsewhere])
    lines += ["The same step by cause, ms: the base point's work; what memory that other cores use, too, adds; more "
              "iterations; the fullest rank; the slowest core; messages to neighbours and their bytes; waits of all for "
              "all; exchanges of boxes.", ""]
    return lines + table(["run", "ranks", "step"] + cost_model.CAUSES,
                         [[e["run"], count(e["ranks"]), ms(e["step_s"])] + [ms(e["causes"][c]) for c in cost_model.CAUSES]
                          for e in elsewhere])


def sensitivity_lines(changed):
    if not changed:
        return []
    lines = ["### Sensitivity of the prediction", "", f"Efficiency on {count(changed[0]['ranks'])} ranks with one constant or "
             "count at half and at twice its value, the rest as above.", ""]
    return lines + table(["run", "constant", "half", "as it is", "twice"],
                         [[e["run"], e["constant"], number(e["half"]), number(e["as_is"]), number(e["twice"])]
                          for e in sorted(changed, key=lambda e: (e["run"], -abs(e["half"] - e["twice"])))])


def report(study, rows, calibrations, here, elsewhere, changed, laws, pictures, warnings):
    lines = head_lines(study, rows, calibrations, warnings) + measured_lines(rows)
    lines += [f"![{title}]({name})" for title, name in pictures] + [""]
    lines += ["## Model", "", "Nothing below is a measurement but where it says so; docs/scaling.md has the model.", ""]
    lines += calibration_lines(calibrations) + beside_lines(here) + elsewhere_lines(study, elsewhere, laws)
    return "\n".join(lines + sensitivity_lines(changed)).rstrip() + "\n"
