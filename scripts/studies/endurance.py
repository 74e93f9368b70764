#!/usr/bin/python3
"""A long run on several ranks: the rotating drum with rebalancing, snapshots and checkpoints, its memory watched
from outside, its energy balance closed from its series, its warnings counted.

    scripts/studies/endurance.py [--small] [--steps 200000] [--ranks 2] [--catena PATH] [--mpiexec PATH] [--work DIR] [--limit S]

--small takes a drum of 207 grains in place of 1,248, and solves its steps to 1e-2 of the energy in place of 1e-6:
200,000 steps are then minutes, and rebalancing, buffers, files and audit work as in the large one.

Prints a table of ten spans of the run and a verdict on each of:

memory     resident memory of every rank (numbered by the ids of their processes), its median over the last tenth of
           the steps against that over the second tenth (the first sees the grains fall and every buffer grow): at most
           1 % more, in forms of less than 20,000 steps, in which buffers still grow to the most contacts, 5 %
energy     what the audit does not explain is at most 1 % of the energy that friction and impacts have turned into
           heat. Energies, works and residual of every row have to add up, too; since the residual is defined as
           what is missing, this says that no column was left out or damaged, and nothing of the mechanics
warnings   none in log.jsonl, but that of --limit and those of overlaps between 1 % of the smaller radius, from which on
           overlaps are told, and 5 %; of overlaps under heavy loads, which the drum does not have, none
order      steps without a gap in the series, every snapshot there and its sums of bytes right, two checkpoints left,
           the last of the last step
balance    bodies changed rank at least once, and the imbalance stays below 1.5 on average

--limit ends the run after that wall time, as --max-wall does; the verdict is on what was done.

Exit code: 0 all good, 1 a verdict failed, 3 wrong usage.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASE = ROOT / "configs/examples/rotating_drum.yaml"
STEP = 1e-3  # s, of the case
SERIES_STEPS = 10
SNAPSHOT_STEPS = 2000
CHECKPOINT_STEPS = 1000
# of the case, for --small
SMALL = {"bodies.drum.shape.hollow_cylinder.inner_radius": "0.12", "bodies.drum.shape.hollow_cylinder.length": "0.08",
         "generators.coarse.count": "[6, 3, 4]", "generators.coarse.origin": "[-0.05625, -0.0225, -0.085]",
         "generators.fine.count": "[9, 5, 3]", "generators.fine.origin": "[-0.0624, -0.0312, 0.003]",
         "solver.relative_tolerance": "1e-2"}
# of the smaller radius: larger overlaps are told, and up to this a collision of falling grains may be so deep
NOTABLE_OVERLAP, DEEP_OVERLAP = 0.01, 0.05
KEPT = ["kinetic_energy", "potential_energy", "elastic_energy"]
GAINED = ["recovery_work", "external_work", "cohesion_work", "flow_energy", "joint_work", "motor_work",
          "projection_work", "elastic_jump", "energy_residual"]
LOST = ["dissipation_friction", "dissipation_impact"]


def ranks_below(pid):
    """Processes of catena that mpiexec has started, in the order of their ids, which need not be that of the ranks."""
    listed = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(pid)], capture_output=True, text=True)
    return sorted(int(line.split()[0]) for line in listed.stdout.splitlines() if line.split()[1] == "catena")


def resident_megabytes(pid):
    pages = int(pathlib.Path("/proc/%d/statm" % pid).read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def step_of(series):
    """Step of the last whole row so far."""
    try:
        with open(series, "rb") as table:
            table.seek(max(0, os.path.getsize(series) - 8192))
            return int(table.read().split(b"\n")[-2].split(b",")[1])
    except (FileNotFoundError, IndexError, ValueError):
        return 0


def watch(run, ranks, series):
    """Samples (step, MB of each rank) until the run ends. By steps and not by time, since on a machine that others use
    most of the time may be that of few steps."""
    samples = []
    while run.poll() is None:
        pids = ranks_below(run.pid) if ranks > 1 else [run.pid]
        try:
            row = [resident_megabytes(pid) for pid in pids]
        except (FileNotFoundError, ProcessLookupError, IndexError):
            row = []
        if len(row) == ranks:
            samples.append([step_of(series)] + row)
        time.sleep(0.25)
    return np.array(samples)


def start(options, out):
    command = [options.catena, "run", CASE, "-o", out, "--quiet"]
    settings = {"time.end": "%.17g" % (options.steps * STEP), "output.snapshot_interval": "%g" % (SNAPSHOT_STEPS * STEP),
                "output.series_steps": SERIES_STEPS, "output.checkpoint_steps": CHECKPOINT_STEPS,
                "parallel.rebalance_steps": 100, **(SMALL if options.small else {})}
    for key, value in settings.items():
        command += ["--set", "%s=%s" % (key, value)]
    if options.limit:
        command += ["--max-wall", "%g s" % options.limit]
    if options.ranks > 1:
        command = [options.mpiexec, "-n", options.ranks] + command
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    return subprocess.Popen([str(word) for word in command], env=environment, stdout=subprocess.DEVNULL)


def series_of(out):
    table = np.genfromtxt(out / "series.csv", delimiter=",", names=True, deletechars="", replace_space=" ")
    return {name.split(" ")[0]: table[name] for name in table.dtype.names}


def memory_in(samples, done, tenth):
    """Median of each rank's memory in a tenth of the steps; not a number where nobody looked."""
    part = 10 * samples[:, 0] / done
    inside = samples[(part > tenth) & (part <= tenth + 1), 1:]
    return np.median(inside, axis=0) if len(inside) else np.full(samples.shape[1] - 1, np.nan)


