"""Coupled joint coordinates (URDF's mimic, MJCF's equality of joints) as gears, racks and pinions."""
import numpy as np

from .robot import carrier_of, joint_frames


PINION_SHARE, PINION_RADIUS = 1e-3, 0.05  # of a follower's mass; m, of the larger side


def coupled(robot, world, coupling, body_names, report):
    """(bodies, joints) for q_follower = ratio q_leader + offset; both empty where there is none, with the reason in
    the report."""
    def leave(reason):
        report.add("left out", f"coupling of {coupling.follower!r} to {coupling.leader!r}: {reason}", coupling.where)
        return [], []

    place = {joint.name: (link, joint) for link in robot.links for joint in link.joints}
    ends = [place[coupling.follower], place[coupling.leader]]
    if any(joint.kind not in ("revolute", "prismatic") for _, joint in ends):
        return leave("one of them is neither a hinge nor a slide")
    if any(len(link.joints) > 1 for link, _ in ends):
        return leave("one of their links has more than one joint")
    if coupling.ratio == 0:
        return leave("its factor is 0")
    frames = [joint_frames(robot, link, world)[0][1] for link, _ in ends]
    axes = [frame.R @ joint.axis for frame, (_, joint) in zip(frames, ends)]
    points = [frame.point(joint.anchor) for frame, (_, joint) in zip(frames, ends)]
    slides = [joint.kind == "prismatic" for _, joint in ends]
    names = [body_names[carrier_of(link).name] for link, _ in ends]
    carriers = [carrier_of(link.parent) for link, _ in ends]
    if not any(slides):
        gear, reason = _gear(coupling, ends, axes, names, carriers, body_names)
        return ([], [gear]) if gear else leave(reason)
    if carriers[0] is not carriers[1]:
        return leave("racks need a pinion on the body that both joints start from")
    if all(slides):
        mass = sum(item.inertial.mass for item in robot.links if carrier_of(item) is carrier_of(ends[0][0])
                   and item.inertial is not None)
        return _pinion(coupling, axes, points, names, body_names[carriers[0].name], PINION_SHARE * mass, report)
    # the hinge's body is the pinion of the slide's: its angle about minus its axis turns a rack that moves forwards
    slide = 0 if slides[0] else 1
    if abs(axes[0] @ axes[1]) > 1e-9:
        return leave("a rack needs a pinion whose axis is at right angles to it")
    radius = coupling.ratio if slide == 0 else 1 / coupling.ratio
    return [], [_rack(coupling.name, [names[1 - slide], names[slide]], points[1 - slide],
                      -np.sign(radius) * axes[1 - slide], axes[slide], abs(radius))]


def _rack(name, between, at, axis, along, radius):
    """A rack moves by -radius times the angle of its pinion."""
    return {"name": name, "type": "rack_and_pinion", "between": between, "at": list(at), "axis": list(axis),
            "axis_b": list(along), "radius": float(radius)}


def _pinion(coupling, axes, points, names, carrier, mass, report):
    """Two slides as racks of one small pinion at right angles to both."""
    across = np.cross(axes[0], axes[1])
    if np.linalg.norm(across) < 1e-6:
        across = np.cross(axes[0], np.eye(3)[np.argmin(np.abs(axes[0]))])
    across /= np.linalg.norm(across)
    size = PINION_RADIUS / max(1.0, abs(coupling.ratio))
    radii = [size * abs(coupling.ratio), size]
    name = f"{coupling.name}-pinion"
    report.add("changed", f"coupling of {coupling.follower!r} to {coupling.leader!r}: both are racks of a pinion of "
               f"{mass:.3g} kg, {100 * PINION_SHARE:g} % of the follower's mass, which is added", coupling.where)
    body = {"name": name, "mass": mass, "inertia": [0.5 * mass * PINION_RADIUS ** 2] * 3, "position": list(points[1])}
    hinge = {"name": f"{name}-hinge", "type": "revolute", "between": [carrier, name], "at": list(points[1]),
             "axis": list(across)}
    along = [np.sign(coupling.ratio) * axes[0], axes[1]]
    racks = [_rack(f"{coupling.name}-{part}", [name, names[k]], points[1], across, along[k], radii[k])
             for k, part in ((1, "leader"), (0, "follower"))]
    return [body], [hinge, *racks]


def _gear(coupling, ends, axes, names, carriers, body_names):
    """(gear, None), or (None, why there is none).

    A gear counts angles of two bodies relative to a carrier. Joints that start from one body give it at
    once; where the follower hangs on the leader's own body and their axes are parallel, the follower's body
    turns by q_leader + q_follower relative to the carrier.
    """
    axis_a, axis_b = axes
    ratio = -coupling.ratio
    if carriers[0] is carriers[1]:
        carrier = carriers[0]
    elif carriers[0] is carrier_of(ends[1][0]) and np.linalg.norm(np.cross(axis_a, axis_b)) < 1e-6:
        carrier = carriers[1]
        # about the follower's axis: A = q_a + s q_b with s = +-1, B = q_b about the leader's
        ratio -= np.sign(axis_a @ axis_b)
        if abs(ratio) < 1e-12:
            return None, "it holds the follower's direction, which a gear does not"
    else:
        return None, "a gear needs joints of one body, or of neighbours with parallel axes"
    item = {"name": coupling.name, "type": "gear", "between": names, "axis": list(axis_a), "axis_b": list(axis_b),
            "ratio": ratio}
    carrier_name = body_names[carrier.name]
    if carrier_name != "world":
        item["carrier"] = carrier_name
    return item, None
