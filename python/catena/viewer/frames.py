"""Snapshots as small blocks of bytes that page.js unpacks (`unpack` there is the other half).

A frame is, little-endian, each block padded to 4 bytes:

    uint32 [4]        bodies n, chains m, 1 where the next block is left out, 0
    uint32 [n]        rows of the bodies in the page's list; left out where all are there
    uint16 or uint32 [3 n]   positions, in steps of the box around all frames
    uint32 [n]        orientations, the smallest three components in ten bits each
    float16 [k n]     each field of `FrameWriter.fields`, over its scale
    float32 [m]       normal forces of the strongest force chains, N
    uint16 or uint32 [6 m]   both ends of each, as positions
"""
from __future__ import annotations

import gzip
from typing import Any

import numpy as np

from .. import fields as bodies_fields

# A position may be off by this share of the smallest body's extent.
_POSITION_SHARE = 0.01
_LARGEST_HALF = 6e4  # numbers of 16 bits go up to 65,504


def position_steps(lower, upper, smallest):
    """Number of steps of a position between `lower` and `upper` (m): 16 bits each where they do."""
    width = float(np.max(upper - lower))
    return 65535 if width / 65535 / 2 <= _POSITION_SHARE * smallest else 4294967295


def pack_positions(position, lower, upper, steps):
    """Positions (n x 3, m) as whole steps between lower and upper; places outside go to the edge."""
    width = np.where(upper > lower, upper - lower, 1.0)
    share = np.clip((position - lower) / width, 0.0, 1.0)
    return np.rint(share * steps).astype(np.uint16 if steps == 65535 else np.uint32)


def pack_orientations(orientation):
    """Unit quaternions (n x 4: w, x, y, z) as 32 bits each, off by 1.4e-3 rad at most a component."""
    q = np.asarray(orientation, dtype=float)
    rows = np.arange(len(q))
    largest = np.argmax(np.abs(q), axis=1)
    q = q * np.where(q[rows, largest] < 0, -1.0, 1.0)[:, None]
    others = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])[largest]
    small = q[rows[:, None], others] * np.sqrt(2.0)
    tens = np.rint((np.clip(small, -1.0, 1.0) + 1.0) / 2.0 * 1023).astype(np.uint32)
    return (largest.astype(np.uint32) << 30) | (tens[:, 0] << 20) | (tens[:, 1] << 10) | tens[:, 2]


def _compressed(blocks) -> bytes:
    raw = [np.ascontiguousarray(b).astype(b.dtype.newbyteorder("<")).tobytes() for b in blocks]
    return gzip.compress(b"".join(r + b"\0" * (-len(r) % 4) for r in raw), 6, mtime=0)


class FrameWriter:
    """Packs snapshots of a result. `kept`: which of `velocity` and `force` frames hold; `chains`: at most so many
    force chains a frame, the strongest ones; `more`: snapshots are still to come (see `covers`).

    It reads all snapshots once for the box of positions and the scales. `error` (m) bounds that of a position.
    """

    def __init__(self, result, extent, view, kept=("velocity", "force"), chains: int = 3000,
                 more: bool = False) -> None:
        self._result, self._chains = result, chains
        planes = np.asarray(result.bodies.shape) == "plane"
        low, high = np.array(view[0], float), np.array(view[1], float)
        reach = 3 * float(np.linalg.norm(high - low))  # bodies that flew off stay at the edge of this
        edge = low - reach, high + reach
        largest = {"speed": 0.0, "force": 0.0, "chain": 0.0}  # of moving bodies: the scale of colours
        most = {"speed": 0.0, "force": 0.0}  # of all: the scale of numbers
        for snapshot in result:
            position = np.asarray(snapshot.position, float)
            for low_, high_, rows in ((*edge, ~planes[snapshot.row]), (-np.inf, np.inf, planes[snapshot.row])):
                if rows.any():
                    seen = np.clip(position[rows], low_, high_)
                    low, high = np.minimum(low, seen.min(axis=0)), np.maximum(high, seen.max(axis=0))
            free = np.asarray(snapshot.kind) == "dynamic"
            for name in ("speed", "force"):
                values = np.asarray(bodies_fields.field(result, snapshot, name))
                largest[name] = max(largest[name], float(values[free].max(initial=0.0)))
                most[name] = max(most[name], float(values.max(initial=0.0)))
            if chains:
                largest["chain"] = max(largest["chain"],
                                       float(np.asarray(bodies_fields.chains(snapshot)[2]).max(initial=0.0)))
        if more:
            low, high = np.minimum(low, edge[0]), np.maximum(high, edge[1])
        self.lower, self.upper, self.largest_chain = low, high, largest["chain"]
        self.steps = position_steps(low, high, float(extent[extent > 0].min(initial=np.inf)))
        self.error = float(np.max(high - low)) / self.steps / 2
        known = {"velocity": (3, "speed"), "force": (1, "force")}
        self.fields = [{"name": name, "width": known[name][0], "largest": largest[known[name][1]],
                        "scale": max(1.0, most[known[name][1]] / _LARGEST_HALF)} for name in kept]

    def covers(self, snapshot) -> bool:
        """Whether a snapshot that came later fits the box and the scales."""
        position = np.asarray(snapshot.position, float)
        within = np.all((position >= self.lower) & (position <= self.upper))
        return bool(within) and all(np.abs(self._values(snapshot, f)).max(initial=0.0) <= f["scale"] * _LARGEST_HALF
                                    for f in self.fields)

    def description(self) -> dict[str, Any]:
        """What page.js needs to unpack frames."""
        return {"wide": self.steps > 65535, "lower": self.lower.tolist(), "upper": self.upper.tolist(),
                "frameFields": self.fields, "largestChain": self.largest_chain}

    @staticmethod
    def _values(snapshot, field) -> np.ndarray:
        return np.asarray(snapshot.velocity if field["name"] == "velocity" else bodies_fields.force(snapshot), float)

    def frame(self, snapshot) -> bytes:
        rows, everyone = snapshot.row, len(snapshot) == len(self._result.bodies)
        a, b, force = bodies_fields.chains(snapshot) if self._chains else (np.empty((0, 3)), np.empty((0, 3)), np.empty(0))
        strongest = np.argsort(-np.asarray(force), kind="stable")[:self._chains]
        ends = np.stack([a[strongest], b[strongest]], axis=1).reshape(-1, 3)
        place = lambda x: pack_positions(x, self.lower, self.upper, self.steps)
        return _compressed([np.array([len(rows), len(strongest), everyone, 0], np.uint32),
                            *([] if everyone else [np.asarray(rows, np.uint32)]),
                            place(np.asarray(snapshot.position, float)), pack_orientations(snapshot.orientation),
                            *((self._values(snapshot, f) / f["scale"]).astype(np.float16) for f in self.fields),
                            np.asarray(force)[strongest].astype(np.float32), place(ends)])
