#!/usr/bin/python3
"""Ranks without bodies, cases without bodies, contacts or steps, and overlapping starts, through the
program: they run, and the result is whole.

    few_bodies.py CATENA MPIEXEC
"""
import json
import pathlib
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py is missing (Debian: python3-h5py)")
    sys.exit(77)

import program

HEAD = "catena: 1\nname: few\nmaterials: {m: {density: 1000, friction: 0.5}}\n"
TIME = "time: {step: 2 ms, end: 20 ms}\noutput: {snapshot_interval: 10 ms}\n"
FLOOR = "  - {name: floor, material: m, shape: {plane: {}}}\n"


def ball(name, x, z):
    return ("  - {name: %s, material: m, shape: {sphere: {radius: 0.1}}, position: [%g, 0, %g]}\n"
            % (name, x, z))


NINE = "bodies:\n" + FLOOR + "".join(ball("b%d" % i, 0.3 * i, 0.1) for i in range(9))
# layers of 64 spheres; the floor does not count
MANY = ("bodies:\n" + FLOOR + "generators:\n  - lattice: {name: g, material: m, shape: {sphere: {radius: 0.1}}, "
        "count: [%d, 8, 8], spacing: 0.3, origin: [0, 0, 0.2]}\n")

TOO_FEW = "they wait for each other longer than they save"

# text, bodies in snapshots, steps, contacts at the end
CASES = {
    "no bodies": (HEAD + TIME, 0, 10, 0),
    "only a floor": (HEAD + "bodies:\n" + FLOOR + TIME, 1, 10, 0),
    "no contacts": (HEAD + "bodies:\n" + ball("a", 0, 0) + ball("b", 1, 0) + TIME, 2, 10, 0),
    "no shape": (HEAD + "bodies: [{name: a, mass: 1, inertia: [1, 1, 1]}]\n" + TIME, 1, 10, 0),
    "three bodies": (HEAD + "bodies:\n" + FLOOR + ball("a", 0, 0.1) + ball("b", 0, 0.3)
                     + ball("c", 1, 0.1) + TIME, 4, 10, 3),
    "no steps": (HEAD + "bodies:\n" + FLOOR + ball("a", 0, 0.1) + TIME.replace("20 ms", "0"), 2, 0, 0),
    "overlap": (HEAD + "gravity: [0, 0, 0]\ncontact: {stiffness: rigid, margin: 1 mm, recovery_speed: 0.5}\nbodies:\n" + ball("a", 0, 0)
                + ball("b", 0, 0) + TIME, 2, 10, 1),
}


def look_at(path, report, what, bodies, steps, contacts):
    with h5py.File(path / "result.h5", "r") as f:
        names = sorted(f["snapshots"])
        report.expect(names[0] == "00000000" and int(names[-1]) == steps, what + ": " + " ".join(names))
        for name in names:
            snapshot = f["snapshots"][name]
            report.expect(np.array_equal(snapshot["bodies/id"][()], np.arange(bodies)), what + ": ids")
            report.expect(snapshot["bodies/position"].shape == (bodies, 3), what + ": positions")
            report.expect(np.isfinite(snapshot["bodies/velocity"][()]).all(), what + ": velocities")
        found = len(f["snapshots"][names[-1]]["contacts/gap"])
        report.expect(found == contacts, "%s: %d contacts" % (what, found))
        report.expect(len(f["series/time"]) == steps, what + ": series")
        return {name: f["series"][name][()] for name in f["series"]}


def warnings_of(directory):
    messages = [json.loads(line) for line in open(directory / "log.jsonl")]
    return [m["text"] for m in messages if m["level"] == "warning"]


