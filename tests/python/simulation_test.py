"""catena.Simulation on one rank, against closed forms, the program's controllers and the program's results.

    PYTHONPATH=BUILD/python CATENA=PROGRAM python3 -m pytest simulation_test.py
"""
import copy
import doctest
import gc
import math
import os
import pathlib
import pickle
import re
import subprocess
import sys
import weakref

import catena
import catena.body_view
import catena.errors
import catena.simulation
import numpy as np
import pytest

G, H = 9.81, 1e-3

FALL = {"catena": 1, "name": "fall", "materials": {"m": {"density": 1000, "friction": 0.5}, "ice": {"density": 900}},
        "bodies": [{"name": "ball", "material": "m", "shape": {"sphere": {"radius": 0.1}}, "position": [0, 0, 5]},
                   {"name": "slab", "material": "m", "shape": {"box": {"size": [9, 9, 0.1]}}, "position": [0, 0, -5],
                    "motion": {"velocity": [0, 0, 0.1]}}],
        "time": {"step": H, "end": 0.1}}

# a rod that stands on its hinge, tilted by 0.05 rad
PENDULUM = {"catena": 1, "name": "pendulum",
            "bodies": [{"name": "rod", "mass": 1, "inertia": [0.01, 0.01, 0.01],
                        "position": [math.sin(0.05), 0, math.cos(0.05)]}],
            "joints": [{"name": "hinge", "type": "revolute", "between": ["world", "rod"], "at": [0, 0, 0],
                        "axis": [0, 1, 0], "motor": {"force": 0}}],
            "probes": [{"name": "swing", "type": "joint", "joint": "hinge"}],
            "time": {"step": H, "end": 2}}
GAINS = {"kp": 30.0, "ki": 0.5, "kd": 6.0}
UPRIGHT = -0.05  # rad from the start


def with_balls(n):
    case = copy.deepcopy(FALL)
    case["generators"] = [{"lattice": {"name": "row", "material": "m", "shape": {"sphere": {"radius": 0.1}},
                                       "count": [n, 1, 1], "spacing": 0.5, "origin": [3, 3, 1]}}]
    return case


class Pid:
    """The law of docs/probes.md, in the order of operations of the program."""

    def __init__(self, kp, ki, kd):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.time, self.integral = math.nan, 0.0

    def output(self, time, measure):
        dt = 0.0 if math.isnan(self.time) else time - self.time
        rate = (measure - self.measure) / dt if dt > 0 else 0.0
        error = UPRIGHT - measure
        self.integral += error * dt
        self.time, self.measure = time, measure
        return 0.0 + self.kp * error + self.ki * self.integral - self.kd * rate


def test_a_ball_falls_as_semi_implicit_euler_says():
    with catena.Simulation(FALL) as sim:
        sim.run(until="50 ms")
        assert sim.step_count == 50 and sim.time == pytest.approx(0.05)
        ball = sim.body("ball")
        assert ball.velocity[2] == pytest.approx(-G * 0.05, rel=1e-12)
        assert ball.position[2] == pytest.approx(5 - G * H * H * 50 * 51 / 2, rel=1e-12)
        assert ball.velocity.unit == "m/s" and ball.mass == pytest.approx(1000 * 4 / 3 * math.pi * 1e-3)
        np.testing.assert_array_equal(ball.orientation, [1, 0, 0, 0])
        sim.run()
        assert sim.step_count == 100
        assert sim.report.kinetic_energy == pytest.approx(
            0.5 * ball.mass * (G * 0.1) ** 2 + 0.0, rel=1e-9)
        assert sim.report.units["kinetic_energy"] == "J" and sim.report.status == "converged"


