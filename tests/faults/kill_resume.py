#!/usr/bin/python3
"""kill -9 at random moments of stepping, output and checkpoints, of one rank, all ranks or mpirun, again and
again; each time the run is resumed on another number of ranks. In the end the result is that of a run
nobody disturbed: no snapshot and no row of the series is lost or there twice. With --deterministic it is so
bit by bit, whatever the numbers of ranks in between.

    kill_resume.py CATENA MPIEXEC [--kills 3] [--seed N] [--deterministic]
"""
import collections
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py is missing (Debian: python3-h5py)")
    sys.exit(77)

import program

STEPS = 120
# Solved so well that the number of ranks shows in the last digits only; bodies come in, so that
# bodies.h5 is written anew; a chain, so that joints and their multipliers are in the state.
SCENE = """catena: 1
name: scene
materials: {m: {density: 1000, friction: 0.5}}
contact: {law: ccp}
bodies:
  - {name: floor, material: m, shape: {plane: {}}}
generators:
  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [6, 6, 3],
              spacing: 0.201, origin: [0, 0, 0.1], position_jitter: 0.4 mm}
  - insertion: {name: rain, material: m, shape: {sphere: {radius: 0.05}}, number_rate: 100, count: 10,
                region: {lower: [2, 0, 1], upper: [3, 1, 2]}}
  - chain: {name: chain, material: m, links: 6, joint: spherical, from: [4, 0, 1], to: [4.9, 0, 1],
            anchored: first, shape: {sphere: {radius: 0.05}}}
time: {step: 1 ms, end: %d ms}
solver: {max_iterations: 2000, relative_tolerance: 1e-16, absolute_tolerance: 1e-22 J}
parallel: {rebalance_steps: 20}
output: {snapshot_interval: 3 ms, checkpoint_steps: 5}
""" % STEPS
# Bits that do not depend on the number of ranks; an accuracy at which most steps stop by the error.
DETERMINISTIC = SCENE.replace("relative_tolerance: 1e-16, absolute_tolerance: 1e-22 J", "relative_tolerance: 1e-6").replace(
    "rebalance_steps: 20", "rebalance_steps: 20, deterministic: true, tile_bodies: 20")
RANKS = (1, 2, 3)
# places of bodies after a change of the number of ranks: errors of the solve, grown over the run
TOLERANCE = 1e-6


class Runs:
    def __init__(self, catena, mpiexec, directory, report):
        self.catena, self.mpiexec, self.directory, self.report = catena, mpiexec, directory, report
        self.out = pathlib.Path(directory, "out")
        self.moments = collections.Counter()
        self.victims = collections.Counter()
        self.kills = self.anew = self.stuck = 0

    def start(self, ranks, options):
        command = program.command(self.mpiexec, self.catena, ranks,
                                  ["run", "scene.yaml", "-o", "out", "--quiet", *options])
        self.errors = open(pathlib.Path(self.directory, "errors.txt"), "w+")
        return subprocess.Popen(command, cwd=self.directory, stdout=subprocess.DEVNULL, stderr=self.errors)

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def ranks_of(self, run, ranks):
        if ranks == 1:
            return [run.pid]
        listed = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(run.pid)], capture_output=True, text=True)
        return [int(line.split()[0]) for line in listed.stdout.splitlines() if line.split()[1] == "catena"]

    def rows(self):
        """Of the series so far."""
        try:
            return (self.out / "series.csv").read_bytes().count(b"\n") - 1
        except FileNotFoundError:
            return 0

    def parts(self):
        """What is being written at this moment."""
        found = set()
        for folder in (self.out, self.out / "snapshots"):
            try:
                names = os.listdir(folder)
            except FileNotFoundError:
                continue
            for name in names:
                if name.endswith(".part"):
                    found.add("snapshot" if folder.name == "snapshots" else name.split("-")[0].split(".")[0])
        return found

    def wait_for_moment(self, run, ranks, wanted, delay):
        """`delay` seconds after the start, or from half of that on while a file of the wanted kind is being
        written. The ranks, and what was being written."""
        start = time.time()
        pids = []
        while run.poll() is None and len(pids) < ranks and time.time() - start < 30:
            pids = self.ranks_of(run, ranks)
        time.sleep(max(0.0, start + delay / 2 - time.time()))
        writing = self.parts()
        while run.poll() is None and time.time() - start < delay and (not wanted or wanted not in writing):
            time.sleep(0.0002)
            writing = self.parts()
        return pids, sorted(writing)

    def kill(self, run, pids, victim):
        """Returns false if the run was over before."""
        if run.poll() is not None or not pids:
            return False
        chosen = {"one": [random.choice(pids)], "all": pids, "mpirun": [run.pid]}[victim]
        killed = 0
        for pid in chosen:
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass  # over before, or ended by mpirun after the first one
        if killed == 0:
            return False
        # nobody writes any more before the next one starts; mpirun has to end the others
        left, ended = program.end_after_kill(run, pids)
        self.report.expect(not left, "ranks outlive the others: " + str(left))
        self.stuck += not ended
        return True

    def next_options(self):
        """How the next run has to start: without a checkpoint --resume is refused, and nothing is lost."""
        if list(self.out.glob("checkpoint-*.h5")):
            return ["--resume"]
        if not self.out.exists():
            return []
        before = sorted(os.listdir(self.out))
        done = program.run(self.mpiexec, self.catena, 1, ["run", "scene.yaml", "-o", "out", "--resume"], self.directory)
        self.report.expect(done.returncode in (3, 5) and "checkpoint" in done.stderr, "resume without checkpoint", done)
        self.report.expect(sorted(os.listdir(self.out)) == before, "a refused resume touches nothing")
        self.anew += 1
        return ["--force"]

    def disturb(self, longest):
        """One run that is killed, or comes to its end. Returns whether it came to its end."""
        ranks = random.choice(RANKS)
        # snapshots in the background are the same in the end
        options = self.next_options() + random.choice([[], ["--set", "output.asynchronous=true"]])
        wanted = random.choice([None, "snapshot", "checkpoint", "checkpoint", "bodies", "result"])
        victim = random.choice(["one", "all"] + (["mpirun"] if ranks > 1 else []))
        run = self.start(ranks, options)
        pids, during = self.wait_for_moment(run, ranks, wanted, random.uniform(0.1, longest))
        rows = self.rows()
        if self.kill(run, pids, victim):
            self.kills += 1
            self.victims[victim] += 1
            self.moments["+".join(during) or ("steps" if rows > 0 else "start")] += 1
            return False
        code = run.wait(timeout=300)
        self.report.expect(code == 0, "%d ranks, %s: exit code %d: %s" % (ranks, options, code, self.said()))
        return True

    def finish(self, ranks):
        run = self.start(ranks, self.next_options())
        code = run.wait(timeout=300)
        self.report.expect(code == 0, "the last run on %d ranks: exit code %d: %s" % (ranks, code, self.said()))


