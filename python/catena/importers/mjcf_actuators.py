"""MJCF's actuators as motors of the hinges and slides that they drive."""
from .mjcf_defaults import ACTUATORS

_LAWS = ("general", "motor", "position", "velocity")
NOT_BY_JOINT = "it drives no hinge or slide by force, position or velocity"


class Actuators:
    def __init__(self, model, tendons):
        self.model, self.tendons, self.report = model, tendons, model.report

    def read(self):
        for section in self.model.root.all("actuator"):
            section.check_children(ACTUATORS, {"plugin": ""}, self.report)
            for raw in section.children:
                if raw.tag in ACTUATORS:
                    self._actuator(self.model.defaults.filled(raw, None), raw.tag)

    def _joint(self, element):
        """(joint, gear) that an actuator drives, or the reason why there is none."""
        gear = (element.numbers("gear") or (1.0,))[0]
        if "tendon" in element.attributes:
            driven = self.tendons.driven_joint(element)
            if driven is None:
                return None, f"the tendon {element.text('tendon')!r} that it drives is no single joint's"
            return self.tendons.joints[driven[0]], gear * driven[1]
        key = "joint" if "joint" in element.attributes else "jointinparent"
        if key not in element.attributes:
            return None, NOT_BY_JOINT
        name = element.text(key)
        if name not in self.model.joint_names:
            element.fail(f"there is no joint {name!r}", f"correct {key}")
        return self.tendons.joints.get(name), gear

    def _actuator(self, element, tag):
        name = element.text("name") or tag
        element.text("class")
        joint, gear = self._joint(element)
        if joint is None or joint.kind == "spherical" or tag not in _LAWS:
            self._leave(element, name, gear if isinstance(gear, str) else NOT_BY_JOINT)
            return
        bound = self._bound(element, "forcerange", "forcelimited", abs(gear))
        law = self._law(element, tag, gear)
        if law is not None and law["kind"] == "force" and bound is None:
            bound = self._bound(element, "ctrlrange", "ctrllimited", abs(law["unit"]))
        element.read.update(("ctrlrange", "ctrllimited", "forcerange", "forcelimited"))
        if joint.effort is None:
            joint.effort = bound
        if law is None:
            self._leave(element, name, "its law is no servo, damper or force in proportion to its control")
        elif joint.motor is not None:
            self._leave(element, name, f"joint {joint.name!r} is driven already")
        else:
            joint.motor = {**law, "max_force": bound}
            if law["kind"] == "force":
                self._report_force(element, joint, law["unit"], bound)

    def _bound(self, element, key, flag, factor):
        """Largest force, by a range and its flag."""
        if not self.model.limited(element, key, flag):
            return None
        return max(map(abs, element.numbers(key, 2))) * factor

    def _report_force(self, element, joint, unit, bound):
        what = "N" if joint.kind == "prismatic" else "N m"
        most = "" if bound is None else f", {bound:g} {what} at most, which the controller keeps"
        self.report.add("kept", "actuator as its joint's motor, whose force a controller sets, at first none: "
                        f"{unit:g} {what} per unit of control{most}", element.where)

    def _leave(self, element, name, reason):
        self.report.add("left out", f"actuator {name!r}: {reason}", element.where)
        element.read.update(element.attributes)

    @staticmethod
    def _law(element, tag, gear):
        """What a joint's motor does at the control 0. Of a length gear q, MuJoCo's actuators have the force
        gain ctrl + b0 + b1 gear q + b2 gear q', which acts on q times gear."""
        gain, bias = 1.0, (0.0, 0.0, 0.0)
        if tag == "velocity":
            gain = element.number("kv", 1.0)
            bias = (0.0, 0.0, -gain)
        elif tag == "position":
            gain = element.number("kp", 1.0)
            bias = (0.0, -gain, -element.number("kv", 0.0))
        elif tag == "general":
            if element.text("dyntype", "none") != "none" or element.text("gaintype", "fixed") != "fixed":
                return None
            gain = (element.numbers("gainprm") or (1.0,))[0]
            kind = element.text("biastype", "none")
            prm = element.numbers("biasprm") or ()
            if kind not in ("none", "affine"):
                return None
            bias = (*prm, 0.0, 0.0, 0.0)[:3] if kind == "affine" else bias
        if gear == 0 or bias[0] != 0 or gain == 0:
            return None
        if bias[1] == 0 and bias[2] == 0:
            return {"kind": "force", "unit": gain * gear}
        if gain > 0 and bias[1] == 0 and bias[2] == -gain:
            return {"kind": "velocity", "damping": gain * gear ** 2}
        if gain > 0 and bias[1] == -gain and bias[2] <= 0:
            return {"kind": "position", "target": 0.0, "stiffness": gain * gear ** 2, "damping": -bias[2] * gear ** 2}
        return None