def test_what_is_set_moves_bodies():
    with catena.Simulation(FALL) as sim:
        ball, slab = sim.body("ball"), sim.body("slab")
        ball.set_load([0, 3, ball.mass * G], [0, 0, 0.01])
        slab.set_velocity([0.5, 0, 0], [0, 0, 1])
        sim.run()
        t = 0.1
        np.testing.assert_allclose(ball.velocity, [0, 3 / ball.mass * t, 0], atol=1e-12)
        assert ball.angular_velocity[2] == pytest.approx(0.01 / ball.inertia[2] * t, rel=1e-9)
        np.testing.assert_allclose(slab.position, [0.5 * t, 0, -5], atol=1e-12)
        ball.set_load([0, 0, 0])
        before = ball.velocity[1]
        sim.step()
        assert ball.velocity[1] == before
        sim.set_loads([ball.id], [[0, 0, 2.0]])
        sim.step()
        assert ball.velocity[2] == pytest.approx(-G * 2 * H + 2.0 / ball.mass * H, rel=1e-9)


def test_a_material_that_is_set_takes_the_friction_away():
    case = {"catena": 1, "name": "slide", "materials": {"m": {"density": 1000, "friction": 0.5},
                                                        "ice": {"density": 1000, "friction": 0}},
            "bodies": [{"name": "floor", "material": "ice", "shape": {"plane": {}}},
                       {"name": "box", "material": "m", "shape": {"box": {"size": [1, 1, 0.2]}},
                        "position": [0, 0, 0.1], "velocity": [1, 0, 0]}],
            "time": {"step": H, "end": 0.1}, "solver": {"relative_tolerance": 1e-10, "max_iterations": 1000}}
    found = {}
    for floor in ("m", "ice"):
        case["bodies"][0]["material"] = "m"
        with catena.Simulation(case) as sim:
            box = sim.body("box")
            box.set_material(floor)
            sim.run()
            found[floor] = box.velocity[0]
            contacts = sim.contacts()
            assert len(contacts) == 4
            assert contacts.normal_force.sum() == pytest.approx(200 * G, rel=1e-4)
            assert set(np.asarray(contacts.bodies).ravel()) == {sim.body("floor").id, box.id}
    assert found["m"] == pytest.approx(1 - 0.5 * G * 0.1, rel=1e-2)
    # the rule of combination of friction: docs/configuration.md
    assert found["ice"] > found["m"] + 0.2


def test_python_holds_a_pendulum_as_the_controller_of_the_case_does():
    case = copy.deepcopy(PENDULUM)
    case["controllers"] = [{"name": "hold", "type": "pid", "measure": "swing.angle", "drive": "hinge", "target": UPRIGHT,
                            **GAINS}]
    with catena.Simulation(case) as theirs, catena.Simulation(PENDULUM) as ours:
        pid, hinge = Pid(**GAINS), ours.joint("hinge")
        ours.after_each_step(lambda sim: hinge.set_motor_target(pid.output(sim.time, sim.measure("swing.angle"))))
        for _ in range(2000):
            theirs.step()
            ours.step()
        assert ours.measure("swing.angle") == theirs.measure("swing.angle")
        np.testing.assert_array_equal(ours.body("rod").position, theirs.body("rod").position)
        assert hinge.coordinate[0] == ours.measure("swing.angle")
        assert abs(hinge.coordinate[0] - UPRIGHT) < 2e-3 and abs(hinge.rate[0]) < 1e-2
        # upright and nearly at rest: the hinge carries the weight
        assert hinge.force[2] == pytest.approx(G, rel=1e-3)


def test_a_joint_has_its_coordinate_before_the_first_step_but_no_force():
    with catena.Simulation(PENDULUM) as sim:
        assert sim.joint("hinge").coordinate[0] == 0.0  # angles count from the start
        assert math.isnan(sim.joint("hinge").coordinate[1])
        with pytest.raises(catena.CatenaError, match="no step has been made"):
            sim.joint("hinge").force
        with pytest.raises(catena.CatenaError, match="no step has been made"):
            sim.report


