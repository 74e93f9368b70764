#!/usr/bin/python3
"""Grains in a box: two sides held at a force by servos while the lid comes down. box_compression.py [END in s]"""
import sys

import catena
import numpy as np

SIDE, LOAD, SPEED = 0.08, 64, 0.02  # of the box, m; on each side, N; of the lid, m/s
AXES = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}  # normals of the plates, and their names


def plate(name, axis, near, velocity):
    """The plate at 0 that stays, or the one at SIDE that moves."""
    axis, thick = np.array(axis), 0.01
    place = 0.5 * SIDE * (1 - axis) + (-0.5 * thick if near else SIDE + 0.5 * thick) * axis
    made = {"name": name + "0" * near, "material": "wall", "group": "walls", "position": place,
            "shape": {"box": {"size": 1.5 * SIDE * (1 - axis) + thick * axis}}}
    return dict(made, fixed=True) if near else dict(made, motion={"velocity": velocity})


def case(name, end, held, count, initial=None):
    """With servos on the plates `held`; the lid, where it is none of them, comes down."""
    pitch, lid = SIDE / count, [0, 0, 0 if "z" in held else -SPEED]
    values = {
        "catena": 1, "name": name, "gravity": [0, 0, 0],
        "materials": {"grain": {"density": 2600, "friction": 0.5}, "wall": {"density": 1000, "friction": 0}},
        "contact": {"no_collisions": [{"between": ["walls", "walls"]}]},
        "bodies": [plate(n, axis, near, lid if n == "z" else [0, 0, 0]) for n, axis in AXES.items() for near in (1, 0)],
        "generators": [{"lattice": {
            "name": "grains", "material": "grain", "shape": {"sphere": {"radius": 0.4 * pitch}}, "radius_jitter": 0.2,
            "count": [count] * 3, "spacing": pitch, "origin": [0.5 * pitch] * 3, "position_jitter": 0.01 * pitch}}],
        "probes": [{"name": n, "type": "force", "on": n, "from": "grains", "interval": "20 ms"} for n in "xyz"] +
                  [{"name": "x0", "type": "force", "on": "x0", "from": "grains", "interval": "20 ms"}],
        "controllers": [{"name": f"press_{n}", "type": "servo", "measure": f"{n}.contact_force_{n}", "drive": n,
                         "response": "rises", "along": [-k for k in AXES[n]], "target": LOAD, "max_velocity": 0.1}
                        for n in held],
        "time": {"step": "0.5 ms", "end": end}}
    return catena.Case(dict(values, **({"initial": {"from": initial, "time": "reset"}} if initial else {})))


def main(end=1, settle=0.6, count=10):
    catena.run(case("pressed", settle, "xyz", count), progress=False)
    result = catena.run(case("box", end, "xy", count, "pressed"), progress=False)
    force = {n: np.asarray(result.probe(n)[f"force_{n[0]}_mean"]) for n in ("x", "y", "z", "x0")}
    lid = force["z"]
    print(f"sides hold {force['x'][-1]:.1f} and {force['y'][-1]:.1f} N, the lid {lid[1]:.1f} N at first, "
          f"{lid.max():.1f} N at most, {lid[-1]:.1f} N at the end")
    return force


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
