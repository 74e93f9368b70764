#!/usr/bin/python3
"""shapes_test.py CATENA ROOT: hulls, meshes and who touches whom, against calculations of their own."""
import itertools
import os
import struct
import sys

import numpy as np
from support import DATA, ROOT, WORK, body, imported, near, run, turn, written

sys.path.insert(0, os.path.join(ROOT, "python"))
from catena.importers.hull import convex_hull  # noqa: E402
from catena.importers.meshes import mesh_properties, read_mesh  # noqa: E402


def hulls_hold_their_points():
    """Each face has all points behind it, each edge two faces; volume by tetrahedra to the centre."""
    random = np.random.default_rng(3)
    ball = random.normal(size=(300, 3))
    ball /= np.linalg.norm(ball, axis=1)[:, None]
    grid = np.array(list(itertools.product((0, 0.5, 1), repeat=3)))  # many points on one plane
    for points, volume in ((ball, None), (grid, 1.0), (random.normal(size=(500, 3)) * (1, 10, 0.1), None)):
        corners, triangles, gap = convex_hull(points)
        assert gap == 0.0
        found = 0.0
        for a, b, c in corners[triangles]:
            normal = np.cross(b - a, c - a)
            assert ((points - a) @ normal).max() <= 1e-8 * np.linalg.norm(normal) * np.ptp(points)
            found += (a - corners.mean(axis=0)) @ normal / 6
        edges = [tuple(t[[i, (i + 1) % 3]]) for t in triangles for i in range(3)]
        assert sorted(edges) == sorted((j, i) for i, j in edges)
        near(found, volume or found, 1e-9)
    few, triangles, gap = convex_hull(ball, 50)
    assert len(few) <= 50 and 0 < gap < 0.5
    normals = [np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a)) for a, b, c in few[triangles]]
    worst = max(min(1.0, max(n @ p - n @ few[t[0]] for n, t in zip(normals, triangles))) for p in ball)
    near(worst, gap, 1e-12, "what a hull of few corners leaves outside")


def mesh_values():
    """The L: two bars of 0.2 x 0.05 and 0.05 x 0.15, 0.06 wide; the same from a binary STL."""
    corners = read_mesh(os.path.join(DATA, "arm6/meshes/bracket.obj"), (1, 1, 1), "here").corners
    own = mesh_properties(corners, 1000.0)
    bars = [(0.2 * 0.05, (0.1, 0.025)), (0.05 * 0.15, (0.025, 0.125))]
    area = sum(a for a, _ in bars)
    near(own.mass, 1000 * 0.06 * area, 1e-12)
    near(own.centre, [*(sum(a * np.array(c) for a, c in bars) / area), 0], 1e-12)
    x = 0.2 ** 3 * 0.05 / 3 + 0.05 ** 3 * 0.15 / 3 - area * own.centre[0] ** 2
    near(own.inertia[1, 1], 60 * (x + area * 0.06 ** 2 / 12), 1e-12)
    path = os.path.join(WORK, "binary.stl")
    with open(path, "wb") as file:
        file.write(b"solid but binary".ljust(80) + struct.pack("<I", len(corners)))
        for triangle in corners:
            file.write(struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0))
    near(read_mesh(path, (2, 2, 2), "here").corners, 2 * corners, 1e-7)
    near(mesh_properties(corners * (-1, 1, 1)).mass, own.mass / 1000, 1e-15)  # mirrored


