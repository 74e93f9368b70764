#!/usr/bin/python3
"""A run that is stopped and resumed leaves the result of one that was not: by checkpoints, signals, the
wall time, a stop file; and what cannot be resumed is refused.

    stop_and_resume.py CATENA MPIEXEC PART      PART: halves, signals or refusals
"""
import os
import pathlib
import re
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
import same_twice

# grains that fall and move from rank to rank, while others come in and leave
SCENE = program.SCENE.replace("end: 20 ms", "end: 60 ms").replace("snapshot_interval: 2 ms",
                                                                  "snapshot_interval: 6 ms") + """
parallel: {rebalance_steps: 7, imbalance: 1.01}
"""
FLOW = SCENE.replace("time: {", """  - insertion: {name: feed, material: m, shape: {sphere: {radius: 0.05}}, count: 500, number_rate: 500,
                region: {lower: [0, 0, 1], upper: [0.6, 0.6, 1.4]}, velocity: [0, 0, -3]}
outflow: [{name: side, lower: [0.5, -9, -9], upper: [9, 9, 9]}]
time: {""")
LONG = SCENE.replace("end: 60 ms", "end: 1000").replace("count: [4, 4, 3]", "count: [8, 8, 6]")
# what a result says of how it was made, and on which ranks
OTHER = {"step_wall_s", "rank"}
RANK_DEPENDENT = OTHER | {"imbalance", "imbalance_contacts", "imbalance_joints"}


def run(context, ranks, arguments):
    catena, mpiexec, directory = context
    return program.run(mpiexec, catena, ranks, arguments, directory)


def expect_same(report, first, second, what):
    """Two result directories: every dataset and the series."""
    one, two = (same_twice.read_all(path / "result.h5") for path in (first, second))
    report.expect(one.keys() == two.keys(), what + ": datasets %s" % sorted(one.keys() ^ two.keys())[:5])
    for name in one.keys() & two.keys():
        same = name.split("/")[-1] in OTHER or np.array_equal(one[name], two[name], equal_nan=one[name].dtype.kind == "f")
        report.expect(same, what + ": " + name)
    report.expect(same_twice.series_of(first) == same_twice.series_of(second), what + ": series.csv")


def expect_clean(report, directory, what):
    left = [str(p) for p in directory.rglob("*") if ".part" in p.name or p.name == "stop"]
    report.expect(not left, what + " leaves " + str(left))


def halves(context, report):
    path = pathlib.Path(context[2])
    (path / "scene.yaml").write_text(SCENE)
    (path / "flow.yaml").write_text(FLOW)
    for case, ranks in (("scene", 1), ("scene", 3), ("flow", 2)):
        name = "%s on %d" % (case, ranks)
        whole, parts = path / ("whole-%s-%d" % (case, ranks)), path / ("parts-%s-%d" % (case, ranks))
        done = run(context, ranks, ["run", case + ".yaml", "-o", whole, "--quiet"])
        report.expect(done.returncode == 0, name, done)
        done = run(context, ranks, ["run", case + ".yaml", "-o", parts, "--quiet", "--set", "time.end=18 ms",
                                    "--set", "output.checkpoint_steps=2"])
        report.expect(done.returncode == 0, name + ", a part", done)
        names = sorted(p.name for p in parts.glob("checkpoint-*"))
        report.expect(names == ["checkpoint-00000008.h5", "checkpoint-00000009.h5"], "the last two: %s" % names)
        # from step 8: what is later is done again, and what a kill leaves is cleared away
        (parts / "snapshots" / "00000010.h5.part").write_text("half")
        shutil.copy(parts / "snapshots" / "00000009.h5", parts / "snapshots" / "00000042.h5")
        with open(parts / "series.csv", "a") as series:
            series.write("0.5,1,2")
        done = run(context, ranks, ["run", case + ".yaml", "-o", parts, "--quiet",
                                    "--resume=" + str(parts / "checkpoint-00000008.h5")])
        report.expect(done.returncode == 0, name + ", resumed", done)
        expect_same(report, whole, parts, name)
        expect_clean(report, parts, name)
        with h5py.File(parts / "result.h5", "r") as f:
            told = f["provenance"].attrs["resumed-00000008"]
            report.expect("ranks: %d\n" % ranks in told and "time.end: 0.06 (at the start 0.018)" in told, told)
            report.expect("--set time.end=18 ms" in f["provenance"].attrs["command_line"], "the first command line")
        done = run(context, ranks, ["run", case + ".yaml", "-o", parts, "--quiet", "--resume"])
        report.expect(done.returncode == 0, name + ", finished", done)
        expect_same(report, whole, parts, name + ", finished")
    # into a directory of its own, on another number of ranks
    done = run(context, 2, ["run", "scene.yaml", "-o", "new", "--quiet",
                            "--resume=" + str(path / "parts-scene-3" / "checkpoint-00000030.h5"),
                            "--set", "time.end=72 ms"])
    report.expect(done.returncode == 0, "a new directory", done)
    with h5py.File(path / "new" / "result.h5", "r") as f:
        report.expect(sorted(f["snapshots"]) == ["00000033", "00000036"], str(sorted(f["snapshots"])))
        report.expect(list(f["series/step"]) == [31, 32, 33, 34, 35, 36], "rows after the checkpoint")
    text = run(context, 1, ["info", path / "new" / "checkpoint-00000036.h5"])
    report.expect("written on          2 ranks" in text.stdout and "all good" in text.stdout, "info", text)


