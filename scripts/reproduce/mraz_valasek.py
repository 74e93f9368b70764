#!/usr/bin/python3
"""L. Mraz and M. Valasek, "The Logarithmic Complexity Procedure for Parallel Multibody Dynamics
Solution", at work: the paper's figure, and what the elimination of a chain, a tree and a net takes on 1 to
4,096 ranks.

    scripts/reproduce/mraz_valasek.py [configs/studies/mraz_valasek.yaml] [-o docs/studies/mraz_valasek]
                                      [--programs build/release/drivers] [--joint spherical|revolute] [--quick]

figure.png: complete odd/even elimination of a chain of N bodies (log2 N) against elimination down to L
blocks that are left to Cholesky, over N. Left: a processor for every joint, counted (bench_chain --model):
multiply-adds on the critical path, a level being one elimination and Cholesky serial. Middle: the same with
the time of each round of messages. Right: measured on one core of this machine, per joint. Says where the
best limit lies.

ranks.png, report.md: rounds of messages, multiply-adds and numbers sent on the critical path, counted from
the structure by bench_chain --model and bench_mechanism --model; beside them the messages that runs of trees and
nets on up to 64 ranks send; times where there is a core for each rank and the cores are quiet; and for all ranks
the price of what is counted,

    T(P) = flops(P) / rate + rounds(P) latency + doubles(P) / bandwidth,

the rate being that of one rank here. Rounds of chains and multiply-adds of trees and nets follow from the structure
in a run, too: that they agree shows that a run has the parts that were counted. Exit code 1 if any of these differs.
--quick: the study's `short` form. Needs python3-yaml, python3-numpy and python3-matplotlib.
"""
import argparse
import csv
import math
import os
import platform
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import yaml  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMITS = [1, 4, 16, 100, 1000]
ALONE = 1000000  # more than there are: Cholesky alone
SEARCH = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
CHAIN = ["--shape", "curled", "--grouping"]


def table(args, program, *options, ranks=0):
    """Rows of a benchmark as dictionaries; on so many ranks through mpirun."""
    command = ["mpirun", "-n", str(ranks)] if ranks else []
    command += [os.path.join(args.programs, program)] + [str(o) for o in options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stderr}")
    lines = done.stdout.splitlines()
    names = lines[0].split()
    return [dict(zip(names, line.split())) for line in lines[1:]]


# --- the paper's figure ---------------------------------------------------------------------------

def curves(rows, value):
    """Per limit: joints and value(row), ascending in joints."""
    result = {}
    for row in rows:
        result.setdefault(int(row["limit"]), []).append((int(row["joints"]), value(row)))
    return {limit: np.array(sorted(points)).T for limit, points in result.items()}


def flops(row):
    return float(row["factor_flop"]) + float(row["solve_flop"])


def modelled(row):
    return float(row["factor_us"]) + float(row["solve_us"])


def measured(row):
    return float(row["factor_ns"]) + float(row["solve_ns"])


def draw(axis, lines, title, unit):
    for limit in LIMITS + [ALONE]:
        if limit not in lines:
            continue
        joints, values = lines[limit]
        label = {1: r"$\log_2 N$ (complete)", ALONE: "Cholesky alone"}.get(
            limit, f"modified, L = {limit}")
        axis.loglog(joints, values, "k-o" if limit == 1 else "-o", ms=3, label=label)
    axis.set_title(title, fontsize=10)
    axis.set_xlabel("joints N")
    axis.set_ylabel(unit)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)


def save(figure, args, name):
    figure.tight_layout()
    path = os.path.join(args.output, name)
    figure.savefig(path, dpi=80)
    plt.close(figure)
    print("wrote", path)


def best(lines, joints):
    """The limit of the smallest value at `joints`; the complete elimination over it and over
    L = 1000."""
    at = {limit: values[list(where).index(joints)] for limit, (where, values) in lines.items()}
    limit = min(at, key=at.get)
    return limit, at[1] / at[limit], at[1] / at[1000]


def serial_ns(lines):
    where, values = lines[ALONE]
    return values[list(where).index(1000)]


