"""URDF: links with inertias and collision geometry, joints, mimic."""
import os

import numpy as np

from .errors import ImportProblem
from .parts import check_inertial, hull_shape, unique, unless_skipped
from .robot import Coupling, Joint, Link, Robot, Shape
from .rotations import MassProperties, Pose, from_rpy

_ROOT_LEFT_OUT = {
    "material": "a colour", "gazebo": "an extension of Gazebo", "mujoco": "an extension of MuJoCo", "ros2_control": "an extension of ROS",
    "transmission": "ratios and motors of transmissions are not part of the mechanics",
    "sensor": "sensors are none of a case's"}
_KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "planar": "planar"}


def origin(element):
    found = element.one("origin")
    if found is None:
        return Pose()
    rpy = found.numbers("rpy", 3, (0.0, 0.0, 0.0))
    return Pose(found.numbers("xyz", 3, (0.0, 0.0, 0.0)), from_rpy(*rpy))


class Urdf:
    def __init__(self, root, path, options, report):
        self.root, self.path, self.options, self.report = root, path, options, report

    def robot(self):
        if self.root.tag != "robot":
            self.root.fail("is not the root of a URDF", "expected <robot name=...>")
        name = self.root.text("name") or os.path.splitext(os.path.basename(self.path))[0]
        self.root.text("version")
        self.root.check_children(("link", "joint"), _ROOT_LEFT_OUT, self.report)
        links = unique(self.root.all("link"))
        if not links:
            self.root.fail("has no links", "give at least one <link>")
        joints = unique(self.root.all("joint"))
        below = self._parents(links, joints)
        root_name = self._root(links, below)
        order, made = self._ordered(root_name, links, below), {}
        for link_name in order:
            made[link_name] = self._link(links[link_name])
            if link_name in below:
                self._attach(made, link_name, below[link_name])
        root = made[root_name]
        robot = Robot(name, [made[n] for n in order], root, self._is_fixed(root))
        root.free = not robot.root_is_world
        robot.couplings = self._couplings(joints, robot)
        if self.options.keyframe is not None:
            raise ImportProblem("--keyframe", "URDF has no keyframes", "give --joint NAME=VALUE")
        if self.options.self_collisions is None:
            self.options.self_collisions = False
        return robot

    def _is_fixed(self, root):
        if self.options.base is None:
            fixed = root.inertial is None
            self.report.add("kept", f"base {'fixed: the root has no inertia' if fixed else 'free: the root has an inertia'}"
                            " (--base)", root.where)
            return fixed
        return self.options.base == "fixed"

    def _parents(self, links, joints):
        """The joint above each link."""
        below = {}
        for joint in joints.values():
            for tag in ("parent", "child"):
                end = joint.one(tag)
                if end is None:
                    joint.fail(f"has no <{tag}>", f'give <{tag} link="..."/>')
                if end.required("link") not in links:
                    end.fail(f"there is no link {end.text('link')!r}", "correct the name, or add the link")
            child = joint.one("child").text("link")
            if child in below:
                joint.fail(f"link {child!r} has another parent already, by the joint of {below[child].where}",
                           "URDF is a tree: remove one of the joints")
            below[child] = joint
        return below

    def _root(self, links, below):
        roots = [name for name in links if name not in below]
        if len(roots) > 1:
            links[roots[1]].fail(f"is a second root beside {roots[0]!r}", "join it to the others by a joint")
        start = roots[0] if roots else next(iter(links))
        for name in links:
            seen, at = [], name
            while at in below and at not in seen:
                seen.append(at)
                at = below[at].one("parent").text("link")
            if at in seen:
                below[at].fail("loop of parents: " + " < ".join([*seen[seen.index(at):], at]),
                               "URDF is a tree: remove a joint of the loop")
        return start

    def _ordered(self, root, links, below):
        children = {}
        for name, joint in below.items():
            children.setdefault(joint.one("parent").text("link"), []).append(name)
        order, rest = [], [root]
        while rest:
            order.append(rest.pop())
            rest += reversed(children.get(order[-1], []))
        return order

    def _link(self, element):
        element.text("name"), element.text("type")
        link = Link(element.attributes["name"], element.where)
        element.check_children(("inertial", "collision", "contact"), {"visual": "only shapes that collide are taken",
                                                                     "self_collision_checking": ""}, self.report)
        inertial = element.one("inertial")
        if inertial is not None:
            link.inertial = self._inertial(inertial)
        friction = self._friction(element.one("contact"))
        for collision in element.all("collision"):
            collision.text("name")
            collision.check_children(("origin", "geometry"), {"verbose": "", "contact_coefficients": ""}, self.report)
            shape = self._shape(collision, friction)
            if shape is not None:
                link.shapes.append(shape)
        return link

    def _friction(self, contact):
        friction = self.options.friction
        if contact is None:
            return friction
        contact.check_children(("lateral_friction",), dict.fromkeys(
            ("rolling_friction", "spinning_friction", "stiffness", "damping", "contact_cfm", "contact_erp",
             "inertia_scaling", "restitution"), ""), self.report)
        lateral = contact.one("lateral_friction")
        return friction if lateral is None else lateral.number("value", friction)

    def _inertial(self, element):
        element.check_children(("origin", "mass", "inertia"), {}, self.report)
        pose, mass, inertia = origin(element), element.one("mass"), element.one("inertia")
        if mass is None or inertia is None:
            element.fail(f"has no <{'mass' if mass is None else 'inertia'}>", "give both")
        mass.required("value")
        keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        for key in keys[:3]:
            inertia.required(key)
        xx, yy, zz, xy, xz, yz = (inertia.number(key, 0.0) for key in keys)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        own = MassProperties(mass.number("value"), np.zeros(3), tensor)
        own = check_inertial(own, mass, inertia, self.options, self.report)
        return None if own is None else own.placed(pose)

    def _shape(self, collision, friction):
        pose, geometry = origin(collision), collision.one("geometry")
        if geometry is None or len(geometry.children) != 1:
            (geometry or collision).fail("needs one shape", "give box, cylinder, sphere, capsule or mesh")
        shape = geometry.children[0]
        geometry.check_children(("box", "cylinder", "sphere", "capsule", "mesh"), {}, self.report)
        if shape.tag == "mesh":
            shape.required("filename")
            scale = shape.numbers("scale", 3, (1.0, 1.0, 1.0))
            return unless_skipped(lambda: hull_shape(self._file(shape), scale, pose, shape.where, self.options,
                                                     self.report, friction=friction), self.options, self.report)
        if shape.tag == "box":
            shape.required("size")
            size = shape.numbers("size", 3)
        else:
            keys = ("radius",) if shape.tag == "sphere" else ("radius", "length")
            for key in keys:
                shape.required(key)
            size = tuple(shape.number(key) for key in keys)
        if min(size) <= 0:
            shape.fail("a length is not positive", "give lengths in m above 0")
        return Shape(shape.tag, size, pose, shape.where, friction=friction)

    def _file(self, element):
        """The path of a mesh: package://NAME/..., model://, file:// or relative to the model."""
        name = element.text("filename")
        scheme, found, rest = name.partition("://")
        if not found:
            candidates = [os.path.join(os.path.dirname(self.path), name)]
        elif scheme == "file":
            candidates = [rest]
        elif scheme in ("package", "model"):
            candidates = self._in_packages(rest)
        else:
            element.fail(f"filename={name!r}: cannot be fetched", "give package://, file:// or a relative path")
        for candidate in candidates:
            if os.path.isfile(candidate):
                return candidate
        element.fail(f"mesh {name!r} is missing, looked for " + ", ".join(candidates),
                     "correct the name, or give --package NAME=DIR" if found else "correct the name")

    def _in_packages(self, rest):
        package, _, inner = rest.partition("/")
        given = dict(entry.split("=", 1) for entry in self.options.package)
        if package in given:
            return [os.path.join(given[package], inner)]
        candidates, folder = [], os.path.dirname(os.path.abspath(self.path))
        while True:
            if os.path.basename(folder) == package:
                candidates.append(os.path.join(folder, inner))
            candidates.append(os.path.join(folder, package, inner))
            above = os.path.dirname(folder)
            if above == folder:
                break
            folder = above
        for entry in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(":")):
            candidates += [os.path.join(entry, package, inner), os.path.join(entry, inner)]
        return [c for c in candidates if os.path.isdir(os.path.dirname(c))] or candidates[:2]

    def _attach(self, made, name, element):
        """Sets the link's place and its joint."""
        link = made[name]
        link.parent = made[element.one("parent").text("link")]
        link.offset = origin(element)
        kind = element.required("type")
        element.check_children(("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
                               {"safety_controller": "a controller", "calibration": ""}, self.report)
        if kind == "floating":
            link.free = True
        elif kind in _KINDS:
            link.joints = [self._joint(element, kind)]
        elif kind != "fixed":
            element.fail(f"type={kind!r}", "expected revolute, continuous, prismatic, fixed, floating or planar")

    def _joint(self, element, kind):
        axis_element = element.one("axis")
        axis = np.array(axis_element.numbers("xyz", 3, (1.0, 0.0, 0.0)) if axis_element is not None else (1.0, 0, 0))
        if np.linalg.norm(axis) == 0:
            axis_element.fail("the axis has no length", "give a direction")
        joint = Joint(element.attributes["name"], _KINDS[kind], element.where, axis / np.linalg.norm(axis))
        limit, dynamics = element.one("limit"), element.one("dynamics")
        if kind in ("revolute", "prismatic") and limit is None:
            element.fail(f"a {kind} joint needs <limit>", "give lower and upper, or type=\"continuous\"")
        if limit is not None:
            if kind in ("revolute", "prismatic"):
                joint.limits = (limit.number("lower", 0.0), limit.number("upper", 0.0))
                if joint.limits[0] > joint.limits[1]:
                    limit.fail("lower is above upper", "exchange them")
            joint.effort = limit.number("effort")
        if dynamics is not None:
            joint.damping, joint.friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
            if joint.damping < 0 or joint.friction < 0:
                dynamics.fail("damping and friction may not be negative", "give 0 or more")
        return joint

    def _couplings(self, joints, robot):
        known = {joint.name: joint for joint in robot.joints()}
        couplings = []
        for name, element in joints.items():
            element.text("name"), element.text("type")
            mimic = element.one("mimic")
            if mimic is None:
                continue
            leader = mimic.required("joint")
            if leader not in known or name not in known:
                mimic.fail(f"{leader!r} is no joint that moves", "name a revolute, continuous or prismatic joint")
            couplings.append(Coupling(f"{name}-mimic", name, leader, mimic.number("multiplier", 1.0),
                                      mimic.number("offset", 0.0), mimic.where))
        return couplings


def read(root, path, options, report):
    return Urdf(root, path, options, report).robot()