def a_base_keeps_its_dents():
    """A ball falls into the angle of a fixed L: onto its lower bar, not onto its hull."""
    robot = f"""<robot name="corner"><link name="stand"><collision><origin rpy="1.5707963267948966 0 0"/><geometry>
      <mesh filename="{os.path.join(DATA, 'arm6/meshes/bracket.obj')}" scale="10 10 10"/></geometry></collision></link></robot>"""
    case, report = imported(written(robot, "corner.urdf"))
    assert "mesh" in case["bodies"][0]["shapes"][0] and "not convex" not in report
    case["bodies"].append({"name": "ball", "material": "surface", "shape": {"sphere": {"radius": 0.1}},
                           "position": [1.0, 0, 0.9]})
    case["time"]["end"] = 0.8
    names, _, last, _ = run(case, "corner")
    near(last["position"][names.index("ball")][2], 0.6, 2e-3)
    heavy = (f'<mujoco><asset><mesh name="m" file="{os.path.join(DATA, "arm6/meshes/bracket.obj")}"/></asset><worldbody>'
             '<body name="b"><freejoint/><geom type="mesh" mesh="m" contype="0" conaffinity="0"/></body></worldbody></mujoco>')
    case, report = imported(written(heavy, "heavy.xml"))
    near(body(case, "b")["mass"], 1000 * 0.06 * (0.2 * 0.05 + 0.05 * 0.15), 1e-12)
    assert "mesh 'm': its mass is that of its volume" in report, report
    _, report = imported(written(heavy.replace("<asset>", '<compiler exactmeshinertia="true"/><asset>'), "heavy.xml"))
    assert "its mass is" not in report and "exactmeshinertia" not in report, report
    _, report = imported("arm6/arm6.urdf")
    # area of the hull: the square less the corner beyond the line from (0.2, 0.05) to (0.05, 0.2)
    more = (0.04 - 0.15 ** 2 / 2) / (0.2 * 0.05 + 0.05 * 0.15) - 1
    assert f"bracket.obj: not convex, its hull collides, with {100 * more:.3g} % more volume" in report, report


def dents_that_stay():
    """With --decompose the case has the mesh itself, at the place where its hull was, to be cut by the program; a
    mesh that is scaled unevenly keeps its hull. The mass is the model's, whatever collides."""
    robot = """<robot name="angle"><link name="angle"><inertial><origin xyz="0.5 0 0.2"/><mass value="5"/>
      <inertia ixx="3" iyy="4" izz="3" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="1 2 3"/><geometry>
      <mesh filename="MESH" scale="SCALE"/></geometry></collision></link></robot>"""
    robot = robot.replace("MESH", os.path.join(DATA, "arm6/meshes/bracket.obj"))
    made = {}
    for scale in ("10 10 10", "10 10 -10"):
        for options in ((), ("--decompose", "8", "--tolerance", "0.002")):
            case, report = imported(written(robot.replace("SCALE", scale), "angle.urdf"), "--base", "free", *options)
            angle = body(case, "angle")
            assert angle["mass"] == 5 and angle["center_of_mass"] == [0, 0, 0]
            made[scale, bool(options)] = angle["shapes"][0], report
    shape, report = made["10 10 10", True]
    assert shape["at"] == made["10 10 10", False][0]["at"] == [0.5, 2, 2.8], shape
    hull = shape["hull"]
    assert hull["decompose"] == {"pieces": 8, "tolerance": 0.002} and hull["unit"] == "m" and hull["scale"] == 10
    assert os.path.samefile(os.path.join(WORK, hull["file"]), os.path.join(DATA, "arm6/meshes/bracket.obj"))
    assert "bracket.obj: not convex, cut into 8 convex pieces at most" in report and "its hull" not in report, report
    shape, report = made["10 10 -10", True]
    assert "vertices" in shape["hull"] and "it is not cut: its scale is not one positive number" in report, report
    for scale in ("10 10 10", "10 10 -10"):
        assert "vertices" in made[scale, False][0]["hull"] and "it is not cut" not in made[scale, False][1]


def touches(case, a, b):
    """By the case: groups and joints."""
    groups = [body(case, name).get("group", "") for name in (a, b)]
    if any(sorted(pair["between"]) == sorted(groups) for pair in case.get("contact", {}).get("no_collisions", [])):
        return False
    return not any(sorted(j["between"]) == sorted((a, b)) and not j.get("collide") for j in case["joints"])


