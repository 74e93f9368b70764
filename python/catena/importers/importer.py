"""One model to one case."""
import os
from dataclasses import dataclass, field

from . import mjcf, urdf
from .case import CaseMaker
from .case_writer import case_text
from .errors import ImportProblem, Report
from .parts import doubt_sizes
from .robot import ONE_COORDINATE
from .xml_tree import read_xml


@dataclass
class Options:
    base: str = None  # fixed or free; None: as the model says
    package: list = field(default_factory=list)  # NAME=DIR
    joint: list = field(default_factory=list)  # NAME=VALUE, rad or m
    keyframe: str = None  # of MJCF
    hold: bool = False
    torque: bool = False
    floor: bool = False
    self_collisions: bool = None
    friction: float = 0.5
    balance_inertia: bool = False
    hull_vertices: int = 100
    end: float = 1.0
    decompose: int = None  # most pieces of a mesh that is not convex; None: its hull
    tolerance: float = None  # m; how far these may reach beyond it
    skip_meshes: bool = False  # those that cannot be read


def _walk(element):
    yield element
    for child in element.children:
        yield from _walk(child)


def read_robot(path, options, report):
    """The robot of a URDF or MJCF file, its joints at their start values."""
    path = os.fspath(path)
    root = read_xml(path)
    if root.tag == "robot":
        robot = urdf.read(root, path, options, report)
    elif root.tag in ("mujoco", "mujocoinclude"):
        robot = mjcf.read(root, path, options, report)
    else:
        root.fail("is neither URDF nor MJCF", "expected <robot> or <mujoco>")
    doubt_sizes(robot.links, report)
    _set_start(robot, options, report)
    for element in _walk(root):
        # what stands inside of something left out is left out with it
        if element.read:
            element.report_unread(report)
    return robot


def _set_start(robot, options, report):
    """Coordinates at the start: as asked for, coupled ones after their leaders, else inside of their limits."""
    joints = {joint.name: joint for joint in robot.joints()}
    given = {}
    for text in options.joint:
        name, _, value = text.partition("=")
        if name not in joints or joints[name].kind not in ONE_COORDINATE:
            raise ImportProblem("--joint", f"there is no hinge or slide {name!r}",
                                "known are " + ", ".join(n for n, j in joints.items() if j.kind in ONE_COORDINATE))
        try:
            given[name] = float(value)
        except ValueError:
            raise ImportProblem("--joint", f"{text!r} has no number", "write NAME=VALUE, in rad or m") from None
    for joint in joints.values():
        if joint.name in given:
            joint.value = given[joint.name]
        if joint.limits is None or joint.kind not in ONE_COORDINATE:
            continue
        inside = min(max(joint.value, joint.limits[0]), joint.limits[1])
        if inside != joint.value and joint.name in given:
            raise ImportProblem("--joint", f"{joint.name}={joint.value:g} is outside of its limits {joint.limits}",
                                "give a value within")
        if inside != joint.value:
            report.add("changed", f"joint {joint.name!r} starts at its limit {inside:.6g}: {joint.value:g} is outside",
                       joint.where)
            joint.value = inside
    _follow(robot.couplings, joints, report)


def _follow(couplings, joints, report):
    """Coordinates of followers, those that lead others first."""
    rest = list(couplings)
    while rest:
        ready = [c for c in rest if all(c.leader != other.follower for other in rest)]
        if not ready:
            raise ImportProblem(rest[0].where, f"joint {rest[0].follower!r} follows itself by way of others",
                                "remove one of the couplings")
        for coupling in ready:
            joint = joints[coupling.follower]
            joint.value = coupling.ratio * joints[coupling.leader].value + coupling.offset
            low, high = joint.limits or (-float("inf"), float("inf"))
            if not low - 1e-9 <= joint.value <= high + 1e-9:
                report.add("changed", f"joint {joint.name!r} starts outside of its limits, at {joint.value:.6g}, where "
                           f"{coupling.leader!r} takes it", joint.where)
            rest.remove(coupling)


def import_model(path, out, options=None):
    """Reads the model, writes the case `out`; returns the report. Nothing is written if it fails."""
    options, report = options or Options(), Report()
    robot = read_robot(path, options, report)
    case = CaseMaker(robot, options, report, os.path.dirname(os.path.abspath(out))).case()
    comments = [f"Imported from {os.path.basename(path)}.", *(line for line in report.lines() if line[:4] != "kept")]
    text = case_text(case, comments)
    part = f"{out}.part"
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, out)
    except OSError as error:
        raise ImportProblem(out, f"cannot be written ({error.strerror})", "check the folder") from None
    return report