def paper_figure(args, settings):
    """Draws it; returns what it shows, as lines of text."""
    latency = float(settings["latency"])
    top = math.log10(settings["joints"])
    joints = sorted({int(round(10 ** e)) for e in np.arange(1.0, top + 0.01, 0.5)})
    limits = sorted(set(LIMITS + SEARCH))
    some = [*CHAIN, "body", "--joint", args.joint, "--joints", *joints, "--limit", *limits]
    # gathering by a tree or a network that takes messages side by side: no overhead per message
    model = table(args, "bench_chain", "--model", "--ranks", 0, "--latency", latency, "--overhead", 0, *some)
    timed = table(args, "bench_chain", *some, ALONE, "--repeats", settings["repeats"])
    sets = [(curves(model, flops), "a processor per joint: counted", "multiply-adds on the path"),
            (curves(model, modelled), f"the same, {1e6 * latency:g} us a round of messages",
             "us, factor and solve"),
            (curves(timed, measured), "measured, one core", "ns per joint, factor and solve")]
    figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.2))
    for axis, (lines, title, unit) in zip(axes, sets):
        draw(axis, lines, title, unit)
    save(figure, args, "figure.png")

    n = joints[-1]
    text, found = [f"{args.joint} chain of {n:,} joints, factor and one solve:", ""], []
    for lines, title, _ in sets:
        limit, gain, paper = best(lines, n)
        found.append(limit)
        name = "Cholesky alone" if limit == ALONE else f"L = {limit}"
        text.append(f"- {title}: best {name}; the complete elimination takes {gain:.2f} times as long "
                    f"({paper:.2f} times L = 1000)")
    text += ["", "Why that differs from the paper's 1000 bodies: a level costs one elimination with two "
             "neighbours (6.33 b^3 flops) and the wait for its messages, and saves half of what Cholesky "
             "(2.33 b^3 flops a block) finds. Counted alone it pays down to 2 * 6.33 / 2.33 = 5 blocks (here "
             f"L = {found[0]}); the waits move the limit up (here to {found[1]}), until the numbers that "
             "are gathered count. At 1000 a level must cost as much as Cholesky of 500 blocks "
             f"({500 * serial_ns(sets[2][0]) * 1e-3:.0f} us here): synchronisation or small matrix "
             "operations must have been that dear. One core does all of the work itself: every "
             "level adds to it, but the blocks of a level do not wait for each other in the processor's "
             "pipeline as those of Cholesky do, so that limits differ little.", ""]
    return text


# --- over ranks -----------------------------------------------------------------------------------

def counts(args, shape, size, ranks):
    """What the elimination takes on so many ranks each, counted on one."""
    if shape == "chain":
        rows = table(args, "bench_chain", "--model", *CHAIN, "rank", "--joint", "spherical", "--joints", size,
                     "--ranks", *ranks)
        return [{"ranks": int(r["ranks"]), "rows": 3 * size, "top_rows": 3 if int(r["ranks"]) > 1 else 0,
                 "factor_rounds": int(r["f_rd"]), "solve_rounds": int(r["s_rd"]),
                 "factor_flops": float(r["factor_flop"]), "solve_flops": float(r["solve_flop"]),
                 "factor_doubles": float(r["f_doubles"]), "solve_doubles": float(r["s_double"])} for r in rows]
    rows = table(args, "bench_mechanism", "--model", f"--{shape}", size, "--ranks", *ranks)
    return [{name: float(r[name]) if "flops" in name or "doubles" in name else int(r[name])
             for name in r if name != "shape"} for r in rows]


def seconds(count, part, rate, place):
    """The price of what is counted; part: factor or solve."""
    return (count[part + "_flops"] / rate[part] + count[part + "_rounds"] * float(place["latency"]) +
            count[part + "_doubles"] / float(place["bandwidth"]))


def run_times(args, study, shape, size, ranks):
    """Seconds of factor and solve, and the share of their cores that ranks had."""
    if shape == "chain":
        row = table(args, "bench_chain", *CHAIN, "rank", "--joint", "spherical", "--joints", size,
                    "--repeats", study["repeats"], ranks=ranks)[0]
        return {"share": float(row["cpu_share"]),
                **{part: 1e-9 * size * float(row[part + "_ns"]) for part in ("factor", "solve")}}
    row = table(args, "bench_mechanism", f"--{shape}", size, "--repeats", study["repeats"], ranks=ranks)[0]
    return {"share": float(row["cpu_share"]),
            **{part: 1e-6 * float(row[part + "_us"]) for part in ("factor", "solve")}}