def test_arrays_of_bodies_raise_after_their_step():
    with catena.Simulation(with_balls(5)) as sim:
        z = sim.positions[:, 2]
        ids, row = np.asarray(sim.ids), sim.ids_of("row")
        assert len(row) == 5 and sim.name_of(row[3]) == "row-3"
        np.testing.assert_array_equal(np.asarray(z)[np.isin(ids, row)], 1.0)
        assert sim.positions.unit == "m" and sim.velocities.shape == (len(ids), 3)
        kept = sim.positions.copy()
        views = [sim.ids, sim.positions, sim.orientations, sim.velocities, sim.angular_velocities, z, z[1:], z.T]
        for use in (lambda v: v[0], np.asarray, lambda v: v + 1, np.sum, len, list, lambda v: v.max(),
                    lambda v: v.copy(), lambda v: v == 0, lambda v: np.concatenate([v, v]), pickle.dumps, copy.copy,
                    lambda v: v.shape, lambda v: np.add(1, v)):
            for view in views:
                use(view)  # as long as it is that of the step
        with pytest.raises(catena.CatenaError, match="cannot be written to"):
            sim.positions[0] = 0
        with pytest.raises(catena.CatenaError, match="cannot be written to"):
            np.add(1, 1, out=sim.positions)
        sim.step()
        for use in (lambda v: v[0], np.asarray, lambda v: v + 1, np.sum, len, list, lambda v: v.max(),
                    lambda v: v.copy(), lambda v: v == 0, lambda v: np.concatenate([v, v]), pickle.dumps, copy.copy,
                    lambda v: v.shape, lambda v: np.add(1, v)):
            for view in views:
                with pytest.raises(catena.CatenaError, match="out of date"):
                    use(view)
        np.testing.assert_allclose((sim.positions - kept)[np.isin(ids, row), 2], -G * H * H, rtol=1e-9)
        back = pickle.loads(pickle.dumps(sim.positions))
        assert isinstance(back, catena.Quantity) and back.unit == "m"


def test_arrays_of_a_callback_or_of_an_older_velocity_raise_too():
    with catena.Simulation(FALL) as sim:
        kept = []
        sim.before_each_step(lambda s: kept.append(s.velocities))
        sim.after_each_step(lambda s: kept.append(s.velocities))
        sim.step()
        assert [v.outdated for v in kept] == [True, True]
        view = sim.velocities
        row = list(sim.ids).index(sim.body("slab").id)
        sim.body("slab").set_velocity([0, 0, 7])
        assert view.outdated and sim.velocities[row, 2] == 7
        view = sim.positions
    with pytest.raises(catena.CatenaError, match="out of date"):
        view[0]
    with pytest.raises(catena.CatenaError, match="closed"):
        sim.positions


def test_mistakes_name_place_key_and_remedy(tmp_path):
    wrong = dict(FALL, solver={"max_sweep": 3})
    with pytest.raises(catena.CatenaError) as caught:
        catena.Simulation(wrong)
    e = caught.value
    assert (e.path, e.found, e.remedy, e.exit_code, e.place) == (
        "solver.max_sweep", "unknown key", "did you mean solver.max_iterations?", 3, "")
    path = tmp_path / "wrong.yaml"
    path.write_text(catena.Case(FALL).yaml() + "solver: {max_sweep: 3}\n")
    with pytest.raises(catena.CatenaError) as caught:
        catena.Simulation(path)
    assert caught.value.path == "solver.max_sweep"
    assert caught.value.place.startswith(f"{path}:") and str(caught.value).startswith(f"{path}:")
    with pytest.raises(catena.CatenaError, match="nowhere.yaml") as caught:
        catena.Simulation(tmp_path / "nowhere.yaml")
    assert caught.value.exit_code == 5
    with catena.Simulation(FALL) as sim:
        for mistake, text in ((lambda: sim.body("bal"), "did you mean ball"), (lambda: sim.joint("x"), "no joint"),
                              (lambda: sim.body("ball").set_load([1, 2]), "has 2 numbers; give three"),
                              (lambda: sim.body("slab").set_load([1, 2, 3]), "takes no forces"),
                              (lambda: sim.body("ball").set_velocity([1, 2, 3]), "has no motion"),
                              (lambda: sim.body("ball").set_material("wood"), "no material 'wood'"),
                              (lambda: sim.measure("x.y"), "x"), (lambda: sim.ids_of("x"), "no such"),
                              (lambda: sim.run(until="3 m"), "m"), (lambda: sim.run(until=math.nan), "until"),
                              (lambda: sim.checkpoint(tmp_path / "no" / "x.h5"), "x.h5")):
            with pytest.raises(catena.CatenaError, match=text):
                mistake()


