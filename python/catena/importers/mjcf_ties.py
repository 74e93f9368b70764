"""MJCF beside the tree of bodies: equality constraints, tendons, actuators, exclusions of contacts."""
import numpy as np

from .mjcf_defaults import ACTUATORS
from .robot import Coupling, Rope, Tie, poses


class Ties:
    def __init__(self, model, robot):
        self.model, self.robot, self.report = model, robot, model.report
        self.joints = {joint.name: joint for joint in robot.joints()}

    def read(self):
        for section in self.model.root.all("equality"):
            section.check_children(("connect", "weld", "joint"), dict.fromkeys(
                ("tendon", "distance", "flex", "flexvert"), "a case has nothing for it"), self.report)
            for number, raw in enumerate(section.children):
                if raw.tag in ("connect", "weld", "joint"):
                    self._equality(self.model.defaults.filled(raw, None), raw.tag, number)
        for section in self.model.root.all("tendon"):
            section.check_children(("spatial",), {"fixed": "a sum of joint coordinates: a case has nothing for it"},
                                   self.report)
            for number, raw in enumerate(section.all("spatial")):
                self._tendon(self.model.defaults.filled(raw, None), number)
        for section in self.model.root.all("actuator"):
            section.check_children(ACTUATORS, {"plugin": ""}, self.report)
            for raw in section.children:
                if raw.tag in ACTUATORS:
                    self._actuator(self.model.defaults.filled(raw, None), raw.tag)
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

    def _site(self, element, key):
        name = element.required(key)
        if name not in self.model.sites:
            element.fail(f"there is no site {name!r}", f"correct {key}")
        return self.model.sites[name]

    def _joint(self, element, key):
        name = element.required(key)
        if name not in self.joints:
            element.fail(f"there is no joint {name!r}", f"correct {key}")
        return name

    def _equality(self, element, tag, number):
        name = element.text("name") or f"{tag}-{number}"
        if element.text("active", "true") == "false":
            self.report.add("left out", f"{name!r}: is not active", element.where)
            element.read.update(element.attributes)
        elif tag == "joint":
            self._coupling(element, name)
        else:
            self._tie(element, tag, name)

    def _tie(self, element, tag, name):
        kind = "spherical" if tag == "connect" else "fixed"
        if "site1" in element.attributes:
            (link_a, a), (link_b, b) = self._site(element, "site1"), self._site(element, "site2")
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
        follower = self._joint(element, "joint1")
        terms = element.numbers("polycoef", None, (0.0, 1.0))
        if "joint2" not in element.attributes:
            self.report.add("left out", f"{name!r}: holds one joint at a constant", element.where)
            return
        leader = self._joint(element, "joint2")
        if any(terms[2:]):
            self.report.add("left out", f"{name!r}: couples by a polynomial above degree 1", element.where)
            return
        terms = (*terms, 0.0)[:2]
        # MuJoCo counts both coordinates from their values in the reference
        a, b = self.joints[follower].reference, self.joints[leader].reference
        self.robot.couplings.append(Coupling(name, follower, leader, terms[1], a + terms[0] - terms[1] * b,
                                             element.where))

    def _tendon(self, element, number):
        name = element.text("name") or f"tendon-{number}"
        for key in ("width", "rgba", "material", "group"):
            element.text(key)
        others = [child for child in element.children if child.tag != "site"]
        sites = [self._site(child, "site") for child in element.all("site")]
        if others or len(sites) != 2:
            what = f"it runs over <{others[0].tag}>" if others else f"it runs over {len(sites)} sites"
            self.report.add("left out", f"tendon {name!r}: {what}, a rope has two ends", element.where)
            element.read.update(element.attributes)
            return
        rope = Rope(name, tuple(link for link, _ in sites), tuple(point for _, point in sites), element.where)
        span = element.numbers("range", 2)
        if self.model._limited(element, "range", "limited"):
            rope.length = span[1]
            if span[0] > 0:
                self.report.add("left out", f"tendon {name!r}: its least length, a rope has the largest alone",
                                element.where)
        rope.stiffness, rope.damping = element.number("stiffness", 0.0), element.number("damping", 0.0)
        rest = element.numbers("springlength")
        rope.rest = None if rest is None or rest[0] < 0 else rest[-1]
        if rope.length is None and not rope.stiffness and not rope.damping:
            self.report.add("left out", f"tendon {name!r}: neither limited nor a spring", element.where)
            return
        self.robot.ropes.append(rope)

    def _actuator(self, element, tag):
        name = element.text("name") or tag
        joint = self.joints.get(element.text("joint") or element.text("jointinparent"))
        element.text("class")
        if joint is None or joint.kind == "spherical" or tag not in ("general", "motor", "position", "velocity"):
            self._leave(element, name, "drives no hinge or slide by force, position or velocity")
            return
        gear = (element.numbers("gear") or (1.0,))[0]
        bounds = [element.numbers(key, 2) for key in ("forcerange", "ctrlrange")]
        element.text("forcelimited"), element.text("ctrllimited")
        force = max(map(abs, bounds[0])) * abs(gear) if bounds[0] is not None else None
        if tag == "motor" and force is None and bounds[1] is not None:
            force = max(map(abs, bounds[1])) * abs(gear)
        if joint.effort is None:
            joint.effort = force
        motor = self._law(element, tag, gear, force)
        if motor is None:
            self._leave(element, name, "its force is a controller's; it drives nothing (--hold makes a servo with its "
                        "bound)")
        elif joint.motor is not None:
            self._leave(element, name, f"joint {joint.name!r} is driven already")
        else:
            joint.motor = motor

    def _leave(self, element, name, reason):
        self.report.add("left out", f"actuator {name!r}: {reason}", element.where)
        element.read.update(element.attributes)

    @staticmethod
    def _law(element, tag, gear, force):
        """Servo with the control at 0: force = gear (kp (0 - gear q) - kv gear q')."""
        if tag == "velocity":
            return {"kind": "velocity", "damping": element.number("kv", 1.0) * gear ** 2, "max_force": force}
        if tag == "position":
            kp, kv = element.number("kp", 1.0), element.number("kv", 0.0)
        elif tag == "general" and element.text("biastype", "none") == "affine":
            gain, bias = element.numbers("gainprm") or (1.0,), element.numbers("biasprm") or (0.0,)
            bias = (*bias, 0.0, 0.0)[:3]
            element.text("gaintype")
            kp, kv = gain[0], -bias[2]
            if bias[0] != 0 or bias[1] != -kp:
                return None
        else:
            return None
        if kp <= 0 or gear == 0:
            return None
        return {"kind": "position", "target": 0.0, "stiffness": kp * gear ** 2, "damping": kv * gear ** 2,
                "max_force": force}