def differences(args, shape, size, ranks):
    """What a run counts beside what was counted of it, (name, run, counted)."""
    if shape == "chain":
        counted = counts(args, shape, size, [ranks])[0]
        row = table(args, "bench_chain", *CHAIN, "rank", "--joint", "spherical", "--joints", size, "--repeats", 1,
                    ranks=ranks)[0]
        return [("rounds of a solve", int(row["rounds"]), counted["solve_rounds"])]
    row = table(args, "bench_mechanism", f"--{shape}", size, "--repeats", 1, ranks=ranks)[0]
    if not float(row["residual"]) < 1e-12:
        sys.exit(f"{shape} on {ranks} ranks: residual {row['residual']}")
    return [("messages of a factorisation", int(row["sent_factor"]), int(row["factor_messages"])),
            ("messages of a solve", int(row["sent_solve"]), int(row["solve_messages"])),
            ("multiply-adds of a factorisation", int(row["done_flops"]), int(row["all_flops"]))]


def over_ranks(args, study, shape, times):
    """Rows of results.csv: counted, predicted and, where there are cores, measured (`times`, by ranks)."""
    rows = counts(args, shape, study["mechanisms"][shape], study["ranks"] + study["predict"])
    if not times[1]["share"] > study["quiet"]:
        sys.exit(f"{shape}: other programs took {1 - times[1]['share']:.0%} of the core: no rate can be measured")
    rate = {part: rows[0][part + "_flops"] / times[1][part] for part in ("factor", "solve")}
    for row in rows:
        place = study["node" if row["ranks"] <= study["node"]["ranks_per_node"] else "network"]
        row["shape"] = shape
        for part in ("factor", "solve"):
            row[f"predicted_{part}_us"] = 1e6 * seconds(row, part, rate, place)
            timed = times.get(row["ranks"])
            row[f"measured_{part}_us"] = 1e6 * timed[part] if timed and timed["share"] > study["quiet"] else None
    return rows


COLUMNS = ["shape", "ranks", "rows", "factor_rounds", "solve_rounds", "factor_flops", "solve_flops", "factor_doubles",
           "solve_doubles", "top_rows", "predicted_factor_us", "predicted_solve_us", "measured_factor_us",
           "measured_solve_us"]


def both(row, kind):
    """Factor and one solve, us."""
    parts = [row[f"{kind}_{part}_us"] for part in ("factor", "solve")]
    return None if None in parts else sum(parts)


def draw_ranks(args, rows):
    figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.2))
    for shape, color in zip(dict.fromkeys(r["shape"] for r in rows), ("C0", "C2", "C3")):
        some = [r for r in rows if r["shape"] == shape]
        ranks = [r["ranks"] for r in some]
        axes[0].plot(ranks, [r["solve_rounds"] / 2 for r in some], "-o", ms=3, color=color, label=shape)
        axes[1].loglog(ranks, [r["factor_flops"] + r["solve_flops"] for r in some], "-o", ms=3, color=color)
        axes[2].loglog(ranks, [both(r, "predicted") for r in some], "--", color=color, label=f"{shape}, predicted")
        timed = [r for r in some if both(r, "measured") is not None]
        axes[2].loglog([r["ranks"] for r in timed], [both(r, "measured") for r in timed], "o", color=color,
                       label=f"{shape}, measured")
    for axis, title, unit in zip(axes, ("counted: up the tree, and down as many", "counted: factor and one solve",
                                        "factor and one solve"),
                                 ("rounds of messages", "multiply-adds on the path", "us")):
        axis.set_xscale("log", base=2)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("ranks")
        axis.set_ylabel(unit)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    axes[2].legend(fontsize=8)
    save(figure, args, "ranks.png")


