"""A result as files of VTK: true surfaces, contacts with forces, force chains and joints, for ParaView."""
from __future__ import annotations

import argparse
import os
import pathlib
import sys
from typing import Union

import numpy as np

from . import fields
from .errors import CatenaError
from .geometry import copies, primitives, template, triangles
from .result import Result

KINDS = ("spheres", "surfaces", "contacts", "chains", "joints")


class _Writer:
    def __init__(self, folder: pathlib.Path) -> None:
        import vtk
        from vtk.util.numpy_support import numpy_to_vtk
        self.vtk, self.numpy_to_vtk, self.folder = vtk, numpy_to_vtk, folder

    def data(self, points, cells, width: int, on_points=(), on_cells=()):
        """Points, cells of `width` corners (1: vertices, 2: lines, 3: triangles), and named arrays."""
        vtk = self.vtk
        held = vtk.vtkPoints()
        held.SetData(self.numpy_to_vtk(np.ascontiguousarray(points, float).reshape(-1, 3), deep=True))
        data, cell = vtk.vtkPolyData(), vtk.vtkCellArray()
        data.SetPoints(held)
        cell.SetData(width, self.numpy_to_vtk(np.ascontiguousarray(cells, np.int64).reshape(-1), deep=True,
                                              array_type=vtk.VTK_ID_TYPE))
        {1: data.SetVerts, 2: data.SetLines, 3: data.SetPolys}[width](cell)
        for attributes, arrays in ((data.GetPointData(), on_points), (data.GetCellData(), on_cells)):
            for name, values in dict(arrays).items():
                array = self.numpy_to_vtk(np.ascontiguousarray(values), deep=True)
                array.SetName(name)
                attributes.AddArray(array)
        return data

    def write(self, kind: str, step: int, data) -> str:
        name = f"{kind}-{step:08d}.vtp"
        writer = self.vtk.vtkXMLPolyDataWriter()
        writer.SetFileName(str(self.folder / name))
        writer.SetInputData(data)
        if not writer.Write():
            raise CatenaError("cannot be written", self.folder / name)
        return name


def _body_numbers(result, snapshot, rows):
    """What is known of the bodies of `rows`, by the names of the arrays."""
    of = {name: np.asarray(fields.field(result, snapshot, name)) for name in fields.NAMES}
    of.update({name: np.asarray(getattr(snapshot, name)) for name in ("id", "velocity", "angular_velocity")})
    return {name: values[rows] for name, values in of.items()}


def _spheres(writer, result, snapshot, level):
    """Spheres, parts that are such and caps of capsules, as points with a radius for glyphs."""
    at, _, scale, rows = primitives(snapshot, result.geometries).get(
        "sphere", (np.empty((0, 3)), None, np.empty((0, 3)), np.empty(0, int)))
    return writer.data(at, np.arange(len(at)), 1,
                       {**_body_numbers(result, snapshot, rows), "radius": np.ascontiguousarray(scale[:, 0])})


def _surfaces(writer, result, snapshot, level):
    """All bodies but planes, as triangles that hold their body's numbers."""
    points, cells, rows, start = [np.empty((0, 3))], [np.empty((0, 3), int)], [np.empty(0, int)], 0
    for key, (at, turn, scale, bodies) in primitives(snapshot, result.geometries).items():
        made = template(key, result.geometries, level)
        faces = triangles(made["faces"])
        p, _, c = copies(at, turn, scale, np.asarray(made["points"], float), np.ones_like(made["points"], float), faces)
        points.append(p)
        cells.append(c + start)
        rows.append(np.repeat(bodies, len(faces)))
        start += len(p)
    return writer.data(np.concatenate(points), np.concatenate(cells), 3,
                       on_cells=_body_numbers(result, snapshot, np.concatenate(rows)))


def _contacts(writer, result, snapshot, level):
    c = snapshot.contacts
    return writer.data(c.point, np.arange(len(c)), 1,
                       {name: np.asarray(getattr(c, name)) for name in ("bodies", "normal", "gap", "force")})


def _chains(writer, result, snapshot, level):
    a, b, force = fields.chains(snapshot)
    return writer.data(np.stack([a, b], axis=1), np.arange(2 * len(a)), 2, on_cells={"normal_force": np.asarray(force)})


def _joints(writer, result, snapshot, level):
    pairs, rows = fields.joined(result, snapshot)
    ids = np.asarray(result.joints.id)[rows]
    return writer.data(np.asarray(snapshot.position)[pairs], np.arange(2 * len(pairs)), 2, on_cells={"id": ids})


def write_vtk(result: Result, out: Union[str, "os.PathLike[str]"], level: int = 1) -> list[pathlib.Path]:
    """Writes all snapshots to the folder `out`; returns the indices (.pvd) that ParaView opens.

    surfaces.pvd: bodies as triangles, numbers of the body on each; spheres.pvd: those of them that are spheres, as
    points with a radius; contacts.pvd: points with force (N, on the second body); chains.pvd: lines of normal force;
    joints.pvd: lines between the centres of joined bodies.
    `level` (0 to 3): how finely round shapes are cut.
    """
    folder = pathlib.Path(out)
    if any(folder.glob("*.pvtp")):
        raise CatenaError("holds what the run itself has written (output.vtk)", folder,
                          "open these files, or choose another folder with -o")
    folder.mkdir(parents=True, exist_ok=True)
    writer = _Writer(folder)
    entries: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for snapshot in result:
        for kind, make in zip(KINDS, (_spheres, _surfaces, _contacts, _chains, _joints)):
            name = writer.write(kind, snapshot.step, make(writer, result, snapshot, level))
            entries[kind].append(f'    <DataSet timestep="{snapshot.time!r}" file="{name}"/>\n')
    made = []
    for kind, lines in entries.items():
        made.append(folder / f"{kind}.pvd")
        made[-1].write_text('<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1">\n  <Collection>\n' +
                            "".join(lines) + "  </Collection>\n</VTKFile>\n")
    return made


def main() -> int:
    parser = argparse.ArgumentParser(prog="catena vtk", description=__doc__)
    parser.add_argument("result", help="result directory")
    parser.add_argument("-o", "--output", help="folder; default RESULT_DIR/vtk")
    parser.add_argument("--level", type=int, choices=range(4), default=1, help="how finely round shapes are cut")
    args = parser.parse_args()
    try:
        for path in write_vtk(Result(args.result), args.output or pathlib.Path(args.result, "vtk"), args.level):
            print(path)
    except (CatenaError, OSError) as e:
        print(e, file=sys.stderr)
        return 5
    except ImportError as e:
        print(f"{e}; install python3-vtk9 (or pip install vtk)", file=sys.stderr)
        return 5
    return 0
