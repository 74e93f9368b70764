"""Numbers of bodies and pairs that follow from a snapshot: what pictures are coloured by and VTK files hold."""
from __future__ import annotations

import numpy as np

from .quantity import Quantity

NAMES = ("speed", "force", "coordination", "size", "rank", "material", "generator")
TITLES = {"speed": "speed", "force": "sum of normal forces", "coordination": "bodies touched", "size": "half extent",
          "rank": "rank", "material": "material", "generator": "generator"}
CATEGORIES = ("material", "generator")  # numbers of names


def _ends(snapshot) -> np.ndarray:
    """Rows (m x 2) in the snapshot of the bodies of its contacts."""
    return np.searchsorted(np.asarray(snapshot.id), np.asarray(snapshot.contacts.bodies))


def force(snapshot) -> Quantity:
    """N: sum of the normal forces of all contacts of each body, mean over the step."""
    total = np.zeros(len(snapshot))
    if len(snapshot.contacts):
        for end in _ends(snapshot).T:
            np.add.at(total, end, np.asarray(snapshot.contacts.normal_force))
    return Quantity(total, "N")


def coordination(snapshot) -> Quantity:
    """Number of bodies that each body touches with a force, walls and planes among them."""
    count = np.zeros(len(snapshot), int)
    if len(snapshot.contacts):
        contacts = snapshot.contacts
        pressed = np.sum(np.asarray(contacts.impulse) * np.asarray(contacts.normal), axis=1) > 0.0
        pairs = np.unique(_ends(snapshot)[pressed], axis=0)
        np.add.at(count, pairs.reshape(-1), 1)
    return Quantity(count)


def names_of(result, name: str) -> list[str]:
    """The names that the numbers of a field of CATEGORIES stand for, in all of the result."""
    return list(dict.fromkeys(np.asarray(getattr(result.bodies, name))))


def field(result, snapshot, name: str, extent=None) -> Quantity:
    """A number per body of the snapshot: one of NAMES."""
    if name == "speed":
        return Quantity(np.linalg.norm(np.asarray(snapshot.velocity), axis=1), "m/s")
    if name == "force":
        return force(snapshot)
    if name == "coordination":
        return coordination(snapshot)
    if name == "size":
        from .geometry import extents
        return Quantity(extents(snapshot, result.geometries) if extent is None else extent, "m")
    if name == "rank":
        return Quantity(np.asarray(snapshot.rank))
    number = {text: k for k, text in enumerate(names_of(result, name))}
    return Quantity(np.array([number[text] for text in np.asarray(getattr(snapshot, name))], int))


def chains(snapshot) -> tuple[np.ndarray, np.ndarray, Quantity]:
    """Force chains: both ends (m, k x 3 each) of a line per pair that presses, and its normal force (N, k).

    A line goes from centre to centre; where one body does not move freely, from the other to the contact.
    """
    contacts = snapshot.contacts
    if len(contacts) == 0:
        return np.empty((0, 3)), np.empty((0, 3)), Quantity(np.empty(0), "N")
    ends, normal = _ends(snapshot), np.asarray(contacts.normal_force)
    pairs, place = np.unique(ends, axis=0, return_inverse=True)
    place = place.reshape(-1)
    total = np.bincount(place, normal, len(pairs))
    weight = np.bincount(place, minlength=len(pairs))[:, None]
    point = np.stack([np.bincount(place, x, len(pairs)) for x in np.asarray(contacts.point).T], axis=1) / weight
    position, free = np.asarray(snapshot.position), np.asarray(snapshot.kind) == "dynamic"
    a, b = (np.where(free[end][:, None], position[end], point) for end in pairs.T)
    # a body across a periodic boundary is far from its contact: no line through the box
    span = np.linalg.norm(b - a, axis=1)
    reach = np.linalg.norm(point - a, axis=1) + np.linalg.norm(b - point, axis=1)
    keep = (total > 0.0) & (reach < 2 * span + 1e-300)
    return a[keep], b[keep], Quantity(total[keep], "N")


def joined(result, snapshot, types=None) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of rows of the snapshot's bodies that joints hold together (the world left out), and the joints' rows."""
    table = result.joints
    if len(table) == 0:
        return np.empty((0, 2), int), np.empty(0, int)
    pairs, ids = np.asarray(table.bodies), np.asarray(snapshot.id)
    use = np.isin(pairs, ids).all(axis=1)
    if types is not None:
        use &= np.isin(np.asarray(table.type).astype(str), types)
    rows = np.flatnonzero(use)
    return np.searchsorted(ids, pairs[rows]), rows
