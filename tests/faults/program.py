"""Runs `catena` as a user would, on one rank without mpirun or on several with it."""
import argparse
import os
import pathlib
import random
import signal
import subprocess
import time

SCENE = """catena: 1
name: scene
materials: {m: {density: 1000, friction: 0.5}}
bodies:
  - {name: floor, material: m, shape: {plane: {}}}
generators:
  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [4, 4, 3],
              spacing: 0.21, origin: [0, 0, 0.105], position_jitter: 5 mm}
time: {step: 2 ms, end: 20 ms}
output: {snapshot_interval: 2 ms}
"""


def random_options(*more):
    """Options of a test that draws at random: `catena`, `mpiexec` and `more`, (name, keywords) of each. The seed is
    printed, and --seed repeats its draws."""
    parser = argparse.ArgumentParser()
    for name, keywords in (("catena", {}), ("mpiexec", {}), *more, ("--seed", {"type": int})):
        parser.add_argument(name, **keywords)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    random.seed(seed)
    return options


def command(mpiexec, catena, ranks, arguments):
    start = [catena] if ranks == 1 else [mpiexec, "-n", str(ranks), catena]
    return start + [str(a) for a in arguments]


def run(mpiexec, catena, ranks, arguments, directory, prefix=()):
    """A hang ends in TimeoutExpired and so in a failure; a machine that is busy elsewhere takes a minute for what
    takes a second."""
    return subprocess.run(list(prefix) + command(mpiexec, catena, ranks, arguments), cwd=directory,
                          capture_output=True, text=True, timeout=300)


def is_running(pid):
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def end_after_kill(run, pids):
    """Waits for the end of all ranks after one was killed. Returns those that did not end in time, and whether
    mpirun ended, too: Open MPI 4.1.4 with PMIx 4.2 can stop for ever in its own PMIx_server_finalize when all
    ranks have gone."""
    start = time.time()
    left = pids
    while left and time.time() - start < 60:
        run.poll()
        left = [pid for pid in left if is_running(pid)]
        time.sleep(0.01)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    try:
        run.wait(timeout=20)
        return left, True
    except subprocess.TimeoutExpired:
        run.kill()
        run.wait(timeout=20)
        return left, False


class Report:
    """Counts what was not as it should be."""

    def __init__(self):
        self.failures = 0

    def expect(self, fact, what, done=None):
        if fact:
            return
        self.failures += 1
        print("FAILED:", what)
        if done is not None:
            print("  exit code", done.returncode, "\n  ", done.stdout, done.stderr)
