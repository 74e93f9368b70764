"""Surfaces of bodies from the numbers that a result holds, with NumPy alone."""
from __future__ import annotations

from typing import Any, Iterator

import numpy as np


def rotation(q) -> np.ndarray:
    """Rotation matrices (n x 3 x 3) of unit quaternions (w, x, y, z).

    >>> rotation(np.array([[0.5**0.5, 0, 0, 0.5**0.5]])).round(12)[0, 1, 0]
    1.0
    """
    w, x, y, z = np.asarray(q, float).T
    return np.moveaxis(np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]), 2, 0)


def product(a, b) -> np.ndarray:
    """Products of unit quaternions (w, x, y, z): first b turns, then a."""
    aw, av = np.asarray(a)[..., :1], np.asarray(a)[..., 1:]
    bw, bv = np.asarray(b)[..., :1], np.asarray(b)[..., 1:]
    w = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([w, aw * bv + bw * av + np.cross(av, bv)], axis=-1)


def read_geometry(group) -> dict[str, Any]:
    """Points (m) and faces, or parts, of a group of /geometries in bodies.h5 (docs/output.md)."""
    g: dict[str, Any] = {"type": group.attrs["type"], "open": bool(group.attrs.get("two_sided", 0))}
    if g["type"] == "hull":
        begin, corner = group["face_begin"][()], group["face_corners"][()]
        g["points"] = group["vertices"][()]
        g["faces"] = [corner[a:b] for a, b in zip(begin[:-1], begin[1:])]
    elif g["type"] == "mesh":
        g["points"], g["faces"] = group["vertices"][()], group["triangles"][()]
    elif g["type"] == "heightfield":
        height, (dx, dy) = group["heights"][()], group["spacing"][()]
        ny, nx = height.shape
        x, y = np.meshgrid(dx * np.arange(nx), dy * np.arange(ny))
        g["points"] = np.stack([x, y, height], axis=-1).reshape(-1, 3) + group["origin"][()]
        low = (np.arange(ny - 1)[:, None] * nx + np.arange(nx - 1)).reshape(-1)
        g["faces"] = np.concatenate([np.stack([low, low + 1, low + nx + 1], axis=1),
                                     np.stack([low, low + nx + 1, low + nx], axis=1)])
    else:
        g["parts"] = list(zip(group["part_shape"].asstr()[()], group["part_size"][()],
                              group["part_geometry"][()], group["part_closed_ends"][()],
                              group["part_position"][()], group["part_orientation"][()]))
    return g


def turned(profile, n: int) -> dict[str, Any]:
    """Points and faces of a closed profile of (radius, height), turned about z in n steps."""
    m = len(profile)
    angle = 2 * np.pi * np.arange(n) / n
    r, z = np.array(profile, float).T
    points = np.stack([np.outer(np.cos(angle), r), np.outer(np.sin(angle), r), np.tile(z, (n, 1))],
                      axis=-1).reshape(-1, 3)
    faces = []
    for k in range(m):
        here, there = np.arange(n) * m + k, np.arange(n) * m + (k + 1) % m
        faces.append(np.stack([here, there, np.roll(there, -1), np.roll(here, -1)], axis=1))
    return {"points": points, "faces": np.concatenate(faces)}


def hollow_cylinder(inner: float, length: float, thickness: float, ends: int) -> dict[str, Any]:
    half, outer = length / 2, inner + thickness
    low = -half - (thickness if ends & 1 else 0)
    high = half + (thickness if ends & 2 else 0)
    profile = [(inner, -half), (inner, half)]
    profile += [(0, half), (0, high)] if ends & 2 else []
    profile += [(outer, high), (outer, low)]
    profile += [(0, low), (0, -half)] if ends & 1 else []
    return turned(profile, 72)


def sphere(level: int) -> dict[str, Any]:
    """A unit sphere of 20 * 4^level triangles, vertices on the sphere."""
    golden = (1 + 5**0.5) / 2
    corners = np.array([(s, t * golden, 0) for s in (-1, 1) for t in (-1, 1)], float)
    points = np.concatenate([corners, corners[:, [2, 0, 1]], corners[:, [1, 2, 0]]])
    points /= np.linalg.norm(points[0])
    edge = 2 / np.linalg.norm([1, golden])
    near = np.abs(np.linalg.norm(points[:, None] - points[None], axis=2) - edge) < 1e-9
    faces = np.array([(a, b, c) for a in range(12) for b in range(a) for c in range(b)
                      if near[a, b] and near[b, c] and near[c, a]])
    inward = np.linalg.det(points[faces]) < 0
    faces[inward] = faces[inward][:, ::-1]
    for _ in range(level):
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        unique, place = np.unique(edges, axis=0, return_inverse=True)
        middle = points[unique].sum(axis=1)
        ab, bc, ca = len(points) + place.reshape(3, -1)
        points = np.concatenate([points, middle / np.linalg.norm(middle, axis=1, keepdims=True)])
        a, b, c = faces.T
        faces = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    return {"points": points, "faces": faces}


def box() -> dict[str, Any]:
    """The cube with edges of length 1 about the origin."""
    points = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return {"points": points, "faces": np.array(faces)}


def template(key, geometries, level: int) -> dict[str, Any]:
    """Points and faces of what a key of `primitives` copies; round shapes finer with `level` (0 to 3)."""
    if key == "sphere":
        return sphere(level)
    if key == "box":
        return box()
    if key in ("cylinder", "tube"):  # radius 1 about z, length 1; a tube is open
        n = 8 * 2**level
        made = turned([(1, -0.5), (1, 0.5)], n)
        sides, ends = made["faces"][:n], []
        if key == "cylinder":
            ends = [2 * np.arange(n)[::-1], 2 * np.arange(n) + 1]
        made["faces"] = list(outward(sides, made["points"])) + ends
        return made
    if key[0] == "hollow":
        return hollow_cylinder(*key[1], key[2])
    return geometries[key[1]]


