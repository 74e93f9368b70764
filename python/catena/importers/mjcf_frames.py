"""MJCF's ways to write orientations, in the compiler's units."""
import numpy as np

from .rotations import Pose, about_axis, from_quaternion, z_to


class Compiler:
    """What <compiler> says of the rest of the file."""

    def __init__(self, root):
        self.degrees, self.sequence, self.autolimits = True, "xyz", True
        self.meshdir, self.inertia_from_geoms, self.balance, self.masses = "", None, False, {}
        self.exact_meshes = False
        for element in root.all("compiler"):
            angle = element.text("angle", "degree" if self.degrees else "radian")
            if angle not in ("degree", "radian"):
                element.fail(f"angle={angle!r}", "expected degree or radian")
            self.degrees = angle == "degree"
            self.sequence = element.text("eulerseq", self.sequence)
            if len(self.sequence) != 3 or set(self.sequence.lower()) - set("xyz"):
                element.fail(f"eulerseq={self.sequence!r}", "expected three of x, y, z (X, Y, Z: fixed axes)")
            self.autolimits = element.text("autolimits", "true" if self.autolimits else "false") == "true"
            self.meshdir = element.text("meshdir") or element.text("assetdir") or self.meshdir
            if "inertiafromgeom" in element.attributes:
                self.inertia_from_geoms = {"true": True, "false": False}.get(element.text("inertiafromgeom"))
            self.balance = element.text("balanceinertia", "true" if self.balance else "false") == "true"
            self.exact_meshes = element.text("exactmeshinertia", "true" if self.exact_meshes else "false") == "true"
            if element.text("coordinate", "local") != "local":
                element.fail("coordinate='global' is no longer part of MJCF", "save the model with local coordinates")
            for key in ("boundmass", "boundinertia", "settotalmass"):
                self.masses[key] = max(0.0, element.number(key, self.masses.get(key, 0.0)))

    def angle(self, value):
        return np.radians(value) if self.degrees else value

    def rotation(self, element):
        """Of quat, euler, axisangle, xyaxes or zaxis; one at most."""
        keys = [k for k in ("quat", "euler", "axisangle", "xyaxes", "zaxis") if k in element.attributes]
        if not keys:
            return np.eye(3)
        if len(keys) > 1:
            element.fail(f"has {keys[0]} and {keys[1]}", "keep one orientation")
        key = keys[0]
        values = np.array(element.numbers(key, {"quat": 4, "euler": 3, "axisangle": 4, "xyaxes": 6, "zaxis": 3}[key]))
        if key != "euler" and np.linalg.norm(values[:3] if key != "quat" else values) == 0:
            element.fail(f"{key} has no direction", "give a vector above zero")
        if key == "quat":
            return from_quaternion(*values)
        if key == "axisangle":
            return about_axis(values[:3] / np.linalg.norm(values[:3]), self.angle(values[3]))
        if key == "zaxis":
            return z_to(values)
        if key == "xyaxes":
            x = values[:3] / np.linalg.norm(values[:3])
            y = values[3:] - (values[3:] @ x) * x
            if np.linalg.norm(y) == 0:
                element.fail("xyaxes are parallel", "give two directions")
            y /= np.linalg.norm(y)
            return np.column_stack([x, y, np.cross(x, y)])
        turn = np.eye(3)
        for letter, value in zip(self.sequence, values):
            one = about_axis(np.eye(3)["xyz".index(letter.lower())], self.angle(value))
            turn = turn @ one if letter.islower() else one @ turn
        return turn

    def pose(self, element):
        return Pose(element.numbers("pos", 3, (0.0, 0.0, 0.0)), self.rotation(element))