def memory_verdict(samples, done):
    """Growth of each rank's memory, as a part."""
    most = 0.01 if done >= 20000 else 0.05
    early, late = memory_in(samples, done, 1), memory_in(samples, done, 9)
    growth = late / early - 1
    text = ", ".join("rank %d %.2f to %.2f MB (%+.2f %%)" % (r, a, b, 100 * g)
                     for r, (a, b, g) in enumerate(zip(early, late, growth)))
    return bool(np.all(growth <= most)), text


def energy_verdict(series):
    total = sum(series[name] for name in KEPT) + sum(series[name] for name in LOST) - sum(series[name] for name in GAINED)
    size = max(np.abs(series[name]).max() for name in KEPT + LOST + GAINED)
    gap = np.abs(total - total[0]).max()
    heat = sum(series[name][-1] for name in LOST)
    residual = np.abs(series["energy_residual"]).max()
    text = ("residual %.3g J of %.4g J that became heat (%.2g %%); columns add up to %.1e of the largest"
            % (residual, heat, 100 * residual / heat, gap / size))
    return bool(gap <= 1e-9 * size and residual <= 0.01 * heat), text


def log_of(out):
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def is_common_overlap(line):
    """Whether a line tells of an overlap alone, as deep as they may be, and not of one under a heavy load."""
    return NOTABLE_OVERLAP < line.get("overlap", 0.0) <= DEEP_OVERLAP and "load" not in line and "steps" not in line


def warning_verdict(log):
    told = [line for line in log if line["level"] not in ("info", "debug", "trace")
            and not re.match(r"stopped at step \d+ of \d+ by --max-wall", line["text"])]
    overlaps = [line["overlap"] for line in told if is_common_overlap(line)]
    texts = [line["text"] for line in told if not is_common_overlap(line)]
    text = "; ".join([str(len(texts))] + sorted(set(texts))[:5])
    if overlaps:
        text += ", besides %d of overlaps up to %.2g %% of a radius" % (len(overlaps), 100 * max(overlaps))
    return not texts, text


