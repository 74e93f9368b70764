#!/usr/bin/python3
"""runs_test.py CATENA ROOT [SECONDS]: what imported robots do when they run, against closed forms. SECONDS: how
long the quadruped stands."""
import itertools
import sys

import numpy as np
from support import body, by_axis, imported, near, run, turn, written

G = 9.81


def model(text, *options, name="inline.xml"):
    return imported(written(text, name), *options)


def free_fall():
    """From rest nothing bends: all links fall alike, energy goes over from one form to the other."""
    case, _ = imported("quadruped.urdf")
    case["forces"] = []
    case["time"] = {"step": 0.001, "end": 0.3}
    names, first, last, series = run(case, "fall")
    mass = sum(b["mass"] for b in case["bodies"])
    near(mass, 6 + 4 * (0.6 + 0.9 + 0.15 + 0.05), 1e-12, "mass")
    speed = G * 0.3
    near(last["velocity"], np.tile([0, 0, -speed], (len(names), 1)), 1e-9, "velocity")
    near(series["kinetic_energy"][-1], 0.5 * mass * speed ** 2, 1e-7)
    # places follow the new velocities: n (n + 1) / 2 steps of g h^2
    fallen = G * 0.001 ** 2 * 300 * 301 / 2
    near(first["position"] - last["position"], np.tile([0, 0, fallen], (len(names), 1)), 1e-9, "fall")


def quadruped_stands():
    """On its feet, servos with the model's efforts at all joints."""
    pose = {f"{leg}_{part}_joint": q for leg in ("FL", "FR", "RL", "RR") for part, q in (("thigh", 0.8), ("calf", -1.5))}
    case, _ = imported("quadruped.urdf", "--hold", "--floor",
                       *itertools.chain(*(("--joint", f"{n}={q}") for n, q in pose.items())))
    case["time"] = {"step": 0.001, "end": SECONDS}
    case["output"] = {"snapshot_interval": SECONDS}
    efforts = {j["name"]: j["motor"]["max_force"] for j in case["joints"]}
    assert efforts["FL_hip_joint"] == 24 and efforts["FL_calf_joint"] == 35, efforts
    names, first, last, series = run(case, "stand")
    k = names.index("trunk")
    sunk = first["position"][k][2] - last["position"][k][2]
    assert abs(sunk) < 1e-4, sunk
    near(last["position"][k][:2], first["position"][k][:2], 1e-4, "drift")
    assert turn(last["orientation"][k])[2, 2] > np.cos(np.radians(0.2))
    assert series["contacts"][-1] >= 4


def coordinates_oscillate():
    """m q'' + c q' + k (q - rest) = 0 of a slide and of a hinge: the exact solution at the end."""
    case, _ = model("""<mujoco><option timestep="0.0005" gravity="0 0 0"/><compiler angle="radian"/><worldbody>
      <body name="cart" pos="1 2 3" euler="0.3 0.2 0.1"><joint name="slide" type="slide" axis="1 2 2" damping="3" stiffness="80"
        springref="0.2"/><geom type="sphere" size="0.1" mass="2" contype="0" conaffinity="0"/></body>
      <body name="rotor" pos="0 1 0"><joint name="hinge" axis="0 3 4" damping="0.02" stiffness="1.5" springref="0.4"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.05 0.05 0.05"/></body></worldbody></mujoco>""",
                    "--joint", "slide=-0.3", "--joint", "hinge=-0.2")
    end = 0.6
    case["time"]["end"] = end
    names, first, last, _ = run(case, "oscillate")

    def exact(m, c, k, rest, start):
        decay, rate = c / (2 * m), np.sqrt(k / m - (c / (2 * m)) ** 2)
        x = start - rest
        return rest + np.exp(-decay * end) * x * (np.cos(rate * end) + decay / rate * np.sin(rate * end))

    i = names.index("cart")
    moved = last["position"][i] - first["position"][i]
    found = np.linalg.norm(moved)
    near(found, exact(2, 3, 80, 0.2, -0.3) + 0.3, 2e-3, "slide")
    i = names.index("rotor")
    axis = np.array([0, 3, 4]) / 5
    relative = turn(last["orientation"][i]) @ turn(first["orientation"][i]).T
    angle = np.arcsin(axis @ [relative[2, 1] - relative[1, 2], relative[0, 2] - relative[2, 0],
                              relative[1, 0] - relative[0, 1]] / 2)
    expected = exact(0.05, 0.02, 1.5, 0.4, -0.2) + 0.2
    assert abs(expected) < 1.5, expected
    near(angle, expected, 5e-3, "hinge")


