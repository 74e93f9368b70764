#!/usr/bin/python3
"""The evaluation behind docs/benchmarks.md on states made by hand, and short forms of its scripts.

    benchmarks_test.py BUILD SOURCE [SCRIPT...]
Without scripts: the evaluation, and the scene whose error is round-off. With scripts: their short forms end well.
"""
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile
import types

try:
    import scipy  # noqa: F401
except ImportError:
    print("skipped: python3-scipy is not there")
    sys.exit(77)

build, source = map(os.path.abspath, sys.argv[1:3])
scripts = os.path.join(source, "scripts", "reproduce")
sys.path[:0] = [scripts, os.path.join(source, "scripts", "user"), os.path.join(build, "python")]


def run(script, *words):
    """Rows of the CSV file that the script leaves, by their table."""
    with tempfile.TemporaryDirectory() as work:
        command = [sys.executable, os.path.join(scripts, script + ".py"), "--short", "--build", build, "--work", work, *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
        assert "## " in open(os.path.join(work, script + ".md")).read()
        tables = {}
        with open(os.path.join(work, script + ".csv"), newline="") as f:
            for row in csv.reader(f):
                if row and row[0].startswith("# "):
                    rows = tables[row[0][2:]] = []
                else:
                    rows.append(row)
        return tables


for script in sys.argv[3:]:
    run(script)
if sys.argv[3:]:
    sys.exit()

import catena  # noqa: E402
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from benchmark_report import PAGE, changed_sections, text, write_section  # noqa: E402
from benchmark_scene import State, run_catena, run_peer  # noqa: E402
from check_solution import Problem  # noqa: E402
from contacts_beside import stated  # noqa: E402
import contacts_to_tolerance  # noqa: E402
from contacts_to_tolerance import Scene, pile, solved  # noqa: E402
from friction_accuracy import RIGID, Watch, sliding, squeezed  # noqa: E402
from simbenchmark import (Drift, EnergyError, FlightError, Overlaps, RollingError, bouncing, cube_of_balls, kapla,  # noqa: E402
                          quadruped, rolling)

still = np.array([1.0, 0.0, 0.0, 0.0])


def turn_of(q):
    """Matrix of a quaternion (w, x, y, z)."""
    cross = np.array([[0.0, -q[3], q[2]], [q[3], 0.0, -q[1]], [-q[2], q[1], 0.0]])
    return np.eye(3) + 2.0 * (q[0] * cross + cross @ cross)


def state(scene, step, velocity=None, position=None, contacts=None):
    n = len(scene.moving)
    x = scene.array("position") if position is None else position
    return State(step, x, np.zeros((n, 3)) if velocity is None else velocity, np.tile(still, (n, 1)), np.zeros((n, 3)), contacts)


# Newton's law of the plate and its 25 rolling balls: 150 = 10 a + 25 (2/7) a + 0.4 (35 g)
scene = rolling((0.0, 1.0, 0.0), 10)
a = (150.0 - 0.4 * 35.0 * 9.81) / (10.0 + 50.0 / 7.0)
velocity = np.outer([a] + 25 * [2.0 * a / 7.0], [0.0, 1.0, 0.0]) * 5e-3
seen = RollingError(scene, (0.0, 1.0, 0.0))
seen(state(scene, 5, velocity))
assert seen.value() < 1e-30, seen.value()
velocity[0, 0] += 3e-3  # the plate is off by 3 mm/s, one ball by 4 mm/s
velocity[7, 2] -= 4e-3
seen(state(scene, 5, velocity))
assert abs(seen.value() - 0.5 * 25e-6) < 1e-12, seen.value()

# two balls overlap by 2 mm and one ball and the plane by 3 mm
scene = cube_of_balls(0.101, 0.0, 1e-3, 0.01)
x = scene.array("position").copy()
x[:, 2] += 1.0
x[1] = x[0] + [0.0, 0.0, 0.198]
x[0:2, 0] -= 5.0
x[5] = [7.0, 0.0, 0.097]
seen = Overlaps(scene)
seen(state(scene, 1, position=x))
assert abs(seen.value() - (4e-6 + 9e-6)) < 1e-12, seen.value()

# semi-implicit Euler in free fall: v = -g h k, z = z0 - g h^2 k (k + 1)/2; after taking its offset off nothing is left but
# m g^2 h^2/8 of each ball
scene, h, k = bouncing(1e-2, 0.2), 1e-2, 20
x, v = scene.array("position").copy(), np.zeros((49, 3))
x[:, 2] -= 9.81 * h * h * k * (k + 1) / 2
v[:, 2] = -9.81 * h * k
seen = EnergyError(scene)
seen(state(scene, k, v, x))
half = 0.5 * 490.0 * 9.81 * h * 9.81 * h * k  # 1/2 m g h |v|
assert abs(seen.value() - half**2) < 1e-9 * half**2, (seen.value(), half**2)
left = 490.0 * (9.81 * h) ** 2 / 8
assert abs(seen.relative_at_mid_step() - (left / seen.start) ** 2) < 1e-6 * (left / seen.start) ** 2

# 102 blocks; the drift is counted from the state in which they have settled, and a heap ends the run
scene = kapla(300)
assert len(scene.moving) == 102 and abs(sum(b.mass for b in scene.moving) - 1020.0) < 1e-9
seen = Drift(100)
assert not seen(state(scene, 100))
x = scene.array("position").copy()
x[3, 1] += 2e-3
assert not seen(state(scene, 200, position=x)) and abs(seen.drift - 2e-3) < 1e-12
assert not seen(state(scene, 210)) and abs(seen.drift - 2e-3) < 1e-12  # back again: the largest way stays
assert seen.fell is None and seen(state(scene, 300, position=0.5 * x)) and seen.fell == 300

# a flight that has lost a tenth of its spin in the first step has lost a tenth of its angular momentum, and 0.19 of its
# kinetic energy; joints are together
scene = quadruped(10.0, 1e-2, 0.02, (0.0, 0.0, 2.0))
seen = FlightError(scene)
v = 0.9 * scene.array("velocity") + [0.0, 0.0, -9.81 * 1e-2]
seen(State(1, scene.array("position"), v, scene.array("orientation"), 0.9 * scene.array("spin"), None))
assert abs(seen.angular - 0.1) < 1e-12 and abs(seen.energy - 0.19) < 1e-12, (seen.angular, seen.energy)
assert seen.momentum < 1e-12 and seen.gap < 1e-12, (seen.momentum, seen.gap)

# a cube on the floor: it slides along x at 1 m/s, friction half of its bound and askew by 90 degrees
scene = sliding(1e-2, 0.1)
weight = 9.81 * 1e-2


def touching(tangential, normal=weight, gap=0.0):
    return lambda: (np.array([[1, 0]]), np.array([[0.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]]), np.array([gap]),
                    np.array([[*tangential, normal]]))


def parts(velocity, *words, **named):
    return Watch(scene).parts(state(scene, 1, np.array([velocity]), contacts=touching(*words, **named)))


exact = parts([1.0, 0.0, 0.0], (-0.5 * weight, 0.0))
assert max(exact.values()) < 1e-12, exact
askew = parts([1.0, 0.0, 0.0], (0.0, 0.25 * weight))
assert abs(askew["dissipation"] - 0.5 * weight / (weight * weight)) < 1e-9 and askew["cone"] == 0.0, askew
assert abs(parts([0.0, 0.0, 0.0], (0.7 * weight, 0.0))["cone"] - 0.2) < 1e-12
assert abs(parts([0.0, 0.0, -0.5 * weight], (0.0, 0.0))["signorini"] - 0.5) < 1e-12
assert parts([0.0, 0.0, -0.1], (0.0, 0.0), normal=0.0, gap=2e-3)["signorini"] < 1e-12
assert abs(parts([0.0, 0.0, 2.0 * weight], (0.0, 0.0))["complementarity"] - 2.0) < 1e-12

# a cube between plates, of which the pushed one slides along the floor: a contact has the friction of its own pair, 0 on
# the floor (body 3) and 1/2 on the wall (body 2)
scene = squeezed(1, 1e-2, 0.1)
assert [b.friction > 0.0 for b in scene.bodies] == [True, True, True, False]


def plate(ids, normal, impulse):
    contacts = lambda: (np.array([ids]), np.zeros((1, 3)), np.array([normal]), np.array([0.0]), np.array([impulse]))  # noqa: E731
    return Watch(scene).parts(state(scene, 1, np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), contacts=contacts))