def order_verdict(out, series, options, done):
    steps = series["step"].astype(int)
    missing = []
    # a run that is stopped leaves the row of the last steps to the one that goes on
    expected = np.arange(SERIES_STEPS, done + 1, SERIES_STEPS)
    if done == options.steps and done % SERIES_STEPS:
        expected = np.append(expected, done)
    if not np.array_equal(steps, expected):
        missing.append("rows of the series")
    shots = sorted(int(path.stem) for path in (out / "snapshots").glob("*.h5"))
    if shots[:1] != [0] or not set(range(0, done + 1, SNAPSHOT_STEPS)) <= set(shots):
        missing.append("snapshots")
    checkpoints = sorted(out.glob("checkpoint-*.h5"))
    if len(checkpoints) != min(2, -(-done // CHECKPOINT_STEPS)) or int(checkpoints[-1].stem.split("-")[1]) != done:
        missing.append("checkpoints: %s" % [path.name for path in checkpoints])
    for path in [*checkpoints, *(out / "snapshots").glob("*.h5")]:
        told = subprocess.run([options.catena, "info", path], capture_output=True, text=True)
        if told.returncode != 0 or "all good" not in told.stdout:
            missing.append("%s: %s" % (path.name, told.stderr))
    text = "%d rows, %d snapshots, %d checkpoints" % (len(steps), len(shots), len(checkpoints))
    return not missing, "; ".join([text] + missing)


def balance_verdict(log, series, ranks):
    # looks at which bodies stay are reported in the log, too
    moves = sum("bodies change rank" in line["text"] for line in log)
    mean = series["imbalance"].mean()
    return ranks == 1 or bool(moves > 0 and mean < 1.5), "bodies changed rank %d times, imbalance %.3f on average" % (moves, mean)


def table(samples, series, ranks, done):
    print("| span | steps | ms a step | contacts | heat, J | residual, J | " +
          " | ".join("rank %d, MB" % r for r in range(ranks)) + " |")
    print("|---" * (6 + ranks) + "|")
    rows = len(series["step"])
    for k in range(10):
        part = slice(k * rows // 10, max((k + 1) * rows // 10, k * rows // 10 + 1))
        heat = sum(series[name][part][-1] for name in LOST)
        print("| %d | %d | %.2f | %.0f | %.4g | %.3g | %s |" % (
            k + 1, series["step"][part][-1], 1e3 * np.mean(series["step_wall_s"][part]), series["contacts"][part].mean(), heat,
            series["energy_residual"][part][-1], " | ".join("%.2f" % m for m in memory_in(samples, done, k))))


def study(options, out):
    begun = time.monotonic()
    run = start(options, out)
    samples = watch(run, options.ranks, out / "series.csv")
    seconds = time.monotonic() - begun
    if run.returncode not in (0, 2):
        print("the run ended with exit code %d" % run.returncode)
        return 1
    series, log = series_of(out), log_of(out)
    done = max(int(path.stem.split("-")[1]) for path in out.glob("checkpoint-*.h5"))
    print("%d steps of %s%s on %d ranks in %.0f s, %.0f steps a second; %.0f iterations a step\n" % (
        done, CASE.name, ", small" * options.small, options.ranks, seconds, done / seconds, series["iterations"].mean()))
    table(samples, series, options.ranks, done)
    print()
    failed = 0
    for name, (good, text) in (("memory", memory_verdict(samples, done)), ("energy", energy_verdict(series)),
                               ("warnings", warning_verdict(log)), ("order", order_verdict(out, series, options, done)),
                               ("balance", balance_verdict(log, series, options.ranks))):
        failed += not good
        print("%-9s %-6s %s" % (name, "good" if good else "FAILED", text))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="207 grains")
    parser.add_argument("--steps", type=int, default=200000)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--catena", type=pathlib.Path, default=ROOT / "build/release/drivers/catena")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--work", type=pathlib.Path, help="where the result is kept; else it is removed")
    parser.add_argument("--limit", type=float, help="s of wall time")
    try:
        options = parser.parse_args()
    except SystemExit as leave:
        return 3 if leave.code else 0
    if options.steps < 10 * SERIES_STEPS or options.ranks < 1:
        print("at least %d steps and one rank" % (10 * SERIES_STEPS), file=sys.stderr)
        return 3
    if options.work:
        return study(options, options.work)
    with tempfile.TemporaryDirectory() as directory:
        return study(options, pathlib.Path(directory, "drum"))


if __name__ == "__main__":
    sys.exit(main())
