"""The scenes of dem_beside.py: grains, planes, fixed and moved grains, as all programs get them."""
import dataclasses

import numpy as np
import scipy.spatial

G = 9.81
STEP = 5e-5  # s, of the explicit programs: 13 % of the Rayleigh time of the smallest grain
DENSITY, YOUNG, POISSON, FRICTION, RESTITUTION = 2500.0, 1e7, 0.3, 0.5, 0.5
CONTACT_MODULUS = YOUNG / (2.0 * (1.0 - POISSON**2))  # E* of two equal materials
TANGENTIAL_RATIO = 2.0 * (1.0 - POISSON) / (2.0 - POISSON)  # Mindlin's 8 G* sqrt(R* d) over Hertz's 2 E* sqrt(R* d)
D = 0.01  # m, mean diameter


@dataclasses.dataclass
class Plane:
    """The half space below `at` on axis 0-2 (side 1) or above it (side -1), there until `until`."""
    axis: int
    side: int
    at: float
    until: float = np.inf


@dataclasses.dataclass
class Scene:
    name: str
    radius: np.ndarray
    x: np.ndarray
    v: np.ndarray
    planes: list
    lower: np.ndarray  # what the other programs take as their box; grains below it are gone
    upper: np.ndarray
    end: float
    every: float  # s between snapshots
    fixed_radius: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0))
    fixed_x: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros((0, 3)))
    gravity: float = G
    contacts: bool = False  # the forces of the last state are wanted
    periodic: tuple = ()  # axes along which the box repeats itself
    n_moved: int = 0  # the last ones of the fixed grains are moved as one, and what pushes them is recorded
    velocity: tuple = (0.0, 0.0, 0.0)  # m/s, of these
    turn: float = 0.0  # rad/s, of these about the y axis

    @property
    def mass(self):
        return DENSITY * 4.0 / 3.0 * np.pi * self.radius**3

    def gate(self):
        return min((p.until for p in self.planes), default=np.inf)


def lattice(counts, lower, seed):
    """Grains of radii D/2 +- 10 %, on a grid with a little play, with random velocities."""
    rng = np.random.default_rng(seed)
    spacing, n = 1.14 * D, int(np.prod(counts))
    grid = np.stack(np.meshgrid(*[np.arange(c) for c in counts], indexing="ij"), -1).reshape(-1, 3)
    grid = grid[np.argsort(grid[:, 2], kind="stable")]
    x = np.asarray(lower) + spacing * (grid + 0.5) + rng.uniform(-0.015, 0.015, (n, 3)) * D
    return 0.5 * D * rng.uniform(0.9, 1.1, n), x, rng.uniform(-0.3, 0.3, (n, 3))


def box_planes(width, depth, bottom=True):
    planes = [Plane(2, 1, 0.0)] if bottom else []
    return planes + [Plane(0, 1, 0.0), Plane(0, -1, width), Plane(1, 1, 0.0), Plane(1, -1, depth)]


def rough_floor(xs, ys):
    grid = np.stack(np.meshgrid(xs, ys, indexing="ij"), -1).reshape(-1, 2)
    return np.full(len(grid), 0.5 * D), np.column_stack([grid, np.zeros(len(grid))])


def bed(seed):
    radius, x, v = lattice((7, 7, 14), (0.0, 0.0, 0.0), seed)
    return Scene("bed", radius, x, v, box_planes(8 * D, 8 * D), np.array([-D, -D, -D]),
                 np.array([9 * D, 9 * D, 25 * D]), 1.0, 0.1, contacts=True)


SLOT = 4.5 * D


def silo(seed):
    """A box on a floor of fixed grains with a slot across, which a plane closes until 0.4 s."""
    width, depth = 14 * D, 5.7 * D
    radius, x, v = lattice((12, 5, 14), (0.0, 0.0, 1.0 * D), seed)
    # floor grains overlap; the innermost ones leave SLOT between their surfaces
    reach = np.arange(0.5 * (SLOT + D), 0.5 * width + 0.5 * D, 0.8 * D)
    floor = rough_floor(np.concatenate([0.5 * width - reach, 0.5 * width + reach]), np.arange(0.0, depth, 0.8 * D))
    return Scene("silo", radius, x, v, [Plane(2, 1, 0.0, 0.4)] + box_planes(width, depth, bottom=False),
                 np.array([-2 * D, -2 * D, -8 * D]), np.array([16 * D, 8 * D, 25 * D]), 1.2, 0.01, *floor)


def heap(seed):
    """A column between planes on a floor of fixed grains; the plane in front is taken away at 0.4 s."""
    depth, length = 5.7 * D, 40 * D
    radius, x, v = lattice((8, 5, 14), (0.0, 0.0, 0.8 * D), seed)
    floor = rough_floor(np.arange(0.0, length, 0.8 * D), np.arange(0.0, depth, 0.8 * D))
    planes = [Plane(0, -1, 9.12 * D, 0.4), Plane(0, 1, 0.0), Plane(1, 1, 0.0), Plane(1, -1, depth)]
    return Scene("heap", radius, x, v, planes, np.array([-2 * D, -2 * D, -2 * D]),
                 np.array([42 * D, 8 * D, 25 * D]), 1.2, 0.05, *floor)


DRUM_RADIUS, DRUM_TURN, DRUM_FROM = 8 * D, 2.0, 1.0  # m, of the free inside; rad/s; s


