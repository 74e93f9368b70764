"""Runs `catena` as a user would, on one rank without mpirun or on several with it."""
import subprocess

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


def command(mpiexec, catena, ranks, arguments):
    start = [catena] if ranks == 1 else [mpiexec, "-n", str(ranks), catena]
    return start + [str(a) for a in arguments]


def run(mpiexec, catena, ranks, arguments, directory, prefix=()):
    """A hang ends in TimeoutExpired and so in a failure."""
    return subprocess.run(list(prefix) + command(mpiexec, catena, ranks, arguments), cwd=directory,
                          capture_output=True, text=True, timeout=60)


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