smooth = plate([3, 1], [0.0, 0.0, 1.0], [0.0, 0.0, 981.0 * 1e-2])
assert max(smooth.values()) < 1e-12, smooth
rubbed = plate([3, 1], [0.0, 0.0, 1.0], [0.0, 0.2, 1.0])
assert abs(rubbed["cone"] - 0.2) < 1e-12, rubbed
rough = plate([2, 1], [1.0, 0.0, 0.0], [1.0, -0.5, 0.0])
assert max(rough.values()) < 1e-12, rough

# and Catena tells fixed bodies and planes by their numbers in the scene
fixed = set()
run_catena(scene, lambda state: fixed.update(state.contacts()[0].ravel().tolist()), **RIGID)
assert fixed == {0, 1, 2, 3}, fixed

# a peer that says more than a pipe holds does not stop; the step at which a watch ends the run is counted; states that end
# before the scene does and contacts with unnamed bodies are errors
PEER = '''#!%s
import struct, sys
sys.stdin.read()
sys.stderr.write(200 * "a message of a thousand letters, or so" * 25)
for k in range(1, 1 + int(sys.argv[2])):
    row = [0.0] * 3 + [1.0] + [0.0] * 9
    sys.stdout.buffer.write(struct.pack("%%dd" %% 27, 0.5 * k, 1.0, *row, float(sys.argv[3]), 0.0, *[0.0] * 10))
sys.stdout.flush()
'''
scene = sliding(1e-2, 0.1)
with tempfile.TemporaryDirectory() as work:
    program = os.path.join(work, "peer")
    with open(program, "w") as f:
        f.write(PEER % sys.executable)
    os.chmod(program, 0o755)

    def peer(watch, *words):
        return run_peer(program, scene, watch, 1, words)

    done = peer(lambda state: None, 10, 1)
    assert (done.steps, done.seconds) == (10, 5.0), done
    done = peer(lambda state: state.step == 3, 10, 1)
    assert (done.steps, done.seconds) == (3, 1.5), done
    for words in ((9, 1), (10, -1)):
        try:
            peer(lambda state: None, *words)
        except RuntimeError:
            continue
        raise AssertionError(words)

