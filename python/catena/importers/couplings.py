"""Coupled joint coordinates (URDF's mimic, MJCF's equality of joints) as gears between bodies."""
import numpy as np

from .robot import carrier_of, joint_frames


def gear_of(robot, world, coupling, body_names, report):
    """The gear for q_follower = ratio q_leader + offset, or None with the reason in the report.

    A gear counts angles of two bodies relative to a carrier. Joints that start from one body give it at
    once; where the follower hangs on the leader's own body and their axes are parallel, the follower's body
    turns by q_leader + q_follower relative to the carrier.
    """
    def leave(reason):
        report.add("left out", f"coupling of {coupling.follower!r} to {coupling.leader!r}: {reason}", coupling.where)

    place = {joint.name: (link, joint) for link in robot.links for joint in link.joints}
    (link_a, a), (link_b, b) = place[coupling.follower], place[coupling.leader]
    if a.kind != "revolute" or b.kind != "revolute":
        return leave("a gear couples two hinges; for slides a case has nothing")
    if len(link_a.joints) > 1 or len(link_b.joints) > 1:
        return leave("one of their links has more than one joint")
    if coupling.ratio == 0:
        return leave("its factor is 0")
    axis_a, axis_b = (dict((j.name, f.R @ j.axis) for j, f in joint_frames(robot, link, world))[joint.name]
                      for link, joint in ((link_a, a), (link_b, b)))
    parent_a, parent_b = carrier_of(link_a.parent), carrier_of(link_b.parent)
    ratio = -coupling.ratio
    if parent_a is parent_b:
        carrier = parent_a
    elif parent_a is carrier_of(link_b) and np.linalg.norm(np.cross(axis_a, axis_b)) < 1e-6:
        carrier = parent_b
        # about the follower's axis: A = q_a + s q_b with s = +-1, B = q_b about the leader's
        ratio -= np.sign(axis_a @ axis_b)
        if abs(ratio) < 1e-12:
            return leave("it holds the follower's direction, which a gear does not")
    else:
        return leave("a gear needs joints of one body, or of neighbours with parallel axes")
    item = {"name": coupling.name, "type": "gear", "between": [body_names[link_a.name], body_names[link_b.name]],
            "axis": list(axis_a), "axis_b": list(axis_b), "ratio": ratio}
    carrier_name = body_names[carrier.name]
    if carrier_name != "world":
        item["carrier"] = carrier_name
    return item
