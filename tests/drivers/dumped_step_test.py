#!/usr/bin/python3
"""A step that ended a run, solved again: by the command of the log it gives the run's iterations, status and
error; from zero it does not; what contradicts itself is refused. What contacts were stretched by stands in a dump.
A small problem starts quickly.

    dumped_step_test.py CATENA
"""
import json
import math
import os
import pathlib
import re
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

SCENE = """catena: 1
name: pile
materials: {m: {density: 1000, friction: 0.5}}
contact: {stiffness: rigid, margin: 1 mm}
bodies:
  - {name: floor, material: m, shape: plane}
  - {name: block, material: m, shape: {box: {size: [0.7, 0.7, 0.2]}}, position: [0.25, 0.25, 0.5]}
generators:
  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [3, 3, 2], spacing: 0.2,
              origin: [0.05, 0.05, 0.1], position_jitter: 5 mm}
time: {step: 4 ms, end: 1}
solver: {max_iterations: 30, relative_tolerance: 1e-5, absolute_tolerance: 1e-13, on_missed_tolerance: stop}
"""
# gravity leans by 0.3 rad: a slope on which friction of 0.5 holds the block
SLOPE = """catena: 1
name: slope
gravity: [%.17g, 0, %.17g]
materials: {m: {density: 1000, friction: 0.5}}
bodies:
  - {name: floor, material: m, shape: plane}
  - {name: block, material: m, mass: 3, inertia: [0.1, 0.1, 0.1], shape: {box: {size: [0.4, 0.4, 0.2]}},
     position: [0, 0, 0.1]}
time: {step: 2 ms, end: 1}
solver: {max_iterations: 5000, relative_tolerance: 0, absolute_tolerance: 1e-26}
output: {dump_interval: 1}
""" % (9.81 * math.sin(0.3), -9.81 * math.cos(0.3))
failures = 0


def expect(fact, what, done=None):
    global failures
    if not fact:
        failures += 1
        print("FAILED:", what, "" if done is None else "\n%s\n%s" % (done.stdout, done.stderr))


def run(catena, directory, *arguments):
    return subprocess.run([catena, *map(str, arguments)], cwd=directory, capture_output=True, text=True,
                          timeout=300)


def report_of(path):
    return json.loads(path.read_text())


def check_again(catena, path, method):
    out = path / method
    done = run(catena, path, "run", "scene.yaml", "--quiet", "-o", out, "--set", "solver.method=" + method)
    expect(done.returncode == 4, method + ": a step misses its tolerance", done)
    row = np.atleast_1d(np.genfromtxt(out / "series.csv", delimiter=",", names=True))[-1]
    texts = [json.loads(line)["text"] for line in open(out / "log.jsonl")]
    command = re.search(r"solved as here by: catena (solve .*)$", "\n".join(texts), re.M)
    expect(command, method + ": the log gives a command", done)
    arguments = command[1].split()
    dump = next(out.glob("step-*.hdf5"))
    with h5py.File(dump, "r") as f:
        r, guess = f["solution/r"][()], f["guesses/1/r"][()]
        expect("catena/stretch" not in f, "rigid contacts are not stretched")
        # gradient methods miss the first step already, which starts from zero
        warm = bool(np.any(guess != 0.0))
        expect(guess.shape == r.shape and (warm or row["step_1"] == 1), method + ": FCLIB's guess")
    again = run(catena, path, *arguments, "--report", path / "again.json", "--force", "--history",
                path / "again.csv")
    expect(again.returncode == 4, method + ": misses it again", again)
    report = report_of(path / "again.json")
    expect(report["status"] == "iteration_limit" and report["start"] == "guess", str(report))
    expect(report["iterations"] == row["iterations_1"], method + ": iterations")
    error = row["error_energy_J"]
    expect(abs(report["errors"]["energy"] - error) <= 1e-9 * error,
           "%s: error %.17g, in the run %.17g" % (method, report["errors"]["energy"], error))
    expect("as the run held it" in again.stdout, "the summary says so", again)
    cold = run(catena, path, *arguments, "--cold", "--report", path / "cold.json", "--force")
    report = report_of(path / "cold.json")
    expect(report["start"] == "zero", "from zero", cold)
    expect((abs(report["errors"]["energy"] - error) > 1e-6 * error) == warm,
           method + ": from a guess other than zero it is another solve")
    # the file's own data have the last word
    with h5py.File(dump, "r+") as f:
        f["fclib_global/vectors/mu"][...] = 0.9
    other = run(catena, path, *arguments, "--report", path / "other.json", "--force")
    expect("as the run held it" not in other.stdout, "changed data", other)
    report = report_of(path / "other.json")
    expect(report["errors"]["energy"] != error, "changed friction changes the solve")
    with h5py.File(dump, "r+") as f:
        f["guesses/1/r"][0] = np.nan
    other = run(catena, path, *arguments)
    expect(other.returncode == 3 and "--cold" in other.stderr, "a guess that is not finite", other)


