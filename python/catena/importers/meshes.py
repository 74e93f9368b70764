"""Meshes of robot models: STL and OBJ files, their mass properties, their hulls."""
import os
import struct
from dataclasses import dataclass

import numpy as np

from .errors import ImportProblem
from .rotations import MassProperties


NOISE = 1e-12  # part of the size; smaller coordinates are zero, as they are where the case is read


class _Malformed(Exception):
    """What is wrong with a file, and the line, if it has such."""

    def __init__(self, found, line=None):
        super().__init__(found)
        self.line = line


@dataclass
class Mesh:
    """Corners of the triangles, (n, 3, 3), and where each stands in the file."""
    path: str
    corners: np.ndarray
    lines: list = None  # of text files; None: numbers of facets count

    def place(self, facet):
        if self.lines is None:
            return f"{os.path.basename(self.path)}: facet {facet + 1}"
        return f"{os.path.basename(self.path)}:{self.lines[facet]}"


def _binary_stl(data):
    if len(data) < 84:
        raise _Malformed(f"neither an STL text nor a binary STL: only {len(data)} bytes")
    count = struct.unpack_from("<I", data, 80)[0]
    if count == 0 or len(data) < 84 + 50 * count:
        raise _Malformed(f"a binary STL of {count} facets has {84 + 50 * count} bytes, this has {len(data)}: it is cut off "
                         "or no STL")
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    return np.frombuffer(data, record, count, 84)["corners"].astype(float), None


def _numbers(words, line):
    try:
        values = [float(word) for word in words]
    except ValueError:
        values = []
    if len(values) < 3 or not np.isfinite(values[:3]).all():
        raise _Malformed(f"{' '.join(words)!r} are not three finite numbers", line)
    return values[:3]


def _text_stl(data):
    corners, lines, ended, number = [], [], False, 0
    for number, text in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        words = text.split()
        if words[:1] == ["facet"]:
            lines.append(number)
        elif words[:1] == ["vertex"]:
            corners.append(_numbers(words[1:4], number))
        elif words[:1] == ["endfacet"] and len(corners) != 3 * len(lines):
            raise _Malformed("a facet that has not three vertices", number)
        ended = ended or words[:1] == ["endsolid"]
    if not ended or not corners or len(corners) != 3 * len(lines):
        raise _Malformed("ends without endsolid: the file is cut off" if corners else "has no facets", number)
    return np.array(corners, float).reshape(-1, 3, 3), lines


def _obj(data):
    vertices, corners, lines = [], [], []
    for number, text in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        words = text.split()
        if words[:1] == ["v"]:
            vertices.append(_numbers(words[1:4], number))
        elif words[:1] == ["f"]:
            try:
                ids = [int(w.split("/")[0]) for w in words[1:]]
            except ValueError:
                ids = []
            ids = [i - 1 if i > 0 else len(vertices) + i for i in ids]
            if len(ids) < 3 or not all(0 <= i < len(vertices) for i in ids):
                raise _Malformed(f"the face names a vertex that is none of the {len(vertices)} before this line", number)
            corners += [(ids[0], ids[k], ids[k + 1]) for k in range(1, len(ids) - 1)]
            lines += [number] * (len(ids) - 2)
    if not corners:
        raise _Malformed("has no faces")
    return np.array(vertices, float)[np.array(corners)], lines


def read_mesh(path, scale, where):
    """The triangles times `scale`, counter-clockwise from outside where a scale mirrors, too. Errors carry the place
    in the model, and that in the file."""
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
            corners, lines = _obj(data)
        elif data[:5] == b"solid" and b"facet" in data[:2000]:
            corners, lines = _text_stl(data)
        else:
            corners, lines = _binary_stl(data)
        if not np.isfinite(corners).all():
            raise _Malformed("coordinates that are not finite")
    except _Malformed as fault:
        line = "" if fault.line is None else f":{fault.line}"
        raise ImportProblem(where, f"mesh {path}{line}: {fault}", "export it again") from None
    # programs write the rounding of a zero, differently in each facet: its corners would not meet
    corners[np.abs(corners) < NOISE * np.ptp(corners.reshape(-1, 3), axis=0).max()] = 0.0
    corners = corners * np.asarray(scale, float)
    return Mesh(path, corners[:, ::-1] if np.prod(scale) < 0 else corners, lines)


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


def mesh_fault(mesh):
    """Why the triangles are no surface of a body, with the first of them and what to do; None if they are one:
    two faces at each edge, which agree about outside. Facets without area do not count."""
    _, number = np.unique(mesh.corners.reshape(-1, 3), axis=0, return_inverse=True)
    faces = number.reshape(-1, 3)
    solid = np.flatnonzero((faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0]))
    if not len(solid):
        return f"{mesh.place(0)}: no facet has an area; check its scale, or export it again"
    there = {}
    for facet in solid:
        for k in range(3):
            there.setdefault((int(faces[facet, k]), int(faces[facet, (k + 1) % 3])), []).append(facet)
    twice = [facets[1] for facets in there.values() if len(facets) > 1]
    if twice:
        return (f"{mesh.place(min(twice))}: {len(twice)} edges have faces that disagree about outside, or more than "
                "two; make normals consistent (Blender: Mesh, Normals, Recalculate Outside) and remove inner walls")
    alone = [facets[0] for (i, j), facets in there.items() if (j, i) not in there]
    if alone:
        return f"{mesh.place(min(alone))}: open, {len(alone)} edges have only one face; close the holes"
    a, b, c = (mesh.corners[:, k] - mesh.corners.reshape(-1, 3).mean(axis=0) for k in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
    if volume <= 1e-12 * np.ptp(mesh.corners.reshape(-1, 3), axis=0).max() ** 3:
        what = "turned inside out, all faces point inwards; flip the normals" if volume < 0 else "encloses no volume"
        return f"{mesh.place(0)}: {what}"
    return None
