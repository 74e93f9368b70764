"""From a robot to a case: bodies by their principal axes, joints and what drives and ties them."""
import os

import numpy as np

from .collisions import groups_of, materials_of
from .couplings import coupled
from .errors import ImportProblem
from .robot import ONE_COORDINATE, bodies, carrier_of, joint_frames, mass_of, poses
from .rotations import Pose, principal, quaternion

BETWEEN_SHARE = 0.01  # of a link's mass and inertia, for each body between two joints of one link
MISFIT = 1e-6  # m and rad; a loop that is open by more cannot be closed


def vector(values):
    """Without the round-off of rotations by right angles."""
    return [0.0 if abs(v) < 1e-15 else float(v) for v in values]


def turned(rotation):
    """The key of an orientation, or nothing for the world's axes."""
    q = quaternion(rotation)
    return {} if abs(q[0] - 1) < 1e-15 else {"orientation": {"quaternion": vector(q)}}


def shape_map(shape):
    if shape.kind == "hull":
        return {"hull": {"vertices": [vector(p) for p in shape.points]}}
    if shape.kind == "box":
        return {"box": {"size": vector(shape.size)}}
    keys = ("radius",) if shape.kind == "sphere" else ("radius", "length")
    return {shape.kind: dict(zip(keys, shape.size))}


