"""From where a picture looks, and how large things are in it."""
from __future__ import annotations

import numpy as np

from .hidden import seen

VIEW_ANGLE = 34.0  # degrees, of the picture's height


class Camera:
    """Looks at the middle of a box, or at the focus, from azimuth and elevation, so that the box fits.

    middle, distance (m)   what it faces, and from how far
    axes                   unit vectors to the right, up and towards the eye
    focal                  distance in pixels of the plane on which the picture arises
    """

    def __init__(self, options, bounds, width: int, height: int) -> None:
        low, high = bounds
        self.width, self.height, self.parallel = width, height, options.projection == "parallel"
        self.middle = np.array(options.focus) if options.focus else (low + high) / 2
        self.distance = 1.6 * float(np.linalg.norm(high - low)) / options.zoom
        a, e = np.radians([options.azimuth, options.elevation])
        toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        self.axes = np.array([right, np.cross(toward, right), toward])
        self.focal = height / 2 / np.tan(np.radians(VIEW_ANGLE / 2))

    def place(self, camera) -> None:
        """Sets a camera of VTK."""
        camera.SetFocalPoint(*self.middle)
        camera.SetPosition(*(self.middle + self.distance * self.axes[2]))
        camera.SetViewUp(0, 0, 1)
        camera.SetViewAngle(VIEW_ANGLE)
        if self.parallel:
            camera.ParallelProjectionOn()
            camera.SetParallelScale(self.distance * np.tan(np.radians(VIEW_ANGLE / 2)))

    def project(self, at):
        """Of places: pixels from the picture's lower left corner, depth (m, < 0 behind the eye), pixels to a metre."""
        place = (np.asarray(at, float) - self.middle) @ self.axes.T
        depth = self.distance - place[:, 2]
        scale = self.focal / (self.distance if self.parallel else np.maximum(np.abs(depth), 1e-300))
        return place[:, :2] * np.reshape(scale, (-1, 1)) + [self.width / 2, self.height / 2], depth, scale

    def seen(self, at, radius):
        """Which spheres are not wholly hidden by others, nor outside the picture."""
        pixel, depth, scale = self.project(at)
        front, cover = depth - radius, radius * scale
        extent = cover + 1.0
        if not self.parallel:
            # perspective stretches spheres: away from the middle of the picture, and where they are near
            slant = np.hypot(1.0, np.linalg.norm(pixel - [self.width / 2, self.height / 2], axis=1) / self.focal)
            extent = cover * slant * depth / np.maximum(front, 1e-300) + 1.0
        side = max(self.width, self.height)
        return seen(pixel / side, depth, cover / side, extent / side, front)
