#!/usr/bin/python3
"""errors_test.py CATENA ROOT: what is wrong with a model is one message with file, line and remedy; no case is written."""
import os
import re
import subprocess

from support import CATENA, DATA, WORK, command, written

TWO = open(os.path.join(DATA, "two_link.urdf"), encoding="utf-8").read()
ARM = open(os.path.join(DATA, "arm6", "arm6.urdf"), encoding="utf-8").read()
HUMAN = open(os.path.join(DATA, "humanoid.xml"), encoding="utf-8").read()
BAR = open(os.path.join(DATA, "four_bar.xml"), encoding="utf-8").read()


def line_of(text, part):
    return text[:text.index(part)].count("\n") + 1


def refused(text, name, expected, line, *options):
    """The message names file and line (None: it is about the command line) and matches `expected`."""
    out = os.path.join(WORK, "never.yaml")
    done = command(written(text, name), out, *options)
    message = done.stderr.strip()
    assert done.returncode == 3, (done.returncode, message)
    assert "\n" not in message and "Traceback" not in message, message
    assert re.search(expected, message), (expected, message)
    if line is not None:
        assert re.search(rf"{re.escape(name)}:{line}(:\d+)?: ", message), (line, message)
    assert not os.path.exists(out) and not os.path.exists(out + ".part")
    assert done.stdout == ""


def changed(text, old, new, name, expected, *options, at=None):
    assert old in text, old
    broken = text.replace(old, new, 1)
    refused(broken, name, expected, line_of(broken, at) if at else line_of(text, old), *options)


def urdf():
    refused(TWO[:1500], "cut.urdf", "not well-formed.*is open.*complete", TWO[:1500].count("\n") + 1)
    refused("", "empty.urdf", "not well-formed", 1)
    refused("<html/>", "page.urdf", "neither URDF nor MJCF", 1)
    changed(TWO, "<limit lower", "<limits lower", "t.urdf", "unknown tag in <joint>; did you mean <limit>")
    changed(TWO, '<link name="base"/>', '<lnik name="base"/>', "t.urdf", "unknown tag in <robot>; did you mean <link>")
    changed(TWO, '<link name="tool">', '<link name="lower">', "t.urdf", "given twice, first at .*t.urdf:18")
    changed(TWO, '<joint name="elbow"', '<joint name="shoulder"', "t.urdf", "given twice")
    changed(TWO, 'ixx="0.2"', 'ixx="-0.2"', "t.urdf", "not positive")
    changed(TWO, '<mass value="2"/>', '<mass value="-2"/>', "t.urdf", "negative")
    changed(TWO, 'izz="0.02"', 'izz="0.9"', "t.urdf", "no body has the principal moments.*--balance-inertia")
    changed(TWO, 'ixx="0.2"', 'ixx="a"', "t.urdf", "not a list of numbers")
    changed(TWO, 'ixx="0.2"', 'ixx="nan"', "t.urdf", "not finite")
    changed(TWO, '<child link="lower"/>', '<child link="lowr"/>', "t.urdf", "no link 'lowr'")
    changed(TWO, '<parent link="upper"/><child link="lower"/>', '<parent link="upper"/><child link="tool"/>', "t.urdf",
            "has another parent already", at='name="flange"')
    loop = TWO.replace('<link name="base"/>', "").replace('<parent link="base"/>', '<parent link="tool"/>')
    refused(loop, "loop.urdf", "loop of parents: upper < tool < lower < upper", line_of(loop, 'name="shoulder"'))
    changed(TWO, 'type="continuous"', 'type="hinge"', "t.urdf", "expected revolute")
    changed(TWO, '<limit lower="-2" upper="1.5" effort="20" velocity="3"/>', "", "t.urdf", "needs <limit>", at='name="shoulder"')
    changed(TWO, 'lower="-2"', 'lower="7"', "t.urdf", "lower is above upper")
    changed(TWO, '<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>', "t.urdf", "no length")
    changed(TWO, 'size="0.1 0.1 0.8"', 'size="0.1 -0.1 0.8"', "t.urdf", "not positive")
    changed(TWO, 'size="0.1 0.1 0.8"', 'size="0.1 0.8"', "t.urdf", "has 2 numbers; give 3")
    start = TWO.index("    <inertial>\n      <origin xyz=\"0 0 -0.5\"")
    bare = TWO[:start] + TWO[TWO.index("</inertial>", start) + 12:]
    refused(bare, "bare.urdf", "moves but has no inertia", line_of(bare, '<link name="upper"'))
    changed(TWO, '<link name="base"/>', '<xacro:macro name="x"/>', "t.urdf", "run xacro first")
    refused(TWO, "t.urdf", "no hinge or slide 'shouldr'; known are shoulder, elbow", None, "--joint", "shouldr=1")
    refused(TWO, "t.urdf", "outside of its limits", None, "--joint", "shoulder=3")
    refused(TWO, "t.urdf", "has no number", None, "--joint", "shoulder=x")
    refused(TWO, "t.urdf", "moves but has no inertia", line_of(TWO, '<link name="base"'), "--base", "free")
    refused(TWO, "t.urdf", "--torque: --hold is given, too; a joint has one motor", None, "--hold", "--torque")


