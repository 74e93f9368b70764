#!/usr/bin/python3
"""Renders snapshots of a result with VTK, without a window.

    scripts/user/render.py RESULT_DIR [--frame N] [-o picture.png]      one picture (default: the last)
    scripts/user/render.py RESULT_DIR --movie out.mp4 [--fps 25]        all snapshots

All shapes are drawn; planes only where they lie below or behind the bodies; open meshes and fixed
and kinematic hollow cylinders (drums, silos) so that one sees through them. Needs python3-vtk9,
python3-h5py and python3-numpy; without a display it starts itself again under xvfb-run (packages
xvfb, xauth, libgl1-mesa-dri); movies need ffmpeg.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", help="result directory")
    parser.add_argument("--frame", type=int, default=-1,
                        help="number of the snapshot, from 0; negative: from the end")
    parser.add_argument("-o", "--output", help="picture; default RESULT_DIR/frame-<step>.png")
    parser.add_argument("--movie", help="movie of all snapshots, such as out.mp4")
    parser.add_argument("--fps", type=float, default=25.0, help="frames per second of the movie")
    parser.add_argument("--color", choices=["speed", "rank", "size", "material", "none"],
                        default="speed")
    parser.add_argument("--max-speed", type=float,
                        help="top of the colour scale, m/s; default: the largest in the pictures")
    parser.add_argument("--size", default="1280x960", help="pixels, width x height")
    parser.add_argument("--azimuth", type=float, default=-60.0, help="view from, degrees about z")
    parser.add_argument("--elevation", type=float, default=20.0, help="view from above, degrees")
    parser.add_argument("--zoom", type=float, default=1.0)
    parser.add_argument("--focus", nargs=3, type=float, metavar=("X", "Y", "Z"),
                        help="point that the camera faces; default: the middle of the bodies")
    parser.add_argument("--no-planes", action="store_true", help="leave planes out")
    parser.add_argument("--lines", type=float, default=0.0, metavar="PIXELS",
                        help="draw lines from body to body where joints hold them: chains that are "
                             "too thin to be seen, springs")
    return parser.parse_args()


def need_display():
    """Starts this script again under a virtual X server where there is none."""
    if os.environ.get("DISPLAY"):
        return
    if not shutil.which("xvfb-run"):
        sys.exit("no display, and xvfb-run is missing (Debian: xvfb xauth libgl1-mesa-dri)")
    os.execvp("xvfb-run", ["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24", sys.executable,
                           os.path.abspath(__file__)] + sys.argv[1:])


def rotation(q):
    """Rotation matrices (n x 3 x 3) of unit quaternions (w, x, y, z)."""
    w, x, y, z = q.T
    return np.moveaxis(np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]), 2, 0)


def read_geometry(group):
    """Points and faces, or parts, of a group of /geometries."""
    g = {"type": group.attrs["type"]}
    if g["type"] == "hull":
        begin, corner = group["face_begin"][()], group["face_corners"][()]
        g["points"] = group["vertices"][()]
        g["faces"] = [corner[a:b] for a, b in zip(begin[:-1], begin[1:])]
    elif g["type"] == "mesh":
        g["points"], g["faces"] = group["vertices"][()], group["triangles"][()]
        g["open"] = bool(group.attrs.get("two_sided", 0))
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
                              group["part_position"][()],
                              rotation(group["part_orientation"][()])))
    return g


def hollow_cylinder(inner, length, thickness, ends):
    """Points and faces: a profile in (radius, height) turned about z."""
    half, outer = length / 2, inner + thickness
    low = -half - (thickness if ends & 1 else 0)
    high = half + (thickness if ends & 2 else 0)
    profile = [(inner, -half), (inner, half)]
    profile += [(0, half), (0, high)] if ends & 2 else []
    profile += [(outer, high), (outer, low)]
    profile += [(0, low), (0, -half)] if ends & 1 else []
    n, m = 72, len(profile)
    angle = 2 * np.pi * np.arange(n) / n
    r, z = np.array(profile).T
    points = np.stack([np.outer(np.cos(angle), r), np.outer(np.sin(angle), r),
                       np.tile(z, (n, 1))], axis=-1).reshape(-1, 3)
    faces = []
    for k in range(m):
        here, there = np.arange(n) * m + k, np.arange(n) * m + (k + 1) % m
        faces.append(np.stack([here, there, np.roll(there, -1), np.roll(here, -1)], axis=1))
    return {"points": points, "faces": np.concatenate(faces)}


def outer_radius(shape, size, geometry, geometries):
    """Radius of a sphere about the body's position that holds it; 0 for planes."""
    if shape == "sphere":
        return size[0]
    if shape == "box":
        return np.linalg.norm(size) / 2
    if shape == "capsule":
        return size[0] + size[1] / 2
    if shape == "cylinder":
        return np.hypot(size[0], size[1] / 2)
    if shape == "hollow_cylinder":
        return np.hypot(size[0] + size[2], size[1] / 2 + size[2])
    if geometry < 0:
        return 0.0
    g = geometries[geometry]
    if "points" in g:
        return size[0] * float(np.linalg.norm(g["points"], axis=1).max())
    return size[0] * max(np.linalg.norm(p) + outer_radius(s, d, k, geometries)
                         for s, d, k, _, p, _ in g["parts"])


