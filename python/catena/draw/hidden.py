"""Which spheres are wholly behind others: in a bed most are, and need not be drawn."""
from __future__ import annotations

import numpy as np

# The view is cut into squares, this many to the median radius. A sphere is looked at in so many to each side of its
# middle: a larger one hides what is behind the inner squares only, and counts as seen itself.
SQUARES = 2.0
REACH = 4


class _Squares:
    """Squares about the middles of spheres: how far they are away, and what is nearest to the eye in each."""

    def __init__(self, across, side: float) -> None:
        self.size = int(np.ceil(1.0 / side)) + 4 * REACH  # with a rim for spheres that reach in or out
        place = across / side + 2 * REACH
        square = np.floor(place)
        self.inside = np.all((square >= REACH) & (square < self.size - REACH), axis=1)
        self.number = (square[:, 1] * self.size + square[:, 0]) * self.inside
        self.number = self.number.astype(np.int64)
        step = np.arange(-REACH, REACH + 1)[:, None, None]
        low = side * (step + (square - place).T)  # step x axis x sphere: where the square begins, from the middle
        self.farthest = np.maximum(-low, low + side) ** 2
        self.nearest = np.maximum(np.maximum(low, -low - side), 0.0) ** 2

    def within(self, radius, distance):
        """For each square about a sphere: rows of the spheres to whose middle it is closer, and its number."""
        square = radius ** 2
        for i in range(2 * REACH + 1):
            for j in range(2 * REACH + 1):
                rows = np.flatnonzero((distance[i, 0] + distance[j, 1] < square) & self.inside)
                yield rows, self.number[rows] + (j - REACH) * self.size + i - REACH


def seen(across, depth, cover, extent, front) -> np.ndarray:
    """Spheres that may be seen, as a mask: all others are certainly hidden, or outside the range of `across` in [0, 1).

    across  n x 2   where the middle is seen, in parts of the larger side of the view
    depth   n       how far away the middle lies
    cover   n       radius in which it surely hides what lies behind `depth`, as `across`
    extent  n       radius in which it may be seen itself
    front   n       the least depth of its surface; where <= 0 the sphere counts as seen and hides nothing
    """
    found = np.ones(len(depth), bool)
    ahead = np.flatnonzero(front > 0.0)
    if len(ahead) == 0:
        return found
    ahead = ahead[np.argsort(-depth[ahead], kind="stable")]  # from far to near
    across, depth, cover, extent, front = (x[ahead] for x in (across, depth, cover, extent, front))
    side = max(float(np.median(cover)) / SQUARES, 1 / 4096)
    squares = _Squares(across, side)
    first = np.full(squares.size**2, np.inf)
    for rows, number in squares.within(cover, squares.farthest):
        nearer = depth[rows] < first[number]
        # where a number comes twice the last one stays, which is nearest
        first[number[nearer]] = depth[rows[nearer]]
    rim = np.ones((squares.size, squares.size), bool)
    rim[2 * REACH:-2 * REACH, 2 * REACH:-2 * REACH] = False
    first[rim.reshape(-1)] = -np.inf
    shown = extent > (REACH - 1) * side
    for rows, number in squares.within(extent, squares.nearest):
        shown[rows[first[number] > front[rows]]] = True
    found[ahead] = shown
    return found


def lit(at, radius, light, sides: int) -> np.ndarray:
    """Spheres on which light falls that goes against the direction `light`: those behind them shade nothing more.

    What they shade is drawn as polygons of so many `sides` in their circles.
    """
    light = np.asarray(light, float) / np.linalg.norm(light)
    across = np.cross(light, [1.0, 0, 0] if abs(light[0]) < 0.9 else [0, 1.0, 0])
    across /= np.linalg.norm(across)
    place, depth = at @ np.array([across, np.cross(light, across)]).T, -at @ light
    place = place - (place - radius[:, None]).min(axis=0)
    side = float((place + radius[:, None]).max()) * (1 + 1e-9)
    front = depth - radius
    nearest = front.min() - 1.0
    return seen(place / side, depth - nearest, np.cos(np.pi / sides) * radius / side, radius / side, front - nearest)