class Running:
    """A long run on some ranks, in the background."""

    def __init__(self, context, ranks, directory, arguments=()):
        catena, mpiexec, where = context
        self.directory = pathlib.Path(where, directory)
        self.process = subprocess.Popen(
            program.command(mpiexec, catena, ranks,
                            ["run", "long.yaml", "-o", directory, "--quiet", *arguments]),
            cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for_rows(self, n):
        series = self.directory / "series.csv"
        start = time.time()
        while time.time() - start < 40:
            if series.exists() and len(series.read_text().splitlines()) > n:
                return
            time.sleep(0.02)

    def wait_for_checkpoints(self, n):
        start = time.time()
        while time.time() - start < 40 and len(list(self.directory.glob("checkpoint-*.h5"))) < n:
            time.sleep(0.02)
        return len(list(self.directory.glob("checkpoint-*.h5")))

    def end(self):
        out, err = self.process.communicate(timeout=300)
        return subprocess.CompletedProcess([], self.process.returncode, out, err)


def expect_stopped(context, report, stopped, done, ranks, what):
    """Exit code 2, and the run goes on as if nothing had been."""
    report.expect(done.returncode == 2, what, done)
    report.expect("go on with --resume" in done.stderr, what + " is reported", done)
    last = sorted(stopped.glob("checkpoint-*.h5"))[-1]
    step = int(last.stem.split("-")[1])
    rows = (stopped / "series.csv").read_text().splitlines()
    # on a machine that is busy elsewhere the wall time may be over before the first step
    report.expect(len(rows) == step + 1 and (step == 0 or float(rows[-1].split(",")[1]) == step),
                  what + ": rows up to the checkpoint")
    end = ["--set", "time.end=%.3f" % (0.002 * (step + 3))]
    done = run(context, ranks, ["run", "long.yaml", "-o", stopped, "--quiet", "--resume", *end])
    report.expect(done.returncode == 0, what + ", resumed", done)
    whole = stopped.parent / (stopped.name + "-whole")
    done = run(context, ranks, ["run", "long.yaml", "-o", whole, "--quiet", *end])
    report.expect(done.returncode == 0, what + ", whole", done)
    expect_same(report, whole, stopped, what)
    expect_clean(report, stopped, what)


def ctrl_c_under_mpirun(context, report):
    """mpirun kills its ranks; what is written by then can be read, and a resume goes on."""
    running = Running(context, 2, "ctrl-c", ["--set", "output.checkpoint_steps=1"])
    running.wait_for_checkpoints(2)
    running.process.send_signal(signal.SIGINT)
    done = running.end()
    report.expect(done.returncode != 0, "Ctrl-C under mpirun", done)
    checkpoints = sorted(running.directory.glob("checkpoint-*.h5"))
    snapshots = sorted((running.directory / "snapshots").glob("*.h5"))
    for file in checkpoints + snapshots:
        text = run(context, 1, ["info", file])
        report.expect(text.returncode == 0, "%s is whole" % file.name, text)
    step = int(checkpoints[-1].stem.split("-")[1])
    done = run(context, 2, ["run", "long.yaml", "-o", "ctrl-c", "--quiet", "--resume",
                            "--set", "time.end=%.3f" % (0.002 * (step + 2))])
    report.expect(done.returncode == 0, "resumed after Ctrl-C", done)
    expect_clean(report, running.directory, "Ctrl-C under mpirun")


def signals(context, report):
    # as users have it: without mpirun the program sets this by itself, where other tests have it set (CATENA_TEST_ENVIRONMENT)
    os.environ.pop("OMPI_MCA_ess_singleton_isolated", None)
    path = pathlib.Path(context[2])
    (path / "long.yaml").write_text(LONG)
    for ranks in (1, 2):
        running = Running(context, ranks, "usr-%d" % ranks)
        running.wait_for_rows(3)
        running.process.send_signal(signal.SIGUSR1)
        report.expect(running.wait_for_checkpoints(1) == 1, "SIGUSR1 on %d ranks: a checkpoint" % ranks)
        report.expect(running.process.poll() is None, "SIGUSR1: the run goes on")
        running.process.send_signal(signal.SIGUSR2)
        expect_stopped(context, report, running.directory, running.end(), ranks, "SIGUSR2 on %d ranks" % ranks)
    for number, name in ((signal.SIGTERM, "term"), (signal.SIGINT, "int")):
        running = Running(context, 1, name)
        running.wait_for_rows(3)
        running.process.send_signal(number)
        expect_stopped(context, report, running.directory, running.end(), 1, "SIG" + name.upper())
    # a second one while the step lasts; a few may be needed to hit it
    for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT),
                          (signal.SIGINT, signal.SIGTERM)):
        for _ in range(5):
            shutil.rmtree(path / "twice", ignore_errors=True)
            running = Running(context, 1, "twice")
            running.wait_for_rows(3)
            running.process.send_signal(first)
            while running.process.poll() is None:
                running.process.send_signal(second)
                time.sleep(0.0005)
            done = running.end()
            if done.returncode == 1:
                break
        report.expect(done.returncode == 1, "%s, then %s" % (first.name, second.name), done)
    ctrl_c_under_mpirun(context, report)
    for ranks in (1, 2):
        running = Running(context, ranks, "file-%d" % ranks)
        running.wait_for_rows(3)
        (running.directory / "stop").touch()
        expect_stopped(context, report, running.directory, running.end(), ranks, "stop file, %d ranks" % ranks)
        for stalls in range(3):  # of the machine, for longer than the reserve
            running = Running(context, ranks, "wall-%d-%d" % (ranks, stalls), ["--max-wall", "0:03"])
            done = running.end()
            passed = re.search(r"by --max-wall, 3 s: ([0-9.]+) s have passed", done.stderr)
            in_time = passed and (float(passed[1]) < 3.0 or "stopped at step 0 " in done.stderr)
            if in_time:
                break
        report.expect(in_time, "--max-wall stops before it is over", done)
        expect_stopped(context, report, running.directory, done, ranks, "--max-wall on %d ranks" % ranks)
    # a stop file from before the run is of the last one
    running = Running(context, 1, "stale", ["--force", "--max-wall", "2 s"])
    done = running.end()
    (path / "stale" / "stop").touch()
    done = run(context, 1, ["run", "long.yaml", "-o", "stale", "--resume", "--set", "time.end=4", "--max-wall", "3 s"])
    report.expect("a stop file from before the run is removed" in done.stderr and "by the stop file" not in done.stderr,
                  "a stale stop file", done)


