"""Meshes of robot models: STL and OBJ files, their mass properties, their hulls."""
import os
import struct

import numpy as np

from .errors import ImportProblem
from .rotations import MassProperties


def _binary_stl(data):
    """Corners (n, 3, 3) of a binary STL, or None if the length does not fit one."""
    if len(data) < 84:
        return None
    count = struct.unpack_from("<I", data, 80)[0]
    if len(data) < 84 + 50 * count or count == 0:
        return None
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    return np.frombuffer(data, record, count, 84)["corners"].astype(float)


def _text_stl(data):
    rows = [line.split()[1:4] for line in data.decode("utf-8", "replace").splitlines()
            if line.split()[:1] == ["vertex"]]
    if not rows or len(rows) % 3:
        return None
    return np.array(rows, float).reshape(-1, 3, 3)


def _obj(data):
    vertices, corners = [], []
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            vertices.append([float(w) for w in words[1:4]])
        elif words[:1] == ["f"]:
            ids = [int(w.split("/")[0]) for w in words[1:]]
            ids = [i - 1 if i > 0 else len(vertices) + i for i in ids]
            corners += [(ids[0], ids[k], ids[k + 1]) for k in range(1, len(ids) - 1)]
    if not corners:
        return None
    return np.array(vertices, float)[np.array(corners)]


def read_mesh(path, scale, where):
    """Corners of the triangles, (n, 3, 3), times `scale`. Errors carry the place in the model."""
    extension = os.path.splitext(path)[1].lower()
    if extension not in (".stl", ".obj"):
        raise ImportProblem(where, f"mesh {path}: {extension or 'a file without extension'} cannot be read",
                            "convert it to STL or OBJ")
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ImportProblem(where, f"mesh {path}: {error.strerror}", "check the path") from None
    try:
        if extension == ".obj":
            corners = _obj(data)
        elif data[:5] == b"solid" and b"vertex" in data[:2000]:
            corners = _text_stl(data)
        else:
            corners = _binary_stl(data)
    except (ValueError, IndexError):
        corners = None
    if corners is None or not np.isfinite(corners).all():
        raise ImportProblem(where, f"mesh {path}: is no complete {extension[1:].upper()} file", "export it again")
    return corners * np.asarray(scale, float)


def mesh_properties(corners, density=1.0):
    """Mass properties of the volume inside, by tetrahedra to the mean corner; mirrored meshes included."""
    origin = corners.reshape(-1, 3).mean(axis=0)
    a, b, c = (corners[:, k] - origin for k in range(3))
    d = np.einsum("ij,ij->i", a, np.cross(b, c))
    volume = d.sum() / 6
    if volume == 0:
        return MassProperties(0.0, origin, np.zeros((3, 3)))
    s = a + b + c
    centre = (d[:, None] * s).sum(axis=0) / 24 / volume
    second = sum(np.einsum("i,ij,ik->jk", d, x, x) for x in (a, b, c, s)) / 120 / volume
    moments = second - np.outer(centre, centre)
    mass = density * abs(volume)
    return MassProperties(mass, origin + centre, mass * (np.trace(moments) * np.eye(3) - moments))


def is_closed(corners):
    """Whether each edge has one face on either side, counter-clockwise from outside."""
    _, number = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    faces = number.reshape(-1, 3)
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    there = {tuple(edge) for edge in edges}
    a, b, c = (corners[:, k] for k in range(3))
    return (len(there) == len(edges) and all((j, i) in there for i, j in there)
            and np.einsum("ij,ij->", a, np.cross(b, c)) > 0)
