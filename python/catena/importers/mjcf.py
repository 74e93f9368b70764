"""MJCF: bodies with their joints and geoms."""
import os

import numpy as np

from .mjcf_defaults import Defaults
from .mjcf_frames import Compiler
from .mjcf_geoms import GeomReader
from .mjcf_keyframes import Keyframes
from .mjcf_ties import Ties
from .parts import check_inertial
from .robot import Joint, Link, Robot
from .rotations import MassProperties, Pose, together
from .xml_tree import read_xml

_SECTIONS = ("compiler", "option", "default", "asset", "worldbody", "equality", "tendon", "actuator", "contact",
             "keyframe")
_LEFT_OUT = {"size": "memory of MuJoCo", "visual": "how MuJoCo draws", "statistic": "how MuJoCo draws",
             "sensor": "sensors are none of a case's", "custom": "", "extension": "", "deformable": "deformable bodies are none of a case's"}
_BODY_LEFT_OUT = {"camera": "how MuJoCo draws", "light": "how MuJoCo draws", "plugin": ""}
_NOT_EXPANDED = ("replicate", "composite", "flexcomp", "attach")
_KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical"}


def with_includes(element, folder, seen):
    """Puts the children of <include file=...> in its place, at any depth."""
    children = []
    for child in element.children:
        if child.tag != "include":
            with_includes(child, folder, seen)
            children.append(child)
            continue
        path = os.path.join(folder, child.required("file"))
        if not os.path.isfile(path):
            child.fail(f"file {child.text('file')!r} is missing, looked for {path}", "correct the path")
        if os.path.realpath(path) in seen:
            child.fail("includes a file for the second time", "MJCF includes each file once")
        seen.add(os.path.realpath(path))
        included = read_xml(path)
        with_includes(included, folder, seen)
        children += included.children
    element.children = children