def series_of(path):
    """Columns but those of the clock and of the partition, by name."""
    table = np.genfromtxt(path / "series.csv", delimiter=",", names=True, deletechars="", replace_space=" ")
    return {name.split(" ")[0]: table[name] for name in table.dtype.names}


def expect_same(report, found, wanted, same_bits, what):
    steps = list(range(0, STEPS + 1, 3))
    names = ["%08d" % step for step in steps]
    files = sorted(path.stem for path in (found / "snapshots").iterdir())
    report.expect(files == names, "%s: snapshots %s" % (what, files))
    one, other = series_of(found), series_of(wanted)
    report.expect(np.array_equal(one["step"], np.arange(1, STEPS + 1)), "%s: rows %s" % (what, one["step"]))
    # nothing is left behind or missing, neither of Catena's own nor of what the MPI library keeps beside open files
    # (a run that resumes after its last step has no times to tell of in profile.json)
    one_names, other_names = ({str(p.relative_to(path)) for p in path.rglob("*")} - {"profile.json"}
                              for path in (found, wanted))
    report.expect(one_names == other_names, "%s: names %s" % (what, sorted(one_names ^ other_names)))
    with h5py.File(found / "result.h5", "r") as f, h5py.File(wanted / "result.h5", "r") as g:
        report.expect(sorted(f["snapshots"]) == names, what + ": links of the index")
        report.expect(len(f["series/time"]) == STEPS, what + ": series of the index")
        for name in ("id", "mass", "name"):
            report.expect(np.array_equal(f["bodies/" + name][()], g["bodies/" + name][()]), what + ": bodies/" + name)
        for name in names:
            a, b = f["snapshots"][name], g["snapshots"][name]
            report.expect(np.array_equal(a["bodies/id"][()], b["bodies/id"][()]), "%s: %s: ids" % (what, name))
            for column in ("position", "velocity", "orientation"):
                x, y = a["bodies/" + column][()], b["bodies/" + column][()]
                worst = np.abs(x - y).max() if x.shape == y.shape else np.inf
                limit = 0 if same_bits else TOLERANCE * (1000 if column == "velocity" else 1)
                report.expect(worst <= limit, "%s: %s: %s differs by %g" % (what, name, column, worst))
    if same_bits:
        for name in one:
            if name != "step_wall_s" and not name.startswith("imbalance"):
                report.expect(np.array_equal(one[name], other[name]), "%s: series %s" % (what, name))


def seconds_of_run(runs, ranks, name):
    """An undisturbed run, kept under `name`."""
    start = time.time()
    runs.finish(ranks)
    seconds = time.time() - start
    os.rename(runs.out, runs.out.parent / name)
    return seconds


def main():
    options = program.random_options(("--kills", {"type": int, "default": 3}), ("--deterministic", {"action": "store_true"}))
    report = program.Report()
    rounds = 0
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "scene.yaml").write_text(DETERMINISTIC if options.deterministic else SCENE)
        runs = Runs(options.catena, options.mpiexec, directory, report)
        longest = seconds_of_run(runs, 2, "undisturbed")
        while runs.kills < options.kills and report.failures == 0:
            shutil.rmtree(runs.out, ignore_errors=True)
            over = False
            while not over and runs.kills < options.kills and report.failures == 0:
                over = runs.disturb(longest)
            if not over:
                runs.finish(random.choice(RANKS))
            expect_same(report, runs.out, pathlib.Path(directory, "undisturbed"), options.deterministic, "round %d" % rounds)
            rounds += 1
            print("%d kills, %d results" % (runs.kills, rounds), flush=True)
        # on the same number of ranks throughout: every bit
        shutil.rmtree(runs.out, ignore_errors=True)
        run = runs.start(2, [])
        while not list(runs.out.glob("checkpoint-*.h5")) and run.poll() is None:
            time.sleep(0.001)
        time.sleep(random.uniform(0, longest / 4))
        runs.kill(run, runs.ranks_of(run, 2), "one")
        runs.finish(2)
        expect_same(report, runs.out, pathlib.Path(directory, "undisturbed"), True, "same ranks")
    if runs.stuck:
        print("mpirun itself did not end after %d kills, though its ranks had" % runs.stuck)
    print("%d kills (%s; %s), %d times before the first checkpoint, %d results compared, %d failures"
          % (runs.kills, ", ".join("%s %d" % item for item in runs.victims.items()),
             ", ".join("%s %d" % item for item in runs.moments.items()), runs.anew, rounds + 1, report.failures))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