def meshes():
    refused(ARM, "arm.urdf", "link.stl' is missing, looked for .*--package", line_of(ARM, "link.stl"))
    at = os.path.join(WORK, "arm6", "meshes")
    os.makedirs(at)
    facet = "facet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    for text, expected in (
            ("solid\nfacet\nvertex 0 0 0\nvertex 1 0\n", r"link.stl:4: '1 0' are not three finite numbers; export"),
            ("solid\n" + facet + facet[:70], r"link.stl:14: ends without endsolid: the file is cut off; export"),
            ("solid\nfacet\nvertex 0 0 0\nendfacet\nendsolid\n", r"link.stl:4: a facet that has not three"),
            ("binary, cut" * 20, r"link.stl: a binary STL of \d+ facets has \d+ bytes, this has 220: it is cut off"),
            ("", r"link.stl: neither an STL text nor a binary STL: only 0 bytes"),
            ("solid\n" + facet * 2 + "endsolid\n", "all of its facets lie in one plane; give a body with thickness")):
        written(text, "arm6/meshes/link.stl")
        refused(ARM, "arm.urdf", expected, line_of(ARM, "link.stl"))
    obj = ARM.replace("link.stl", "link.obj")
    for text, expected in (("v 0 0 0\nv 1 0 0\nf 1 2 9\n", "link.obj:3: the face names"),
                           ("v 0 0 0\nv 1 0 inf\n", "link.obj:2: '1 0 inf' are not"), ("v 0 0 0\n", "has no faces")):
        written(text, "arm6/meshes/link.obj")
        refused(obj, "arm.urdf", expected, line_of(obj, "link.obj"))
    # without what cannot be read, line by line
    os.remove(os.path.join(at, "link.stl"))
    done = command(written(ARM, "arm.urdf"), os.path.join(WORK, "arm.yaml"), "--force", "--skip-meshes")
    assert done.returncode == 0, done.stderr
    for name in ("link.stl", "bracket.obj"):
        line = line_of(ARM, name)
        assert re.search(rf"left out: .*arm.urdf:{line}: <mesh>: mesh '.*{name}' is missing.*--skip-meshes", done.stdout), done.stdout
    dae = ARM.replace("link.stl", "link.dae")
    written("x", "arm6/meshes/link.dae")
    refused(dae, "arm.urdf", "convert it to STL or OBJ", line_of(dae, "link.dae"))