def check_ranks(report, mpiexec, catena, path):
    """Bodies too few for their ranks are told at the start, by check and by plan; enough of them are not, nor is one
    rank."""
    for name, text, ranks, told in (("nine", NINE, 2, "9 bodies for 2 ranks"), ("nine", NINE, 1, ""),
                                    ("many", MANY % 4, 2, ""), ("many", MANY % 4, 1, ""),
                                    ("less", MANY % 3, 2, "192 bodies for 2 ranks")):
        what = "%s on %d ranks" % (name, ranks)
        case = HEAD.replace("few", name) + text + TIME.replace("20 ms", "2 ms")
        (path / "ranks.yaml").write_text(case + "solver: {max_iterations: 2, absolute_tolerance: 1}\n")
        done = program.run(mpiexec, catena, ranks, ["run", "ranks.yaml", "--force"], path)
        checked = program.run(mpiexec, catena, ranks, ["check", "ranks.yaml"], path)
        planned = program.run(mpiexec, catena, 1, ["plan", "ranks.yaml", "-n", ranks], path)
        told_by = [done.stderr, " ".join(warnings_of(path / name)), checked.stderr, planned.stderr]
        for done_by, stderr in zip(("run", "log.jsonl", "check", "plan"), told_by):
            report.expect((TOO_FEW in stderr) == bool(told) and told in stderr and
                          ("start it on 1 rank" in stderr) == bool(told), "%s of %s: %s" % (done_by, what, stderr))


def main():
    catena, mpiexec = sys.argv[1:]
    report = program.Report()
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory)
        for name, (text, bodies, steps, contacts) in CASES.items():
            (path / "few.yaml").write_text(text)
            for ranks in (1, 4):
                what = "%s on %d ranks" % (name, ranks)
                done = program.run(mpiexec, catena, ranks, ["run", "few.yaml", "--force"], directory)
                report.expect(done.returncode == 0, what, done)
                series = look_at(path / "few", report, what, bodies, steps, contacts)
                warnings = [w for w in warnings_of(path / "few") if TOO_FEW not in w]
                if name == "overlap":
                    told = "bodies overlap at the start by up to 0.2 m: a and b by 0.2 m (one centre), " \
                           "see bodies.a.position and bodies.b.position"
                    report.expect(any(w.startswith(told + ";") for w in warnings),
                                  what + ": warnings " + str(warnings))
                    checked = program.run(mpiexec, catena, ranks, ["check", "few.yaml"], directory)
                    report.expect(checked.returncode == 0 and told in checked.stderr
                                  and "overlap" not in checked.stdout, "check of " + what, checked)
                    # 1/2 m c^2 / 2 of two balls that part at c = 0.5 m/s
                    mass = 1000 * 4 / 3 * np.pi * 0.1**3
                    report.expect(abs(series["recovery_work"][-1] - mass * 0.25 / 4) < 1e-12,
                                  what + ": recovery work " + str(series["recovery_work"]))
                else:
                    report.expect(not warnings, what + ": warnings " + str(warnings))
        check_ranks(report, mpiexec, catena, path)
        huge = HEAD.replace("few", "huge") + (
            "generators:\n  - lattice: {name: g, material: m, shape: {sphere: {radius: 0.1}}, "
            "count: [10000, 10000, 1000], spacing: 0.3}\n" + TIME)
        (path / "huge.yaml").write_text(huge)
        for ranks in (1, 3):
            done = program.run(mpiexec, catena, ranks, ["run", "huge.yaml"], directory)
            report.expect(done.returncode == 3 and not (path / "huge").exists()
                          and "its 100000000000 bodies and 0 joints take" in done.stderr
                          and " TiB at least on the %d rank" % ranks in done.stderr, "beyond memory", done)
        done = program.run(mpiexec, catena, 1, ["check", "huge.yaml"], directory)
        report.expect(done.returncode == 0 and "memory may not suffice" in done.stderr, "check beyond memory", done)
        done = program.run(mpiexec, catena, 1, ["plan", "few.yaml", "-n", "16"], directory)
        report.expect(done.returncode == 0, "plan on more ranks than bodies", done)
    print("%d cases on 1 and 4 ranks, %d failures" % (len(CASES), report.failures))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
