"""Who touches whom: materials of bodies, and groups for MuJoCo's masks and exclusions."""
import functools
import operator

from .robot import carrier_of

MOST_GROUPS = 255  # beside that of bodies without a group


def materials_of(robot, groups, report):
    """(name of each body's material, the materials): one per set of coefficients."""
    names, materials, known = {}, {}, {}
    for leader, links in groups.items():
        shapes = [shape for link in links for shape in link.shapes]
        if not shapes:
            continue
        kinds = {(s.friction, s.spinning, s.rolling) for s in shapes}
        key = max(kinds)
        if len(kinds) > 1:
            report.add("changed", f"shapes of body {leader!r} differ in friction: the largest, {key[0]:g}, is that of "
                       "the body", shapes[0].where)
        if key not in known:
            known[key] = "surface" if not known else f"surface-{len(known)}"
            materials[known[key]] = {"friction": key[0]}
            for word, value in (("spinning_friction", key[1]), ("rolling_friction", key[2])):
                if value > 0:
                    materials[known[key]][word] = value
        names[leader] = known[key]
    return names, materials


def groups_of(robot, groups, options, report):
    """(group of each body or None, pairs of groups without contacts)."""
    masks, alone = {}, {}
    for leader, links in groups.items():
        found = {shape.masks for link in links for shape in link.shapes}
        if len(found) > 1:
            report.add("changed", f"shapes of body {leader!r} differ in contype or conaffinity: all have all their "
                       "bits", links[0].where)
        masks[leader] = tuple(functools.reduce(operator.or_, (m[i] for m in found)) for i in (0, 1)) \
            if found else (1, 1)
    excluded = {frozenset(carrier_of(link).name for link in pair) for pair in robot.exclusions}
    # a link is no neighbour of its parent where bodies stand between its joints
    excluded |= {frozenset((link.name, carrier_of(link.parent).name)) for link in robot.links
                 if len(link.joints) > 1 and not (robot.root_is_world and carrier_of(link.parent) is robot.root)}
    excluded = {pair for pair in excluded if len(pair) == 2}
    for leader in sorted({name for pair in excluded for name in pair}):
        alone[leader] = leader
    fixed = robot.root.name if robot.root_is_world else None
    if options.self_collisions is False:
        report.add("changed", "links of the robot do not touch each other (--self-collisions yes)", robot.root.where)
    kinds = {}
    for leader in groups:
        own = options.self_collisions is False and not (leader == fixed and robot.world_touches)
        plain = masks[leader] == (1, 1) and leader not in alone and not own
        kinds[leader] = None if plain else (masks[leader], alone.get(leader), own)
    names = {kind: _name(kind, k) for k, kind in enumerate(dict.fromkeys(kinds.values()))}
    if len(names) > MOST_GROUPS:
        report.add("left out", f"exclusions of contacts: {len(names)} groups are more than {MOST_GROUPS}",
                   robot.root.where)
        return dict.fromkeys(groups), []
    pairs = _pairs(names, kinds, excluded)
    if options.floor and any(kind is not None and not (kind[0][0] & 1 or kind[0][1] & 1) for kind in names):
        report.add("changed", "--floor: it touches bodies with bit 1 in contype or conaffinity", robot.root.where)
    return {leader: names[kind] for leader, kind in kinds.items()}, pairs


def _name(kind, k):
    if kind is None:
        return None
    return "robot" if kind == ((1, 1), None, True) else f"group-{k}"


def _pairs(names, kinds, excluded):
    """Pairs of groups that make no contacts."""
    pairs, listed = [], list(names)
    if None not in listed:
        listed.append(None)  # bodies that the case gets besides, such as a floor
    of_leader = {frozenset(kinds[leader] for leader in pair) for pair in excluded}
    for i, a in enumerate(listed):
        for b in listed[i:]:
            mask_a, mask_b = (kind[0] if kind else (1, 1) for kind in (a, b))
            apart = not (mask_a[0] & mask_b[1] or mask_b[0] & mask_a[1])
            apart = apart or bool(a and b and a[2] and b[2]) or frozenset((a, b)) in of_leader and a != b
            if apart:
                pairs.append({"between": [names.get(a) or "", names.get(b) or ""]})
    return pairs