def number(value):
    return "-" if value is None else f"{value:,.0f}"


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def report_of(study, rows, checks, paper):
    sizes = study["mechanisms"]
    lines = [f"# {study['name']}: elimination of mechanisms over ranks", "",
             f"Chain of {sizes['chain']:,} spherical joints, tree of {2 ** sizes['tree'] - 2:,} (two branches at every "
             f"body), net of {sizes['net']} x {sizes['net']} knots with a row between neighbours. Made by "
             "`scripts/reproduce/mraz_valasek.py`, which says how; all numbers are in `results.csv`. Times were measured "
             f"on {processor()}, {study['cores']} cores, best of {study['repeats']}.", "",
             "## Counted on 1 to 64 ranks", "",
             "Messages are those that runs on so many ranks sent. Rounds of the chain and multiply-adds follow from the "
             "structure, in a run as in the count: they show that a run has the parts that were counted, not what it "
             "computed. Ranks that share a core say nothing of time. Chain of "
             f"{study['counted']['chain']:,} joints, tree of {2 ** study['counted']['tree'] - 2:,}, net of "
             f"{study['counted']['net']} x {study['counted']['net']} knots, all ranks together; in brackets what was "
             "counted before, where it is another number:", "",
             "| mechanism | what | " + " | ".join(f"{n} ranks" for n in study["ranks"]) + " |",
             "|---|---|" + "---|" * len(study["ranks"])]
    for shape, name in dict.fromkeys((shape, name) for shape, _, name, _, _ in checks):
        cells = [f"{done:,}" + (f" ({counted:,})" if done != counted else "")
                 for of, _, what, done, counted in checks if (of, what) == (shape, name)]
        lines.append(f"| {shape} | {name} | " + " | ".join(cells) + " |")
    timed = sorted({row["ranks"] for row in rows if both(row, "measured") is not None})
    lines += ["", "## On the critical path, counted and predicted", "",
              "Rounds wait for each other: up the tree (factor), up and down (solve). A chain's ends need one round more. "
              "Multiply-adds and numbers sent are the largest node's of each level, added up. Times in us: measured on "
              f"{', '.join(map(str, timed))} {'rank' if timed == [1] else 'ranks'}, a prediction on all others. None was "
              "measured where ranks would share a core, or other programs took more than "
              f"{1 - study['quiet']:.0%} of the cores:", "",
              "| mechanism | ranks | rounds, factor + solve | multiply-adds, factor | solve | doubles sent | rows of the top "
              "separator | predicted | measured |", "|---" * 9 + "|"]
    for row in rows:
        lines.append(
            f"| {row['shape']} | {row['ranks']:,} | {row['factor_rounds']} + {row['solve_rounds']} | "
            f"{row['factor_flops']:,.0f} | {row['solve_flops']:,.0f} | "
            f"{row['factor_doubles'] + row['solve_doubles']:,.0f} | {row['top_rows']:,} | "
            f"{number(both(row, 'predicted'))} | {number(both(row, 'measured'))} |")
    lines.append("")
    for shape in dict.fromkeys(r["shape"] for r in rows):
        some = [r for r in rows if r["shape"] == shape]
        least = min(some, key=lambda r: both(r, "predicted"))
        gain = both(some[0], "predicted") / both(least, "predicted")
        lines.append(f"- {shape}: of these least on {least['ranks']:,} ranks, {gain:.0f} times one rank")
    lines += ["", "The node above all of a net has as many rows as the net has knots along an edge, and one rank "
              "eliminates it: that is what is left on many ranks. Chains and trees have separators of a joint or a few: "
              "rounds are what is left.", "", "![over ranks](ranks.png)", "", "## The paper's figure", "", *paper,
              "![the paper's figure](figure.png)", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", nargs="?", default=os.path.join(ROOT, "configs", "studies", "mraz_valasek.yaml"))
    parser.add_argument("-o", dest="output", default=os.path.join(ROOT, "docs", "studies", "mraz_valasek"))
    parser.add_argument("--programs", default="build/release/drivers", help="where bench_chain and bench_mechanism are")
    parser.add_argument("--joint", default="spherical", choices=["spherical", "revolute"], help="of the figure")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    with open(args.study, encoding="utf-8") as file:
        study = yaml.safe_load(file)
    short = study.pop("short")
    if args.quick:
        study.update(short)
    os.makedirs(args.output, exist_ok=True)

    # times one after another, as quickly as may be: a machine is rarely quiet for long
    times = {shape: {n: run_times(args, study, shape, size, n) for n in study["ranks"] if n <= study["cores"]}
             for shape, size in study["mechanisms"].items()}
    paper = paper_figure(args, study["figure"])
    rows = [row for shape in study["mechanisms"] for row in over_ranks(args, study, shape, times[shape])]
    with open(os.path.join(args.output, "results.csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    draw_ranks(args, rows)
    checks = [(shape, ranks, *what) for shape, size in study["counted"].items() for ranks in study["ranks"]
              for what in differences(args, shape, size, ranks)]
    with open(os.path.join(args.output, "report.md"), "w", encoding="utf-8") as file:
        file.write(report_of(study, rows, checks, paper))
    print("wrote", os.path.join(args.output, "report.md"))
    wrong = [check for check in checks if check[3] != check[4]]
    for shape, ranks, name, done, counted in wrong:
        print(f"{shape} on {ranks} ranks: {name}: {done}, but {counted} were counted")
    late = [r for r in rows if abs(r["solve_rounds"] - 2 * math.log2(r["ranks"])) > 0.5]
    for row in late:
        print(f"{row['shape']} on {row['ranks']} ranks: {row['solve_rounds']} rounds of a solve, not twice their log2")
    return 1 if wrong or late else 0


if __name__ == "__main__":
    sys.exit(main())
