"""What is written over a picture: time, colour scale, legend, scale bar."""
from __future__ import annotations

import math

import numpy as np

from .. import fields

INK = (0.15, 0.15, 0.15)


def _text(scene, words, x, y, size=20, align="left"):
    """Text with its lower left (or centre, right) corner at x, y in parts of the picture."""
    actor = scene.vtk.vtkTextActor()
    actor.SetInput(words)
    look = actor.GetTextProperty()
    look.SetColor(*INK)
    look.SetFontSize(max(8, round(size * scene.window.GetSize()[1] / 960)))
    look.SetJustification({"left": 0, "centered": 1, "right": 2}[align])
    place = actor.GetPositionCoordinate()
    place.SetCoordinateSystemToNormalizedViewport()
    place.SetValue(x, y)
    scene.renderer.AddActor2D(actor)


def _quad(scene, x, y, width, height, color):
    """A filled rectangle, in parts of the picture."""
    vtk = scene.vtk
    plane = vtk.vtkPlaneSource()
    plane.SetOrigin(x, y, 0.0)
    plane.SetPoint1(x + width, y, 0.0)
    plane.SetPoint2(x, y + height, 0.0)
    place = vtk.vtkCoordinate()
    place.SetCoordinateSystemToNormalizedViewport()
    mapper = vtk.vtkPolyDataMapper2D()
    mapper.SetInputConnection(plane.GetOutputPort())
    mapper.SetTransformCoordinate(place)
    actor = vtk.vtkActor2D()
    actor.SetMapper(mapper)
    actor.GetProperty().SetColor(*color)
    scene.renderer.AddActor2D(actor)


def _color_scale(scene, title):
    """A strip of the colours with five numbers; its title stands above with room between."""
    x, y, width, height, n = 0.93, 0.08, 0.022, 0.40, 64
    low, high = scene.scale
    for k in range(n):
        rgb = [0.0, 0.0, 0.0]
        scene.table.GetColor(low + (high - low) * (k + 0.5) / n, rgb)
        _quad(scene, x, y + height * k / n, width, height / n * 1.02, rgb)
    for k in range(5):
        _text(scene, "%.3g" % (low + (high - low) * k / 4), x - 0.008, y + height * k / 4 - 0.008, 17, "right")
    _text(scene, title, 0.985, y + height + 0.03, 18, "right")


def _legend(scene, names):
    """The colours of the first names."""
    for k, name in enumerate(names[:12]):
        rgb = [0.0, 0.0, 0.0]
        scene.table.GetColor(float(k), rgb)
        y = 0.94 - 0.035 * k
        _quad(scene, 0.955, y, 0.022, 0.024, rgb)
        _text(scene, name, 0.947, y + 0.003, 17, "right")


def nice_length(most: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above `most`.

    >>> nice_length(0.37), nice_length(7.0), nice_length(1.0)
    (0.2, 5.0, 1.0)
    """
    power = 10.0 ** math.floor(math.log10(most) + 1e-12)
    return round(max(f for f in (1, 2, 5) if f * power <= most * (1 + 1e-12)) * power, 12)


def _scale_bar(scene):
    """A length at the distance of the focus."""
    width, height = scene.window.GetSize()
    across = 2 * scene.distance * math.tan(math.radians(17.0)) * width / height
    length = nice_length(0.22 * across)
    part = length / across
    _quad(scene, 0.2, 0.022, part, 0.006, INK)
    _text(scene, "%g m" % length if length >= 0.1 else "%g mm" % (1000 * length), 0.2 + part / 2, 0.036, 18, "centered")


def add(scene, frame):
    _text(scene, "t = %.4g s" % frame.time, 0.0125, 0.015, 22)
    if scene.options.scale_bar:
        _scale_bar(scene)
    color = scene.options.color
    if scene.options.chains:
        _color_scale(scene, "normal force [N]")
    elif color in fields.CATEGORIES:
        names = fields.names_of(scene.result, color)
        shown = set(np.asarray(frame.value, int))
        _legend(scene, names if len(names) <= 12 else [n for k, n in enumerate(names) if k in shown])
    elif color != "none":
        unit = {"speed": " [m/s]", "force": " [N]", "size": " [m]"}.get(color, "")
        _color_scale(scene, fields.TITLES[color] + unit)