def spoil(path):
    data = bytearray(path.read_bytes())
    with h5py.File(path, "r") as f:
        place = f["impulses"].id.get_offset()
    data[place + 9] ^= 1
    path.write_bytes(data)


def refusals(context, report):
    path = pathlib.Path(context[2])
    (path / "scene.yaml").write_text(SCENE)
    out = path / "out"
    done = run(context, 2, ["run", "scene.yaml", "-o", "out", "--quiet", "--set", "output.checkpoint_steps=10"])
    report.expect(done.returncode == 0, "run", done)
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}

    def refused(arguments, code, message, ranks=2):
        done = run(context, ranks, ["run", "scene.yaml", "-o", "out", "--quiet", *arguments])
        report.expect(done.returncode == code, " ".join(map(str, arguments)), done)
        report.expect(done.stderr.count(message) == 1, "expected once: " + message, done)
        report.expect(before == {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}, "nothing is touched")

    refused(["--resume", "--set", "materials.m.friction=0.4", "--set", "time.step=1 ms"], 3,
            "materials.m.friction was 0.5, is now 0.4; time.step was 0.002, is now 0.001")
    refused(["--resume", "--set", "generators.grains.count=[4,4,4]"], 3,
            "generators.grains.lattice.count was [4, 4, 3], is now [4, 4, 4]")
    refused(["--resume", "--set", "seed=2"], 3, "seed was 1, is now 2")
    refused(["--resume=out/result.h5"], 5, "out/result.h5: is no checkpoint, but a file of format catena-result")
    refused(["--resume=out/checkpoint-00000010.h5"], 5, "out/checkpoint-00000010.h5: no such file")
    refused(["--resume=scene.yaml"], 5, "scene.yaml: is not an HDF5 file")
    done = run(context, 1, ["run", "scene.yaml", "-o", "nowhere", "--quiet", "--resume"])
    report.expect(done.returncode == 3 and "there is no checkpoint in nowhere" in done.stderr, "no checkpoint", done)
    report.expect(not (path / "nowhere").exists(), "nothing is made")
    # what may change
    done = run(context, 2, ["run", "scene.yaml", "-o", "out", "--quiet", "--resume", "--set", "time.end=64 ms", "--set",
                            "solver.max_iterations=77", "--set", "output.contacts=false", "--set",
                            "parallel.imbalance=2"])
    report.expect(done.returncode == 0, "allowed changes", done)
    # the newest is damaged: the one before it
    newest = sorted(out.glob("checkpoint-*.h5"))[-1]
    report.expect(newest.name == "checkpoint-00000032.h5", newest.name)
    spoil(newest)
    text = run(context, 1, ["info", newest])
    report.expect(text.returncode == 5 and "/impulses: is damaged" in text.stderr, "info of a damaged one", text)
    done = run(context, 3, ["run", "scene.yaml", "-o", "out", "--resume", "--set", "time.end=66 ms"])
    report.expect(done.returncode == 0 and "/impulses: is damaged" in done.stderr
                  and "the checkpoint before it is tried" in done.stderr
                  and "resumed from out/checkpoint-00000030.h5" in done.stderr, "the one before it", done)
    # a snapshot that is damaged is reported
    victim = out / "snapshots" / "00000006.h5"
    victim.write_bytes(victim.read_bytes()[:1000])
    done = run(context, 2, ["run", "scene.yaml", "-o", "out", "--quiet", "--resume", "--set", "time.end=68 ms"])
    report.expect(done.returncode == 0 and "snapshots/00000006.h5 cannot be read" in done.stderr, "a damaged snapshot", done)
    # all are damaged
    for checkpoint in out.glob("checkpoint-*.h5"):
        spoil(checkpoint)
    done = run(context, 2, ["run", "scene.yaml", "-o", "out", "--quiet", "--resume", "--set", "time.end=70 ms"])
    report.expect(done.returncode == 5 and done.stderr.count("is damaged") == 2, "all are damaged", done)
    # another program's directory
    (path / "other").mkdir()
    (path / "other" / "notes.txt").write_text("mine")
    run(context, 1, ["run", "scene.yaml", "-o", "again", "--quiet"])
    done = run(context, 1, ["run", "scene.yaml", "-o", "other", "--quiet", "--resume=again/checkpoint-00000030.h5",
                            "--set", "time.end=62 ms"])
    report.expect(done.returncode == 3 and "holds files, but no result of Catena's" in done.stderr, "another's", done)
    report.expect(os.listdir(path / "other") == ["notes.txt"], "nothing is touched there")


def main():
    catena, mpiexec, part = sys.argv[1:]
    report = program.Report()
    with tempfile.TemporaryDirectory() as directory:
        {"halves": halves, "signals": signals, "refusals": refusals}[part]((catena, mpiexec, directory), report)
    print(part + ":", report.failures, "failures")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
