#!/usr/bin/python3
"""A roller chain runs over sprockets of 12 and 24 teeth, by contact alone: the ratio. roller_chain.py [END in s]"""
import sys

import catena
import numpy as np
from catena.geometry import rotation

PITCH, ROLLER, TEETH, LINKS = 12.7e-3, 3.8e-3, {"small": 12, "big": 24}, 42  # m
RADII = {name: PITCH / (2 * np.sin(np.pi / n)) for name, n in TEETH.items()}
PLACES = {"small": 11.846 * 1.002 * PITCH, "big": 0.0}  # of the axles along x, m
LYING = {"axis": [1, 0, 0], "angle": "90 deg"}  # turns z to -y


def arc(name, start, end, n):
    angle = np.linspace(start, end, n)
    return np.c_[PLACES[name] + RADII[name] * np.cos(angle), 0 * angle, RADII[name] * np.sin(angle)]


def sprocket(name, phase):
    """A disc with teeth between the rollers, each a hull of three sections of 4 mm width."""
    teeth, radius, disc = TEETH[name], RADII[name], RADII[name] - ROLLER - 0.1e-3
    half = PITCH / 2 - 0.95 * ROLLER
    sections = [(radius * np.cos(np.pi / teeth) - ROLLER, half), (radius, 0.9 * half), (radius + 3e-3, 0.8e-3)]
    shapes = [{"cylinder": {"radius": disc, "length": "4 mm"}}]
    for a in 2 * np.pi * (np.arange(teeth) + 0.5) / teeth + phase:
        out, side = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0])
        shapes.append({"hull": {"vertices": [r * out + s * w * side + [0, 0, h] for r, w in sections for s in (-1, 1)
                                             for h in (-2e-3, 2e-3)]}})
    inertia = 4e-4 if name == "big" else 4e-5
    return {"name": name, "material": "steel", "group": "wheels", "mass": 0.3 if name == "big" else 0.1,
            "inertia": [0.5 * inertia, 0.5 * inertia, inertia], "position": [PLACES[name], 0, 0],
            "position_of": "shape_origin", "orientation": LYING, "shapes": shapes}


def case(end, phases=(0, 0), name="roller_chain"):
    lean = np.pi / 2 - np.arcsin((RADII["big"] - RADII["small"]) / PLACES["small"])  # where the straight runs leave
    roller = {"cylinder": {"radius": ROLLER, "length": "6 mm"}, "orientation": LYING}
    return catena.Case({
        "catena": 1, "name": name, "materials": {"steel": {"density": 7800, "friction": 0.1}},
        "contact": {"no_collisions": [{"between": ["chain", "chain"]}, {"between": ["wheels", "wheels"]}]},
        "bodies": [sprocket(n, phase) for n, phase in zip(TEETH, phases)],
        "generators": [{"chain": {
            "name": "chain", "material": "steel", "group": "chain", "links": LINKS, "mass": 5e-3, "joint": "revolute",
            "inertia": [3e-7, 3e-7, 1e-7], "closed": True, "axis": [0, 1, 0], "angular_compliance": 1e-3,
            "shapes": [dict(roller, at=[0, 0, z]) for z in (-PITCH / 2, PITCH / 2)],
            "path": np.r_[arc("big", lean, 2 * np.pi - lean, 200), arc("small", -lean, lean, 100)]}}],
        "joints": [{"name": "drive", "type": "revolute", "between": ["world", "small"], "at": [PLACES["small"], 0, 0],
                    "axis": [0, 1, 0], "motor": {"table": {"rows": [[0, 0], [0.2, 0], [0.5, 20]], "values": "velocity"}}},
                   {"name": "out", "type": "revolute", "between": ["world", "big"], "at": [0, 0, 0], "axis": [0, 1, 0],
                    "friction": 0.5}],
        "probes": [{"name": n, "type": "joint", "joint": n} for n in ("drive", "out")],
        "time": {"step": "0.2 ms", "end": end}, "output": {"snapshot_interval": "20 ms"}})


def phases():
    """Turns of the sprockets by which their teeth stand between the rollers."""
    start = catena.run(case(0, name="start"), progress=False, force=True)[0]
    links = start.rows("chain")
    pins = start.position[links] - PITCH / 2 * rotation(start.orientation[links])[:, :, 2]  # along z of each link
    found = []
    for name, teeth in TEETH.items():
        arm = pins - [PLACES[name], 0, 0]
        on = np.abs(np.hypot(arm[:, 0], arm[:, 2]) - RADII[name]) < 3e-4
        found.append(np.angle(np.exp(1j * teeth * np.arctan2(arm[on, 2], arm[on, 0])).mean()) / teeth)
    return found


def main(end=1.5):
    result = catena.run(case(end, phases()), out="roller_chain", progress=False)
    drive, out = (np.asarray(result.probe(name).angle) for name in ("drive", "out"))
    print(f"the small sprocket turned by {drive[-1]:.3f} rad, ratio {drive[-1] / out[-1]:.4f}")
    return result


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