def check_stretch(catena, path):
    """A block held on a slope: the stretch is the compliance times the force of friction, against it, and all
    contacts together hold the block's weight."""
    (path / "slope.yaml").write_text(SLOPE)
    for stiffness in ("auto", "1e5"):
        out = path / ("slope-" + stiffness)
        done = run(catena, path, "run", "slope.yaml", "--quiet", "-o", out, "--set", "contact.stiffness=" + stiffness)
        expect(done.returncode == 0, "a block on a slope", done)
        dump = next(out.glob("*.hdf5"))
        h = 2e-3
        with h5py.File(dump, "r") as f:
            r = f["solution/r"][()].reshape(-1, 3) / h
            stretch = f["catena/stretch"][()].reshape(-1, 2)
            numbers = f["catena/step/contacts/numbers"][()].reshape(-1, 19)
        expect(len(r) == 4, "%d points of contact" % len(r))
        if stiffness == "auto":
            # a h^2/s of the contact's own mean mobility, of a corner of a body whose inertia is the same about
            # all axes; tangents are softer by the ratio of the mobilities N_nn/N_tt, between 2/7 and 1
            arms = numbers[:, 9:12]  # on b, the block
            normal = 1 / 3 + (arms[:, 0] ** 2 + arms[:, 1] ** 2) / 0.1
            tangent = 1 / 3 + (arms[:, 2] ** 2 + (arms ** 2).sum(1)) / 2 / 0.1
            compliance = (normal + 2 * tangent) / 3 * h * h / 300 / np.clip(normal / tangent, 2 / 7, 1)
        else:
            compliance = np.full(4, 4 / 1e5)  # four points share the pair's 1e5 N/m
        largest = np.abs(stretch).max()
        expect(np.abs(stretch + compliance[:, None] * r[:, 1:]).max() < 1e-6 * largest,
               "%s: stretch %s is not -eps f = %s" % (stiffness, stretch, -compliance[:, None] * r[:, 1:]))
        tangents = np.stack([numbers[:, 3:6], np.cross(numbers[:, :3], numbers[:, 3:6])], axis=1)
        held = ((stretch / compliance[:, None])[:, :, None] * tangents).sum((0, 1))
        expect(np.abs(held - [3 * 9.81 * math.sin(0.3), 0, 0]).max() < 1e-6 * 30,
               "%s: stretches hold %s N" % (stiffness, held))


def check_refusals(catena, path, foreign):
    both = run(catena, path, "solve", foreign, "--cold", "--warm")
    expect(both.returncode == 3 and "--cold" in both.stderr, "both options", both)
    plain = run(catena, path, "solve", foreign, "--report", path / "plain.json")
    expect(report_of(path / "plain.json")["start"] == "zero", "other files start from zero", plain)
    copy = path / "copy.hdf5"
    copy.write_bytes(pathlib.Path(foreign).read_bytes())
    with h5py.File(copy, "r+") as f:
        if "guesses" in f:
            del f["guesses"]
    none = run(catena, path, "solve", copy, "--warm")
    expect(none.returncode == 3 and "no first guess" in none.stderr, "no guess to start from", none)
    # its own solution as the guess: nothing is left to do
    done = run(catena, path, "solve", copy, "--solution", path / "solution.hdf5", "--tolerance", "1e-12")
    with h5py.File(path / "solution.hdf5", "r") as s, h5py.File(copy, "r+") as f:
        f["guesses/1/r"] = s["solution/r"][()]
    run(catena, path, "solve", copy, "--warm", "--tolerance", "1e-8", "--report", path / "warm.json")
    report = report_of(path / "warm.json")
    expect(done.returncode == 0 and report["start"] == "guess" and report["iterations"] <= 1,
           "from the solution: %s iterations" % report["iterations"])


def children_of(parent):
    """Names of the processes that `parent` has started."""
    names = set()
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:  # it has ended
            continue
        if int(rest.split()[1]) == parent:
            names.add(name)
    return names


def check_start(catena, path, foreign):
    """Without mpirun a process needs no daemon and no network, which make a start four times as long."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OMPI_MCA_")}
    for isolated in (True, False):
        more = {} if isolated else {"OMPI_MCA_ess_singleton_isolated": "0"}
        process = subprocess.Popen([catena, "solve", foreign, "--quiet", "--tolerance", "0", "--max-iterations", "1000000000",
                                    "--time-limit", "1"], cwd=path, env={**environment, **more},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        children = set()
        while process.poll() is None:
            children |= children_of(process.pid)
            time.sleep(0.02)
        expect(not children if isolated else "orted" in children, "isolated %s: children %s" % (isolated, children))


def main():
    catena, data = sys.argv[1:]
    foreign = sorted(pathlib.Path(data).glob("Capsules*.hdf5"))[0]
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory)
        (path / "scene.yaml").write_text(SCENE)
        for method in ("gauss_seidel", "jacobi", "apgd"):
            check_again(catena, path, method)
        check_stretch(catena, path)
        check_refusals(catena, path, foreign)
        check_start(catena, path, foreign)
    print("%d failures" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