def test_communicators_are_those_of_mpi4py(monkeypatch):
    from mpi4py import MPI
    with catena.Simulation(FALL, MPI.COMM_SELF) as sim:
        sim.step()
        assert sim.comm.Get_size() == 1 and sim.size == 1
    with pytest.raises(catena.CatenaError, match="intracommunicator"):
        catena.Simulation(FALL, "world")
    with pytest.raises(catena.CatenaError, match="intracommunicator"):
        catena.Simulation(FALL, MPI.COMM_NULL)
    monkeypatch.setattr(MPI, "Get_library_version", lambda: "MPICH 4")
    with pytest.raises(catena.CatenaError, match="MPICH 4.*--no-binary"):
        catena.Simulation(FALL, MPI.COMM_SELF)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(catena.CatenaError, match="pip install mpi4py"):
        catena.Simulation(FALL, MPI.COMM_SELF)
    catena.Simulation(FALL).close()


def test_exceptions_of_callbacks_come_out_and_the_step_can_be_made_again():
    with catena.Simulation(FALL) as sim:
        calls = []

        @sim.before_each_step
        def fails(s):
            calls.append(s.step_count)
            if len(calls) == 1:
                raise ValueError("once")

        with pytest.raises(ValueError, match="once"):
            sim.step()
        assert sim.step_count == 0
        sim.step()
        assert sim.step_count == 1 and calls == [0, 0]
        sim.remove_callback(fails)
        sim.after_each_step(lambda s: s.step())
        with pytest.raises(catena.CatenaError, match="a step is under way"):
            sim.step()
        assert sim.step_count == 2  # it was done before the callback


def test_nothing_is_left_of_simulations():
    case = with_balls(200)

    def one(hold):
        sim = catena.Simulation(case)
        sim.before_each_step(lambda s: hold.append(sim))  # a cycle through the callback
        sim.step()
        view = sim.positions
        gone = weakref.ref(sim)
        hold.clear()
        del sim
        gc.collect()
        assert gone() is None
        view[0]  # numbers of its own step, which was the last one
        return view

    for _ in range(5):
        one([])
    before = resident()
    for _ in range(20):
        one([])
    assert resident() - before < 2e6, "bytes that twenty simulations leave"


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_two_simulations_do_not_see_each_other():
    with catena.Simulation(FALL) as alone:
        alone.run()
        expected = alone.body("ball").position
    first, second = catena.Simulation(FALL), catena.Simulation(with_balls(3))
    view = first.positions
    second.step()
    assert not view.outdated
    for _ in range(100):
        first.step()
        second.step()
    np.testing.assert_array_equal(first.body("ball").position, expected)
    del first
    second.step()


def test_a_run_into_a_directory_is_that_of_the_program(tmp_path):
    case = copy.deepcopy(PENDULUM)
    case["materials"] = {"m": {"density": 1000}}
    case["bodies"] += [{"name": "floor", "material": "m", "shape": {"plane": {}}, "position": [0, 0, -5]},
                       {"name": "ball", "material": "m", "shape": {"sphere": {"radius": 0.1}},
                        "position": [1, 0, -4.899], "velocity": [1, 0, 0]}]
    case["time"]["end"] = "50 ms"
    expected = catena.run(case, out=tmp_path / "program", progress=False)
    with catena.Simulation(case) as sim:
        result = sim.run_into(tmp_path / "python", progress=False)
        names = [n for n in result.series if n != "step_wall_s" and not n.startswith("imbalance")]
        for name in names:
            np.testing.assert_array_equal(result.series[name], expected.series[name], name)
        report = sim.report
        assert {n: report[n] for n in names} == {n: expected.series[n][-1] for n in names}
        with pytest.raises(catena.CatenaError, match="--force"):
            sim.run_into(tmp_path / "python")
    last, own = expected[-1], result[-1]
    np.testing.assert_array_equal(own.position, last.position)
    with catena.Simulation(case) as sim:
        sim.run()
        order = np.argsort(np.asarray(sim.ids))
        rows = np.isin(last.id, sim.ids)  # a result holds planes, too
        np.testing.assert_array_equal(np.asarray(sim.positions)[order], last.position[rows])
        np.testing.assert_array_equal(np.asarray(sim.orientations)[order], last.orientation[rows])
        joint, stored = sim.joint("hinge"), result.joint("hinge")
        np.testing.assert_allclose(joint.coordinate, stored.coordinate[-1], rtol=1e-12)
        np.testing.assert_array_equal(joint.force, stored.force[-1])
        np.testing.assert_array_equal(joint.torque, stored.torque[-1])
        np.testing.assert_array_equal(joint.drive.ravel(), stored.drive[-1])
        contacts = sim.contacts()
        assert len(contacts) == 1
        for name in ("bodies", "point", "normal", "gap", "impulse", "couple", "feature", "part", "force"):
            np.testing.assert_array_equal(getattr(contacts, name), getattr(last.contacts, name), name)


