#!/usr/bin/python3
"""poses_test.py CATENA ROOT: places, masses and inertias of imported robots against calculations of their own."""
import xml.etree.ElementTree as ElementTree

import numpy as np
from support import (DATA, body, by_axis, imported, matrix, near, numbers, run, tensor_of, turn, urdf_links,
                     urdf_mass)

GROUPS = {"two_link.urdf": {"upper": ["upper"], "lower": ["lower", "tool"]},
          "arm6/arm6.urdf": {n: [n] for n in ("shoulder", "upper_arm", "forearm", "wrist_1", "wrist_2", "wrist_3")},
          "gripper.urdf": {n: [n] for n in ("left_proximal", "left_distal", "right_proximal", "left_pad")},
          "quadruped.urdf": {"trunk": ["trunk"], **{f"{leg}_{p}": [f"{leg}_{p}"] for leg in ("FL", "FR", "RL", "RR")
                                                    for p in ("hip", "thigh")},
                             **{f"{leg}_calf": [f"{leg}_calf", f"{leg}_foot"] for leg in ("FL", "FR", "RL", "RR")}}}


def random_values(model, random):
    """Coordinates within the limits of all joints that follow no other, and of those that do."""
    root = ElementTree.parse(f"{DATA}/{model}").getroot()
    values, mimics = {}, []
    for joint in root.findall("joint"):
        limit, mimic = joint.find("limit"), joint.find("mimic")
        if mimic is not None:
            mimics.append((joint.get("name"), mimic))
        elif joint.get("type") == "continuous":
            values[joint.get("name")] = random.uniform(-3, 3)
        elif joint.get("type") != "fixed":
            low, high = float(limit.get("lower", 0)), float(limit.get("upper", 0))
            values[joint.get("name")] = random.uniform(low, high)
    given = dict(values)
    for name, mimic in mimics:
        values[name] = (float(mimic.get("multiplier", 1)) * values[mimic.get("joint")] + float(mimic.get("offset", 0)))
    return given, values


def joint_options(values):
    return [word for name, value in values.items() for word in ("--joint", f"{name}={value!r}")]


def urdf_poses_and_masses():
    random = np.random.default_rng(7)
    for model, groups in GROUPS.items():
        for _ in range(3):
            given, values = random_values(model, random)
            case, _ = imported(model, *joint_options(given))
            world, root = urdf_links(model, values)
            for name, links in groups.items():
                mass, centre, inertia = urdf_mass(root, world, links)
                item = body(case, name)
                near(item["mass"], mass, 1e-12, f"mass of {name}")
                near(item["position"], centre, 1e-11, f"centre of {name}")
                near(tensor_of(item), inertia, 1e-11 * max(1, np.abs(inertia).max()), f"inertia of {name}")
            for joint in root.findall("joint"):
                check_joint(case, joint, world, values)


def check_joint(case, joint, world, values):
    """The hinge stands where its link's origin is, its limits count from the start."""
    item = next((j for j in case["joints"] if j["name"] == joint.get("name")), None)
    if joint.get("type") == "fixed":
        assert item is None
        return
    place = world[joint.find("child").get("link")]
    axis = numbers(joint.find("axis"), "xyz", (1, 0, 0))
    # neither its own motion nor what moves beyond it changes where a hinge is
    near(item["axis"], place[:3, :3] @ axis / np.linalg.norm(axis), 1e-11, joint.get("name"))
    if joint.get("type") == "revolute":
        near(item["at"], place[:3, 3], 1e-11, joint.get("name"))
    if joint.find("limit") is not None and joint.get("type") != "continuous":
        start = values[joint.get("name")]
        near(item["limits"], [float(joint.find("limit").get(k)) - start for k in ("lower", "upper")], 1e-11)


def shapes_lie_in_their_links():
    """Centres of collision shapes: centre of mass + orientation * at."""
    values = {"shoulder": 0.7, "elbow": -1.1}
    case, _ = imported("two_link.urdf", *joint_options(values))
    world, _ = urdf_links("two_link.urdf", values)
    item = body(case, "lower")
    r = turn(item["orientation"]["quaternion"])
    found = [np.array(item["position"]) + r @ np.array(shape["at"]) for shape in item["shapes"]]
    near(found[0], (world["lower"] @ matrix((0, 0, -0.3)))[:3, 3], 1e-11, "cylinder")
    near(found[1], world["tool"][:3, 3], 1e-11, "sphere")
    inner = turn(item["shapes"][0]["orientation"]["quaternion"])
    near((r @ inner)[:, 2], world["lower"][:3, 2], 1e-11, "axis of the cylinder")