class Mjcf:
    def __init__(self, root, path, options, report):
        self.root, self.path, self.options, self.report = root, path, options, report
        with_includes(root, os.path.dirname(path), {os.path.realpath(path)})
        root.check_children(_SECTIONS, _LEFT_OUT, report)
        self.compiler, self.defaults = Compiler(root), Defaults(root)
        options.balance_inertia = options.balance_inertia or self.compiler.balance
        self.geoms = GeomReader(self.compiler, self.defaults, options, report, path)
        self.geoms.read_assets(root)
        self.world = Link("world", root.where)
        self.links, self.named, self.sites, self.joint_names = [self.world], {"world": self.world}, {}, {}
        self.mocap = set()  # names of bodies that a program would move

    def robot(self):
        name = self.root.text("model") or os.path.splitext(os.path.basename(self.path))[0]
        for body in self.root.all("worldbody"):
            self._children(body, self.world, Pose(), None)
        self._base()
        self._total_mass()
        robot = Robot(name, self.links, self.world, True, world_touches=True)
        for option in self.root.all("option"):
            robot.gravity = option.numbers("gravity", 3, robot.gravity)
            robot.step = option.number("timestep", robot.step)
            option.check_children((), {"flag": "what MuJoCo leaves out of a step"}, self.report)
        if not self.root.all("option") or not any("timestep" in o.attributes for o in self.root.all("option")):
            robot.step = 2e-3  # MuJoCo's default
        Ties(self, robot).read()
        Keyframes(self.root, robot).apply(self.options.keyframe, self.report)
        self.defaults.report_unread(self.report)
        return robot

    def _base(self):
        for link in self.links:
            if link.parent is not self.world:
                continue
            if self.options.base == "fixed" and link.free:
                link.free = False
                self.report.add("changed", f"body {link.name!r} is fixed (--base fixed)", link.where)
            elif self.options.base == "free" and link.welded:
                link.free = True
                self.report.add("changed", f"body {link.name!r} is free (--base free)", link.where)

    def _total_mass(self):
        """<compiler settotalmass>: all masses times one factor."""
        wanted = self.compiler.masses.get("settotalmass", 0.0)
        own = [link for link in self.links if link.inertial is not None]
        if wanted > 0 and own:
            factor = wanted / sum(link.inertial.mass for link in own)
            for link in own:
                link.inertial = link.inertial.scaled(factor)

    def _children(self, element, link, frame, inherited):
        """What stands in a body, or in a <frame> of it, whose pose in the body is `frame`."""
        inherited = element.text("childclass") or inherited
        for tag in _NOT_EXPANDED:
            for child in element.all(tag):
                child.fail("is made by MuJoCo's compiler", "save the compiled model as MJCF and import that")
        element.check_children(("inertial", "joint", "freejoint", "geom", "site", "body", "frame"), _BODY_LEFT_OUT,
                               self.report)
        masses = []
        for child in element.children:
            if child.tag == "geom":
                shape, mass = self.geoms.geom(child, inherited, link.weighed)
                if shape is not None:
                    shape.pose = frame @ shape.pose
                    link.shapes.append(shape)
                if mass is not None:
                    masses.append(mass.placed(frame))
            elif child.tag == "site":
                site = self.defaults.filled(child, inherited)
                site.read.update(site.attributes)  # what a tendon does not need draws it
                self.sites[site.text("name")] = (link, frame.point(self.compiler.pose(site).p))
            elif child.tag == "body":
                self._body(child, link, frame, inherited)
            elif child.tag == "frame":
                child.text("name")
                masses += self._children(child, link, frame @ self.compiler.pose(child), inherited)
            elif child.tag in ("joint", "freejoint"):
                self._joint(child, link, frame, inherited)
        return masses

    def _name(self, element, known, kind):
        name = element.text("name") or f"{kind}-{len(known)}"
        if name in known:
            element.fail(f"the name of a {kind} is given twice, first at {known[name].where}", "rename one of them")
        return name

    def _body(self, element, parent, frame, inherited):
        link = Link(self._name(element, self.named, "body"), element.where, parent,
                    frame @ self.compiler.pose(element))
        self.links.append(link)
        self.named[link.name] = link
        if element.text("mocap", "false") == "true":
            self.report.add("changed", f"body {link.name!r} is moved by nobody (mocap): it is fixed", element.where)
            self.mocap.add(link.name)
        if element.one("inertial") is None or self.compiler.inertia_from_geoms:
            link.weighed = True
        place = len(self.links)
        masses = self._children(element, link, Pose(), inherited)
        assert self.links[place - 1] is link
        link.inertial = self._inertial(element, masses)

    def _inertial(self, body, masses):
        given, from_geoms = body.one("inertial"), self.compiler.inertia_from_geoms
        if given is None or from_geoms:
            own = together(masses) if masses else None
        else:
            mass = given.required("mass") and given.number("mass")
            full, diagonal = given.numbers("fullinertia", 6), given.numbers("diaginertia", 3)
            if (full is None) == (diagonal is None):
                given.fail("needs diaginertia or fullinertia", "give one of them")
            if full is not None:
                xx, yy, zz, xy, xz, yz = full
                tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            else:
                tensor = np.diag(diagonal)
            own = check_inertial(MassProperties(mass, np.zeros(3), tensor), given, given, self.options, self.report)
            own = None if own is None else own.placed(self.compiler.pose(given))
        if own is not None:
            if not own.is_finite():
                body.fail("its mass or inertia is beyond all numbers", "correct sizes, places and densities of its parts")
            bound = self.compiler.masses
            own.mass = max(own.mass, bound.get("boundmass", 0.0))
            lift = bound.get("boundinertia", 0.0) - np.linalg.eigvalsh(own.inertia)[0]
            if lift > 0:
                own.inertia = own.inertia + lift * np.eye(3)
        return own

    def _joint(self, raw, link, frame, inherited):
        joint = self.defaults.filled(raw, inherited)
        kind = "free" if raw.tag == "freejoint" else joint.text("type", "hinge")
        name = self._name(joint, self.joint_names, "joint")
        if link is self.world:
            raw.fail("the world does not move", "put the joint into a body")
        if kind == "free":
            if link.parent is not self.world or link.joints:
                raw.fail("a free joint is for bodies of the world, alone", "give other joints")
            link.free = True
            self.joint_names[name] = raw
            for key in ("group", "align"):
                joint.text(key)
            return
        if kind not in _KINDS:
            raw.fail(f"type={kind!r}", "expected hinge, slide, ball or free")
        if link.free:
            raw.fail("stands beside a free joint", "keep one of them")
        axis = np.array(joint.numbers("axis", 3, (0.0, 0.0, 1.0)))
        if np.linalg.norm(axis) == 0:
            raw.fail("the axis has no length", "give a direction")
        made = Joint(name, _KINDS[kind], raw.where, frame.R @ axis / np.linalg.norm(axis),
                     frame.point(joint.numbers("pos", 3, (0.0, 0.0, 0.0))))
        angle = self.compiler.angle if kind == "hinge" else (lambda value: value)
        made.damping, made.stiffness, made.friction, armature = (
            self._positive(joint, key) for key in ("damping", "stiffness", "frictionloss", "armature"))
        if armature > 0:
            # as inertia of the link it would also resist the carrier's motion, and a slide's would have a weight
            self.report.add("left out", f"armature of <joint>, {armature:g} {'kg' if kind == 'slide' else 'kg m^2'}: "
                            "inertia of a coordinate, which a body has not", raw.where)
        if kind == "ball":
            made.axis = None
            if self.limited(joint, "range", "limited"):
                self.report.add("left out", "range of a ball joint: a spherical joint has no limits", raw.where)
            joint.text("range")
        else:
            made.reference = made.value = angle(joint.number("ref", 0.0))
            made.rest = angle(joint.number("springref", 0.0))
            limits = joint.numbers("range", 2)
            if self.limited(joint, "range", "limited"):
                made.limits = tuple(angle(limit) for limit in limits)
                if made.limits[0] > made.limits[1]:
                    joint.fail("range has its lower limit above its upper", "exchange them")
            force = joint.numbers("actuatorfrcrange", 2)
            if force is not None:
                made.effort = max(abs(f) for f in force)
        link.joints.append(made)
        self.joint_names[name] = raw

    def site(self, element, key):
        """(link, point in it) of a site that an element names."""
        name = element.required(key)
        if name not in self.sites:
            element.fail(f"there is no site {name!r}", f"correct {key}")
        return self.sites[name]

    def joint_name(self, element, key):
        """The name of a joint of one or more coordinates that an element names."""
        name = element.required(key)
        if not any(joint.name == name for link in self.links for joint in link.joints):
            element.fail(f"there is no joint {name!r}", f"correct {key}")
        return name

    @staticmethod
    def _positive(element, key):
        value = element.number(key, 0.0)
        if value < 0:
            element.fail(f"{key} is negative", "give 0 or more")
        return value

    def limited(self, element, key, flag):
        """MuJoCo: `auto` limits where a range is given, unless the compiler's autolimits is off."""
        text = element.text(flag, "auto")
        if text == "true" and key not in element.attributes:
            element.fail(f"{flag} without {key}", f"give {key}")
        return text == "true" or text == "auto" and self.compiler.autolimits and key in element.attributes


def read(root, path, options, report):
    if options.self_collisions is None:
        options.self_collisions = True
    return Mjcf(root, path, options, report).robot()
