#!/usr/bin/python3
"""arm_test.py CATENA ROOT: an imported arm of six axes against inverse dynamics by Newton and Euler of its own."""
import os
import xml.etree.ElementTree as ElementTree

import numpy as np
from support import DATA, by_axis, imported, matrix, near, numbers, rpy_matrix, written

import catena
import yaml

MODEL = "arm6/arm6.urdf"
G = np.array([0, 0, -9.81])
ROBOT = ElementTree.parse(os.path.join(DATA, MODEL)).getroot()
JOINTS = ROBOT.findall("joint")  # a chain, in its order from the base
NAMES = [joint.get("name") for joint in JOINTS]
DAMPING, FRICTION = (np.array([float(joint.find("dynamics").get(key)) for joint in JOINTS])
                     for key in ("damping", "friction"))


def tensor_of_link(inertial):
    i = {key: float(value) for key, value in inertial.find("inertia").items()}
    turn = rpy_matrix(inertial)[:3, :3]
    return turn @ [[i["ixx"], i["ixy"], i["ixz"]], [i["ixy"], i["iyy"], i["iyz"]],
                   [i["ixz"], i["iyz"], i["izz"]]] @ turn.T


def chain():
    """Of each joint: its place in the link before, axis, and of the link behind: mass, centre, inertia on its axes."""
    for joint in JOINTS:
        axis = numbers(joint.find("axis"), "xyz", (1, 0, 0))
        link = next(link for link in ROBOT.findall("link") if link.get("name") == joint.find("child").get("link"))
        inertial = link.find("inertial")
        yield (rpy_matrix(joint), axis / np.linalg.norm(axis), float(inertial.find("mass").get("value")),
               rpy_matrix(inertial)[:3, 3], tensor_of_link(inertial))


CHAIN = list(chain())


def inverse_dynamics(q, rate, acceleration):
    """Torques of ideal drives, N m: outwards velocities and accelerations, inwards forces and moments, all on the
    world's axes; gravity as an acceleration of the base."""
    frame, w, alpha, a, place, parts = np.eye(4), np.zeros(3), np.zeros(3), -G, np.zeros(3), []
    for (offset, axis, mass, centre, tensor), angle, speed, change in zip(CHAIN, q, rate, acceleration):
        frame = frame @ offset @ matrix(rotation=by_axis(axis, angle))
        r, arm = frame[:3, :3], frame[:3, 3] - place
        n, c, inertia = r @ axis, r @ centre, r @ tensor @ r.T
        a = a + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
        alpha = alpha + change * n + speed * np.cross(w, n)
        w, place = w + speed * n, frame[:3, 3]
        force = mass * (a + np.cross(alpha, c) + np.cross(w, np.cross(w, c)))
        parts.append((n, place, c, force, inertia @ alpha + np.cross(w, inertia @ w)))
    torques, force, moment, tip = [], np.zeros(3), np.zeros(3), place
    for n, place, c, own, spin in reversed(parts):
        moment = spin + np.cross(c, own) + moment + np.cross(tip - place, force)
        force, tip = force + own, place
        torques.append(n @ moment)
    return np.array(torques[::-1])


def arm(q, option):
    """Case of the arm at the angles q."""
    case, _ = imported(MODEL, option, *(w for n, v in zip(NAMES, q) for w in ("--joint", f"{n}={float(v)!r}")))
    return case


def started(case, step=1e-3):
    """(simulation, its six joints)"""
    case["time"] = {"step": step, "end": 10}
    simulation = catena.Simulation(written(yaml.safe_dump(case), "arm.yaml"))
    return simulation, [simulation.joint(name) for name in NAMES]


def servos_hold_its_weight():
    """Torques of servos that hold the arm, without friction, which would take its share."""
    random = np.random.default_rng(5)
    for _ in range(2):
        q = random.uniform(-2.5, 2.5, 6)
        case = arm(q, "--hold")
        for joint in case["joints"]:
            del joint["friction"]
        simulation, joints = started(case)
        with simulation:
            simulation.run(0.02)
            expected = inverse_dynamics(q, np.zeros(6), np.zeros(6))
            assert np.abs(expected).max() > 1
            near([joint.drive[0][1] for joint in joints], expected, 1e-6 * np.abs(expected).max(), "torque of gravity")


def friction_holds_as_much_as_it_can():
    """Beside the torques of gravity a drive of 0.9 of a joint's friction moves nothing, one of 1.1 moves it."""
    q = np.array([0.4, -0.9, 1.2, 0.5, -0.7, 0.3])
    case = arm(q, "--torque")
    for k in (0, 2, 5):
        for share, moves in ((0.9, False), (1.1, True)):
            simulation, joints = started(case)
            with simulation:
                torques = inverse_dynamics(q, np.zeros(6), np.zeros(6))
                torques[k] += share * FRICTION[k]
                for joint, torque in zip(joints, torques):
                    joint.set_motor_target(torque)
                simulation.run(0.02)
                speeds = np.abs([joint.rate[0] for joint in joints])
                assert (speeds[k] > 1e-3) == moves and (moves or speeds.max() < 1e-6), (NAMES[k], share, speeds)


def error_of_move(case, q0, step):
    """The torques of the inverse dynamics alone take the arm along a smooth way; largest error, rad."""
    q1, end, worst = np.array([1.0, -0.2, 0.3, -0.6, 0.4, 1.2]), 0.2, 0.0
    simulation, joints = started(case, step)

    def way(t):
        s = t / end
        return [(q1 - q0) * x for x in (s ** 3 * (10 - 15 * s + 6 * s * s), 30 * (s * (1 - s)) ** 2 / end,
                                        60 * s * (1 - s) * (1 - 2 * s) / end ** 2)]

    with simulation:
        while simulation.time < end - 1e-9:
            turned, rate, change = way(simulation.time + 0.5 * step)
            torques = inverse_dynamics(q0 + turned, rate, change) + DAMPING * rate + FRICTION * np.sign(rate)
            for joint, torque in zip(joints, torques):
                joint.set_motor_target(torque)
            simulation.step()
            now = np.array([joint.coordinate[0] for joint in joints])
            worst = max(worst, np.abs(now - way(simulation.time)[0]).max())
    return worst


def torques_by_inverse_dynamics_move_it():
    q0 = np.array([0.2, -0.8, 1.0, 0.3, -0.5, 0.1])
    case = arm(q0, "--torque")
    coarse, fine = (error_of_move(case, q0, step) for step in (2e-3, 1e-3))
    # the stepper is of first order
    assert coarse < 1e-2 and fine < 0.55 * coarse, (coarse, fine)
    print(f"  error of the way {coarse:.2e} rad at 2 ms, {fine:.2e} at 1 ms")


for test in (servos_hold_its_weight, friction_holds_as_much_as_it_can, torques_by_inverse_dynamics_move_it):
    test()
    print(f"{test.__name__}: ok")
