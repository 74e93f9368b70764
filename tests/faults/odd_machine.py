#!/usr/bin/python3
"""A rank that stands still for seconds, a clock that is set while the program runs, a slow disk: the run ends as
on any other machine, bit by bit, and limits of wall time hold.

    odd_machine.py CATENA MPIEXEC SHIM [--times 1] [--seed N]      SHIM: odd_machine.c as a library
"""
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time

try:
    import kill_resume
except SystemExit:
    sys.exit(77)
import program

DAY = 86400
TRIES = 5


class Study:
    def __init__(self, runs, shim, report):
        self.runs, self.shim, self.report = runs, shim, report
        self.wanted = runs.out.parent / "undisturbed"

    def start(self, ranks, options=(), **odd):
        """A new run; `odd`: what the shim is told."""
        shutil.rmtree(self.runs.out, ignore_errors=True)
        os.environ.update({"LD_PRELOAD": str(self.shim), **odd} if odd else {})
        try:
            return self.runs.start(ranks, list(options))
        finally:
            for name in ("LD_PRELOAD", *odd):
                os.environ.pop(name, None)

    def expect_done(self, run, what, code=0):
        ended = run.wait(timeout=300)
        self.report.expect(ended == code, "%s: exit code %d: %s" % (what, ended, self.runs.said()))
        return ended == code

    def expect_whole(self, what):
        kill_resume.expect_same(self.report, self.runs.out, self.wanted, True, what)

    def wait_for_rows(self, run, rows):
        begun = time.monotonic()
        while self.runs.rows() < rows and run.poll() is None and time.monotonic() - begun < 60:
            time.sleep(0.002)

    def stop_rank(self, run, ranks, seconds):
        """Stops one rank for a while; whether it was still there and stood."""
        pids = self.runs.ranks_of(run, ranks)
        if run.poll() is not None or not pids:
            return False
        victim = random.choice(pids)
        try:
            os.kill(victim, signal.SIGSTOP)
            time.sleep(seconds)
            stood = pathlib.Path("/proc/%d/stat" % victim).read_text().rsplit(")", 1)[1].split()[0] == "T"
            os.kill(victim, signal.SIGCONT)
        except (FileNotFoundError, ProcessLookupError):
            return False
        return stood

    def until_stopped(self, attempt, what):
        """Tries again where the run was over before a rank could be stopped."""
        stopped = any(attempt() for _ in range(TRIES))
        self.report.expect(stopped, "%s: no rank was stopped in %d runs" % (what, TRIES))
        print(what, flush=True)

    def standing_rank(self, ranks, seconds):
        what = "a rank of %d that stands still for %.1f s" % (ranks, seconds)

        def attempt():
            run = self.start(ranks)
            self.wait_for_rows(run, random.randint(1, kill_resume.STEPS // 2))
            stopped = self.stop_rank(run, ranks, seconds)
            if self.expect_done(run, what):
                self.expect_whole(what)
            return stopped

        self.until_stopped(attempt, what)

    def standing_past_limit(self, ranks):
        """The limit of wall time passes while a rank stands still."""
        what = "a rank of %d that stands still past --max-wall" % ranks

        def attempt():
            run = self.start(ranks, ["--max-wall", "2 s", "--set", "time.end=1000"])
            self.wait_for_rows(run, 3)
            stopped = self.stop_rank(run, ranks, 3.0)
            if self.expect_done(run, what, code=2) and stopped:
                self.resume(ranks, what)
            return stopped

        self.until_stopped(attempt, what)

    def resume(self, ranks, what):
        """Goes on to the end that an undisturbed run has."""
        step = max(int(p.stem.split("-")[1]) for p in self.runs.out.glob("checkpoint-*.h5"))
        self.report.expect(step <= kill_resume.STEPS, "%s: step %d is beyond the undisturbed run" % (what, step))
        if step > kill_resume.STEPS:
            return
        if self.expect_done(self.runs.start(ranks, ["--resume", "--set", "time.end=%d ms" % kill_resume.STEPS]), what):
            self.expect_whole(what + ", resumed")

    def jumping_clock(self, ranks):
        what = "a clock that jumps by days, %d ranks" % ranks
        if self.expect_done(self.start(ranks, ODD_CLOCK_S=str(DAY)), what):
            self.expect_whole(what)
            days = set(re.findall(r'"time": "(\d+-\d+-\d+)T', (self.runs.out / "log.jsonl").read_text()))
            self.report.expect(len(days) > 1, "%s: the log knows of %s only" % (what, days))
        limit = 3.0
        begun = time.monotonic()
        run = self.start(ranks, ["--max-wall", "%g s" % limit, "--set", "time.end=1000"], ODD_CLOCK_S=str(DAY))
        self.expect_done(run, what + ", --max-wall", code=2)
        seconds = time.monotonic() - begun
        # the end comes before the limit by what the last output may need; later, only where the machine is busy
        self.report.expect(self.runs.rows() > 10 and 0.4 * limit < seconds < limit + 10,
                           "%s: --max-wall %g s ended after %.1f s and %d steps" % (what, limit, seconds, self.runs.rows()))
        print("%s; --max-wall %g s ended after %.1f s" % (what, limit, seconds), flush=True)

    def slow_disk(self, ranks, milliseconds, asynchronous):
        what = "a disk with %d ms a write, %d ranks%s" % (milliseconds, ranks, ", asynchronous" if asynchronous else "")
        begun = time.monotonic()
        told = self.runs.out.parent / ("writes-%d-%d" % (ranks, time.monotonic_ns()))
        run = self.start(ranks, ["--set", "output.asynchronous=%s" % str(asynchronous).lower()],
                         ODD_WRITE_MS=str(milliseconds), ODD_WRITES=str(told))
        if self.expect_done(run, what):
            self.expect_whole(what)
        slowed = [path.stat().st_size for path in told.parent.glob(told.name + "-catena-*")]
        # every snapshot is written by some rank
        snapshots = kill_resume.STEPS // 3 + 1
        self.report.expect(sum(slowed) >= snapshots, "%s: slowed writes of each rank that wrote: %s" % (what, slowed))
        print("%s: %.1f s, slowed writes of each rank that wrote: %s" % (what, time.monotonic() - begun, slowed),
              flush=True)


def main():
    options = program.random_options(("shim", {"type": pathlib.Path}), ("--times", {"type": int, "default": 1}))
    report = program.Report()
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "scene.yaml").write_text(kill_resume.DETERMINISTIC)
        runs = kill_resume.Runs(options.catena, options.mpiexec, directory, report)
        print("undisturbed: %.1f s" % kill_resume.seconds_of_run(runs, 2, "undisturbed"))
        study = Study(runs, options.shim, report)
        for _ in range(options.times):
            study.standing_rank(random.choice((2, 3)), random.uniform(1, 3))
            study.standing_past_limit(2)
            study.jumping_clock(2)
            study.slow_disk(2, 2, False)
            study.slow_disk(1, 2, True)
    print("%d failures" % report.failures)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
