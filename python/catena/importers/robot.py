"""What URDF and MJCF have in common: a tree of links with joints, and what ties and drives it."""
from dataclasses import dataclass, field

import numpy as np

from .rotations import MassProperties, Pose, about_axis, together

SLIDING = ("prismatic",)
ONE_COORDINATE = ("revolute", "prismatic")


@dataclass
class Shape:
    """Geometry that makes contacts; lengths in m, in its link's frame. `size`: sphere: radius; box: full
    edges; capsule, cylinder: radius, length; plane: nothing; hull: `points`."""
    kind: str
    size: tuple
    pose: Pose
    where: str
    points: np.ndarray = None
    path: str = None  # of the mesh that a hull is of
    dent: str = None  # of a hull: what it adds to a mesh that is not convex
    mesh: tuple = None  # of such a mesh, if a case can have it: its path and scale
    fault: str = None  # else: why not
    friction: float = 0.5
    spinning: float = 0.0
    rolling: float = 0.0
    masks: tuple = (1, 1)  # MuJoCo's contype and conaffinity


@dataclass
class Joint:
    """One joint of a link; axis and anchor in the link's frame, `value` its coordinate at the start."""
    name: str
    kind: str  # revolute, prismatic, spherical, planar or fixed (at `value`)
    where: str
    axis: np.ndarray = None
    anchor: np.ndarray = field(default_factory=lambda: np.zeros(3))
    reference: float = 0.0  # coordinate at which the link lies as written
    value: float = 0.0
    limits: tuple = None
    damping: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0  # coordinate at which the spring has no force
    friction: float = 0.0
    effort: float = None
    turn: np.ndarray = None  # of a spherical joint at the start
    motor: dict = None  # kind: position, velocity or force; target, stiffness, damping, max_force

    def motion(self):
        """From the link's frame as moved by this joint to where it was."""
        if self.turn is not None:
            return Pose(self.anchor - self.turn @ self.anchor, self.turn)
        q = self.value - self.reference
        if self.axis is None or q == 0.0:
            return Pose()
        if self.kind in SLIDING:
            return Pose(q * self.axis)
        turn = about_axis(self.axis, q)
        return Pose(self.anchor - turn @ self.anchor, turn)


@dataclass
class Link:
    name: str
    where: str
    parent: "Link" = None
    offset: Pose = field(default_factory=Pose)  # in the parent's frame, joints at their reference
    joints: list = field(default_factory=list)  # in order, the first next to the parent
    free: bool = False
    inertial: MassProperties = None
    weighed: bool = False  # its mass is that of its shapes
    shapes: list = field(default_factory=list)

    @property
    def welded(self):
        return self.parent is not None and not self.joints and not self.free


@dataclass
class Tie:
    """A loop's closure: `spherical` or `fixed` between two links, at a point given in both as written."""
    name: str
    kind: str
    links: tuple
    points: tuple
    where: str


@dataclass
class Coupling:
    """Coordinate of `follower` = ratio * that of `leader` + offset."""
    name: str
    follower: str
    leader: str
    ratio: float
    offset: float
    where: str


@dataclass
class Rope:
    """Over points of links, each (link, point in it), two or more; a length, or between two a spring's stiffness
    and damping."""
    name: str
    points: list
    where: str
    length: float = None
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = None


@dataclass
class Robot:
    name: str
    links: list  # parents before their children
    root: Link
    root_is_world: bool  # the root never moves
    world_touches: bool = False  # such a root touches what hangs on it, as MuJoCo's world does
    couplings: list = field(default_factory=list)
    ties: list = field(default_factory=list)
    ropes: list = field(default_factory=list)
    exclusions: list = field(default_factory=list)  # pairs of links
    gravity: tuple = (0.0, 0.0, -9.81)
    step: float = 1e-3

    def joints(self):
        return [joint for link in self.links for joint in link.joints]


def poses(robot):
    """World pose of each link, by name, with the joints at their values: parent * offset * motions."""
    found = {}
    for link in robot.links:
        pose = found[link.parent.name] @ link.offset if link.parent else link.offset
        for joint in link.joints:
            pose = pose @ joint.motion()
        found[link.name] = pose
    return found


def joint_frames(robot, link, world):
    """(joint, world pose of the link's frame before this joint moves it), in order."""
    frame = world[link.parent.name] @ link.offset
    frames = []
    for joint in link.joints:
        frames.append((joint, frame))
        frame = frame @ joint.motion()
    return frames


def carrier_of(link):
    """The link whose body this one is part of: welded links go to their parents."""
    while link.welded:
        link = link.parent
    return link


def bodies(robot):
    """Links that are rigidly one, by the link that leads them, in the order of the links."""
    groups = {}
    for link in robot.links:
        groups.setdefault(carrier_of(link).name, []).append(link)
    return groups


def mass_of(links, world):
    """Of rigidly joined links in the world's frame, or None without any mass."""
    parts = [link.inertial.placed(world[link.name]) for link in links
             if link.inertial is not None and link.inertial.mass > 0]
    return together(parts) if parts else None