def arm_swings_with_its_own_inertia():
    """The upper arm with the lower one locked is a pendulum about the shoulder: period from the moments."""
    case, _ = imported("two_link.urdf", "--base", "fixed", "--joint", "shoulder=0.02")
    case["forces"] = []
    for joint in case["joints"]:
        joint.pop("friction", None)
        if joint["name"] == "elbow":
            joint["type"] = "fixed"
            joint.pop("axis")
    moment = torque = 0.0
    pivot, axis = np.array([0, 0, 2]), np.array([0, 1, 0])
    for item in case["bodies"]:
        r = turn(item.get("orientation", {}).get("quaternion", [1, 0, 0, 0]))
        arm = np.array(item["position"]) - pivot
        moment += axis @ r @ np.diag(item["inertia"]) @ r.T @ axis + item["mass"] * (arm[0] ** 2 + arm[2] ** 2)
        torque += item["mass"] * G * arm
    # it starts beside its rest; at amplitudes of 0.1 rad the period is 6e-4 longer
    length = np.hypot(torque[0], torque[2])
    amplitude = np.arctan2(torque[0], -torque[2])
    period = 2 * np.pi * np.sqrt(moment / length) * (1 + amplitude ** 2 / 16)
    case["time"] = {"step": 0.0005, "end": round(period / 0.0005) * 0.0005}
    names, first, last, series = run(case, "swing")
    # after one period it is back, at rest
    near(last["position"], first["position"], 2e-4, "after a period")
    total = series["kinetic_energy"] + series["potential_energy"]
    assert np.ptp(total) < 0.02 * series["kinetic_energy"].max(), np.ptp(total)


def loops_and_couplings():
    """A parallelogram stays one; the coupled wheel turns twice as far as the crank; the weld holds."""
    case, _ = imported("four_bar.xml", "--joint", "spin=0")
    types = {j["name"]: j["type"] for j in case["joints"]}
    assert types["loop"] == "spherical" and types["lock"] == "fixed" and types["geared"] == "gear", types
    body(case, "crank")["angular_velocity"] = [0, 2.0, 0]
    body(case, "rocker")["angular_velocity"] = [0, 2.0, 0]
    body(case, "crank")["velocity"] = [2.0 * 0.25, 0, 0]
    body(case, "rocker")["velocity"] = [2.0 * 0.25, 0, 0]
    body(case, "coupler")["velocity"] = [2.0 * 0.5, 0, 0]
    for name in ("wheel", "hub"):
        body(case, name)["angular_velocity"] = [0, 4.0, 0]
    case["time"]["end"] = 0.3
    names, first, last, _ = run(case, "four_bar")

    def place(name, offset):
        k = names.index(name)
        item = body(case, name)
        r0 = turn(first["orientation"][k])
        inner = r0.T @ (np.array(offset) - first["position"][k])
        assert item["mass"] > 0
        return last["position"][k] + turn(last["orientation"][k]) @ inner

    def angle(name):
        k = names.index(name)
        r = turn(last["orientation"][k]) @ turn(first["orientation"][k]).T
        return np.arctan2(r[0, 2], r[0, 0])

    # joints are stabilised, not projected: misfits of the order h^2 w^2 r
    near(place("coupler", (1, 0, 0.5)), place("rocker", (1, 0, 0.5)), 2e-5, "loop")
    near(angle("crank"), angle("rocker"), 2e-5, "parallelogram")
    near(angle("coupler"), 0, 2e-5, "coupler")
    assert angle("crank") > 0.5
    near(angle("wheel"), 2 * angle("crank"), 2e-5, "geared")
    near(angle("hub"), angle("wheel"), 2e-5, "weld")


def fingers_follow():
    """Gears of the gripper: the neighbour turns the other way, the tip 1.5 times as far on its own finger; its slides
    close as one."""
    case, _ = imported("gripper.urdf")
    case["gravity"] = [0, 0, 0]
    for joint in case["joints"]:
        if joint["name"] == "left_knuckle":
            joint["motor"] = {"table": {"values": "position", "rows": [[0, 0], [0.2, 0.5]]}}
        if joint["name"] == "left_slide":
            joint["motor"] = {"table": {"values": "position", "rows": [[0, 0], [0.2, 0.03]]}}
    case["time"]["end"] = 0.3
    names, first, last, _ = run(case, "fingers")

    def angle(name):
        k = names.index(name)
        r = turn(last["orientation"][k]) @ turn(first["orientation"][k]).T
        return np.arctan2(r[2, 1], r[1, 1])

    near(angle("left_proximal"), 0.5, 1e-5)
    near(angle("right_proximal"), -0.5, 1e-5)
    # the tip's axis is -x: 0.5 of its finger less 0.75 of its own
    near(angle("left_distal"), 0.5 - 0.75, 1e-5)
    for side, way in (("left", 0.03), ("right", -0.03)):
        k = names.index(f"{side}_pad")
        near(last["position"][k] - first["position"][k], [0, way, 0], 1e-6, side)