# a section is replaced, and nothing else
with tempfile.NamedTemporaryFile("w+", suffix=".md") as page:
    page.write("before\n<!-- begin of a -->\nold\n<!-- end of a -->\nafter\n")
    page.flush()
    write_section(page.name, "a", "new\n")
    lines = open(page.name).read().split("\n")
    assert lines[0] == "before" and lines[1].startswith("<!-- begin of a ") and lines[2:] == ["new", "<!-- end of a -->", "after", ""]
    # a second time, too; and a change by hand is seen
    write_section(page.name, "a", "newer\n")
    assert changed_sections(page.name) == [] and "newer" in open(page.name).read()
    whole = open(page.name).read().replace("newer", "better")
    open(page.name, "w").write(whole)
    assert changed_sections(page.name) == ["a"]
assert changed_sections(PAGE) == [], changed_sections(PAGE)
assert text("1.35e-4") == "1.35e-4"  # published figures stand as they were published

# bodies and contacts that Bullet and ODE get have the relative velocities that the file gives, for any impulses
with tempfile.TemporaryDirectory() as work:
    case = pile("boxes", 2, 0.1, contact={"law": "coulomb", "stiffness": "rigid"}, output={"dump_interval": 0.1})
    case["generators"][1]["lattice"]["shape"] = {"box": {"size": [0.1, 0.14, 0.18]}}
    case["generators"][1]["lattice"]["origin"][2] = 0.1  # they fall by a centimetre, and turn
    catena.run(case, out=os.path.join(work, "boxes"), progress=False)
    dump, solution = os.path.join(work, "boxes", "step-00000020.hdf5"), os.path.join(work, "r.hdf5")
    problem = stated(dump)
    frame = np.stack([problem.normal, problem.tangent, np.cross(problem.normal, problem.tangent)], axis=1)
    inverse_inertia = [turn_of(q) @ np.diag(1.0 / m) @ turn_of(q).T for q, m in zip(problem.axes, problem.moments)]
    impulse = np.random.default_rng(5).normal(size=(len(problem.a), 3))
    velocity, spin = problem.velocity.copy(), problem.spin.copy()
    assert len(impulse) > 20 and np.ptp(problem.moments, axis=1).min() > 0.01, (len(impulse), problem.moments)
    for bodies, arms, sign in ((problem.a, problem.arm_a, -1.0), (problem.b, problem.arm_b, 1.0)):
        for i, arm, p in zip(bodies, arms, sign * impulse):
            if i >= 0:
                velocity[i] += p / problem.mass[i]
                spin[i] += inverse_inertia[i] @ np.cross(arm, p)
    at = [np.where(i[:, None] >= 0, velocity[i] + np.cross(spin[i], arm), 0.0)
          for i, arm in ((problem.a, problem.arm_a), (problem.b, problem.arm_b))]
    found = np.einsum("kij,kj->ki", frame, at[1] - at[0])
    found[:, 0] += problem.bias
    with h5py.File(dump) as f, h5py.File(solution, "w") as g:
        g["solution/r"] = np.einsum("kij,kj->ki", frame, impulse)[problem.order].ravel()
        of_file = Problem(f, g, None).contacts.rows.w[:, :3]
    assert np.allclose(found[problem.order], of_file, atol=1e-10 * abs(of_file).max()), abs(found[problem.order] - of_file).max()
    here = problem.place[problem.a] + problem.arm_a - problem.place[problem.b] - problem.arm_b
    assert abs(here[(problem.a >= 0) & (problem.b >= 0)]).max(initial=0.0) < 1e-12

