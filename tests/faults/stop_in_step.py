#!/usr/bin/python3
"""A run whose step lasts for ever is ended in its midst: by a stop file, by a signal, by --max-wall. The step
is discarded, and the run goes on from the checkpoint before it.

    stop_in_step.py CATENA MPIEXEC DATA      DATA: the tests' data
"""
import pathlib
import signal
import shutil
import subprocess
import sys
import tempfile
import time

import program

# a goal that is out of reach, and no limit that matters
TRIES = 3  # where times are looked at: the machine may stall elsewhere
ENDLESS = ["--set", "solver.relative_tolerance=0", "--set", "solver.absolute_tolerance=0",
           "--set", "solver.max_iterations=2000000000"]


def rows_of(directory):
    series = directory / "series.csv"
    return len(series.read_text().splitlines()) - 1 if series.exists() else -1


def start(context, ranks, name, arguments):
    catena, mpiexec, case, where = context
    command = program.command(mpiexec, catena, ranks, ["run", case, "-o", name, "--quiet", *ENDLESS, *arguments])
    return subprocess.Popen(command, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_long_step(process, directory):
    """Until no row has come for one and a half seconds: a step is under way that will not end."""
    begun, rows, since = time.time(), -1, time.time()
    while time.time() - begun < 60 and process.poll() is None:
        now = rows_of(directory)
        if now != rows:
            rows, since = now, time.time()
        if rows >= 0 and time.time() - since > 1.5:
            return rows
        time.sleep(0.02)
    return rows


def expect_ended(report, directory, process, begun, rows, what):
    """The seconds that the end took."""
    out, err = process.communicate(timeout=300)
    seconds = time.time() - begun
    done = subprocess.CompletedProcess([], process.returncode, out, err)
    print("%s: ended after %.2f s, in step %d" % (what, seconds, rows + 1))
    report.expect(done.returncode == 2, what, done)
    report.expect("was under way and is discarded" in err, what + " says so", done)
    report.expect(rows_of(directory) == rows, what + ": no row of the discarded step")
    names = sorted(directory.glob("checkpoint-*.h5"))
    report.expect(bool(names) and int(names[-1].stem.split("-")[1]) == rows, what + ": the last whole step: %s" % names)
    report.expect(not (directory / "stop").exists(), what + ": the stop file is removed")
    return seconds


def expect_ended_within(limit, context, report, directory, ranks, what, arguments, ask):
    """`ask` ends the run in the midst of a step; the seconds count from then on. Rows of whole steps."""
    for _ in range(TRIES):
        shutil.rmtree(directory, ignore_errors=True)
        begun = time.time()
        process = start(context, ranks, directory.name, arguments)
        rows = wait_for_long_step(process, directory)
        if ask is not None:
            begun = time.time()
            ask(process)
        seconds = expect_ended(report, directory, process, begun, rows, what)
        if seconds < limit or report.failures > 0:
            return rows
    report.expect(False, "%s: within %.1f s, it took %.2f s" % (what, limit, seconds))
    return rows


def expect_goes_on(context, report, directory, rows, ranks, what):
    catena, mpiexec, case, where = context
    more = ["--set", "solver.max_iterations=5", "--set", "time.end=%.3f" % (0.001 * (rows + 3))]
    done = program.run(mpiexec, catena, ranks, ["run", case, "-o", directory.name, "--quiet", "--resume", *more], where)
    report.expect(done.returncode == 0 and rows_of(directory) == rows + 3, what + " goes on", done)


def main():
    catena, mpiexec, data = sys.argv[1:]
    report = program.Report()
    with tempfile.TemporaryDirectory() as where:
        path = pathlib.Path(where)
        context = (catena, mpiexec, data + "/trials/box_heavy_plates.yaml", where)
        for ranks, method in ((1, "gauss_seidel"), (3, "gauss_seidel"), (1, "auto")):
            what = "stop file, %s on %d" % (method, ranks)
            directory = path / ("file-%s-%d" % (method, ranks))
            # half a second for the next look, and what the checkpoint and the end of the ranks take
            rows = expect_ended_within(1.0 if ranks == 1 else 2.0, context, report, directory, ranks, what,
                                       ["--set", "solver.method=" + method], lambda _: (directory / "stop").touch())
            expect_goes_on(context, report, directory, rows, ranks, what)
        expect_ended_within(1.0, context, report, path / "signal", 1, "SIGUSR2", [],
                            lambda process: process.send_signal(signal.SIGUSR2))
        # from the start of the program on
        expect_ended_within(5.0, context, report, path / "wall", 1, "--max-wall 4", ["--max-wall", "4"], None)
    print(report.failures, "failures")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