def hand_values():
    """By pencil: the lower link (1 kg at (0.1, 0, -0.3)) with the tool (0.5 kg, turned by 90 degrees about y,
    0.05 along its z, which is the link's x, at z = -0.6)."""
    case, _ = imported("two_link.urdf")
    upper, lower = body(case, "upper"), body(case, "lower")
    near(upper["inertia"], [0.2, 0.2, 0.02], 1e-15)
    near(upper["position"], [0, 0, 1.5], 1e-15)
    assert "orientation" not in upper
    near(lower["mass"], 1.5, 1e-15)
    # x: (0.1 + 0.5 * 0.05) / 1.5; z: 1 - (0.3 + 0.5 * 0.6) / 1.5
    near(lower["position"], [0.125 / 1.5, 0, 0.6], 1e-12)
    shoulder = case["joints"][0]
    assert shoulder["friction"] == 0.05 and shoulder["limits"] == [-2.0, 1.5], shoulder
    assert case["forces"][0]["damping"] == 0.3, case["forces"]
    # moments of the composite: trace is that of both plus 2 (reduced mass) d^2
    reduced, d2 = 1 * 0.5 / 1.5, 0.05 ** 2 + 0.3 ** 2
    near(sum(lower["inertia"]), 0.12 + 0.0025 + 2 * reduced * d2, 1e-12)


def humanoid():
    """MJCF: euler with eulerseq zyx, axisangle, hinges about anchors, a joint of three hinges."""
    d = np.pi / 180
    q = {"abdomen_z": 0.3, "abdomen_y": -0.4, "hip_x": 0.05, "hip_z": -0.5, "hip_y": -0.6, "knee": -1.2,
         "shoulder": 0.8, "reach": 0.07}
    case, report = imported("humanoid.xml", *joint_options(q))

    def hinge(axis, angle, anchor=(0, 0, 0)):
        return matrix(anchor) @ matrix(rotation=by_axis(axis, angle)) @ matrix(-np.array(anchor))

    torso = matrix((0, 0, 1.3))
    # zyx, moving axes: 10 about z, then 0 about y, then 5 about x
    pelvis = torso @ matrix((-0.01, 0, -0.26), by_axis((0, 0, 1), 10 * d) @ by_axis((1, 0, 0), 5 * d))
    pelvis = pelvis @ hinge((0, 0, 1), 0.3, (0, 0, 0.065)) @ hinge((0, 1, 0), -0.4, (0, 0, 0.065))
    thigh = pelvis @ matrix((0, -0.1, -0.04)) @ hinge((1, 0, 0), 0.05) @ hinge((0, 0, 1), -0.5)
    hip_y_axis = thigh[:3, 1]
    thigh = thigh @ hinge((0, 1, 0), -0.6)
    shin = thigh @ matrix((0, 0.01, -0.403), by_axis((0, 0, 1), 15 * d)) @ hinge((0, -1, 0), -1.2)
    foot = shin @ matrix((0, 0, -0.39))
    arm = torso @ matrix((0, -0.17, 0.06), np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]))
    arm = arm @ hinge((2, 1, 1), 0.8) @ matrix((0.07, 0, 0))
    joints = {j["name"]: j for j in case["joints"]}
    near(joints["hip_y"]["axis"], hip_y_axis, 1e-11)
    near(joints["knee"]["at"], shin[:3, 3], 1e-11)
    near(joints["knee"]["limits"], [-160 * d + 1.2, -2 * d + 1.2], 1e-11)
    near(joints["hip_y"]["limits"], [-120 * d + 0.6, 20 * d + 0.6], 1e-11)  # of the class
    near(joints["ankle"]["at"], (foot @ [0, 0, 0.04, 1])[:3], 1e-11)
    near(body(case, "right_shin")["position"], (shin @ [0, 0, -0.15, 1])[:3], 1e-11)
    near(body(case, "right_foot")["position"], (foot @ [0.04, 0, 0, 1])[:3], 1e-11)
    near(body(case, "right_foot")["mass"], 1100 * 8 * 0.12 * 0.05 * 0.02, 1e-12)  # density of the defaults
    near(body(case, "right_arm")["position"], (arm @ [0.1, 0, 0, 1])[:3], 1e-11)
    near(tensor_of(body(case, "right_shin")), shin[:3, :3] @ np.array(
        [[0.025, 0.0005, -0.0003], [0.0005, 0.026, 0.0002], [-0.0003, 0.0002, 0.003]]) @ shin[:3, :3].T, 1e-11)
    # a ball and a box as chest: what stands between joints and the thigh are one capsule together
    length = np.hypot(0.34, 0.01)
    capsule = 1100 * np.pi * 0.06 ** 2 * (length + 4 / 3 * 0.06)
    parts = [b["mass"] for b in case["bodies"] if b["name"].startswith("right_thigh")]
    near(sum(parts), capsule, 1e-10)
    motor = joints["knee"]["motor"]
    near([motor["position"], motor["compliance"], motor["damping_time"], motor["max_force"]],
         [1.2, 0.01, 0.05, 80], 1e-12)
    rope = joints["strap"]
    near(rope["length"], 1.2, 0)
    near(rope["at"], [(torso @ [-0.1, 0, 0, 1])[:3], (shin @ [-0.05, 0, -0.3, 1])[:3]], 1e-11)
    assert joints["hip_y"]["motor"] == {"force": 0.0}
    assert "first none: 40 N m per unit of control, 40 N m at most, which the controller keeps" in report, report
    for word in ("armature of <joint>, 0.01 kg m^2", "'hamstring'", "<sensor>"):
        assert any(line.startswith("left out") and word in line for line in report.splitlines()), word