def test_stop_conditions_and_checkpoints(tmp_path):
    case = dict(FALL, probes=[{"name": "ball", "type": "body", "body": "ball"}], stop_when="ball.position_z < 4.99")
    path = tmp_path / "half.h5"
    with catena.Simulation(case) as sim:
        sim.run(until=0.02)
        sim.body("ball").set_load([1, 0, 0])
        sim.checkpoint(path)
        sim.run()
        assert "4.99" in sim.stop_reason and sim.step_count < 100
        expected, steps = sim.body("ball").position, sim.step_count
    with catena.Simulation(case, checkpoint=path) as sim:
        assert sim.step_count == 20
        sim.run()
        assert sim.step_count == steps
        np.testing.assert_array_equal(sim.body("ball").position, expected)


EXTRA = {"name": "extra", "material": "m", "shape": {"box": {"size": [0.2, 0.3, 0.4]}}, "position": [0.05, 0, 5.4],
         "velocity": [0, 0, -1], "angular_velocity": [1, 2, 3], "orientation": {"axis": [1, 0, 0], "angle": "30 deg"}}
ROPE = {"name": "rope", "type": "distance", "between": ["ball", "extra"], "at": [[0, 0, 5], [0.05, 0, 5.4]]}
HOLD = {"name": "hold", "type": "revolute", "between": ["world", "extra"], "at": [0.05, 0, 5.2], "axis": [0, 1, 0],
        "limits": ["-5 deg", "5 deg"], "motor": {"velocity": 2, "max_force": 3}, "friction": 0.1}


def state(sim):
    return {name: getattr(sim, name).copy() for name in ("ids", "positions", "orientations", "velocities",
                                                          "angular_velocities")}


def test_what_is_added_before_the_first_step_is_as_if_the_case_had_it():
    # the method that a case with joints takes by itself
    fall = dict(FALL, solver={"method": "gauss_seidel", "relative_tolerance": 1e-12, "max_iterations": 1000})
    for joint in (ROPE, HOLD):
        case = copy.deepcopy(fall)
        case["bodies"].append(EXTRA)
        case["joints"] = [joint]
        with catena.Simulation(case) as listed, catena.Simulation(fall) as added:
            body, hold = added.add_body(EXTRA), added.add_joint(joint)
            assert (body.id, hold.id) == (listed.body("extra").id, listed.joint(joint["name"]).id)
            assert body.mass == listed.body("extra").mass
            listed.run()
            added.run()
            for name, values in state(listed).items():
                np.testing.assert_allclose(state(added)[name], values, rtol=1e-9, atol=1e-9, err_msg=name)
            np.testing.assert_allclose(hold.force, listed.joint(joint["name"]).force, rtol=1e-6, atol=1e-6)
            assert added.report.joint_misfit < 1e-6