class Result:
    """Constant data by body id, and the snapshots' files in order."""

    def __init__(self, directory):
        self.files = sorted(glob.glob(os.path.join(directory, "snapshots", "*.h5")),
                            key=lambda p: (len(p), p))
        if not self.files:
            sys.exit("%s: no snapshots; is this a result directory?" % directory)
        with h5py.File(os.path.join(directory, "bodies.h5"), "r") as f:
            b = f["bodies"]
            self.id = b["id"][()]
            self.shape = b["shape"].asstr()[()]
            self.kind = b["kind"].asstr()[()]
            self.size = b["size"][()]
            self.material = np.unique(b["material"].asstr()[()], return_inverse=True)[1]
            # pairs of bodies that joints and springs hold together, the world left out
            pairs = f["joints/bodies"][()] if "joints" in f else np.empty((0, 2), int)
            self.joined = pairs[(pairs >= 0).all(axis=1)]
            spheres = self.shape == "sphere"
            self.size[spheres, 0] = b["radius"][()][spheres]
            none = np.full(len(self.id), -1)
            self.geometry = b["geometry"][()] if "geometry" in b else none
            self.closed_ends = b["closed_ends"][()] if "closed_ends" in b else 0 * none
            groups = f["geometries"] if "geometries" in f else {}
            self.geometries = [read_geometry(groups[str(k)]) for k in range(len(groups))]
        self.extent = np.zeros(len(self.id))
        self.extent[spheres] = self.size[spheres, 0]
        for k in np.flatnonzero(~spheres):
            self.extent[k] = outer_radius(self.shape[k], self.size[k], self.geometry[k],
                                          self.geometries)

    def frame(self, path):
        """Bodies of a snapshot with their shapes, as a dict of arrays."""
        with h5py.File(path, "r") as f:
            data = {name: f["bodies"][name][()] for name in
                    ("id", "position", "orientation", "velocity", "rank")}
            data["time"], data["step"] = float(f.attrs["time"]), int(f.attrs["step"])
        row = np.searchsorted(self.id, data["id"])
        for name in ("shape", "size", "kind", "geometry", "closed_ends", "extent", "material"):
            data[name] = getattr(self, name)[row]
        data["speed"] = np.linalg.norm(data["velocity"], axis=1)
        return data


