"""What a page of the viewer holds besides its frames, as plain lists and numbers for JSON."""
from __future__ import annotations

import types
from typing import Any

import numpy as np

from .. import fields
from ..draw.framing import bounds_of
from ..geometry import extents, primitives, template

_KINDS = {"dynamic": 0, "fixed": 1, "kinematic": 2}
_MOST_POINTS = 2000  # of a plotted column


def _rounded(values) -> list:
    return [float(f"{x:.7g}") for x in np.asarray(values, float).reshape(-1)]


def _shape(key, geometries) -> dict[str, Any]:
    """A shape for page.js: by name where it makes its own, by points and triangles elsewhere."""
    if isinstance(key, str):
        return {"type": key}
    made = template(key, geometries, 2)
    triangles = [[int(face[0]), int(face[k]), int(face[k + 1])] for face in made["faces"]
                 for k in range(1, len(face) - 1)]
    points = np.asarray(made["points"], float)
    wall = key[0] == "hollow" and key[3]
    return {"type": "surface", "points": [_rounded(p) for p in points], "triangles": triangles,
            "open": bool(made.get("open", False) or made.get("type") == "heightfield" or wall)}


def _parts(bodies, geometries) -> tuple[list, list]:
    """Shapes, and parts [body, shape, position, orientation, scale] in the frames of their bodies."""
    n = len(bodies)
    still = types.SimpleNamespace(position=np.zeros((n, 3)), orientation=np.tile([1.0, 0, 0, 0], (n, 1)),
                                  size=bodies.size, shape=bodies.shape, geometry=bodies.geometry,
                                  closed_ends=bodies.closed_ends, kind=bodies.kind)
    shapes, parts = [], []
    for key, (at, turn, scale, rows) in primitives(still, geometries).items():
        shapes.append(_shape(key, geometries))
        parts += [[int(b), len(shapes) - 1, _rounded(a), _rounded(q), _rounded(s)]
                  for b, a, q, s in zip(rows, at, turn, scale)]
    planes = np.flatnonzero(np.asarray(bodies.shape) == "plane")
    if len(planes):
        shapes.append({"type": "plane"})
        parts += [[int(b), len(shapes) - 1, [0, 0, 0], [1, 0, 0, 0], [1, 1, 1]] for b in planes]
    return shapes, parts


def _numbers(names) -> tuple[list, list]:
    """Distinct texts, and each one's number."""
    texts = [str(x) for x in np.asarray(names)]
    distinct = list(dict.fromkeys(texts))
    number = {text: k for k, text in enumerate(distinct)}
    return distinct, [number[text] for text in texts]


def _plot(name, unit, times, values) -> dict[str, Any]:
    pick = np.unique(np.linspace(0, len(times) - 1, min(len(times), _MOST_POINTS)).astype(int))
    values = [float(f"{v:.6g}") if np.isfinite(v) else None for v in np.asarray(values, float)[pick]]
    return {"name": name, "unit": unit, "times": _rounded(np.asarray(times)[pick]), "values": values}


def plots(result) -> list[dict[str, Any]]:
    """Columns of the probes, then of the series, kinetic energy first, over time; constant ones are left out."""
    found = []
    for probe in result.probes:
        columns = result.probe(probe)
        found += [_plot(f"{probe}.{name}", columns[name].unit, columns["time"], columns[name])
                  for name in columns if name not in ("time", "step") and len(columns["time"])]
    series = result.series if (result.path / "series.csv").exists() else None
    names = list(series) if series is not None and len(series["time"]) else []
    for name in sorted(names, key=lambda n: n != "kinetic_energy"):
        values = np.asarray(series[name], float)
        if name not in ("time", "step") and np.ptp(values[np.isfinite(values)] if np.isfinite(values).any() else [0.0]):
            found.append(_plot(name, series[name].unit, series["time"], values))
    return found


def scene_of(result) -> dict[str, Any]:
    """All of a page but frames and what follows from them (`frames.py`)."""
    bodies, geometries = result.bodies, result.geometries
    extent = extents(bodies, geometries)
    shapes, parts = _parts(bodies, geometries)
    materials, material = _numbers(bodies.material)
    groups, group = _numbers(bodies.generator)
    ends = [result[0], result[len(result) - 1]]
    low, high = bounds_of([(np.asarray(s.position, float), extent[s.row], np.asarray(s.kind), np.asarray(s.shape))
                           for s in ends])
    pairs = fields.joined(result, types.SimpleNamespace(id=bodies.id))[0]
    return {"viewLower": _rounded(low), "viewUpper": _rounded(high), "shapes": shapes, "parts": parts,
            "bodies": {"name": [str(x) for x in bodies.name], "kind": [_KINDS[str(k)] for k in np.asarray(bodies.kind)],
                       "extent": _rounded(extent), "material": material, "group": group},
            "materials": materials, "groups": groups, "joints": pairs.tolist(), "plots": plots(result)}
