"""MJCF beside the tree of bodies: equality constraints, exclusions of contacts; the rest by modules of its own."""
import numpy as np

from .mjcf_actuators import Actuators
from .mjcf_tendons import Tendons
from .robot import Coupling, Tie, poses


class Ties:
    def __init__(self, model, robot):
        self.model, self.robot, self.report = model, robot, model.report
        self.joints = {joint.name: joint for joint in robot.joints()}

    def read(self):
        self.tendons = Tendons(self.model, self.robot)
        for section in self.model.root.all("equality"):
            section.check_children(("connect", "weld", "joint", "tendon"), dict.fromkeys(
                ("distance", "flex", "flexvert"), "a case has nothing for it"), self.report)
            for number, raw in enumerate(section.children):
                if raw.tag in ("connect", "weld", "joint", "tendon"):
                    self._equality(self.model.defaults.filled(raw, None), raw.tag, number)
        Actuators(self.model, self.tendons).read()
        self.tendons.make_spatial()
        self.tendons.report_fixed()
        for section in self.model.root.all("contact"):
            section.check_children(("exclude",), {"pair": "bodies touch by their shapes and materials"}, self.report)
            for exclude in section.all("exclude"):
                exclude.text("name")
                self.robot.exclusions.append(tuple(self._link(exclude, key) for key in ("body1", "body2")))

    def _link(self, element, key, default=None):
        name = element.text(key, default) or element.required(key)
        if name not in self.model.named:
            element.fail(f"there is no body {name!r}", f"correct {key}")
        return self.model.named[name]

    def _equality(self, element, tag, number):
        name = element.text("name") or f"{tag}-{number}"
        if element.text("active", "true") == "false":
            self.report.add("left out", f"{name!r}: is not active", element.where)
            element.read.update(element.attributes)
        elif tag == "joint":
            self._coupling(element, name)
        elif tag == "tendon":
            self.tendons.couple(element, name)
        else:
            self._tie(element, tag, name)

    def _tie(self, element, tag, name):
        kind = "spherical" if tag == "connect" else "fixed"
        if "site1" in element.attributes:
            (link_a, a), (link_b, b) = self.model.site(element, "site1"), self.model.site(element, "site2")
        else:
            link_a, link_b = self._link(element, "body1"), self._link(element, "body2", "world")
            at_reference = self._poses_at_reference()
            if tag == "connect":
                element.required("anchor")
                a = np.array(element.numbers("anchor", 3))
                point = at_reference[link_a.name].point(a)
            else:
                anchor = element.numbers("anchor", 3, (0.0, 0.0, 0.0))  # in body2
                point = at_reference[link_b.name].point(anchor)
                a = at_reference[link_a.name].inverse().point(point)
            b = at_reference[link_b.name].inverse().point(point)
        if {link_a.name, link_b.name} & self.model.mocap:
            self.report.add("left out", f"{name!r}: drags a body to where a program moves another one (mocap)",
                            element.where)
            return
        self.robot.ties.append(Tie(name, kind, (link_a, link_b), (a, b), element.where))

    def _poses_at_reference(self):
        kept = [(joint, joint.value) for joint in self.robot.joints()]
        for joint, _ in kept:
            joint.value = joint.reference
        found = poses(self.robot)
        for joint, value in kept:
            joint.value = value
        return found

    def _coupling(self, element, name):
        follower = self.model.joint_name(element, "joint1")
        terms = element.numbers("polycoef", None, (0.0, 1.0))
        if "joint2" not in element.attributes:
            self.report.add("left out", f"{name!r}: holds one joint at a constant", element.where)
            return
        leader = self.model.joint_name(element, "joint2")
        if any(terms[2:]):
            self.report.add("left out", f"{name!r}: couples by a polynomial above degree 1", element.where)
            return
        terms = (*terms, 0.0)[:2]
        # MuJoCo counts both coordinates from their values in the reference
        a, b = self.joints[follower].reference, self.joints[leader].reference
        self.robot.couplings.append(Coupling(name, follower, leader, terms[1], a + terms[0] - terms[1] * b,
                                             element.where))