# a solve that fails is an error, and what an earlier one wrote is gone; one that misses its tolerance is a result
with tempfile.TemporaryDirectory() as work:
    program, report = os.path.join(work, "catena"), os.path.join(work, "report.json")
    os.environ["CATENA"] = program
    for code in (0, 4, 1, 6):
        with open(program, "w") as f:
            f.write("#!/bin/sh\nexit %d\n" % code)
        os.chmod(program, 0o755)
        open(report, "w").close()
        try:
            solved("dump.hdf5", "--report", report, files=[report])
            ended = False
        except RuntimeError:
            ended = True
        assert ended == (code in (1, 6)) and not os.path.exists(report), code
    del os.environ["CATENA"]

# of piles and laws that fail the others' rows are written, and what is missing is named; a pile at rest is not made again
scene = Scene("3:boxes,hulls:coulomb,ccp:")
assert (scene.shapes, scene.laws, scene.methods) == (("boxes", "hulls"), ("coulomb", "ccp"), ("auto", "gauss_seidel"))
assert scene.left_out == ["spheres", "lagged"], scene.left_out


def failing(*words):
    """Stands for a part of a scene: the pile of hulls and the law ccp fail."""
    if "settled" in words and "hulls" in words or "ccp" in words:
        raise RuntimeError("no rest")
    return "pile"


class Options:
    short, settle = True, 1.0


written = []
contacts_to_tolerance.settled = lambda *words: failing(*words, "settled")
contacts_to_tolerance.cold_and_warm = contacts_to_tolerance.go_on = failing
missing = contacts_to_tolerance.take_all(Options, [scene], None, None, lambda missing: written.append(dict(missing)))
assert missing == {"boxes, 27, ccp": "no rest", "hulls, 27, coulomb": "no rest", "hulls, 27, ccp": "not run",
                   **{"hulls, 27, 3 steps at %g" % t: "not run" for t in (1e-2, 1e-4, 1e-6, 1e-8)}}, missing
assert len(written) == 12 and written[-1] == missing, written
assert len(written[0]) == 11 and set(written[0].values()) == {"not run"}, written[0]  # as it stands if the script is killed then

# a pile whose run was broken off goes on from its checkpoint, one at rest is left alone, one of another case is made anew
with tempfile.TemporaryDirectory() as work:
    piles = types.SimpleNamespace(short=True, ranks=1, work=work)
    os.environ["CATENA"] = os.path.join(build, "drivers", "catena")
    out, started, run_catena_case = os.path.join(work, "heap"), [], catena.run

    def watched(*words, **options):
        """catena.run, noting how it starts."""
        started.append((options["force"], options["resume"]))
        return run_catena_case(*words, **options)

    def heap(end=0.1):
        """Starts of the pile's run, and what it ends with."""
        started.clear()
        contacts_to_tolerance.rest(piles, "heap", pile("spheres", 2, end, output={"checkpoint_steps": 8}))
        with open(os.path.join(out, "profile.json")) as f, h5py.File(os.path.join(out, "result.h5")) as g:
            return list(started), json.load(f)["ended"], len(g["series/time"])

    catena.run = watched
    made = heap()
    assert made == ([(True, False)], "done", made[2]) and made[2] > 1, made
    assert heap() == ([], *made[1:])
    os.remove(os.path.join(out, "profile.json"))  # as it is until a run has ended
    kept = sorted(glob.glob(os.path.join(out, "checkpoint-*.h5")))
    assert len(kept) > 1, kept
    for path in kept[1:]:
        os.remove(path)
    assert heap() == ([(False, True)], *made[1:])
    assert heap(0.08)[:2] == ([(True, False)], "done")
    catena.run = run_catena_case
    del os.environ["CATENA"]

# the closed form to round-off, in a short run
table = next(rows for name, rows in run("simbenchmark", "rolling").items() if name.startswith("Rolling"))
exact = next(row for row in table if row[0] == "Catena, rigid, to round-off")
assert float(exact[1]) < 1e-20 and float(exact[3]) < 1e-20, exact