def test_bodies_and_joints_come_and_go_between_steps():
    with catena.Simulation(FALL) as sim:
        sim.run(until="20 ms")
        view, z = sim.positions, sim.body("ball").position[2]
        extra = sim.add_body(EXTRA)
        assert view.outdated and sim.name_of(extra.id) == "extra" and list(sim.ids_of("extra")) == [extra.id]
        with pytest.raises(catena.CatenaError, match="came or went since"):
            sim.report
        assert len(sim.contacts()) == 0
        sim.step()
        assert sim.report.inserted == 1
        assert sim.report.kinetic_energy > 0.5 * extra.mass
        rope = sim.add_joint(dict(ROPE, at=[list(sim.body("ball").position), list(extra.position)]))
        length = np.linalg.norm(extra.position - sim.body("ball").position)
        sim.run(until="60 ms")
        assert np.linalg.norm(extra.position - sim.body("ball").position) == pytest.approx(length, abs=1e-5)
        with pytest.raises(catena.CatenaError, match="body extra is held by joint rope; remove its joints first"):
            sim.remove_body("extra")
        sim.remove_joint(rope)
        sim.remove_body(extra)
        with pytest.raises(catena.CatenaError, match="is not there"):
            extra.position
        with pytest.raises(catena.CatenaError, match="is not there"):
            sim.remove_joint("rope")
        sim.run()
        assert sim.report.removed == 1 and z > sim.body("ball").position[2]
        # names are not free again
        with pytest.raises(catena.CatenaError, match="the name 'extra' is taken"):
            sim.add_body(EXTRA)
        again = sim.add_body(dict(EXTRA, name="again", fixed=True, velocity=[0, 0, 0], angular_velocity=[0, 0, 0]))
        assert again.id > extra.id and again.mass == 0
        sim.step()
        np.testing.assert_array_equal(again.velocity, 0)