def masks_and_exclusions():
    """MuJoCo's rule for all pairs: common bits, no exclusion, no child with its parent but for the world's."""
    random = np.random.default_rng(11)
    masks = {f"b{k}": (int(random.integers(0, 8)) | 8, int(random.integers(0, 8))) for k in range(7)}
    parent = {"b1": "b0", "b2": "b1", "b3": "b0", "b5": "b4"}
    double = {"b3"}

    def element(name, depth=0):
        joints = f'<joint name="{name}-x" axis="1 0 0"/>' if name in parent else "<freejoint/>"
        joints += f'<joint name="{name}-y" axis="0 1 0"/>' if name in double else ""
        inner = "".join(element(child, depth + 1) for child, p in parent.items() if p == name)
        return (f'<body name="{name}" pos="0 0 1">{joints}<geom size="0.1" contype="{masks[name][0]}" '
                f'conaffinity="{masks[name][1]}"/>{inner}</body>')

    excluded = [("b0", "b6"), ("b2", "b5")]
    text = ('<mujoco><worldbody><geom name="ground" type="plane" size="1 1 1" contype="1" conaffinity="1"/>'
            + "".join(element(n) for n in masks if n not in parent) + "</worldbody><contact>"
            + "".join(f'<exclude body1="{a}" body2="{b}"/>' for a, b in excluded) + "</contact></mujoco>")
    case, _ = imported(written(text, "masks.xml"))
    masks["plane"] = (1, 1)
    allowed = 0
    for a, b in itertools.combinations(masks, 2):
        expected = bool(masks[a][0] & masks[b][1] or masks[b][0] & masks[a][1])
        expected = expected and (a, b) not in excluded and parent.get(a) != b and parent.get(b) != a
        allowed += expected
        assert touches(case, a, b) == expected, (a, b, masks[a], masks[b])
    assert 5 < allowed < 25, allowed
    free, _ = imported("quadruped.urdf", "--floor")
    assert not touches(free, "FL_calf", "FR_calf") and touches(free, "FL_calf", "floor")
    both, _ = imported("quadruped.urdf", "--floor", "--self-collisions", "yes")
    assert touches(both, "FL_calf", "FR_calf") and not touches(both, "FL_calf", "FL_thigh")


def a_base_that_is_welded_to_the_world():
    """The first link does not touch the base it hangs on, whatever the root is called."""
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    robot = f"""<robot name="w"><link name="world"/><link name="base">{inertial}{ball}</link><link name="arm">{inertial}{ball}</link>
      <joint name="weld" type="fixed"><parent link="world"/><child link="base"/></joint>
      <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""
    for options in ((), ("--self-collisions", "yes")):
        case, _ = imported(written(robot, "welded.urdf"), *options)
        fixed = next(b["name"] for b in case["bodies"] if b.get("fixed"))
        assert not touches(case, fixed, "arm"), case


def floors_touch_the_lowest_shape():
    for text, height in (('<box size="0.2 0.4 0.6"/>', None), ('<cylinder radius="0.1" length="0.6"/>', None),
                         ('<sphere radius="0.25"/>', -0.25), ('<capsule radius="0.1" length="0.6"/>', None)):
        robot = f"""<robot name="one"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
          <collision><origin rpy="0.5 0.3 0.2"/><geometry>{text}</geometry></collision></link></robot>"""
        case, _ = imported(written(robot, "one.urdf"), "--floor")
        shape = body(case, "a")["shapes"][0]
        down = turn(shape.get("orientation", {}).get("quaternion", [1, 0, 0, 0]))[2]
        if "box" in shape:
            height = min(down @ (np.array(s) * shape["box"]["size"]) / 2 for s in itertools.product((-1, 1), repeat=3))
        elif "cylinder" in shape:
            turns = np.linspace(0, 2 * np.pi, 100001)
            height = (down[0] * np.cos(turns) + down[1] * np.sin(turns)).min() * 0.1 - abs(down[2]) * 0.3
        elif "capsule" in shape:
            height = -0.1 - 0.3 * abs(down[2])
        near(body(case, "floor")["position"][2], height, 1e-9, text)


for test in (hulls_hold_their_points, mesh_values, a_base_keeps_its_dents, dents_that_stay, masks_and_exclusions,
             a_base_that_is_welded_to_the_world, floors_touch_the_lowest_shape):
    test()
    print(f"{test.__name__}: ok")
