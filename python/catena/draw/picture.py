"""A scene of VTK that shows a snapshot, and its picture."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from .. import fields
from ..errors import CatenaError
from ..geometry import copies, extents, primitives, rotation, template, triangles
from . import overlay
from .framing import bounds_of

# dark blue over green to yellow
ANCHORS = np.array([[0.20, 0.28, 0.48], [0.16, 0.50, 0.56], [0.35, 0.72, 0.47], [0.99, 0.88, 0.25]])
# numbers of names, Okabe and Ito's colours: told apart by colour-blind readers
NAMED = np.array([[0.34, 0.71, 0.91], [0.90, 0.62, 0.00], [0.00, 0.62, 0.45], [0.80, 0.47, 0.65],
                  [0.00, 0.45, 0.70], [0.84, 0.37, 0.00], [0.94, 0.89, 0.26], [0.60, 0.60, 0.60]])
# bodies that do not move freely, where the colour tells what is done to a body
NEUTRAL = (0.62, 0.64, 0.67)
PLAIN = (0.45, 0.58, 0.72)
CORDS = ("distance", "rope", "spring")


@dataclasses.dataclass
class Options:
    """What scripts/user/render.py takes, and its defaults."""

    color: str = "speed"
    max: float | None = None
    size: str = "1280x960"
    azimuth: float = -60.0
    elevation: float = 20.0
    zoom: float = 1.0
    focus: tuple[float, float, float] | None = None
    projection: str = "perspective"
    background: str = "gradient"
    planes: bool = True
    lines: float = 0.0
    chains: bool = False
    scale_bar: bool = False
    labels: bool = True


class Frame:
    """A snapshot with what its picture needs, worked out once."""

    def __init__(self, result, snapshot, color: str) -> None:
        self.snapshot, self.time = snapshot, snapshot.time
        self.position = np.asarray(snapshot.position)
        self.kind, self.shape = np.asarray(snapshot.kind), np.asarray(snapshot.shape)
        self.extent = extents(snapshot, result.geometries)
        self.value = None
        if color != "none":
            self.value = np.asarray(fields.field(result, snapshot, color, self.extent), float)

    @property
    def bounds(self):
        return self.position, self.extent, self.kind, self.shape


class Scene:
    """Draws frames of one result with one camera and one colour scale."""

    def __init__(self, result, options: Options, scaled_by) -> None:
        import vtk
        from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy
        self.vtk, self.options, self.result = vtk, options, result
        self.to_vtk = lambda x: numpy_to_vtk(np.ascontiguousarray(x), deep=True)
        self.to_ids = lambda x: numpy_to_vtk(np.ascontiguousarray(x, np.int64), deep=True, array_type=vtk.VTK_ID_TYPE)
        self.to_numpy = vtk_to_numpy
        ends = [Frame(result, result[k], "none") for k in (0, -1)]
        self.bounds = bounds_of([f.bounds for f in ends])
        self.scale = self.color_range(scaled_by)
        self.table = self.colors()
        width, height = (int(x) for x in options.size.split("x"))
        self.window = vtk.vtkRenderWindow()
        self.window.SetOffScreenRendering(1)
        self.window.SetMultiSamples(0)
        self.window.SetSize(width, height)
        self.renderer = vtk.vtkRenderer()
        self.renderer.SetBackground(1.0, 1.0, 1.0)
        if options.background == "gradient":
            self.renderer.SetBackground2(0.78, 0.84, 0.92)
            self.renderer.GradientBackgroundOn()
        # multisampling makes software rendering ten times as slow
        self.renderer.UseFXAAOn()
        if options.background == "transparent":
            self.window.SetAlphaBitPlanes(1)
            self.renderer.SetBackgroundAlpha(0.0)
        self.window.AddRenderer(self.renderer)
        self.lights()
        self.camera()

    # --- what holds for all frames

    def color_range(self, steps):
        o = self.options
        if o.color in fields.CATEGORIES:
            return 0.0, max(1.0, len(fields.names_of(self.result, o.color)) - 1.0)
        if o.max:
            return 0.0, o.max
        found = []
        for k in steps if o.color != "none" else ():
            frame = Frame(self.result, self.result[k], o.color)
            colored = self.is_colored(frame)
            if colored.any():
                found.append(float(frame.value[colored].max()))
        return 0.0, max(found, default=0.0) or 1.0

    def is_colored(self, frame):
        """Which bodies take a colour of the scale: what is done to a fixed body is not seen by it."""
        if self.options.color in ("speed", "force", "coordination"):
            return frame.kind == "dynamic"
        return np.ones(len(frame.kind), bool)

    def colors(self):
        table = self.vtk.vtkLookupTable()
        if self.options.color in fields.CATEGORIES:
            n = max(2, len(fields.names_of(self.result, self.options.color)))
            table.SetNumberOfTableValues(n)
            for k in range(n):
                table.SetTableValue(k, *NAMED[k % len(NAMED)], 1.0)
        else:
            table.SetNumberOfTableValues(256)
            for k in range(256):
                rgb = [np.interp(k / 255, np.linspace(0, 1, 4), ANCHORS[:, c]) for c in range(3)]
                table.SetTableValue(k, *rgb, 1.0)
        table.SetTableRange(*self.scale)
        return table

    def lights(self):
        self.renderer.AutomaticLightCreationOff()
        for position, intensity in (((0.4, -0.7, 1.2), 0.85), ((-1.0, -0.4, 0.3), 0.35), ((0.3, 1.0, 0.5), 0.2)):
            light = self.vtk.vtkLight()
            light.SetLightTypeToSceneLight()
            light.SetPositional(False)
            light.SetPosition(*position)
            light.SetFocalPoint(0, 0, 0)
            light.SetIntensity(intensity)
            self.renderer.AddLight(light)

    def camera(self):
        low, high = self.bounds
        middle = np.array(self.options.focus) if self.options.focus else (low + high) / 2
        a, e = np.radians([self.options.azimuth, self.options.elevation])
        direction = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        distance = 1.6 * float(np.linalg.norm(high - low)) / self.options.zoom
        camera = self.renderer.GetActiveCamera()
        camera.SetFocalPoint(*middle)
        camera.SetPosition(*(middle + distance * direction))
        camera.SetViewUp(0, 0, 1)
        camera.SetViewAngle(34.0)
        if self.options.projection == "parallel":
            camera.ParallelProjectionOn()
            camera.SetParallelScale(distance * np.tan(np.radians(17.0)))
        self.middle, self.direction, self.distance = middle, direction, distance

    # --- parts of a frame

    def points(self, at):
        data = self.vtk.vtkPolyData()
        points = self.vtk.vtkPoints()
        points.SetData(self.to_vtk(at))
        data.SetPoints(points)
        return data

    def surface(self, points, faces):
        data = self.points(points)
        cells = self.vtk.vtkCellArray()
        cells.SetData(3, self.to_ids(faces.reshape(-1)))
        data.SetPolys(cells)
        return data

    def source(self, key, n):
        """Points, normals and triangles of what is copied for the primitives of a key, n of them."""
        made = template(key, self.result.geometries, 3 if n < 1000 else 2 if n < 10000 else 1 if n < 100000 else 0)
        points, faces = np.asarray(made["points"], float), triangles(made["faces"])
        if key == "sphere":
            return points, points, faces
        normals = self.vtk.vtkPolyDataNormals()
        normals.SetInputData(self.surface(points, faces))
        normals.SetFeatureAngle(40.0)
        normals.Update()
        data = normals.GetOutput()
        return (self.to_numpy(data.GetPoints().GetData()).astype(float),
                self.to_numpy(data.GetPointData().GetNormals()).astype(float),
                self.to_numpy(data.GetPolys().GetConnectivityArray()).reshape(-1, 3))

    def copies(self, at, turn, scale, source, values):
        """A mapper that draws a surface at each point, scaled and turned, as one: software draws that the fastest."""
        points, normals, faces = copies(at, turn, scale, *source)
        data = self.surface(points.astype(np.float32), faces)
        data.GetPointData().SetNormals(self.to_vtk(normals.astype(np.float32)))
        mapper = self.vtk.vtkPolyDataMapper()
        mapper.SetInputData(data)
        self.color(mapper, data, None if values is None else np.repeat(np.asarray(values), len(source[0])))
        return mapper

    def color(self, mapper, data, values):
        if values is None:
            mapper.ScalarVisibilityOff()
            return
        data.GetPointData().SetScalars(self.to_vtk(np.asarray(values, float)))
        mapper.SetLookupTable(self.table)
        mapper.SetScalarRange(*self.scale)

    def add(self, mapper, color=PLAIN, opacity=1.0):
        actor = self.vtk.vtkActor()
        actor.SetMapper(mapper)
        surface = actor.GetProperty()
        surface.SetColor(*color)
        surface.SetOpacity(opacity)
        surface.SetAmbient(0.28)
        surface.SetDiffuse(0.8)
        surface.SetSpecular(0.15)
        surface.SetSpecularPower(25)
        self.renderer.AddActor(actor)
        return actor

    def add_bodies(self, frame):
        colored = self.is_colored(frame)
        for neutral in (False, True):
            pick = np.flatnonzero(colored != neutral)
            for key, (at, turn, scale, rows) in primitives(frame.snapshot, self.result.geometries, pick).items():
                # the walls of drums and silos are seen through
                wall = key[0] == "hollow" and key[3] or \
                    key[0] == "geometry" and self.result.geometries[key[1]]["open"]
                values = None if wall or neutral or frame.value is None or self.options.chains else frame.value[rows]
                source = self.source(key, len(rows))
                mapper = self.copies(at, turn, scale, source, values)
                if wall:
                    self.add(mapper, (0.55, 0.57, 0.60), 0.22)
                elif self.options.chains:
                    self.add(mapper, (0.45, 0.47, 0.50), 0.2)
                else:
                    self.add(mapper, NEUTRAL if neutral else PLAIN)
                if self.ground is not None and not wall:
                    self.add_shadow(at, turn, scale, self.source(key, 10 * len(rows)))

    def add_shadow(self, at, turn, scale, source):
        """What bodies shade on the ground: their copies flattened along the light."""
        flatten = self.vtk.vtkMatrix4x4()
        height = self.ground + 1e-3 * float(np.linalg.norm(self.bounds[1] - self.bounds[0]))
        for axis, slope in ((0, -0.12), (1, 0.25)):
            flatten.SetElement(axis, 2, slope)
            flatten.SetElement(axis, 3, -slope * height)
        flatten.SetElement(2, 2, 0.0)
        flatten.SetElement(2, 3, height)
        actor = self.add(self.copies(at, turn, scale, source, None), (0.70, 0.69, 0.66))
        actor.SetUserMatrix(flatten)
        actor.GetProperty().LightingOff()

    def add_joints(self, frame):
        """Lines between the centres of bodies that cords hold, or all joints with --lines."""
        every = self.options.lines > 0.0
        pairs, _ = fields.joined(self.result, frame.snapshot, None if every else CORDS)
        if len(pairs) == 0:
            return
        data = self.points(frame.position)
        cells = self.vtk.vtkCellArray()
        for a, b in pairs:
            cells.InsertNextCell(2, [int(a), int(b)])
        data.SetLines(cells)
        mapper = self.vtk.vtkPolyDataMapper()
        mapper.SetInputData(data)
        self.color(mapper, data, None if self.options.chains else frame.value)
        actor = self.add(mapper)
        actor.GetProperty().SetLineWidth(self.options.lines if every else 2.0)
        actor.GetProperty().LightingOff()

    def add_chains(self, frame):
        """Pairs that press, as rods as thick as their normal force."""
        a, b, force = fields.chains(frame.snapshot)
        if len(force) == 0:
            return
        sizes = frame.extent[(frame.kind == "dynamic") & (frame.extent > 0.0)]
        thickest = 0.4 * float(np.median(sizes)) if len(sizes) else 0.02 * self.distance
        top = self.options.max or float(np.max(force))
        along = b - a
        length = np.linalg.norm(along, axis=1)
        z = along / np.maximum(length, 1e-300)[:, None]
        # the quaternion that turns the z axis into z, by the half-way rule
        turn = np.stack([1 + z[:, 2], -z[:, 1], z[:, 0], np.zeros(len(z))], axis=1)
        turn[turn[:, 0] < 1e-9] = [0.0, 1.0, 0.0, 0.0]
        turn /= np.linalg.norm(turn, axis=1, keepdims=True)
        radius = thickest * np.clip(np.asarray(force) / top, 0.0, 1.0)
        self.table.SetTableRange(0.0, top)
        self.scale = (0.0, top)
        scale = np.stack([radius, radius, length], axis=1)
        self.add(self.copies((a + b) / 2, turn, scale, self.source("tube", 20000), force))

    def find_ground(self, frame):
        """Height of the highest level plane under the bodies; None without one."""
        planes = np.flatnonzero(frame.shape == "plane")
        up = rotation(np.asarray(frame.snapshot.orientation)[planes])[:, 2, 2] > 0.999 if len(planes) else []
        heights = [frame.position[k, 2] for k in planes[up] if frame.position[k, 2] < self.middle[2]] \
            if len(planes) else []
        return max(heights) if self.options.planes and heights else None

    def add_plane(self, position, normal):
        """A quad about the bodies on the plane, unless it stands between them and the eye."""
        if float(normal @ self.direction) < -0.05:
            return
        low, high = self.bounds
        size = float(np.linalg.norm(high - low))
        foot = self.middle - normal * float(normal @ (self.middle - position))
        if np.linalg.norm(foot - self.middle) > 1.5 * size:
            return
        across = np.cross(normal, [1.0, 0, 0] if abs(normal[0]) < 0.9 else [0, 1.0, 0])
        across /= np.linalg.norm(across)
        along = np.cross(normal, across)
        # the shadow of the bodies' box on the plane, with a wide rim on the ground
        horizontal = abs(normal[2]) > 0.7
        rim = (0.25 if horizontal else 0.02) * size
        half = (high - low) / 2
        reach = [float(np.abs(d) @ half) + rim for d in (across, along)]
        corner = foot - reach[0] * across - reach[1] * along
        quad = self.vtk.vtkPlaneSource()
        quad.SetOrigin(*corner)
        quad.SetPoint1(*(corner + 2 * reach[0] * across))
        quad.SetPoint2(*(corner + 2 * reach[1] * along))
        mapper = self.vtk.vtkPolyDataMapper()
        mapper.SetInputConnection(quad.GetOutputPort())
        actor = self.add(mapper, (0.86, 0.85, 0.82), 1.0 if horizontal else 0.18)
        if not horizontal:
            actor.GetProperty().LightingOff()

    def draw(self, frame, path) -> None:
        """Writes the frame's picture, a PNG."""
        vtk = self.vtk
        self.renderer.RemoveAllViewProps()
        self.ground = self.find_ground(frame)
        self.add_bodies(frame)
        self.add_joints(frame)
        if self.options.chains:
            self.add_chains(frame)
        if self.options.planes:
            turn = rotation(np.asarray(frame.snapshot.orientation))
            for k in np.flatnonzero(frame.shape == "plane"):
                self.add_plane(frame.position[k], turn[k][:, 2])
        if self.options.labels:
            overlay.add(self, frame)
        self.renderer.ResetCameraClippingRange()
        self.window.Render()
        grab = vtk.vtkWindowToImageFilter()
        grab.SetInput(self.window)
        grab.ReadFrontBufferOff()
        if self.options.background == "transparent":
            grab.SetInputBufferTypeToRGBA()
        grab.Update()
        writer = vtk.vtkPNGWriter()
        writer.SetFileName(str(path))
        writer.SetInputConnection(grab.GetOutputPort())
        writer.Write()


def picture_of(result, step: int, path=None, **options) -> bytes:
    """The PNG of a step's picture, drawn by a process of its own: VTK without a window may need a display's stand-in."""
    arguments = ["--step", str(step)]
    for name, value in options.items():
        arguments.append("--" + name.replace("_", "-"))
        if value is not True:
            arguments += [str(x) for x in value] if isinstance(value, (list, tuple)) else [str(value)]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(path) if path is not None else pathlib.Path(folder, "picture.png")
        command = [sys.executable, "-m", "catena.draw.render", str(result.path), "-o", str(out), *arguments]
        packages = str(pathlib.Path(__file__).resolve().parents[2])
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(
            [packages] + [p for p in [os.environ.get("PYTHONPATH")] if p]))
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise CatenaError("no picture: " + done.stderr.strip(), result.path)
        return out.read_bytes()