SLIDES = """<mujoco><compiler angle="radian"/><option timestep="0.0005" gravity="0 0 0"/><worldbody>
  <body name="palm" pos="0 0 1" euler="0.3 0.2 0.1"><joint name="turn" axis="0 0 1"/>
    <inertial pos="0 0 0" mass="100" diaginertia="9 9 9"/>
    <body name="lead" pos="0.1 0 0"><joint name="ql" type="slide" axis="0 1 0"/><inertial pos="0 0 0" mass="2" diaginertia=".01 .01 .01"/></body>
    <body name="tail" pos="-0.1 0 0"><joint name="qt" type="slide" axis="AXIS"/><inertial pos="0 0 0" mass="3" diaginertia=".01 .01 .01"/></body>
    <body name="arm" pos="0 0 0.2"><joint name="qh" axis="1 0 0"/><inertial pos="0 0 0" mass="1" diaginertia="0.05 .05 .05"/></body>
  </body></worldbody><equality><joint joint1="qt" joint2="ql" polycoef="0 RATIO 0 0 0"/><joint joint1="qh" joint2="ql" polycoef="0 HINGE 0 0 0"/></equality>
  <actuator><motor joint="ql"/></actuator></mujoco>"""


def slides_follow():
    """Two slides and a hinge move as one coordinate: a force on the leader accelerates 2 + 3 r^2 + 0.05 h^2 kg of them
    (and a thousandth for the pinion), whatever the directions of the slides and the turns of their palm."""
    for axis, ratio, h in (("0 -1 0", 1.0, 4.0), ("0 1 0", -0.5, -4.0), ("0 0 1", 2.0, 3.0)):
        text = SLIDES.replace("AXIS", axis).replace("RATIO", str(ratio)).replace("HINGE", str(h))
        if h == 3.0:  # the hinge leads
            text = text.replace('joint1="qh" joint2="ql" polycoef="0 3.0', f'joint1="ql" joint2="qh" polycoef="0 {1 / 3!r}')
        case, report = model(text, name="slides.xml")
        assert "both are racks of a pinion of 0.003 kg" in report, report
        for joint in case["joints"]:
            if joint["name"] == "ql":
                joint["motor"] = {"force": 7.0}
            if joint["name"] == "turn":
                joint["type"] = "fixed"
                joint.pop("axis")
        case["time"]["end"] = 0.2
        names, _, last, _ = run(case, "slides")
        speed = 7.0 * 0.2 / (2 + 3 * ratio ** 2 + 0.05 * h ** 2)
        moved = {n: last["velocity"][names.index(n)] for n in ("lead", "tail")}
        ways = {"lead": np.array([0, 1.0, 0]), "tail": np.array([float(x) for x in axis.split()])}
        body_axes = by_axis((1, 0, 0), 0.3) @ by_axis((0, 1, 0), 0.2) @ by_axis((0, 0, 1), 0.1)  # moving x, y, z
        near(moved["lead"], speed * body_axes @ ways["lead"], 2e-3 * speed, f"leader, {axis}")
        near(moved["tail"], ratio * speed * body_axes @ ways["tail"], 2e-3 * speed, f"follower, {axis}")
        near(last["angular_velocity"][names.index("arm")], h * speed * body_axes[:, 0], 2e-3 * abs(h) * speed, "hinge")


def rope_stops_a_fall():
    """A tendon of 0.8 m between the world and a ball that falls from 0.5 m below."""
    case, _ = model("""<mujoco><worldbody><site name="top" pos="0 0 2"/><body name="ball" pos="0 0 1.5"><freejoint/>
      <geom type="sphere" size="0.05" mass="1"/><site name="eye"/></body></worldbody><tendon><spatial name="cord" range="0 0.8">
      <site site="top"/><site site="eye"/></spatial></tendon></mujoco>""", name="rope.xml")
    case["time"]["end"] = 1.5
    names, _, last, _ = run(case, "rope")
    near(last["position"][names.index("ball")], [0, 0, 1.2], 1e-3)


SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 0.5
TENDONS = """<mujoco><option timestep="0.001"/><worldbody><site name="a"/><site name="b" pos="1 0 0"/>
  <body name="load" pos="0 0 -2"><freejoint/><site name="hook"/><inertial pos="0 0 0" mass="4" diaginertia="1 1 1"/></body>
  <body name="counter" pos="1 0 -1"><freejoint/><site name="end"/><inertial pos="0 0 0" mass="MASS" diaginertia="1 1 1"/></body>
  </worldbody><tendon><spatial name="cord" range="0 6"><site site="a"/><site site="hook"/><site site="a"/><site site="b"/>
  <site site="end"/></spatial></tendon></mujoco>"""


