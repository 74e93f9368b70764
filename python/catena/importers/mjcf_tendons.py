"""MJCF's tendons: fixed ones, which are sums of joint coordinates, and spatial ones, which run over sites."""
from .robot import Coupling, Rope, carrier_of

_DRAWN = ("width", "rgba", "material", "group")
MOST_BODIES = 3  # of a case's tendon


class Tendons:
    def __init__(self, model, robot):
        self.model, self.robot, self.report = model, robot, model.report
        self.joints = {joint.name: joint for joint in robot.joints()}
        self.fixed = {}  # name: (element, {joint: coefficient})
        self.spatial = {}  # name: element
        self.used = set()  # names of fixed ones that couple or drive joints
        for section in model.root.all("tendon"):
            section.check_children(("spatial", "fixed"), {}, self.report)
            for raw in section.children:
                element = model.defaults.filled(raw, None)
                name = element.text("name") or f"tendon-{len(self.fixed) + len(self.spatial)}"
                if name in self.fixed or name in self.spatial:
                    element.fail(f"the name {name!r} of a tendon is given twice", "rename one of them")
                for key in _DRAWN:
                    element.text(key)
                if raw.tag == "fixed":
                    self.fixed[name] = element, self._terms(element)
                else:
                    self.spatial[name] = element

    def _terms(self, element):
        element.check_children(("joint",), {}, self.report)
        terms = {}
        for child in element.all("joint"):
            child.required("coef")
            name = self.model.joint_name(child, "joint")
            terms[name] = terms.get(name, 0.0) + child.number("coef")
        return {name: coefficient for name, coefficient in terms.items() if coefficient}

    def couple(self, element, name):
        """An equality between tendons. MuJoCo counts lengths from those in the reference: c . (q - q0) of the first
        is p0 + p1 times that of the second, which couples two coordinates or is left out."""
        polynomial = element.numbers("polycoef", None, (0.0, 1.0))
        sides = [self._fixed(element, "tendon1")]
        if "tendon2" in element.attributes:
            sides.append(self._fixed(element, "tendon2"))
        if None in sides:
            return self._leave(element, f"{name!r}: it holds a spatial tendon's length, which pushes as well as pulls")
        if len(sides) == 2 and any(polynomial[2:]):
            return self._leave(element, f"{name!r}: couples by a polynomial above degree 1")
        p0, p1 = (*polynomial, 0.0)[:2]
        terms = dict(sides[0])
        for joint, coefficient in (sides[1] if len(sides) == 2 else {}).items():
            terms[joint] = terms.get(joint, 0.0) - p1 * coefficient
        if len(terms) != 2 or any(self.joints[joint].kind == "spherical" for joint in terms):
            return self._leave(element, f"{name!r}: couples {len(terms)} joint coordinates, a case couples two")
        (follower, own), (leader, other) = terms.items()
        if own == 0:
            return self._leave(element, f"{name!r}: its factor is 0")
        ratio = -other / own
        offset = self.joints[follower].reference + p0 / own - ratio * self.joints[leader].reference
        self.robot.couplings.append(Coupling(name, follower, leader, ratio, offset, element.where))

    def _fixed(self, element, key):
        """The terms of a fixed tendon that an element names; None for a spatial one."""
        name = element.required(key)
        if name in self.spatial:
            return None
        if name not in self.fixed:
            element.fail(f"there is no tendon {name!r}", f"correct {key}")
        self.used.add(name)
        return self.fixed[name][1]

    def driven_joint(self, element):
        """(name, factor) of the one joint that moves a fixed tendon, which an actuator names; else None."""
        terms = self._fixed(element, "tendon")
        return next(iter(terms.items())) if terms is not None and len(terms) == 1 else None

    def report_fixed(self):
        """What fixed tendons do besides coupling and driving joints, and those that do nothing."""
        for name, (element, terms) in self.fixed.items():
            acts = self.model.limited(element, "range", "limited") or any(
                element.number(key, 0.0) > 0 for key in ("stiffness", "damping", "frictionloss"))
            if acts:
                self.report.add("left out", f"tendon {name!r}: limits, spring and friction of a sum of joint coordinates",
                                element.where)
            elif name not in self.used:
                self.report.add("left out", f"tendon {name!r}: nothing holds or drives this sum of {len(terms)} joint "
                                "coordinates", element.where)
            element.read.update(element.attributes)

    def make_spatial(self):
        for name, element in self.spatial.items():
            others = [child for child in element.children if child.tag != "site"]
            if others:
                element.check_children(("site", "geom", "pulley"), {}, self.report)
                self._leave(element, f"tendon {name!r}: it runs over <{others[0].tag}>, that of a case over points alone")
                continue
            self._over_sites(name, element, [self.model.site(child, "site") for child in element.all("site")])

    def _over_sites(self, name, element, points):
        moving = {carrier_of(link).name for link, _ in points} - {self.model.world.name}
        if len(points) < 2 or len(moving) > MOST_BODIES:
            self._leave(element, f"tendon {name!r}: it runs over {len(points)} sites of {len(moving)} bodies, that of a "
                        f"case over two or more of {MOST_BODIES} at most")
            return
        rope = Rope(name, points, element.where)
        span = element.numbers("range", 2)
        if self.model.limited(element, "range", "limited"):
            rope.length = span[1]
            if span[0] > 0:
                self.report.add("left out", f"tendon {name!r}: its least length, a rope has the largest alone",
                                element.where)
        self._spring(name, element, rope)
        if rope.length is None and not rope.stiffness and not rope.damping:
            self.report.add("left out", f"tendon {name!r}: neither limited nor a spring", element.where)
            return
        self.robot.ropes.append(rope)

    def _spring(self, name, element, rope):
        """Springs are kept between two points, where they push and pull."""
        stiffness, damping = element.number("stiffness", 0.0), element.number("damping", 0.0)
        rest = element.numbers("springlength")
        if not stiffness and not damping:
            return
        if len(rope.points) > 2:
            self.report.add("left out", f"tendon {name!r}: its spring and damper, which a case has between two points "
                            "alone", element.where)
        elif stiffness and rest is not None and rest[0] >= 0 and rest[0] != rest[-1]:
            rope.damping = damping
            self.report.add("left out", f"tendon {name!r}: its spring, which has no force between the lengths "
                            f"{rest[0]:g} and {rest[-1]:g} m", element.where)
        else:
            rope.stiffness, rope.damping = stiffness, damping
            rope.rest = None if rest is None or rest[0] < 0 else rest[0]

    def _leave(self, element, text):
        self.report.add("left out", text, element.where)
        element.read.update(element.attributes)
