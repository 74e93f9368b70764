"""Rotations, poses and inertias. Rotation matrices take vectors of the inner frame to the outer one."""
import numpy as np


class Pose:
    """x_outer = p + R x_inner."""

    def __init__(self, p=(0.0, 0.0, 0.0), rotation=None):
        self.p = np.asarray(p, float)
        self.R = np.eye(3) if rotation is None else np.asarray(rotation, float)

    def __matmul__(self, other):
        return Pose(self.p + self.R @ other.p, self.R @ other.R)

    def point(self, x):
        return self.p + self.R @ np.asarray(x, float)

    def inverse(self):
        return Pose(-self.R.T @ self.p, self.R.T)


def about_axis(axis, angle):
    """Rodrigues' formula; the axis has unit length."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def from_rpy(roll, pitch, yaw):
    """URDF: about the fixed x, then y, then z axis."""
    return (about_axis((0, 0, 1), yaw) @ about_axis((0, 1, 0), pitch) @ about_axis((1, 0, 0), roll))


def from_quaternion(w, x, y, z):
    w, x, y, z = np.array([w, x, y, z]) / np.linalg.norm([w, x, y, z])
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def quaternion(rotation):
    """(w, x, y, z) with w >= 0, by the largest of its four squares."""
    r = rotation
    squares = np.array([1 + r[0, 0] + r[1, 1] + r[2, 2], 1 + r[0, 0] - r[1, 1] - r[2, 2],
                        1 - r[0, 0] + r[1, 1] - r[2, 2], 1 - r[0, 0] - r[1, 1] + r[2, 2]])
    k = int(np.argmax(squares))
    rows = ([squares[0], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
            [r[2, 1] - r[1, 2], squares[1], r[1, 0] + r[0, 1], r[0, 2] + r[2, 0]],
            [r[0, 2] - r[2, 0], r[1, 0] + r[0, 1], squares[2], r[2, 1] + r[1, 2]],
            [r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[2, 1] + r[1, 2], squares[3]])
    q = np.array(rows[k]) / np.linalg.norm(rows[k])
    return q if q[0] >= 0 else -q


def z_to(direction):
    """The shortest rotation that takes z to a direction."""
    d = np.asarray(direction, float) / np.linalg.norm(direction)
    axis = np.cross((0, 0, 1), d)
    length = np.linalg.norm(axis)
    if length < 1e-12:
        return np.eye(3) if d[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return about_axis(axis / length, np.arctan2(length, d[2]))


class MassProperties:
    """Mass, centre of mass and inertia about it, on the axes of one frame."""

    def __init__(self, mass, centre, inertia):
        self.mass, self.centre, self.inertia = mass, np.asarray(centre, float), np.asarray(inertia, float)

    def placed(self, pose):
        return MassProperties(self.mass, pose.point(self.centre), pose.R @ self.inertia @ pose.R.T)

    def is_finite(self):
        return bool(np.isfinite([self.mass, *self.centre, *self.inertia.ravel()]).all())

    def scaled(self, factor):
        return MassProperties(factor * self.mass, self.centre, factor * self.inertia)


def together(parts):
    """Mass properties of rigidly joined parts, all in one frame (parallel axes)."""
    mass = sum(part.mass for part in parts)
    centre = sum(part.mass * part.centre for part in parts) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        arm = part.centre - centre
        inertia += part.inertia + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return MassProperties(mass, centre, inertia)


def principal(inertia):
    """(moments, axes as columns, right-handed); the given axes where they are principal already."""
    off = np.abs(inertia - np.diag(np.diag(inertia))).max()
    if off <= 1e-13 * np.abs(np.diag(inertia)).max():
        return np.diag(inertia).copy(), np.eye(3)
    moments, axes = np.linalg.eigh(0.5 * (inertia + inertia.T))
    if np.linalg.det(axes) < 0:
        axes[:, 2] = -axes[:, 2]
    return moments, axes