def surfaces():
    """Broken surfaces: what a body has its mass from is refused; else its hull collides, and the report says why."""
    vertices = [(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)]
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]

    def obj(faces):
        return "".join(f"v {x} {y} {z}\n" for x, y, z in vertices) + \
            "".join("f " + " ".join(str(k + 1) for k in face) + "\n" for face in faces)

    model = ('<mujoco><asset><mesh name="m" file="m.obj"/></asset><worldbody><body name="b"><freejoint/>'
             '{}<geom type="mesh" mesh="m"/></body></worldbody></mujoco>')
    weighed, bare = model.format('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'), model.format("")
    for faces, expected in (
            (quads[1:], r"m\.obj:\d+: open, 4 edges have only one face; close the holes"),
            ([quads[0][::-1], *quads[1:]], r"m\.obj:\d+: 4 edges have faces that disagree about outside"),
            ([quad[::-1] for quad in quads], r"m\.obj:9: turned inside out, all faces point inwards; flip"),
            ([(0, 0, 1)] * 12 + quads[:1], r"m\.obj:\d+: ")):
        written(obj(faces), "m.obj")
        refused(bare, "m.xml", expected, 1)
        if len(faces) == 13:
            continue  # one facet: flat
        done = command(written(weighed, "m.xml"), os.path.join(WORK, "m.yaml"), "--force", "--decompose", "4")
        assert done.returncode == 0, done.stderr
        assert re.search("changed: .*m.xml:1: mesh " + expected + ".*; its hull collides", done.stdout), done.stdout
    written(obj(quads), "m.obj")
    done = command(written(bare, "m.xml"), os.path.join(WORK, "m.yaml"), "--force")
    assert done.returncode == 0 and "hull collides" not in done.stdout, done.stderr + done.stdout
    refused(bare, "m.xml", "--tolerance: nothing is cut; add --decompose N", None, "--tolerance", "0.1")
    refused(bare, "m.xml", "from 1 to 256 pieces", None, "--decompose", "0")


def units():
    """A mesh in millimetres beside an inertia in metres, one without inertia, and what is no mistake."""
    box = "".join(f"v {x} {y} {z}\n" for z in (0, 200) for y in (0, 100) for x in (0, 300)) + "".join(
        f"f {a} {b} {c} {d}\n" for a, b, c, d in ((1, 3, 4, 2), (5, 6, 8, 7), (1, 2, 6, 5), (3, 7, 8, 4), (1, 5, 7, 3), (2, 4, 8, 6)))
    written(box, "box.obj")
    text = ('<robot name="r"><link name="base">BASE</link><link name="arm"><inertial><mass value="2"/>'
            '<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
            '<mesh filename="box.obj" SCALE/></geometry></collision></link><joint name="j" type="continuous">'
            '<parent link="base"/><child link="arm"/></joint></robot>')
    base = '<collision><geometry><mesh filename="box.obj" SCALE/></geometry></collision>'

    def doubts(text):
        done = command(written(text, "box.urdf"), os.path.join(WORK, "box.yaml"), "--force")
        assert done.returncode == 0, done.stderr
        return [line for line in done.stdout.splitlines() if line.startswith("doubtful")]

    # radius of gyration: sqrt(0.02 / 2) = 0.1 m
    found = doubts(text.replace("BASE", "").replace("SCALE", ""))
    assert len(found) == 1 and ("box.urdf:1: mesh box.obj has a size of 300 m, its link a radius of gyration of 0.1 m: is it in "
                                "mm? correct its scale") in found[0], found
    assert any("has a size of 300 m: is it in mm" in line for line in doubts(text.replace("BASE", base).replace("SCALE", "")))
    assert doubts(text.replace("BASE", base).replace("SCALE", 'scale="0.001 0.001 0.001"')) == []
    tiny = doubts(text.replace("BASE", "").replace("SCALE", 'scale="0.000001 0.000001 0.000001"'))
    assert len(tiny) == 1 and "has a size of 0.0003 m" in tiny[0], tiny


