"""What both formats check and make in one way: names, inertias, hulls of meshes."""
import os

import numpy as np

from .errors import ImportProblem
from .hull import convex_hull
from .meshes import mesh_fault, mesh_properties, read_mesh
from .robot import Shape

UNLIKE = 100  # a size and a radius of gyration that differ by more are in different units
LARGEST = 50.0  # m, of a mesh that is not doubted
CONVEX = 1e-4  # relative: a hull whose volume exceeds the mesh's by more has a dent that is no rounding


def unique(elements):
    """Elements by name; refuses names that are missing or given twice."""
    found = {}
    for element in elements:
        name = element.required("name")
        if name in found:
            element.fail(f"the name is given twice, first at {found[name].where}", "rename one of them")
        found[name] = element
    return found


def check_inertial(own, mass_element, inertia_element, options, report):
    """Refuses what no body has; None for a body without mass and inertia (a frame)."""
    if own.mass < 0:
        mass_element.fail(f"mass {own.mass:g} kg is negative", "give a positive mass")
    moments = np.linalg.eigvalsh(own.inertia)
    if own.mass == 0 and not own.inertia.any():
        return None
    if own.mass == 0:
        mass_element.fail("has an inertia but no mass", "give a positive mass, or no <inertial>")
    if own.mass > 0 and not own.inertia.any():
        return own  # a point mass, which may be part of a body
    if moments[0] <= 0:
        inertia_element.fail(f"inertia with the moment {moments[0]:g} kg m^2, which is not positive",
                             "correct ixx ... iyz: principal moments are positive")
    if moments[2] > (moments[0] + moments[1]) * (1 + 1e-6):
        if not options.balance_inertia:
            inertia_element.fail(
                f"no body has the principal moments {moments[0]:g}, {moments[1]:g}, {moments[2]:g} kg m^2: the "
                "largest exceeds the sum of the others", "correct them, or take their mean with --balance-inertia")
        report.add("changed", "inertia that no body has: the mean of its moments about all axes",
                   inertia_element.where)
        own.inertia = np.mean(moments) * np.eye(3)
    return own


def doubt_sizes(links, report):
    """Says which meshes look as if they were in another unit: far larger or smaller than the inertia of their link,
    or, where it has none, than machines are."""
    for link in links:
        own, gyration = link.inertial, None
        if own is not None and own.inertia.any() and not link.weighed:
            gyration = np.sqrt(np.linalg.eigvalsh(own.inertia)[-1] / own.mass)
        for shape in link.shapes:
            if shape.kind != "hull" or not shape.path:
                continue
            size = np.ptp(shape.points, axis=0).max()
            if gyration is None:
                doubt = f"has a size of {size:.3g} m" if size > LARGEST else None
            else:
                ratio = size / gyration
                doubt = (f"has a size of {size:.3g} m, its link a radius of gyration of {gyration:.3g} m"
                         if not 1 / UNLIKE < ratio < UNLIKE else None)
            if doubt is not None:
                report.add("doubtful", f"mesh {os.path.basename(shape.path)} {doubt}: is it in mm? correct its scale",
                           shape.where)


def unless_skipped(make, options, report):
    """What `make` gives; None, with a line of the report, where its mesh cannot be read and --skip-meshes is given."""
    try:
        return make()
    except ImportProblem as problem:
        if not options.skip_meshes:
            raise
        report.add("left out", f"{problem.found} (--skip-meshes)", problem.where)
        return None


def has_dents(mesh, options):
    """Whether the hull of a closed mesh holds more than it."""
    made = convex_hull(mesh.corners.reshape(-1, 3), options.hull_vertices)
    return made is not None and mesh_properties(made[0][made[1]]).mass > mesh_properties(mesh.corners).mass * (1 + CONVEX)


def hull_shape(path, scale, pose, where, options, report, **keys):
    """The convex hull of a mesh as a shape, with what it does not follow of it in `dent`."""
    mesh = read_mesh(path, scale, where)
    corners = mesh.corners
    made = convex_hull(corners.reshape(-1, 3), options.hull_vertices)
    if made is None:
        raise ImportProblem(where, f"mesh {path}: all of its facets lie in one plane", "give a body with thickness")
    points, triangles, gap = made
    shape = Shape("hull", (), pose, where, points=points, path=path, **keys)
    volume, hull_volume = mesh_properties(corners).mass, mesh_properties(points[triangles]).mass
    name = os.path.basename(path)
    fault = mesh_fault(mesh)
    if fault is not None:
        report.add("changed", f"mesh {fault}; its hull collides", where)
        shape.fault = "see what is said of the mesh"
        return shape
    if volume > 0 and hull_volume > volume * (1 + CONVEX):
        shape.dent = (f"mesh {name}: not convex, its hull collides, with {100 * (hull_volume / volume - 1):.3g} % more "
                      "volume")
        if scale[0] == scale[1] == scale[2] > 0:
            shape.mesh = (path, scale[0])
        else:
            shape.fault = "its scale is not one positive number"
    elif gap > 0:
        report.add("changed", f"mesh {name}: a hull of {len(points)} corners, the mesh reaches up to {1e3 * gap:.3g} mm "
                   "beyond its faces (--hull-vertices)", where)
    return shape
