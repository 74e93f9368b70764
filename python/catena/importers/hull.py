"""The convex hull of points: quickhull, which can stop at a number of corners."""
import numpy as np


class _Face:
    def __init__(self, corners, points, inside):
        a, b, c = points[list(corners)]
        normal = np.cross(b - a, c - a)
        normal /= np.linalg.norm(normal)
        if normal @ (inside - a) > 0:
            corners, normal = (corners[0], corners[2], corners[1]), -normal
        self.corners, self.normal, self.offset = corners, normal, normal @ a
        self.outside = np.zeros(0, int)
        self.farthest, self.distance = -1, 0.0

    def take(self, candidates, points, tolerance):
        """Keeps the candidates that lie outside of this face; returns the others."""
        if not len(candidates):
            return candidates
        distance = points[candidates] @ self.normal - self.offset
        mine = distance > tolerance
        self.outside = candidates[mine]
        if mine.any():
            k = int(np.argmax(distance))
            self.farthest, self.distance = int(candidates[k]), float(distance[k])
        return candidates[~mine]


def _first_corners(points, size):
    """Four points that span a volume, or None."""
    a = int(np.argmin(points[:, 0]))
    b = int(np.argmax(np.linalg.norm(points - points[a], axis=1)))
    along = points[b] - points[a]
    if np.linalg.norm(along) <= 0:
        return None
    along = along / np.linalg.norm(along)
    offset = points - points[a]
    across = np.linalg.norm(offset - np.outer(offset @ along, along), axis=1)
    c = int(np.argmax(across))
    normal = np.cross(along, points[c] - points[a])
    height = np.abs(offset @ normal)
    d = int(np.argmax(height))
    if height[d] <= 1e-9 * size * np.linalg.norm(normal) or across[c] <= 1e-9 * size:
        return None
    return a, b, c, d


def convex_hull(points, most=None):
    """(corners, triangles, gap): corners of the hull, its faces counter-clockwise from outside, and how far
    points reach beyond the planes of its faces where `most` corners are not enough. None: no volume."""
    points = np.unique(np.asarray(points, float), axis=0)
    size = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    first = _first_corners(points, size) if len(points) >= 4 else None
    if first is None:
        return None
    tolerance = 1e-9 * size
    inside = points[list(first)].mean(axis=0)
    faces = [_Face(tuple(first[i] for i in range(4) if i != k), points, inside) for k in range(4)]
    rest = np.arange(len(points))
    for face in faces:
        rest = face.take(rest, points, tolerance)
    used = 4
    while True:
        widest = max(faces, key=lambda face: face.distance)
        if widest.farthest < 0 or (most is not None and used >= most):
            break
        used += 1
        apex = widest.farthest
        seen = [f for f in faces if f.normal @ points[apex] - f.offset > tolerance]
        edges = {(f.corners[i], f.corners[(i + 1) % 3]) for f in seen for i in range(3)}
        horizon = [(i, j) for i, j in edges if (j, i) not in edges]
        new = [_Face((i, j, apex), points, inside) for i, j in sorted(horizon)]
        rest = np.concatenate([f.outside for f in seen])
        rest = rest[rest != apex]
        for face in new:
            rest = face.take(rest, points, tolerance)
        gone = set(map(id, seen))
        faces = [f for f in faces if id(f) not in gone] + new
    corners = sorted({i for face in faces for i in face.corners})
    number = {corner: k for k, corner in enumerate(corners)}
    triangles = np.array([[number[i] for i in face.corners] for face in faces])
    left = points[np.concatenate([face.outside for face in faces])]
    gap = max((float((left @ face.normal - face.offset).max()) for face in faces)) if len(left) else 0.0
    return points[corners], triangles, gap