def test_bodies_that_cannot_be_added_say_why_and_change_nothing():
    case = with_balls(2)
    case["joints"] = [{"name": "weld", "type": "fixed", "between": ["row-0", "row-1"], "at": [3.2, 3, 1]}]
    case["bodies"].append({"name": "floor", "material": "m", "shape": {"plane": {}}, "position": [0, 0, -9]})
    hull = {"hull": {"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]}}
    still = {"velocity": [0, 0, 0], "angular_velocity": [0, 0, 0]}
    with catena.Simulation(case) as sim:
        sim.step()
        before = state(sim)
        for change, path, text in (
                ({"name": "ball"}, "name", "the name 'ball' is taken"), ({"name": "row"}, "name", "taken"),
                ({"name": "row-1"}, "name", "taken"), ({"name": None}, "name", ""), ({"weight": 3}, "weight", "unknown key"),
                ({"position": [0, 0, 5.2]}, "", "overlaps ball by"), ({"position": [3, 3, 1.1]}, "", "overlaps row-0 by"),
                ({"position": [0, 0, -9.1]}, "", "overlaps floor by"),
                ({"shape": {"cube": {"size": 1}}}, "shape", "unknown kind"), ({"material": "wood"}, "material", "wood"),
                ({"mass": "3 m"}, "mass", ""), ({"group": "g"}, "group", "no body of the case is of the group"),
                (dict(still, motion={"velocity": [1, 0, 0]}), "motion", "follows no motion"),
                ({"surface_velocity": [1, 0, 0]}, "surface_velocity", "at rest"),
                ({"shape": hull}, "shape", "is a shape that no body of the case has"),
                (dict(still, shape={"plane": {}}), "shape", "planes are bodies of the case"),
                ({"mass": 1, "inertia": [0, 1, 1]}, "inertia", "a moment of inertia is 0")):
            body = {k: v for k, v in dict(EXTRA, **change).items() if v is not None}
            with pytest.raises(catena.CatenaError, match=text) as caught:
                sim.add_body(body)
            assert caught.value.path == path, (change, caught.value.path, str(caught.value))
        with pytest.raises(catena.CatenaError, match="give a dict"):
            sim.add_body("ball")
        with pytest.raises(catena.CatenaError, match="held by joint weld"):
            sim.remove_body("row-1")
        with pytest.raises(catena.CatenaError, match="planes stay"):
            sim.remove_body("floor")
        for change, path, text in (
                ({"name": "weld"}, "name", "the name 'weld' is taken"), ({"type": "hing"}, "type", "unknown value"),
                ({"between": ["ball", "bal"]}, "between", "did you mean ball"), ({"at": [0, 0, 0, 1]}, "at", ""),
                ({"between": ["world", "slab"]}, "between", "neither"), ({"between": ["ball", "ball"]}, "between", "twice"),
                ({"type": "belt", "radii": [1, 1], "axis": [0, 1, 0], "at": None}, "type", "not added to a run"),
                ({"break_force": 3}, "", "does not break"),
                ({"type": "prismatic", "axis": [0, 0, 1], "at": [0, 0, 5],
                  "motor": {"velocity": 1, "table": {"rows": [[0, 0], [1, 1]]}}}, "motor.table", "has no table"),
                ({"type": "prismatic", "axis": [0, 0, 1], "at": [0, 0, 5], "limits": [0.1, 0.2]}, "", "outside its limits")):
            joint = dict(ROPE, between=["world", "ball"], **{})
            joint = {k: v for k, v in dict(joint, **change).items() if v is not None}
            with pytest.raises(catena.CatenaError, match=text) as caught:
                sim.add_joint(joint)
            assert caught.value.path == path, (change, caught.value.path, str(caught.value))
        for name, values in state(sim).items():
            np.testing.assert_array_equal(values, before[name])
        touching = sim.add_body(dict(EXTRA, shape={"sphere": {"radius": 0.1}}, position=[0, 0, sim.body("ball").position[2] + 0.2]))
        sim.step()
        assert touching.id == len(case["bodies"]) + 2 and sim.report.inserted == 1


def test_hulls_come_as_the_case_has_them_and_in_a_plane_bodies_stay_in_it():
    hull = {"hull": {"vertices": [[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3]]}}
    case = copy.deepcopy(FALL)
    case["bodies"].append({"name": "wedge", "material": "m", "shape": hull, "position": [3, 0, 0]})
    with catena.Simulation(case) as sim:
        other = sim.add_body({"name": "other", "material": "m", "shape": hull, "position": [5, 0, 0]})
        assert other.mass == sim.body("wedge").mass == pytest.approx(1000 * 0.3 ** 3 / 6)
        sim.run()
        np.testing.assert_allclose(other.position - sim.body("wedge").position, [2, 0, 0], atol=1e-12)
    flat = dict(copy.deepcopy(FALL), dimension=2)
    with catena.Simulation(flat) as sim:
        sim.step()
        with pytest.raises(catena.CatenaError, match="no principal axis of inertia along y"):
            sim.add_body(dict(EXTRA, angular_velocity=[0, 0, 0]))
        with pytest.raises(catena.CatenaError, match="came or went since"):
            sim.report
        sim.step()
        assert sim.report.inserted == sim.report.removed == 0 and sim.report.bodies == 2
    # no forces: what comes and goes takes its energy along
    with catena.Simulation(dict(FALL, gravity=[0, 0, 0])) as sim:
        sim.add_body(EXTRA)
        sim.step()
        assert sim.report.kinetic_energy > 10 and abs(sim.report.energy_residual) < 1e-8
        sim.remove_body("extra")
        sim.step()
        assert abs(sim.report.energy_residual) < 1e-8


def test_bodies_that_come_into_a_periodic_box_meet_images():
    ball = {"material": "m", "shape": {"sphere": {"radius": 0.1}}}
    case = {"catena": 1, "name": "cell", "gravity": [0, 0, 0], "materials": {"m": {"density": 1000}},
            "periodic": {"x": [-1, 1], "y": [-1, 1], "z": [-1, 1], "deform": {"z": {"strain_rate": 0.1}}},
            "bodies": [dict(ball, name="ball")], "time": {"step": H, "end": 1}}
    with catena.Simulation(case) as sim:
        sim.step()
        with pytest.raises(catena.CatenaError, match="would not follow"):
            sim.add_body(dict(ball, name="wall", position=[0.5, 0, 0], fixed=True))
        with pytest.raises(catena.CatenaError, match="overlaps ball by"):
            sim.add_body(dict(ball, name="image", position=[0, 0, -1.85]))  # 0.15 m above the ball
        free = sim.add_body(dict(ball, name="free", position=[0.5, 0, 2.5]))
        assert free.id == 1 and abs(free.position[2]) < 1
        with pytest.raises(catena.CatenaError, match="images move"):
            sim.add_joint({"name": "j", "type": "spherical", "between": ["ball", "free"], "at": [0.2, 0, 0]})
        sim.step()
        assert sim.report.inserted == 1


def test_what_was_added_is_in_checkpoints_and_results(tmp_path):
    half = tmp_path / "half.h5"
    with catena.Simulation(FALL) as sim:
        sim.run(until="20 ms")
        gone = sim.add_body(dict(EXTRA, name="gone", position=[5, 5, 5]))
        sim.add_body(dict(EXTRA, name="ex tra: \u00fc"))
        sim.add_joint(dict(ROPE, between=["ball", "ex tra: \u00fc"], at=[list(sim.body("ball").position), [0.05, 0, 5.4]]))
        sim.run(until="40 ms")
        sim.remove_body(gone)
        sim.checkpoint(half)
        sim.run()
        expected = state(sim)
    with catena.Simulation(FALL, checkpoint=half) as sim:
        assert sim.body("ex tra: \u00fc").id == gone.id + 1 and sim.joint("rope").id == 0
        with pytest.raises(catena.CatenaError, match="body gone .* is not there"):
            sim.body("gone").position
        with pytest.raises(catena.CatenaError, match="the name 'gone' is taken"):
            sim.add_body(dict(EXTRA, name="gone"))
        sim.run()
        for name, values in state(sim).items():
            np.testing.assert_array_equal(values, expected[name], name)

    # the program goes on from it, too, and its result knows the names
    case = catena.Case(FALL, tmp_path)
    with case.file() as path:
        done = subprocess.run([catena.case.program(), "run", path, "-o", tmp_path / "on", f"--resume={half}", "--quiet"],
                              capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    last = catena.Result(tmp_path / "on")[-1]
    row = last.rows("ex tra: \u00fc")[0]
    mine = list(expected["ids"]).index(last.id[row])
    np.testing.assert_array_equal(last.position[row], expected["positions"][mine])
    assert catena.Result(tmp_path / "on").joint("rope").bodies == ("ball", "ex tra: \u00fc")

    with catena.Simulation(FALL) as sim:
        @sim.before_each_step
        def change(s):
            if s.step_count == 30:
                s.add_body(EXTRA)
            if s.step_count == 70:
                s.remove_body("extra")

        sim.after_each_step(lambda s: None)
        result = sim.run_into(tmp_path / "run", progress=False)
    there = ["extra" in list(s.name) for s in result]
    assert there == [0.03 <= s.time <= 0.07 + 1e-9 for s in result] or any(there), there
    assert result.series.inserted[-1] == result.series.removed[-1] == 1
    assert result.bodies.name[result.bodies.rows("extra")[0]] == "extra"


def test_bodies_do_not_come_while_the_contacts_of_a_step_are_still_to_be_read():
    with catena.Simulation(FALL) as sim:
        sim.after_each_step(lambda s: s.add_body(EXTRA))
        with pytest.raises(catena.CatenaError, match="cannot come or go in a callback after a step"):
            sim.step()
        natural = dict(PENDULUM, time={"stepper": "natural", "step": H, "end": 1})
        natural["joints"] = [dict(PENDULUM["joints"][0])]
        del natural["joints"][0]["motor"]
        with catena.Simulation(natural) as other, pytest.raises(catena.CatenaError, match="nothing can be set"):
            other.add_body({"name": "b", "mass": 1, "inertia": [1, 1, 1]})


def test_ctrl_c_ends_a_run_between_steps(tmp_path):
    script = tmp_path / "endless.py"
    script.write_text(f"import catena\nsim = catena.Simulation({FALL!r})\nprint('on', flush=True)\n"
                      "sim.run(until=1e9)\n")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as running:
        assert running.stdout.readline() == "on\n"
        running.send_signal(2)
        assert "KeyboardInterrupt" in running.communicate(timeout=300)[1]


def test_examples_in_the_modules_hold():
    for module in (catena.body_view, catena.errors, catena.simulation):
        assert doctest.testmod(module).failed == 0


def test_the_examples_of_the_page_run(tmp_path):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text()
    code = [b for b in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "catena.Simulation" in b]
    assert len(code) == 2
    said = []
    for block in code:
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert (tmp_path / "half.h5").exists() and float(said[0].split()[0]) == pytest.approx(1.0)
    assert said[1].startswith("9 blocks, on a string")