def drum(seed):
    """A drum of grains that turns from the start on, without ends: it repeats itself along its axis."""
    depth, side = 4 * 1.14 * D, 14
    radius, x, v = lattice((side, 4, side), (-0.57 * D * side, 0.0, -0.57 * D * side), seed)
    inside = np.flatnonzero(np.hypot(x[:, 0], x[:, 2]) + 0.55 * D < DRUM_RADIUS)[:440]
    at, y = np.meshgrid(np.arange(56) * 2 * np.pi / 56, (np.arange(5) + 0.5) * depth / 5, indexing="ij")
    wall = DRUM_RADIUS + 0.5 * D
    wall = np.column_stack([wall * np.cos(at).ravel(), y.ravel(), wall * np.sin(at).ravel()])
    reach = 10 * D
    return Scene("drum", radius[inside], x[inside], v[inside], [], np.array([-reach, 0.0, -reach]),
                 np.array([reach, depth, reach]), 2.5, 0.05, np.full(len(wall), 0.5 * D), wall, periodic=(1,),
                 n_moved=len(wall), turn=DRUM_TURN)


SHEAR_SIZE = np.array([10 * D, 5 * D, 8.8 * D])  # m, the last one between the centres of the walls' grains
SHEAR_SPEED, SHEAR_FROM = 0.5, 0.5  # m/s, s


def shear(seed):
    """Grains between two walls of fixed grains, the upper one of which moves along x; without gravity."""
    rng, n = np.random.default_rng(seed), 400
    radius = 0.5 * D * rng.uniform(0.9, 1.1, n)
    radius *= 0.5 * D * (1.01 * n / (radius**3).sum())**(1.0 / 3.0)  # the same volume for all seeds
    floor = np.stack(np.meshgrid(np.arange(10) + 0.5, np.arange(5) + 0.5, [0.0], indexing="ij"), -1).reshape(-1, 3) * D
    walls = np.concatenate([floor, floor + [0.0, 0.0, SHEAR_SIZE[2]]])
    x = np.concatenate([[0.0, 0.0, D] + rng.uniform(0.0, 1.0, (n, 3)) * (SHEAR_SIZE - [0.0, 0.0, 2 * D]), walls])
    reach = np.concatenate([radius, np.full(len(walls), 0.5 * D)])
    scene = Scene("shear", radius, x[:n], np.zeros((n, 3)), [], np.array([0.0, 0.0, -D]),
                  SHEAR_SIZE + [0.0, 0.0, D], 3.0, 0.05, np.full(len(walls), 0.5 * D), walls, gravity=0.0,
                  periodic=(0, 1), n_moved=len(floor), velocity=(SHEAR_SPEED, 0.0, 0.0))
    while True:  # grains at random places are moved apart
        a, b, between, overlap = overlaps(scene, x, reach)
        if overlap.max(initial=0.0) < 0.005 * D:
            break
        push = between * (0.7 * overlap / np.linalg.norm(between, axis=1))[:, None]
        np.add.at(x, a, push)
        np.add.at(x, b, -push)
        x[n:] = walls
        x[:n, :2] %= SHEAR_SIZE[:2]
    scene.x = x[:n]
    scene.v[:, 0] = SHEAR_SPEED * x[:n, 2] / SHEAR_SIZE[2]
    return scene


def overlaps(scene, x, radius):
    """Pairs a, b that overlap, x_a - x_b of the nearest images, and by how much, m."""
    size = scene.upper - scene.lower
    period = np.where([axis in scene.periodic for axis in range(3)], size, 10 * size)
    tree = scipy.spatial.cKDTree((x - scene.lower + 1e-9) % period, boxsize=period)
    a, b = tree.query_pairs(2 * radius.max(), output_type="ndarray").T
    between = x[a] - x[b]
    between -= period * np.round(between / period)
    overlap = radius[a] + radius[b] - np.linalg.norm(between, axis=1)
    on = (overlap > 0.0) & (np.minimum(a, b) < len(scene.radius))
    return a[on], b[on], between[on], overlap[on]


IMPACTS = [("plane, 1 m/s down", (0.0, -1.0)), ("plane, 0.1 m/s down", (0.0, -0.1)),
           ("plane, 0.5 m/s along and 1 m/s down", (0.5, -1.0)), ("plane, 1 m/s along and 1 m/s down", (1.0, -1.0)),
           ("plane, 3 m/s along and 1 m/s down", (3.0, -1.0))]


def impacts(_seed):
    """Balls of 5 mm that hit a plane, and two that hit each other, without gravity; far from each other."""
    r, gap = 0.5 * D, 1e-4
    x = [[0.2 * i, 0.0, r + gap] for i in range(len(IMPACTS))] + [[0.0, 0.2, 0.1], [2 * r + gap, 0.2, 0.1]]
    v = [[vx, 0.0, vz] for _, (vx, vz) in IMPACTS] + [[0.5, 0.0, 0.25], [-0.5, 0.0, -0.25]]
    return Scene("impacts", np.full(len(x), r), np.array(x), np.array(v), [Plane(2, 1, 0.0)],
                 np.array([-0.2, -0.2, -0.1]), np.array([1.5, 0.4, 0.3]), 0.04, 0.02, gravity=0.0)


def rest(_seed):
    """A ball on a plane and one on a fixed ball."""
    r = 0.5 * D
    return Scene("rest", np.full(2, r), np.array([[0.0, 0.0, r], [0.1, 0.0, 3 * r]]), np.zeros((2, 3)),
                 [Plane(2, 1, 0.0)], np.array([-0.1, -0.1, -0.1]), np.array([0.2, 0.1, 0.1]), 1.0, 0.5,
                 np.array([r]), np.array([[0.1, 0.0, r]]), contacts=True)


SCENES = {"impacts": impacts, "rest": rest, "bed": bed, "silo": silo, "heap": heap, "drum": drum, "shear": shear}