def tendons_over_sites():
    """A load on two legs of a tendon and a counterweight at its end: at half its mass both rest; a lighter one
    rises twice as fast as the load sinks."""
    for mass in (2.0, 1.0):
        case, _ = model(TENDONS.replace("MASS", str(mass)), name="tendon.xml")
        assert [(p["body"], p["at"][0]) for p in case["joints"][0]["through"]] == [
            ("world", 0), ("load", 0), ("world", 0), ("world", 1), ("counter", 1)], case["joints"]
        case["time"]["end"] = 0.2
        names, _, last, _ = run(case, "tendon")
        # load: 4 a = 4 g - 2 T; counterweight, twice as fast: 2 m a = T - m g
        speed = G * (4 - 2 * mass) / (4 + 4 * mass) * 0.2
        near(last["velocity"][names.index("load")][2], -speed, 1e-3 * max(speed, 1), "load")
        near(last["velocity"][names.index("counter")][2], 2 * speed, 1e-3 * max(speed, 1), "counterweight")


FIXED = """<mujoco><compiler angle="radian"/><option timestep="0.001" gravity="0 0 0"/><worldbody>
  <body name="a"><joint name="qa" axis="0 0 1" ref="0.3"/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body>
  <body name="b" pos="1 0 0"><joint name="qb" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="0.2 0.2 0.2"/></body>
  <body name="c" pos="2 0 0"><joint name="qc" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="0.2 0.2 0.2"/></body>
  </worldbody><tendon>
  <fixed name="pair"><joint joint="qa" coef="2"/><joint joint="qb" coef="-1"/></fixed>
  <fixed name="one"><joint joint="qc" coef="0.5"/></fixed><fixed name="all"><joint joint="qa" coef="1"/>
  <joint joint="qb" coef="1"/><joint joint="qc" coef="1"/></fixed>
  <fixed name="soft" stiffness="3"><joint joint="qa" coef="1"/><joint joint="qb" coef="1"/></fixed></tendon>
  <equality><tendon name="tied" tendon1="pair" polycoef="0.4 0 0 0 0"/><tendon name="many" tendon1="all"/></equality>
  <actuator><motor name="drive" tendon="one" gear="3" ctrlrange="-2 2"/><motor name="both" tendon="soft"/></actuator></mujoco>"""


def tendons_of_joint_coordinates():
    """2 (qa - 0.3) - qb = 0.4 at the start and when b is driven; the motor of c's own tendon has the lever 3 * 0.5."""
    case, report = model(FIXED, "--joint", "qb=0.2", name="fixed.xml")
    joints = {j["name"]: j for j in case["joints"]}
    assert joints["tied"]["type"] == "gear" and joints["qc"]["motor"] == {"force": 0.0}, joints
    assert "1.5 N m per unit of control, 3 N m at most" in report, report
    for words in ("'many': couples 3 joint coordinates", "tendon 'soft': limits, spring and friction of a sum",
                  "actuator 'both': the tendon 'soft' that it drives is no single joint's"):
        assert words in report, (words, report)
    joints["qb"]["motor"] = {"table": {"values": "position", "rows": [[0, 0], [0.2, 0.8]]}}
    case["time"]["end"] = 0.3
    names, first, last, _ = run(case, "fixed")

    def angle(shot, name):
        r = turn(shot["orientation"][names.index(name)])
        return np.arctan2(r[1, 0], r[0, 0])

    # at the coordinate 0.3 body a lies as written: turned by qa - 0.3
    near([angle(first, "b"), angle(first, "a")], [0.2, 0.3], 1e-12, "start")
    near([angle(last, "b"), angle(last, "a")], [1.0, 0.7], 2e-5, "driven")


def springs_between_lengths():
    """A tendon's spring that has no force between two lengths is left out, with a line; its damper stays."""
    text = """<mujoco><worldbody><site name="top" pos="0 0 2"/><body name="ball" pos="0 0 1.5"><freejoint/>
      <geom size="0.05" mass="1"/><site name="eye"/></body></worldbody><tendon><spatial name="cord" stiffness="100" damping="3"
      springlength="LENGTHS"><site site="top"/><site site="eye"/></spatial></tendon></mujoco>"""
    case, report = model(text.replace("LENGTHS", "0 0.4"), name="band.xml")
    assert "tendon 'cord': its spring, which has no force between the lengths 0 and 0.4 m" in report, report
    assert [(f["stiffness"], f["damping"]) for f in case["forces"]] == [(0, 3)], case["forces"]
    case, report = model(text.replace("LENGTHS", "0.4"), name="band.xml")
    assert [(f["stiffness"], f["length"]) for f in case["forces"]] == [(100, 0.4)] and "its spring" not in report


for test in (free_fall, quadruped_stands, coordinates_oscillate, arm_swings_with_its_own_inertia,
             loops_and_couplings, fingers_follow, slides_follow, rope_stops_a_fall, tendons_over_sites, tendons_of_joint_coordinates,
             springs_between_lengths):
    test()
    print(f"{test.__name__}: ok")