def keyframe():
    """A key is the same robot moved as a whole, but for the ball joint, which only its link can tell."""
    q = {"abdomen_z": 0.3, "abdomen_y": -0.4, "hip_x": 0.05, "hip_z": -0.5, "hip_y": -0.6, "knee": -1.2,
         "shoulder": 0.8, "reach": 0.07}
    still, _ = imported("humanoid.xml", *joint_options(q))
    case, report = imported("humanoid.xml", "--keyframe", "squat")
    moved = matrix((1, 2, 3), by_axis((0, 1, 0), 2 * np.arccos(0.8))) @ matrix((0, 0, -1.3))
    for item in still["bodies"]:
        if item["name"] in ("right_foot", "plane"):
            continue
        near(body(case, item["name"])["position"], (moved @ [*item["position"], 1])[:3], 1e-11, item["name"])
        r = moved[:3, :3]
        near(tensor_of(body(case, item["name"])), r @ tensor_of(item) @ r.T, 1e-11, item["name"])
    # the sole is 0.04 ahead of the ankle and 0.04 below: turned about x by 2 acos 0.6
    ankle = next(j["at"] for j in case["joints"] if j["name"] == "ankle")
    shin, shin_still = (body(c, "right_shin")["position"] for c in (case, still))
    before = np.array(body(still, "right_foot")["position"]) - next(
        j["at"] for j in still["joints"] if j["name"] == "ankle")
    after = np.array(body(case, "right_foot")["position"]) - ankle
    near(np.linalg.norm(after), np.linalg.norm(before), 1e-12)
    d = np.pi / 180
    frame = (by_axis((0, 1, 0), 2 * np.arccos(0.8)) @ by_axis((0, 0, 1), 10 * d) @ by_axis((1, 0, 0), 5 * d)
             @ by_axis((0, 0, 1), 0.3) @ by_axis((0, 1, 0), -0.4) @ by_axis((1, 0, 0), 0.05)
             @ by_axis((0, 0, 1), -0.5) @ by_axis((0, 1, 0), -0.6) @ by_axis((0, 0, 1), 15 * d)
             @ by_axis((0, -1, 0), -1.2))
    near(after, frame @ by_axis((1, 0, 0), 2 * np.arccos(0.6)) @ [0.04, 0, -0.04], 1e-11)
    assert np.linalg.norm(np.subtract(shin, shin_still)) > 0.1
    assert "ctrl of <key>" in report and "key 'other'" in report, report


def motors_take_the_arm_to_what_the_importer_says():
    """A run that turns all six axes: the same pose as that imported with these angles."""
    q = {"pan": 0.9, "lift": -0.6, "elbow": 1.1, "roll_1": -1.3, "bend": 0.7, "roll_2": 2.0}
    case, _ = imported("arm6/arm6.urdf")
    target, _ = imported("arm6/arm6.urdf", *joint_options(q), name="target.yaml")
    for joint in case["joints"]:
        joint["motor"] = {"table": {"values": "position", "rows": [[0, 0], [0.4, q[joint["name"]]]]}}
    case["time"] = {"step": 0.001, "end": 0.5}
    names, _, last, _ = run(case, "arm6")
    for item in target["bodies"]:
        k = names.index(item["name"])
        if item.get("fixed"):
            continue
        near(last["position"][k], item["position"], 1e-6, item["name"])
        r = turn(last["orientation"][k])
        near(r @ np.diag(item["inertia"]) @ r.T, tensor_of(item), 1e-6, item["name"])


for test in (urdf_poses_and_masses, shapes_lie_in_their_links, hand_values, humanoid, keyframe,
             motors_take_the_arm_to_what_the_importer_says):
    test()
    print(f"{test.__name__}: ok")
