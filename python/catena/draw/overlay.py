"""What is written over a picture: time, colour scale, legend, scale bar."""
from __future__ import annotations

import math

import numpy as np

from .. import fields

INK = (0.15, 0.15, 0.15)


def _text(scene, words, x, y, size=20, align="left", up="bottom", behind=0.0):
    """Text with its lower left (or centre, right; middle) at x, y in parts of the picture.

    `behind`: how opaque the white under it is.
    """
    actor = scene.vtk.vtkTextActor()
    actor.SetInput(words)
    look = actor.GetTextProperty()
    look.SetColor(*INK)
    look.SetFontSize(max(8, round(size * scene.options.text * scene.camera.height / 960)))
    look.SetJustification({"left": 0, "centered": 1, "right": 2}[align])
    look.SetBackgroundColor(1.0, 1.0, 1.0)
    look.SetBackgroundOpacity(behind)
    look.SetVerticalJustification({"bottom": 0, "middle": 1}[up])
    place = actor.GetPositionCoordinate()
    place.SetCoordinateSystemToNormalizedViewport()
    place.SetValue(x, y)
    scene.renderer.AddActor2D(actor)


def _quads(scene, boxes, colors):
    """Filled rectangles (x, y, width, height), in parts of the picture."""
    vtk = scene.vtk
    x, y, width, height = np.array(boxes, float).T
    corners = np.stack([[x, y], [x + width, y], [x + width, y + height], [x, y + height]]).transpose(2, 0, 1)
    points = np.concatenate([corners, np.zeros((*corners.shape[:2], 1))], axis=2).reshape(-1, 3)
    data = scene.surfaces.data(points, np.arange(len(points)), 4)
    data.GetCellData().SetScalars(scene.surfaces.to_vtk((255 * np.array(colors)).round().astype(np.uint8)))
    place = vtk.vtkCoordinate()
    place.SetCoordinateSystemToNormalizedViewport()
    mapper = vtk.vtkPolyDataMapper2D()
    mapper.SetInputData(data)
    mapper.SetTransformCoordinate(place)
    actor = vtk.vtkActor2D()
    actor.SetMapper(mapper)
    scene.renderer.AddActor2D(actor)


def _color_of(scene, value):
    rgb = [0.0, 0.0, 0.0]
    scene.table.GetColor(value, rgb)
    return rgb


def _color_scale(scene, title):
    """A strip of the colours with five numbers; its title stands above with room between."""
    x, y, width, height, n = 0.93, 0.08, 0.022, 0.40, 64
    low, high = scene.scale
    _quads(scene, [(x, y + height * k / n, width, height / n * 1.02) for k in range(n)],
           [_color_of(scene, low + (high - low) * (k + 0.5) / n) for k in range(n)])
    for k in range(5):
        _text(scene, "%.3g" % (low + (high - low) * k / 4), x - 0.008, y + height * k / 4, 17, "right", "middle")
    _text(scene, title, 0.985, y + height + 0.03 * scene.options.text, 18, "right")


def _legend(scene, names):
    """Colours of the numbers that stand for names, twelve at most."""
    line = 0.035 * scene.options.text
    shown = sorted(names)[:12]
    places = [0.975 - line * (k + 1) for k in range(len(shown))]
    _quads(scene, [(0.955, y, 0.022, 0.7 * line) for y in places], [_color_of(scene, float(k)) for k in shown])
    for k, y in zip(shown, places):
        _text(scene, names[k], 0.947, y + 0.35 * line, 17, "right", "middle")


def nice_length(most: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above `most`.

    >>> nice_length(0.37), nice_length(7.0), nice_length(1.0)
    (0.2, 5.0, 1.0)
    """
    power = 10.0 ** math.floor(math.log10(most) + 1e-12)
    return round(max(f for f in (1, 2, 5) if f * power <= most * (1 + 1e-12)) * power, 12)


def _scale_bar(scene):
    """A length at the distance of the focus."""
    camera = scene.camera
    across = camera.width * camera.distance / camera.focal
    length = nice_length(0.22 * across)
    part = length / across
    left = 0.2 + 0.1 * (scene.options.text - 1)
    _quads(scene, [(left, 0.022, part, 0.006)], [INK])
    _text(scene, "%g m" % length if length >= 0.1 else "%g mm" % (1000 * length), left + part / 2, 0.036, 18,
          "centered")


def _names(scene, frame):
    """Names at the middles of the bodies that --label asks for, and of generators' bodies."""
    for name in scene.options.label:
        middle = frame.position[frame.snapshot.rows(name)]
        if len(middle) == 0:
            continue  # all have left
        pixel, depth, _ = scene.camera.project(middle.mean(axis=0)[None])
        if depth[0] > 0.0:
            _text(scene, name, pixel[0, 0] / scene.camera.width, pixel[0, 1] / scene.camera.height, 20, "centered",
                  "middle", behind=0.6)


def add(scene, frame):
    _names(scene, frame)
    if not scene.options.labels:
        return
    _text(scene, "t = %.4g s" % frame.time, 0.0125, 0.015, 22)
    if scene.options.scale_bar:
        _scale_bar(scene)
    color = scene.options.color
    if scene.options.chains:
        _color_scale(scene, "normal force [N]")
    elif color in fields.CATEGORIES:
        names = dict(enumerate(fields.names_of(scene.result, color)))
        _legend(scene, names if len(names) <= 12 else {k: names[k] for k in set(np.asarray(frame.value, int))})
    elif color != "none":
        unit = {"speed": " [m/s]", "force": " [N]", "size": " [m]"}.get(color, "")
        _color_scale(scene, fields.TITLES[color] + unit)
