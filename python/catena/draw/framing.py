"""What a picture shows: the box about the bodies that are in the scene."""
from __future__ import annotations

import numpy as np


def _box(position, extent):
    return (position - extent[:, None]).min(axis=0), (position + extent[:, None]).max(axis=0)


def in_scene(position, start) -> np.ndarray:
    """Which bodies are still in the scene, those left out that fell or flew off.

    In the scene is who stays in the box of the start, grown by its diagonal on all sides. Where fewer than half do, as
    with a vehicle that drove off, so is who is near the middle half of the bodies, within three times its spread.
    """
    inside = np.zeros(len(position), bool)
    if start is not None:
        low, high = start
        reach = np.linalg.norm(high - low)
        inside = np.all((position >= low - reach) & (position <= high + reach), axis=1)
    first, third = np.percentile(position, [25, 75], axis=0)
    spread = 3 * max(float(np.max(third - first)), 1e-12)
    among = np.all((position >= first - spread) & (position <= third + spread), axis=1)
    return inside if np.mean(inside) >= 0.5 else inside | among


def bounds_of(frames) -> tuple[np.ndarray, np.ndarray]:
    """Box (lower and upper corner, m) about the bodies of the scene; frames: (position, extent, kind, shape) each.

    That is about the moving bodies, and about those fixed and prescribed ones beside them that are not much larger: the
    rim of a drum is shown, all of a terrain is not. Where none moves freely it is about all that have a size.
    """
    boxes, start = [], None
    for k, (position, extent, kind, shape) in enumerate(frames):
        bounded = (extent > 0.0) & (shape != "plane")
        moving = bounded & (kind == "dynamic")
        others = bounded & ~moving
        if not moving.any():
            continue
        rows = np.flatnonzero(moving)
        if k == 0:  # at the start all belong to the scene
            start = _box(position[rows], extent[rows])
        rows = rows[in_scene(position[rows], start)]
        if len(rows) == 0:
            continue
        low, high = _box(position[rows], extent[rows])
        size = float(np.linalg.norm(high - low))
        near = others & np.all((position + extent[:, None] >= low) & (position - extent[:, None] <= high), axis=1)
        near &= extent <= 0.8 * size
        rows = np.concatenate([rows, np.flatnonzero(near)])
        boxes.append(_box(position[rows], extent[rows]))
    if not boxes:
        for position, extent, kind, shape in frames:
            bounded = (extent > 0.0) & (shape != "plane")
            if bounded.any():
                boxes.append(_box(position[bounded], extent[bounded]))
    if not boxes:
        return np.full(3, -1.0), np.full(3, 1.0)
    return np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)