def outward(faces, points) -> np.ndarray:
    """Faces of a surface about the origin, counter-clockwise from outside."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    inward = np.sum(np.cross(b - a, c - a) * (a + c), axis=1) < 0
    faces = np.array(faces)
    faces[inward] = faces[inward][:, ::-1]
    return faces


def outer_radius(shape: str, size, geometry: int, geometries) -> float:
    """m, of a sphere about the body's position that holds it; 0 for planes."""
    if shape == "sphere":
        return float(size[0])
    if shape == "box":
        return float(np.linalg.norm(size)) / 2
    if shape == "capsule":
        return float(size[0] + size[1] / 2)
    if shape == "cylinder":
        return float(np.hypot(size[0], size[1] / 2))
    if shape == "hollow_cylinder":
        return float(np.hypot(size[0] + size[2], size[1] / 2 + size[2]))
    if geometry < 0:
        return 0.0
    g = geometries[geometry]
    if "points" in g:
        return float(size[0]) * float(np.linalg.norm(g["points"], axis=1).max())
    return float(size[0]) * max(float(np.linalg.norm(p)) + outer_radius(s, d, k, geometries)
                                for s, d, k, _, p, _ in g["parts"])


def extents(bodies, geometries) -> np.ndarray:
    """Outer radii of all bodies of a table or snapshot, m."""
    shape, size = np.asarray(bodies.shape), np.asarray(bodies.size)
    found = np.where(shape == "sphere", size[:, 0], 0.0)
    for k in np.flatnonzero(shape != "sphere"):
        found[k] = outer_radius(shape[k], size[k], int(bodies.geometry[k]), geometries)
    return found


def _simple(shape, geometry, ends, wall, at, turn, size, rows, geometries) -> Iterator[tuple]:
    """(key, position, quaternion, scale, rows) of bodies or parts of one shape."""
    same = size[:, [0, 0, 0]]
    if shape == "sphere":
        yield "sphere", at, turn, same, rows
    elif shape == "box":
        yield "box", at, turn, size, rows
    elif shape in ("cylinder", "capsule"):
        yield "cylinder" if shape == "cylinder" else "tube", at, turn, size[:, [0, 0, 1]], rows
        axis = rotation(turn)[:, :, 2]
        for sign in (-0.5, 0.5) if shape == "capsule" else ():
            yield "sphere", at + sign * size[:, 1, None] * axis, turn, same, rows
    elif shape == "hollow_cylinder":
        for k in range(len(rows)):
            yield ("hollow", tuple(size[k]), int(ends), bool(wall[k])), at[[k]], turn[[k]], np.ones((1, 3)), rows[[k]]
    elif geometry >= 0 and "points" in geometries[geometry]:
        yield ("geometry", int(geometry)), at, turn, same, rows
    elif geometry >= 0:
        scale, turns = size[:, :1], rotation(turn)
        for part, part_size, inner, part_ends, place, part_turn in geometries[geometry]["parts"]:
            sizes = scale * (part_size if inner < 0 else np.array([part_size[0], 0, 0]))
            yield from _simple(part, inner, part_ends, wall, at + scale * (turns @ place),
                               product(turn, np.broadcast_to(part_turn, turn.shape)), sizes, rows, geometries)


def primitives(snapshot, geometries, pick=None) -> dict[Any, tuple]:
    """What draws the bodies of a snapshot (rows `pick`, or all): key -> (position, quaternion, scale, rows).

    The surface of `template(key, ...)`, scaled, turned and moved so, is that of a body or of a part of it; `rows`
    are those bodies' rows in the snapshot. Planes and bodies without shape have none. A hollow cylinder's key says
    whether it is a wall (fixed or kinematic), which one may want to see through.
    """
    at, turn, size = (np.asarray(x, float) for x in (snapshot.position, snapshot.orientation, snapshot.size))
    shape, geometry, ends = (np.asarray(x) for x in (snapshot.shape, snapshot.geometry, snapshot.closed_ends))
    wall = np.asarray(snapshot.kind) != "dynamic"
    pick = np.arange(len(shape)) if pick is None else pick
    found: dict[Any, list] = {}
    for s, g, e in sorted(set(zip(shape[pick], geometry[pick], ends[pick]))):
        rows = pick[(shape[pick] == s) & (geometry[pick] == g) & (ends[pick] == e)]
        for key, *arrays in _simple(s, g, e, wall[rows], at[rows], turn[rows], size[rows], rows, geometries):
            found.setdefault(key, []).append(arrays)
    return {key: tuple(np.concatenate(x) for x in zip(*parts)) for key, parts in found.items()}


def triangles(faces) -> np.ndarray:
    """Convex faces of any number of corners as triangles."""
    return np.array([(f[0], f[k], f[k + 1]) for f in faces for k in range(1, len(f) - 1)], np.int64).reshape(-1, 3)


def copies(at, turn, scale, points, normals, faces):
    """Points, normals and triangles of a surface at each position, scaled and turned."""
    turns = rotation(turn)
    moved = np.einsum("nij,nkj->nki", turns, scale[:, None, :] * points) + at[:, None, :]
    across = np.einsum("nij,nkj->nki", turns, normals / scale[:, None, :])
    # corners that only faces without area meet in have no normal
    across /= np.maximum(np.linalg.norm(across, axis=2, keepdims=True), 1e-300)
    cells = faces + len(points) * np.arange(len(at))[:, None, None]
    return moved.reshape(-1, 3), across.reshape(-1, 3), cells.reshape(-1, 3)