class Scene:
    def __init__(self, args, result):
        import vtk
        from vtk.util.numpy_support import numpy_to_vtk
        self.vtk, self.to_vtk, self.args = vtk, numpy_to_vtk, args
        self.geometries, self.joined = result.geometries, result.joined
        first, last = result.frame(result.files[0]), result.frame(result.files[-1])
        self.bounds = self.bounds_of([first, last])
        self.scale = self.color_range(args, result, first, last)
        width, height = (int(x) for x in args.size.split("x"))
        self.window = vtk.vtkRenderWindow()
        self.window.SetOffScreenRendering(1)
        self.window.SetMultiSamples(8)
        self.window.SetSize(width, height)
        self.renderer = vtk.vtkRenderer()
        self.renderer.SetBackground(1.0, 1.0, 1.0)
        self.renderer.SetBackground2(0.78, 0.84, 0.92)
        self.renderer.GradientBackgroundOn()
        self.window.AddRenderer(self.renderer)
        self.lights()
        self.camera()

    @staticmethod
    def bounds_of(frames):
        """Box around all moving bodies of the frames, or around all bodies if none moves."""
        low, high = [], []
        for f in frames:
            bounded = (f["shape"] != "none") & (f["shape"] != "plane")
            seen = bounded & (f["kind"] == "dynamic")
            seen = seen if seen.any() else bounded
            if not seen.any():
                continue
            e = f["extent"][seen][:, None]
            low.append((f["position"][seen] - e).min(axis=0))
            high.append((f["position"][seen] + e).max(axis=0))
        if not low:
            return np.array([-1.0, -1.0, -1.0]), np.array([1.0, 1.0, 1.0])
        return np.min(low, axis=0), np.max(high, axis=0)

    @staticmethod
    def color_range(args, result, first, last):
        if args.color == "rank":
            return 0.0, max(1.0, float(last["rank"].max()))
        if args.color == "size":
            return 0.0, float(last["extent"].max()) or 1.0
        if args.color == "material":
            return 0.0, max(1.0, float(result.material.max()))
        if args.max_speed:
            return 0.0, args.max_speed
        frames = [first, last] if args.movie else [last]
        if args.movie:
            frames.append(result.frame(result.files[len(result.files) // 2]))
        elif args.frame != -1:
            frames = [result.frame(result.files[args.frame])]
        return 0.0, max(float(f["speed"].max()) for f in frames) or 1.0

    def lights(self):
        vtk = self.vtk
        self.renderer.AutomaticLightCreationOff()
        for position, intensity in (((0.4, -0.7, 1.2), 0.85), ((-1.0, -0.4, 0.3), 0.35),
                                    ((0.3, 1.0, 0.5), 0.2)):
            light = vtk.vtkLight()
            light.SetLightTypeToSceneLight()
            light.SetPositional(False)
            light.SetPosition(*position)
            light.SetFocalPoint(0, 0, 0)
            light.SetIntensity(intensity)
            self.renderer.AddLight(light)

    def camera(self):
        low, high = self.bounds
        middle = np.array(self.args.focus) if self.args.focus else (low + high) / 2
        a, e = np.radians([self.args.azimuth, self.args.elevation])
        direction = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        distance = 1.6 * float(np.linalg.norm(high - low)) / self.args.zoom
        camera = self.renderer.GetActiveCamera()
        camera.SetFocalPoint(*middle)
        camera.SetPosition(*(middle + distance * direction))
        camera.SetViewUp(0, 0, 1)
        camera.SetViewAngle(34.0)
        self.middle, self.direction = middle, direction

    def colors(self):
        """Dark blue over green to yellow."""
        table = self.vtk.vtkLookupTable()
        table.SetNumberOfTableValues(256)
        anchors = np.array([[0.20, 0.28, 0.48], [0.16, 0.50, 0.56], [0.35, 0.72, 0.47],
                            [0.99, 0.88, 0.25]])
        for k in range(256):
            rgb = [np.interp(k / 255, np.linspace(0, 1, 4), anchors[:, c]) for c in range(3)]
            table.SetTableValue(k, *rgb, 1.0)
        table.SetTableRange(*self.scale)
        return table

    @staticmethod
    def add_primitives(f, geometries, shape, size, geometry, ends, at, turn, rows, found):
        """Sorts bodies or parts of equal shape by what draws them: name -> [(at, tensor, row)].

        at: n x 3 positions; turn: n x 3 x 3 rotations; size: n x 3; rows: the bodies they belong to.
        """
        def add(key, at, tensor):
            found.setdefault(key, []).append((at, tensor, rows))

        axes = lambda scale: turn * scale[:, None, :]
        if shape == "sphere":
            add("sphere", at, axes(size[:, [0, 0, 0]]))
        elif shape == "box":
            add("box", at, axes(size))
        elif shape in ("cylinder", "capsule"):
            # the source's axis is y
            tensor = np.stack([turn[:, :, 0] * size[:, 0, None], turn[:, :, 2] * size[:, 1, None],
                               -turn[:, :, 1] * size[:, 0, None]], axis=2)
            add("cylinder" if shape == "cylinder" else "tube", at, tensor)
            for sign in (-0.5, 0.5) if shape == "capsule" else ():
                add("sphere", at + sign * size[:, 1, None] * turn[:, :, 2],
                    axes(size[:, [0, 0, 0]]))
        elif shape == "hollow_cylinder":
            for k in range(len(rows)):
                wall = f["kind"][rows[k]] != "dynamic"
                key = ("hollow", tuple(size[k]), int(ends), wall)
                found.setdefault(key, []).append((at[k:k + 1], turn[k:k + 1], rows[k:k + 1]))
        elif geometry >= 0 and "points" in geometries[geometry]:
            add(("geometry", int(geometry)), at, axes(size[:, [0, 0, 0]]))
        elif geometry >= 0:
            scale = size[:, :1]
            for part, part_size, inner, part_ends, place, part_turn in \
                    geometries[geometry]["parts"]:
                part_sizes = scale * (part_size if inner < 0 else [part_size[0], 0, 0])
                Scene.add_primitives(f, geometries, part, part_sizes, inner, part_ends,
                                     at + scale * (turn @ place), turn @ part_turn, rows, found)

    def primitives(self, f):
        found = {}
        turn = rotation(f["orientation"])
        for shape, geometry, ends in sorted(set(zip(f["shape"], f["geometry"],
                                                    f["closed_ends"]))):
            pick = np.flatnonzero((f["shape"] == shape) & (f["geometry"] == geometry)
                                  & (f["closed_ends"] == ends))
            self.add_primitives(f, self.geometries, shape, f["size"][pick], geometry, ends,
                                f["position"][pick], turn[pick], pick, found)
        return {key: [np.concatenate(x) for x in zip(*parts)] for key, parts in found.items()}

    def surface(self, geometry):
        """A source of points and faces."""
        vtk = self.vtk
        points = vtk.vtkPoints()
        points.SetData(self.to_vtk(np.ascontiguousarray(geometry["points"], dtype=float),
                                   deep=True))
        cells = vtk.vtkCellArray()
        for face in geometry["faces"]:
            cells.InsertNextCell(len(face), [int(k) for k in face])
        data = vtk.vtkPolyData()
        data.SetPoints(points)
        data.SetPolys(cells)
        source = vtk.vtkTrivialProducer()
        source.SetOutput(data)
        return source

    def source(self, key, n):
        """What is copied for the primitives of a key, n of them."""
        vtk = self.vtk
        fine = 24 if n < 2000 else 14 if n < 20000 else 8
        if key == "sphere":
            source = vtk.vtkSphereSource()
            source.SetRadius(1.0)
            source.SetThetaResolution(fine)
            source.SetPhiResolution(fine)
        elif key == "box":
            source = vtk.vtkCubeSource()
        elif key in ("cylinder", "tube"):
            source = vtk.vtkCylinderSource()
            source.SetRadius(1.0)
            source.SetHeight(1.0)
            source.SetResolution(2 * fine)
            source.SetCapping(key == "cylinder")
        elif key[0] == "hollow":
            source = self.surface(hollow_cylinder(*key[1], key[2]))
        else:
            source = self.surface(self.geometries[key[1]])
        return source

    def glyphs(self, f, at, tensors, rows, source, see_through=False):
        """One copy of `source` per point, scaled and turned by its 3x3 tensor."""
        vtk = self.vtk
        points = vtk.vtkPoints()
        points.SetData(self.to_vtk(np.ascontiguousarray(at), deep=True))
        data = vtk.vtkPolyData()
        data.SetPoints(points)
        # columns of the tensor are the images of the source's axes
        t = self.to_vtk(np.ascontiguousarray(tensors.transpose(0, 2, 1).reshape(-1, 9)), deep=True)
        data.GetPointData().SetTensors(t)
        if self.args.color != "none":
            name = {"size": "extent"}.get(self.args.color, self.args.color)
            data.GetPointData().SetScalars(self.to_vtk(f[name][rows].astype(float), deep=True))
        glyph = vtk.vtkTensorGlyph()
        glyph.SetInputData(data)
        glyph.SetSourceConnection(source.GetOutputPort())
        glyph.ExtractEigenvaluesOff()
        glyph.ColorGlyphsOn()
        glyph.SetColorModeToScalars()
        normals = vtk.vtkPolyDataNormals()
        normals.SetInputConnection(glyph.GetOutputPort())
        normals.SetFeatureAngle(40.0)
        mapper = vtk.vtkPolyDataMapper()
        mapper.SetInputConnection(normals.GetOutputPort())
        mapper.SetLookupTable(self.colors())
        mapper.SetScalarRange(*self.scale)
        actor = vtk.vtkActor()
        actor.SetMapper(mapper)
        surface = actor.GetProperty()
        surface.SetColor(0.45, 0.58, 0.72)
        surface.SetAmbient(0.28)
        surface.SetDiffuse(0.8)
        surface.SetSpecular(0.15)
        surface.SetSpecularPower(25)
        if see_through:
            mapper.ScalarVisibilityOff()
            surface.SetColor(0.55, 0.57, 0.60)
            surface.SetOpacity(0.22)
        self.renderer.AddActor(actor)
        if self.ground is not None and not see_through:
            self.add_shadow(normals)

    def add_shadow(self, bodies):
        """What `bodies` shade on the ground: their copy flattened along the light."""
        vtk = self.vtk
        flatten = vtk.vtkMatrix4x4()
        height = self.ground + 1e-3 * float(np.linalg.norm(self.bounds[1] - self.bounds[0]))
        for axis, slope in ((0, -0.12), (1, 0.25)):
            flatten.SetElement(axis, 2, slope)
            flatten.SetElement(axis, 3, -slope * height)
        flatten.SetElement(2, 2, 0.0)
        flatten.SetElement(2, 3, height)
        mapper = vtk.vtkPolyDataMapper()
        mapper.SetInputConnection(bodies.GetOutputPort())
        mapper.ScalarVisibilityOff()
        actor = vtk.vtkActor()
        actor.SetMapper(mapper)
        actor.SetUserMatrix(flatten)
        actor.GetProperty().SetColor(0.70, 0.69, 0.66)
        actor.GetProperty().LightingOff()
        self.renderer.AddActor(actor)

    def add_lines(self, f, pairs):
        """Lines between the centres of joined bodies, coloured like these."""
        vtk = self.vtk
        found = np.isin(pairs, f["id"]).all(axis=1)
        ends = np.searchsorted(f["id"], pairs[found])
        points = vtk.vtkPoints()
        points.SetData(self.to_vtk(np.ascontiguousarray(f["position"]), deep=True))
        cells = vtk.vtkCellArray()
        for a, b in ends:
            cells.InsertNextCell(2, [int(a), int(b)])
        data = vtk.vtkPolyData()
        data.SetPoints(points)
        data.SetLines(cells)
        mapper = vtk.vtkPolyDataMapper()
        mapper.SetInputData(data)
        if self.args.color != "none":
            name = {"size": "extent"}.get(self.args.color, self.args.color)
            data.GetPointData().SetScalars(self.to_vtk(f[name].astype(float), deep=True))
        mapper.SetLookupTable(self.colors())
        mapper.SetScalarRange(*self.scale)
        actor = vtk.vtkActor()
        actor.SetMapper(mapper)
        actor.GetProperty().SetColor(0.45, 0.58, 0.72)
        actor.GetProperty().SetLineWidth(self.args.lines)
        actor.GetProperty().LightingOff()
        self.renderer.AddActor(actor)

    def find_ground(self, f):
        """Height of the highest level plane under the bodies; None without one."""
        planes = np.flatnonzero(f["shape"] == "plane")
        level = [k for k in planes if rotation(f["orientation"][k:k + 1])[0][2, 2] > 0.999]
        heights = [f["position"][k, 2] for k in level if f["position"][k, 2] < self.middle[2]]
        return None if self.args.no_planes or not heights else max(heights)

    def add_plane(self, position, normal):
        """A quad about the bodies on the plane, unless it stands between them and the eye."""
        vtk = self.vtk
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
        quad = vtk.vtkPlaneSource()
        quad.SetOrigin(*corner)
        quad.SetPoint1(*(corner + 2 * reach[0] * across))
        quad.SetPoint2(*(corner + 2 * reach[1] * along))
        mapper = vtk.vtkPolyDataMapper()
        mapper.SetInputConnection(quad.GetOutputPort())
        actor = vtk.vtkActor()
        actor.SetMapper(mapper)
        actor.GetProperty().SetColor(0.86, 0.85, 0.82)
        actor.GetProperty().SetOpacity(1.0 if horizontal else 0.18)
        if not horizontal:
            actor.GetProperty().LightingOff()
        self.renderer.AddActor(actor)

    def add_labels(self, f):
        vtk = self.vtk
        text = vtk.vtkTextActor()
        text.SetInput("t = %.4g s" % f["time"])
        text.GetTextProperty().SetColor(0.15, 0.15, 0.15)
        text.GetTextProperty().SetFontSize(22)
        text.SetPosition(16, 14)
        self.renderer.AddActor2D(text)
        if self.args.color in ("none", "material"):
            return
        bar = vtk.vtkScalarBarActor()
        bar.SetLookupTable(self.colors())
        bar.SetTitle({"speed": "speed [m/s]", "rank": "rank", "size": "half extent [m]"}
                     [self.args.color])
        bar.SetNumberOfLabels(4)
        bar.SetLabelFormat("%.3g")
        bar.SetPosition(0.90, 0.08)
        bar.SetWidth(0.08)
        bar.SetHeight(0.42)
        bar.UnconstrainedFontSizeOn()
        for p in (bar.GetTitleTextProperty(), bar.GetLabelTextProperty()):
            p.SetColor(0.15, 0.15, 0.15)
            p.SetFontSize(15)
            p.ItalicOff()
            p.ShadowOff()
            p.BoldOff()
        self.renderer.AddActor2D(bar)

    def draw(self, f, path):
        vtk = self.vtk
        self.renderer.RemoveAllViewProps()
        self.ground = self.find_ground(f)
        for key, (at, tensors, rows) in self.primitives(f).items():
            # the walls of drums and silos are seen through
            wall = key[0] == "hollow" and key[3] or \
                key[0] == "geometry" and self.geometries[key[1]].get("open", False)
            self.glyphs(f, at, tensors, rows, self.source(key, len(rows)), see_through=wall)
        if self.args.lines > 0.0:
            self.add_lines(f, self.joined)
        if not self.args.no_planes:
            for k in np.flatnonzero(f["shape"] == "plane"):
                self.add_plane(f["position"][k], rotation(f["orientation"][k:k + 1])[0][:, 2])
        self.add_labels(f)
        self.renderer.ResetCameraClippingRange()
        self.window.Render()
        grab = vtk.vtkWindowToImageFilter()
        grab.SetInput(self.window)
        grab.ReadFrontBufferOff()
        grab.Update()
        writer = vtk.vtkPNGWriter()
        writer.SetFileName(path)
        writer.SetInputConnection(grab.GetOutputPort())
        writer.Write()


def make_movie(args, result, scene):
    if not shutil.which("ffmpeg"):
        sys.exit("movies need ffmpeg (Debian: ffmpeg); single pictures do not")
    with tempfile.TemporaryDirectory() as folder:
        for k, path in enumerate(result.files):
            scene.draw(result.frame(path), os.path.join(folder, "%06d.png" % k))
        command = ["ffmpeg", "-y", "-loglevel", "error", "-framerate", str(args.fps), "-i",
                   os.path.join(folder, "%06d.png"), "-pix_fmt", "yuv420p", "-crf", "20",
                   args.movie]
        if subprocess.run(command).returncode != 0:
            sys.exit("ffmpeg failed on %s" % args.movie)
    print(args.movie)


def main():
    args = parse_arguments()
    need_display()
    result = Result(args.result)
    if not -len(result.files) <= args.frame < len(result.files):
        sys.exit("--frame %d: there are %d snapshots" % (args.frame, len(result.files)))
    scene = Scene(args, result)
    if args.movie:
        make_movie(args, result, scene)
        return
    frame = result.frame(result.files[args.frame])
    output = args.output or os.path.join(args.result, "frame-%08d.png" % frame["step"])
    scene.draw(frame, output)
    print(output)


if __name__ == "__main__":
    main()