def found_in_the_wild():
    """What models of others have, and their tools read: comments before the declaration, a class main in two
    sections, rounded zeros in a mesh, welds to what a program would move, links that are points."""
    comment = '<!-- made by a tool -->\n<?xml version="1.0"?>\n'
    done = command(written(comment + TWO[TWO.index("<robot"):], "late.urdf"), os.path.join(WORK, "late.yaml"), "--force")
    assert done.returncode == 0 and re.search(r"late.urdf:5: base fixed", done.stdout), done.stderr + done.stdout
    cut = comment + TWO[TWO.index("<robot"):][:900]
    refused(cut, "late.urdf", "not well-formed", cut.count("\n") + 1)
    text = ('<mujoco><default><geom friction="0.3"/></default><default class="main"><geom mass="3"/>'
            '</default><worldbody><body name="hand" mocap="true"/><body name="b"><freejoint/><geom class="main" size="0.2"/></body>'
            '<body name="p" pos="0 0 1"><joint axis="1 0 0"/><geom size="0.1" mass="2"/><body pos="0 0 -1"><inertial pos="0 0 0" mass="1"'
            ' diaginertia="0 0 0"/></body></body></worldbody><equality><weld body1="hand" body2="b"/></equality></mujoco>')
    out = os.path.join(WORK, "wild.yaml")
    done = command(written(text, "wild.xml"), out, "--force")
    assert done.returncode == 0, done.stderr
    assert "'weld-0': drags a body to where a program moves another one (mocap)" in done.stdout, done.stdout
    case = open(out, encoding="utf-8").read()
    assert "name: b, mass: 3," in case and "{friction: 0.3}" in case and "weld-0" not in case.split("catena: 1")[1], case
    # the ball of 2 kg, 0.1 m and the point of 1 kg 1 m below: 0.4 * 2 * 0.1^2 + 2 / 3 * 1 * 1^2
    assert f"inertia: [{0.008 + 2 / 3:.13g}, {0.008 + 2 / 3:.13g}, 0.008]" in case, case
    point = text.replace('<geom size="0.1" mass="2"/>', "")
    refused(point, "wild.xml", "which are not positive; give it an inertia", 1)


def without_shapes():
    """A robot of which nothing collides is a case, too."""
    text = ('<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="2"/>'
            '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="continuous">'
            '<parent link="base"/><child link="arm"/></joint></robot>')
    out = os.path.join(WORK, "bare.yaml")
    done = command(written(text, "bare.urdf"), out, "--force")
    assert done.returncode == 0, done.stderr
    checked = subprocess.run([CATENA, "check", out], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def mjcf():
    changed(HUMAN, '<joint name="knee"', '<jiont name="knee"', "h.xml", "unknown tag in <body>; did you mean <joint>")
    changed(HUMAN, '<body name="pelvis"', '<body name="torso"', "h.xml", "given twice")
    changed(HUMAN, 'childclass="leg"', 'childclass="legs"', "h.xml", "no default class 'legs'",
            at='<joint name="hip_x"')
    changed(HUMAN, 'fullinertia="0.025', 'fullinertia="-0.025', "h.xml", "not positive")
    changed(HUMAN, 'body2="right_thigh"', 'body2="left_thigh"', "h.xml", "no body 'left_thigh'")
    changed(HUMAN, '<site site="heel"/>', '<site site="hel"/>', "h.xml", "no site 'hel'")
    changed(HUMAN, "<freejoint name=\"root\"/>", "<include file=\"root.xml\"/>", "h.xml", "is missing, looked for")
    changed(HUMAN, 'axisangle="0 0 1 15"', 'axisangle="0 0 1 15" zaxis="0 0 1"', "h.xml", "keep one orientation")
    changed(HUMAN, '<geom name="sole" type="box"', '<geom name="sole" type="bix"', "h.xml", "expected plane, sphere")
    changed(HUMAN, 'joint="hip_y" gear', 'joint="hip" gear', "h.xml", "there is no joint 'hip'; correct joint")
    changed(HUMAN, '<joint joint="hip_y" coef="0.5"/>', '<joint joint="hip_y"/>', "h.xml", "has no coef")
    refused(BAR, "bar.xml", "loop 'loop' is open by", line_of(BAR, "<connect"), "--joint", "top=0.3")
    refused(HUMAN[:900], "cut.xml", "not well-formed", HUMAN[:900].count("\n") + 1)


def output():
    """Nothing is overwritten without --force, and the folder must be there."""
    out = written("mine", "mine.yaml")
    done = command(os.path.join(DATA, "two_link.urdf"), out)
    assert done.returncode == 3 and "--force" in done.stderr, done.stderr
    assert open(out, encoding="utf-8").read() == "mine"
    done = command(os.path.join(DATA, "two_link.urdf"), os.path.join(WORK, "none", "x.yaml"))
    assert done.returncode == 3 and "cannot be written" in done.stderr, done.stderr
    done = command(os.path.join(WORK, "absent.urdf"), os.path.join(WORK, "x.yaml"))
    assert done.returncode == 3 and "cannot be read" in done.stderr, done.stderr


for test in (urdf, meshes, surfaces, units, found_in_the_wild, without_shapes, mjcf, output):
    test()
    print(f"{test.__name__}: ok")
