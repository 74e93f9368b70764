"""MJCF's geoms: shapes that collide, and masses of those without inertials."""
import os

import numpy as np

from .hull import convex_hull
from .meshes import mesh_fault, mesh_properties, read_mesh
from .parts import has_dents, hull_shape, unless_skipped
from .robot import Shape
from .rotations import MassProperties, Pose, z_to

_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
_VISUAL = ("rgba", "material", "group")


def _ellipsoid_points(axes):
    """An even spread over a sphere (golden spiral), stretched."""
    k = np.arange(200) + 0.5
    z, turn = 1 - k / 100, np.pi * (1 + 5 ** 0.5) * k
    rho = np.sqrt(1 - z * z)
    return np.column_stack([rho * np.cos(turn), rho * np.sin(turn), z]) * np.asarray(axes)


class GeomReader:
    def __init__(self, compiler, defaults, options, report, path):
        self.compiler, self.defaults = compiler, defaults
        self.options, self.report, self.path = options, report, path
        self.meshes = {}

    def read_assets(self, root):
        for asset in root.all("asset"):
            for raw in asset.all("mesh"):
                mesh = self.defaults.filled(raw, None)
                file = mesh.text("file")
                name = mesh.text("name") or (os.path.splitext(os.path.basename(file))[0] if file else None)
                if name is None:
                    raw.fail("has no name and no file", "give one")
                if name in self.meshes:
                    raw.fail(f"mesh {name!r} is given twice, first at {self.meshes[name].where}", "rename one of them")
                mesh.numbers("scale", 3), mesh.numbers("vertex")
                self.meshes[name] = mesh
            asset.check_children(("mesh",), dict.fromkeys(
                ("texture", "material", "hfield", "skin", "model"), "not part of the mechanics"), self.report)

    def geom(self, raw, inherited, gives_mass):
        """(shape or None, mass properties or None) of a geom. `gives_mass`: its body has no other mass."""
        geom = self.defaults.filled(raw, inherited)
        geom.text("name")
        for key in _VISUAL:
            geom.text(key)
        kind = geom.text("type", "mesh" if "mesh" in geom.attributes else "sphere")
        masks = (int(geom.number("contype", 1)), int(geom.number("conaffinity", 1)))
        if kind == "hfield" or kind == "sdf":
            self.report.add("left out", f"geom of type {kind}: a case has none that is made from it", geom.where)
            geom.read.update(geom.attributes)
            return None, None
        if kind == "plane":
            geom.read.update(("size",))
            return self._finish(geom, Shape("plane", (), self.compiler.pose(geom), geom.where), masks), None
        if kind == "mesh":
            if gives_mass:  # without the mesh it would have another one
                return self._mesh(geom, masks, True)
            made = unless_skipped(lambda: self._mesh(geom, masks, False), self.options, self.report)
            geom.read.update(geom.attributes if made is None else ())
            return made or (None, None)
        if kind not in _SIZES:
            geom.fail(f"type={kind!r}", "expected plane, sphere, capsule, ellipsoid, cylinder, box or mesh")
        shape = self._primitive(geom, kind)
        mass = self._mass(geom, primitive_properties(shape), shape.pose)
        if kind == "ellipsoid":
            self.report.add("changed", "ellipsoid: a hull of 200 corners on it", geom.where)
            shape = Shape("hull", (), shape.pose, geom.where, points=_ellipsoid_points(shape.size))
        return self._finish(geom, shape, masks), mass

    def _primitive(self, geom, kind):
        """Full edges and full lengths: MJCF's sizes are halves."""
        size, ends = geom.numbers("size"), geom.numbers("fromto", 6)
        pose = self.compiler.pose(geom) if ends is None else None
        if ends is not None:
            if kind not in ("capsule", "cylinder", "box", "ellipsoid"):
                geom.fail(f"fromto is not for the type {kind}", "give pos and size")
            a, b = np.array(ends[:3]), np.array(ends[3:])
            half = 0.5 * np.linalg.norm(b - a)
            if half == 0:
                geom.fail("fromto has no length", "give two points")
            # MuJoCo's z axis runs from the second point to the first
            pose = Pose(0.5 * (a + b), z_to(a - b))
            size = None if not size else (size[0], half) if kind in ("capsule", "cylinder") else \
                (size[0], size[1] if len(size) > 1 else size[0], half)
        if size is None or len(size) < _SIZES[kind]:
            geom.fail(f"a {kind} needs {_SIZES[kind]} numbers as its size", "give size=\"...\"")
        size = np.array(size[:_SIZES[kind]])
        if size.min() <= 0:
            geom.fail("a size is not positive", "give lengths in m above 0")
        if kind == "box":
            size = 2 * size
        elif kind in ("capsule", "cylinder"):
            size = np.array([size[0], 2 * size[1]])
        return Shape(kind, tuple(size), pose, geom.where)

    def _mesh(self, geom, masks, gives_mass):
        name = geom.required("mesh")
        if name not in self.meshes:
            geom.fail(f"there is no mesh {name!r}", "list it under <asset>")
        mesh, pose = self.meshes[name], self.compiler.pose(geom)
        scale = mesh.numbers("scale", 3, (1.0, 1.0, 1.0))
        geom.text("size")
        file = mesh.text("file")
        if file is None:
            vertex = mesh.numbers("vertex")
            if not vertex or len(vertex) % 3:
                mesh.fail("has neither a file nor vertices", "give file=\"...\"")
            made = convex_hull(np.reshape(vertex, (-1, 3)) * scale, self.options.hull_vertices)
            if made is None:
                mesh.fail("the vertices span no volume", "give a body with thickness")
            shape = Shape("hull", (), pose, geom.where, points=made[0])
            properties = mesh_properties(made[0][made[1]])
        else:
            path = os.path.join(os.path.dirname(self.path), self.compiler.meshdir, file)
            if not os.path.isfile(path):
                mesh.fail(f"mesh {file!r} is missing, looked for {path}", "correct file or meshdir")
            surface = read_mesh(path, scale, mesh.where)
            properties = mesh_properties(surface.corners)
            fault = mesh_fault(surface) if gives_mass else None
            if fault is not None and geom.number("mass", geom.number("density", 1000.0)) > 0:
                geom.fail(f"its mesh gives no mass: {fault}", "or give the body an <inertial>")
            # what does not collide needs no hull
            shape = hull_shape(path, scale, pose, geom.where, self.options, self.report) if any(masks) else None
        mass = self._mass(geom, properties, pose)
        if gives_mass and mass is not None and file is not None and not self.compiler.exact_meshes and has_dents(
                surface, self.options):
            self.report.add("changed", f"mesh {name!r}: its mass is that of its volume, MuJoCo's default is larger where "
                            "there are dents (exactmeshinertia)", geom.where)
        return (self._finish(geom, shape, masks) if shape else None), mass

    def _mass(self, geom, unit, pose):
        """`unit`: of density 1."""
        mass, density = geom.number("mass"), geom.number("density", 1000.0)
        if (mass is not None and mass < 0) or density < 0:
            geom.fail("mass and density may not be negative", "give 0 or more")
        factor = density if mass is None else mass / unit.mass if unit.mass else 0.0
        return unit.scaled(factor).placed(pose) if factor > 0 else None

    def _finish(self, geom, shape, masks):
        friction = geom.numbers("friction") or (1.0,)
        friction = (*friction, *(1.0, 0.005, 0.0001)[len(friction):])
        condim = int(geom.number("condim", 3))
        shape.masks, shape.friction = masks, 0.0 if condim == 1 else friction[0]
        shape.spinning = friction[1] if condim >= 4 else 0.0
        shape.rolling = friction[2] if condim >= 6 else 0.0
        return shape if any(masks) else None


def primitive_properties(shape):
    """Of density 1, in the shape's own frame."""
    size = np.array(shape.size)
    if shape.kind in ("box", "ellipsoid"):
        # of an ellipsoid `size` are half axes
        volume, part = (size.prod(), 12.0) if shape.kind == "box" else (4 / 3 * np.pi * size.prod(), 5.0)
        moments = volume / part * (size @ size - size ** 2)
    elif shape.kind == "sphere":
        volume = 4 / 3 * np.pi * size[0] ** 3
        moments = np.full(3, 0.4 * volume * size[0] ** 2)
    else:
        r, length = size
        rod = np.pi * r * r * length
        across, along = rod * (r * r / 4 + length ** 2 / 12), rod * r * r / 2
        volume = rod
        if shape.kind == "capsule":
            caps = 4 / 3 * np.pi * r ** 3
            volume += caps
            along += 0.4 * caps * r * r
            # half balls: their centres lie 3/8 r beyond the ends of the rod
            across += caps * (0.4 * r * r + length ** 2 / 4 + 3 / 8 * length * r)
        moments = np.array([across, across, along])
    return MassProperties(volume, np.zeros(3), np.diag(moments))
