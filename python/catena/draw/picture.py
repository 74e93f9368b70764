"""A scene of VTK that shows a snapshot, and its picture."""
from __future__ import annotations

import dataclasses
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from .. import fields
from ..errors import CatenaError
from ..geometry import extents, primitives, rotation
from . import overlay
from .camera import Camera
from .display import environment
from .framing import bounds_of
from .hidden import lit
from .surfaces import DISC_SIDES, Surfaces, disc, largest_sprite, levels

# dark blue over green to yellow
ANCHORS = np.array([[0.20, 0.28, 0.48], [0.16, 0.50, 0.56], [0.35, 0.72, 0.47], [0.99, 0.88, 0.25]])
# numbers of names, Okabe and Ito's colours: told apart by colour-blind readers
NAMED = np.array([[0.34, 0.71, 0.91], [0.90, 0.62, 0.00], [0.00, 0.62, 0.45], [0.80, 0.47, 0.65],
                  [0.00, 0.45, 0.70], [0.84, 0.37, 0.00], [0.94, 0.89, 0.26], [0.60, 0.60, 0.60]])
# bodies that do not move freely, where the colour tells what is done to a body
NEUTRAL = (0.62, 0.64, 0.67)
PLAIN = (0.45, 0.58, 0.72)
CORDS = ("distance", "rope", "spring")
SHADOW = (-0.12, 0.25)  # how far along x and y a shadow lies for each metre of height


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
    label: tuple[str, ...] = ()
    text: float = 1.0


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
        self.vtk, self.options, self.result = vtk, options, result
        self.surfaces = Surfaces(result.geometries)
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
        self.camera = Camera(options, self.bounds, width, height)
        self.camera.place(self.renderer.GetActiveCamera())

    # --- what holds for all frames

    def color_range(self, steps):
        o = self.options
        if o.color in fields.CATEGORIES and not o.chains:
            return 0.0, max(1.0, len(fields.names_of(self.result, o.color)) - 1.0)
        if o.max is not None:
            return 0.0, o.max
        if o.chains:
            forces = [np.asarray(fields.chains(self.result[k])[2]) for k in steps]
            return 0.0, max((float(f.max()) for f in forces if len(f)), default=0.0) or 1.0
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
        if self.options.color in fields.CATEGORIES and not self.options.chains:
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

    # --- parts of a frame

    def add(self, mapper, color=PLAIN, opacity=1.0):
        mapper.SetLookupTable(self.table)
        mapper.SetScalarRange(*self.scale)
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
                color, opacity = NEUTRAL if neutral else PLAIN, 1.0
                if wall:
                    color, opacity = (0.55, 0.57, 0.60), 0.22
                elif self.options.chains:
                    color, opacity = (0.45, 0.47, 0.50), 0.2
                self.add_copies(key, at, turn, scale, values, color, opacity)
                if self.ground is not None and not wall:
                    self.add_shadow(key, at, turn, scale)

    def add_copies(self, key, at, turn, scale, values, color, opacity):
        """Copies of the surface of a key, each as fine as its size in the picture asks for."""
        round_shape = key in ("sphere", "cylinder", "tube")
        pixels = scale[:, 0] * self.camera.project(at)[2] if round_shape else np.zeros(len(at))
        level = levels(pixels)
        if key == "sphere":
            sprites = pixels < largest_sprite(self.camera.focal)
            level = np.where(sprites, -1, 3)
            if opacity == 1.0:
                sprites &= self.camera.seen(at, scale[:, 0])
            if sprites.any():
                # both sides of a triangulated sphere are seen through, of a sprite the front
                self.add(self.surfaces.sprites(at[sprites], scale[sprites, 0],
                                               None if values is None else values[sprites]),
                         color, 1.0 - (1.0 - opacity) ** 2)
        for k in np.unique(level[level >= 0]):
            rows = level == k
            self.add(self.surfaces.copies(at[rows], turn[rows], scale[rows], self.surfaces.source(key, int(k)),
                                          None if values is None else values[rows]), color, opacity)

    def add_shadow(self, key, at, turn, scale):
        """What bodies shade on the ground: their copies flattened along the light; of spheres the circle across it."""
        flatten = self.vtk.vtkMatrix4x4()
        height = self.ground + 1e-3 * float(np.linalg.norm(self.bounds[1] - self.bounds[0]))
        for axis, slope in enumerate(SHADOW):
            flatten.SetElement(axis, 2, slope)
            flatten.SetElement(axis, 3, -slope * height)
        flatten.SetElement(2, 2, 0.0)
        flatten.SetElement(2, 3, height)
        if key == "sphere":
            light = np.array([-SHADOW[0], -SHADOW[1], 1.0])
            source = disc(light)
            at, scale = (x[lit(at, scale[:, 0], light, DISC_SIDES)] for x in (at, scale))
            turn = np.tile([1.0, 0.0, 0.0, 0.0], (len(at), 1))
        else:
            source = self.surfaces.source(key, 1)
        actor = self.add(self.surfaces.copies(at, turn, scale, source), (0.70, 0.69, 0.66))
        actor.SetUserMatrix(flatten)
        actor.GetProperty().LightingOff()

    def add_joints(self, frame):
        """Lines between the centres of bodies that cords hold, or all joints with --lines."""
        every = self.options.lines > 0.0
        pairs, _ = fields.joined(self.result, frame.snapshot, None if every else CORDS)
        if len(pairs) == 0:
            return
        actor = self.add(self.surfaces.lines(frame.position, pairs, None if self.options.chains else frame.value))
        actor.GetProperty().SetLineWidth(self.options.lines if every else 2.0)
        actor.GetProperty().LightingOff()

    def add_chains(self, frame):
        """Pairs that press, as rods as thick as their normal force."""
        a, b, force = fields.chains(frame.snapshot)
        if len(force) == 0:
            return
        sizes = frame.extent[(frame.kind == "dynamic") & (frame.extent > 0.0)]
        thickest = 0.4 * float(np.median(sizes)) if len(sizes) else 0.02 * self.camera.distance
        along = b - a
        length = np.linalg.norm(along, axis=1)
        z = along / np.maximum(length, 1e-300)[:, None]
        # the quaternion that turns the z axis into z, by the half-way rule
        turn = np.stack([1 + z[:, 2], -z[:, 1], z[:, 0], np.zeros(len(z))], axis=1)
        turn[turn[:, 0] < 1e-9] = [0.0, 1.0, 0.0, 0.0]
        turn /= np.linalg.norm(turn, axis=1, keepdims=True)
        radius = thickest * np.clip(np.asarray(force) / self.scale[1], 0.0, 1.0)
        scale = np.stack([radius, radius, length], axis=1)
        self.add_copies("tube", (a + b) / 2, turn, scale, np.asarray(force), PLAIN, 1.0)

    def find_ground(self, frame):
        """Height of the highest level plane under the bodies; None without one."""
        planes = np.flatnonzero(frame.shape == "plane")
        up = rotation(np.asarray(frame.snapshot.orientation)[planes])[:, 2, 2] > 0.999 if len(planes) else []
        heights = [frame.position[k, 2] for k in planes[up] if frame.position[k, 2] < self.camera.middle[2]] \
            if len(planes) else []
        return max(heights) if self.options.planes and heights else None

    def add_plane(self, position, normal):
        """A quad about the bodies on the plane, unless it stands between them and the eye."""
        if float(normal @ self.camera.axes[2]) < -0.05:
            return
        low, high = self.bounds
        size = float(np.linalg.norm(high - low))
        foot = self.camera.middle - normal * float(normal @ (self.camera.middle - position))
        if np.linalg.norm(foot - self.camera.middle) > 1.5 * size:
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

    def draw(self, frame):
        """The frame's picture, as VTK's image."""
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
        overlay.add(self, frame)
        self.clip(frame)
        self.window.Render()
        grab = self.vtk.vtkWindowToImageFilter()
        grab.SetInput(self.window)
        grab.ReadFrontBufferOff()
        grab.ShouldRerenderOff()
        if self.options.background == "transparent":
            grab.SetInputBufferTypeToRGBA()
        grab.Update()
        return grab.GetOutput()

    def clip(self, frame):
        """Sets how near and far the camera sees: as is drawn, and all bodies in full, also those that are left out."""
        low, high = np.reshape(self.renderer.ComputeVisiblePropBounds(), (3, 2)).T
        sized = frame.extent > 0.0
        if sized.any():
            at, reach = frame.position[sized], frame.extent[sized, None]
            low, high = np.minimum(low, (at - reach).min(axis=0)), np.maximum(high, (at + reach).max(axis=0))
        if np.all(low <= high):
            self.renderer.ResetCameraClippingRange(*np.stack([low, high], axis=1).reshape(-1))


def write_png(image, path) -> None:
    import vtk
    if not pathlib.Path(path).resolve().parent.is_dir():
        raise CatenaError("there is no such directory", pathlib.Path(path).parent, "make it, or choose another")
    writer = vtk.vtkPNGWriter()
    writer.SetFileName(str(path))
    writer.SetInputData(image)
    writer.Write()
    if writer.GetErrorCode():
        raise CatenaError("cannot be written", path)


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
        done = subprocess.run(command, capture_output=True, text=True, env=environment())
        if done.returncode != 0:
            raise CatenaError("no picture: " + done.stderr.strip(), result.path)
        return out.read_bytes()
