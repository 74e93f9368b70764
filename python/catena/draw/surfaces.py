"""What VTK draws: many copies of a surface as one, each as fine as its size in the picture asks for."""
from __future__ import annotations

import numpy as np

from ..geometry import copies, template, triangles

# Radii in pixels up to which 8, 16, 32 sides (and else 64) come within 0.3 pixels of a circle.
FINENESS = (4.0, 16.0, 62.0)
DISC_SIDES = 12


def levels(pixels) -> np.ndarray:
    """Levels of `geometry.template` for round shapes of these radii in pixels."""
    return np.searchsorted(FINENESS, pixels)


def largest_sprite(focal: float) -> float:
    """Radius in pixels up to which a sphere may be a sprite; focal: distance of the picture's plane in pixels.

    A sprite is as large as the sphere's circle across the line of sight. The rim that perspective shows lies nearer to
    the eye and seems larger by r^3 / (2 focal^2) pixels, of which a sprite misses parts: 0.25 pixels are allowed.
    """
    return (0.5 * focal**2) ** (1 / 3)


def disc(normal):
    """Points, normals and triangles of a unit circle about a direction."""
    normal = np.asarray(normal, float) / np.linalg.norm(normal)
    across = np.cross(normal, [1.0, 0, 0] if abs(normal[0]) < 0.9 else [0, 1.0, 0])
    across /= np.linalg.norm(across)
    angle = 2 * np.pi * np.arange(DISC_SIDES)[:, None] / DISC_SIDES
    points = np.cos(angle) * across + np.sin(angle) * np.cross(normal, across)
    faces = np.array([(0, k, k + 1) for k in range(1, DISC_SIDES - 1)])
    return points, np.tile(normal, (DISC_SIDES, 1)), faces


class Surfaces:
    """Makes VTK's mappers from arrays; surfaces to be copied are kept from frame to frame."""

    def __init__(self, geometries) -> None:
        import vtk
        from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy
        self.vtk, self.geometries, self.kept = vtk, geometries, {}
        self.to_vtk = lambda x: numpy_to_vtk(np.ascontiguousarray(x), deep=True)
        self.to_ids = lambda x: numpy_to_vtk(np.ascontiguousarray(x, np.int64), deep=True, array_type=vtk.VTK_ID_TYPE)
        self.to_numpy = vtk_to_numpy

    def data(self, points, cells, width: int):
        """Points, and cells of `width` corners: 1 vertices, 2 lines, 3 and more faces."""
        held = self.vtk.vtkPoints()
        held.SetData(self.to_vtk(points))
        data, cell = self.vtk.vtkPolyData(), self.vtk.vtkCellArray()
        data.SetPoints(held)
        cell.SetData(width, self.to_ids(np.reshape(cells, -1)))
        {1: data.SetVerts, 2: data.SetLines}.get(width, data.SetPolys)(cell)
        return data

    def source(self, key, level: int):
        """Points, normals and triangles of what is copied for the primitives of a key."""
        if (key, level) in self.kept:
            return self.kept[key, level]
        made = template(key, self.geometries, level)
        points, faces = np.asarray(made["points"], float), triangles(made["faces"])
        if key == "sphere":
            found = points, points, faces
        else:
            normals = self.vtk.vtkPolyDataNormals()
            normals.SetInputData(self.data(points, faces, 3))
            normals.SetFeatureAngle(40.0)
            normals.Update()
            data = normals.GetOutput()
            found = (self.to_numpy(data.GetPoints().GetData()).astype(float),
                     self.to_numpy(data.GetPointData().GetNormals()).astype(float),
                     self.to_numpy(data.GetPolys().GetConnectivityArray()).reshape(-1, 3))
        self.kept[key, level] = found
        return found

    def copies(self, at, turn, scale, source, values=None):
        """A mapper of a surface at each place, scaled and turned, all as one: software draws that the fastest."""
        points, normals, faces = copies(at, turn, scale, *source)
        data = self.data(points.astype(np.float32), faces, 3)
        data.GetPointData().SetNormals(self.to_vtk(normals.astype(np.float32)))
        return self.mapper(self.vtk.vtkPolyDataMapper(), data,
                           None if values is None else np.repeat(np.asarray(values, float), len(source[0])))

    def sprites(self, at, radius, values=None):
        """A mapper of spheres: of each one triangle is drawn, and its pixels where a ray meets the sphere."""
        data = self.data(at.astype(np.float32), np.arange(len(at)), 1)
        radii = self.to_vtk(radius.astype(np.float32))
        radii.SetName("radius")
        data.GetPointData().AddArray(radii)
        mapper = self.vtk.vtkOpenGLSphereMapper()
        mapper.SetScaleArray("radius")
        return self.mapper(mapper, data, values)

    def lines(self, points, pairs, values=None):
        """A mapper of lines between pairs of points."""
        return self.mapper(self.vtk.vtkPolyDataMapper(), self.data(points, pairs, 2), values)

    def mapper(self, mapper, data, values):
        mapper.SetInputData(data)
        if values is None:
            mapper.ScalarVisibilityOff()
        else:
            data.GetPointData().SetScalars(self.to_vtk(np.asarray(values, float)))
        return mapper