class CaseMaker:
    def __init__(self, robot, options, report, folder):
        self.robot, self.options, self.report, self.folder = robot, options, report, folder
        self.world = poses(robot)
        self.groups = bodies(robot)
        self.body_names = {}  # of links, as joints name them
        self.material_names, self.materials = materials_of(robot, self.groups, report)
        self.group_names, self.no_collisions = groups_of(robot, self.groups, options, report)
        self.bodies, self.joint_items, self.forces = [], [], []
        self.taken = {"world", *self.groups}  # names of bodies
        self.between = {}  # of links with several joints: the bodies between these
        self.taken_items = set()  # names of joints and forces

    def case(self):
        for leader, links in self.groups.items():
            self._body(leader, links)
        for link in self.robot.links:
            if link.joints:
                self._joints(link)
        for tie in self.robot.ties:
            self._tie(tie)
        for coupling in self.robot.couplings:
            self._coupling(coupling)
        for rope in self.robot.ropes:
            self._rope(rope)
        if self.options.floor:
            self._floor()
        used = {"", *(body.get("group", "") for body in self.bodies)}  # bodies without shapes are in none
        apart = [pair for pair in self.no_collisions if used.issuperset(pair["between"])]
        case = {"catena": 1, "name": self.robot.name, "gravity": list(self.robot.gravity), "materials": self.materials,
                "contact": {"no_collisions": apart} if apart else {},
                "bodies": self.bodies, "joints": self.joint_items, "forces": self.forces,
                "time": {"step": self.robot.step, "end": self.options.end}}
        self.report.add("kept", f"{len(self.robot.links)} links as {len(self.bodies)} bodies, "
                        f"{len(self.joint_items)} joints, {len(self.forces)} springs and dampers",
                        self.robot.root.where)
        return case

    def body_of(self, link):
        """Name of the body that a link is part of."""
        return self.body_names[carrier_of(link).name]

    @staticmethod
    def _fresh(name, taken):
        """A name that nothing has yet: the model's names of other kinds may be alike."""
        found, k = name, 1
        while found in taken:
            k += 1
            found = f"{name}-{k}"
        taken.add(found)
        return found

    def _add_joint(self, item):
        self.joint_items.append({**item, "name": self._fresh(item["name"], self.taken_items)})

    def _add_force(self, item):
        self.forces.append({**item, "name": self._fresh(item["name"], self.taken_items)})

    def _is_fixed(self, leader):
        return self.robot.root_is_world and leader == self.robot.root.name

    def _body(self, leader, links):
        shapes = [(shape, self.world[link.name] @ shape.pose) for link in links for shape in link.shapes]
        for link in links[1:]:
            if link.inertial is not None or link.shapes:
                self.report.add("changed", f"link {link.name!r} is rigidly part of the body {leader!r}", link.where)
        if self._is_fixed(leader):
            base = self._fixed_bodies(leader, shapes)
            # a body that a joint names does not touch what the joint holds
            self.body_names[leader] = "world" if base is None or self.robot.world_touches else base
            return
        mass = mass_of(links, self.world)
        if mass is None:
            raise ImportProblem(links[0].where, f"link {leader!r} moves but has no inertia",
                                "give it an <inertial>, or a base that is --base fixed")
        self.body_names[leader] = leader
        between = max(0, len(links[0].joints) - 1)
        if between:
            self._bodies_between(links[0], mass, between)
        self._add_body(leader, mass.scaled(1 - BETWEEN_SHARE * between), shapes, leader)

    def _add_body(self, name, mass, shapes, leader):
        frame = self.world[leader].R  # axes of the link, where they are principal
        where = next(link.where for link in self.robot.links if link.name == leader)
        if not mass.is_finite():
            raise ImportProblem(where, f"body {name!r} has a mass or an inertia beyond all numbers",
                                "correct the sizes, places and densities of its parts")
        moments, axes = principal(frame.T @ mass.inertia @ frame)
        if min(moments) <= 0:
            raise ImportProblem(where, f"body {name!r} has the moments {moments[0]:.3g}, {moments[1]:.3g}, "
                                f"{moments[2]:.3g} kg m^2, which are not positive", "give it an inertia")
        axes = frame @ axes
        item = {"name": name, "mass": mass.mass, "inertia": vector(moments), "position": vector(mass.centre),
                **turned(axes)}
        if shapes:
            inner = Pose(mass.centre, axes).inverse()
            item.update({"material": self.material_names[leader], "center_of_mass": [0.0, 0.0, 0.0],
                         "shapes": [self._part(shape, inner @ pose) for shape, pose in shapes]})
            self._set_group(item, leader)
        self.bodies.append(item)

    def _set_group(self, item, leader):
        if self.group_names[leader]:
            item["group"] = self.group_names[leader]

    def _part(self, shape, pose, fixed=False):
        place = {"at": vector(pose.p), **turned(pose.R)}
        if fixed and shape.mesh is not None:
            path, scale = shape.mesh
            return {"mesh": {"file": os.path.relpath(path, self.folder), "unit": "m", "scale": scale}, **place}
        if self.options.decompose and shape.mesh is not None:
            return {"hull": self._pieces(shape), **place}
        if shape.dent:
            not_cut = f"; it is not cut: {shape.fault}" if self.options.decompose and shape.fault else ""
            self.report.add("changed", shape.dent + not_cut, shape.where)
        return {**shape_map(shape), **place}

    def _pieces(self, shape):
        """A mesh with dents that the case has cut when it is read; `catena check` tells how well."""
        path, scale = shape.mesh
        self.report.add("changed", f"mesh {os.path.basename(path)}: not convex, cut into {self.options.decompose} convex "
                        "pieces at most (`catena check` tells what they add)", shape.where)
        cut = {"pieces": self.options.decompose}
        if self.options.tolerance is not None:
            cut["tolerance"] = self.options.tolerance
        return {"file": os.path.relpath(path, self.folder), "unit": "m", "scale": scale, "decompose": cut}

    def _fixed_bodies(self, leader, shapes):
        """The base: a clump, whose name is returned, and planes, which are bodies of their own."""
        name = None
        solid = [(s, p) for s, p in shapes if s.kind != "plane"]
        if solid:
            name = leader if leader != "world" else self._fresh("base", self.taken)
            item = {"name": name, "material": self.material_names[leader],
                    "fixed": True, "shapes": [self._part(s, p, fixed=True) for s, p in solid]}
            self._set_group(item, leader)
            self.bodies.append(item)
        for shape, pose in ((s, p) for s, p in shapes if s.kind == "plane"):
            item = {"name": self._fresh("plane", self.taken), "material": self.material_names[leader],
                    "shape": {"plane": {"normal": vector(pose.R[:, 2])}}, "position": vector(pose.p)}
            self._set_group(item, leader)
            self.bodies.append(item)
        return name

    def _bodies_between(self, link, mass, count):
        """Joints of one link hold bodies between them, which take a little of the link's mass."""
        self.between[link.name] = [self._fresh(f"{link.name}-between-{k}", self.taken) for k in range(count)]
        for name in self.between[link.name]:
            self._add_body(name, mass.scaled(BETWEEN_SHARE), [], link.name)
        self.report.add("changed", f"{count + 1} joints of body {link.name!r} have {count} bodies between them, each "
                        f"with {100 * BETWEEN_SHARE:g} % of its mass and inertia, taken from it", link.where)

    def _joints(self, link):
        frames = joint_frames(self.robot, link, self.world)
        chain = [self.body_of(link.parent), *self.between.get(link.name, []), link.name]
        for k, (joint, frame) in enumerate(frames):
            self._joint(joint, frame, chain[k:k + 2])

    def _joint(self, joint, frame, between):
        item = {"name": joint.name, "type": joint.kind, "between": between, "at": vector(frame.point(joint.anchor))}
        if joint.kind in ONE_COORDINATE and joint.limits is not None and joint.limits[0] == joint.limits[1]:
            item["type"] = "fixed"
            self.report.add("changed", f"joint {joint.name!r} has equal limits: it is fixed", joint.where)
            self._add_joint(item)
            return
        if joint.kind in (*ONE_COORDINATE, "planar"):
            item["axis"] = vector(frame.R @ joint.axis)
        if joint.kind in ONE_COORDINATE:
            if joint.limits is not None:
                item["limits"] = [limit - joint.value for limit in joint.limits]
            if joint.friction > 0:
                item["friction"] = joint.friction
            self._motor(joint, item)
            if joint.damping > 0 or joint.stiffness > 0:
                self._spring(joint, frame, between)
        else:
            for key in ("damping", "friction", "stiffness"):
                if getattr(joint, key) > 0:
                    self.report.add("left out", f"{key} of joint {joint.name!r}: type {joint.kind} has none", joint.where)
        self._add_joint(item)

    def _motor(self, joint, item):
        follows = any(c.follower == joint.name for c in self.robot.couplings)
        driven = not follows and (self.options.hold or self.options.torque)
        if joint.effort and not driven and joint.motor is None:
            self.report.add("left out", "largest force of a joint without a motor (--hold makes servos)", joint.where)
        if self.options.torque and not follows and joint.motor is None:
            most = f", {joint.effort:g} {'N' if joint.kind == 'prismatic' else 'N m'} at most, which the controller keeps"
            self.report.add("kept", "motor of a joint, whose force a controller sets, at first none (--torque)"
                            + (most if joint.effort else ""), joint.where)
            item["motor"] = {"force": 0.0}
        elif self.options.hold and not follows:
            item["motor"] = {"position": 0.0, **({"max_force": joint.effort} if joint.effort else {})}
        elif joint.motor is not None:
            motor = joint.motor
            if motor["kind"] == "force":  # its bound is the controller's
                item["motor"] = {"force": 0.0}
                return
            if motor["kind"] == "velocity":
                item["motor"] = {"velocity": 0.0, "viscosity": motor["damping"]}
            else:
                item["motor"] = {"position": motor["target"] - joint.value, "compliance": 1 / motor["stiffness"],
                                 "damping_time": motor["damping"] / motor["stiffness"]}
            if motor["max_force"]:
                item["motor"]["max_force"] = motor["max_force"]

    def _spring(self, joint, frame, between):
        """Damping and stiffness of a coordinate. A slide's spring is stretched along its axis, from a point
        so far behind that its ends do not pass each other."""
        at, axis, rest = frame.point(joint.anchor), frame.R @ joint.axis, joint.rest - joint.value
        item = {"name": f"{joint.name}-spring", "type": "torsional_spring", "between": between, "at": vector(at),
                "axis": vector(axis), "stiffness": joint.stiffness, "damping": joint.damping, "angle": rest}
        if joint.kind == "prismatic":
            reach = max([1.0, *(2 * abs(limit) for limit in joint.limits or ())]) + 2 * abs(joint.value) + abs(rest)
            # the end on the link moves with it: at the start it is `value` from where the frame lies
            item = {"name": item["name"], "type": "spring", "between": between,
                    "at": [vector(at - reach * axis), vector(at)], "length": reach + rest,
                    "stiffness": joint.stiffness, "damping": joint.damping}
        self._add_force(item)

    def _tie(self, tie):
        a, b = (self.world[link.name].point(p) for link, p in zip(tie.links, tie.points))
        if np.linalg.norm(a - b) > MISFIT:
            raise ImportProblem(tie.where, f"the loop {tie.name!r} is open by {np.linalg.norm(a - b):.3g} m at the start",
                                "give joint values that close it (--joint NAME=VALUE)")
        names = [self.body_of(link) for link in tie.links]
        if names[0] == names[1]:
            self.report.add("left out", f"{tie.name!r}: both links are one body", tie.where)
            return
        self._add_joint({"name": tie.name, "type": tie.kind, "between": names, "at": vector(a)})

    def _coupling(self, coupling):
        bodies_between, joints = coupled(self.robot, self.world, coupling, self.body_names, self.report)
        for body in bodies_between:
            name = self._fresh(body["name"], self.taken)
            for joint in joints:
                joint["between"] = [name if end == body["name"] else end for end in joint["between"]]
            self.bodies.append({**body, "name": name})
        for joint in joints:
            self._add_joint(joint)

    def _rope(self, rope):
        names = [self.body_of(link) for link, _ in rope.points]
        places = [self.world[link.name].point(p) for link, p in rope.points]
        length = float(sum(np.linalg.norm(b - a) for a, b in zip(places, places[1:])))
        if len(set(names)) == 1 or length == 0:
            self.report.add("left out", f"tendon {rope.name!r}: it moves nothing", rope.where)
            return
        at = {"between": names, "at": [vector(place) for place in places]}
        if rope.length is not None:
            if rope.length < length - MISFIT:
                raise ImportProblem(rope.where, f"tendon {rope.name!r} is {length:.6g} m long at the start, above its "
                                    f"range of {rope.length:.6g} m", "give joint values that shorten it (--joint)")
            item = {"type": "rope", **at, "collide": True}
            if len(names) > 2:
                item = {"type": "tendon", "through": [{"body": n, "at": p} for n, p in zip(names, at["at"])]}
            self._add_joint({"name": rope.name, **item, "length": max(rope.length, length)})
        if rope.stiffness > 0 or rope.damping > 0:
            self._add_force({"name": f"{rope.name}-spring", "type": "spring", **at, "stiffness": rope.stiffness,
                             "damping": rope.damping, "length": length if rope.rest is None else rope.rest})

    def _floor(self):
        heights = [lowest(shape, self.world[link.name] @ shape.pose)
                   for link in self.robot.links for shape in link.shapes if shape.kind != "plane"]
        if not heights:
            raise ImportProblem(self.robot.root.where, "--floor: no link has a shape that could stand on it",
                                "leave it out")
        name = self._fresh("floor", self.taken)
        self.materials.setdefault("floor", {"friction": self.options.friction})
        self.bodies.insert(0, {"name": name, "material": "floor", "shape": {"plane": {}},
                               "position": [0.0, 0.0, min(heights)]})


def lowest(shape, pose):
    """z of a shape's lowest point: its support in the direction -z."""
    down = -pose.R[2]  # the world's -z on the shape's axes
    if shape.kind == "sphere":
        return pose.p[2] - shape.size[0]
    if shape.kind == "box":
        return pose.p[2] - 0.5 * float(np.abs(down) @ np.asarray(shape.size))
    if shape.kind == "hull":
        return pose.p[2] - float((shape.points @ down).max())
    radius, half = shape.size[0], 0.5 * shape.size[1]
    rim = radius if shape.kind == "capsule" else radius * np.hypot(down[0], down[1])
    return pose.p[2] - half * abs(down[2]) - rim
