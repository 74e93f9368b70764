#!/usr/bin/python3
"""Grains in a turning drum: slope of their surface, and the torque that it takes. drum.py [END in s]"""
import sys

import catena
import numpy as np

RADIUS, WIDTH, GRAIN, SPEED = 0.1, 0.03, 3e-3, "10 rpm"


def case(end, layers=14):
    across = np.arange(-layers // 2, layers - layers // 2) + 0.5  # grains side by side along x and z
    return catena.Case({
        "catena": 1, "name": "drum",
        "materials": {"grain": {"density": 2500, "friction": 0.5}, "steel": {"density": 7800, "friction": 0.6}},
        "bodies": [{"name": "drum", "material": "steel", "orientation": {"axis": [1, 0, 0], "angle": "90 deg"},
                    "shape": {"hollow_cylinder": {"inner_radius": RADIUS, "thickness": "5 mm", "length": WIDTH,
                                                  "ends": "both"}},
                    "motion": {"angular_velocity": [0, SPEED, 0]}}],
        "generators": [{"lattice": {
            "name": "grains", "material": "grain", "shape": {"sphere": {"radius": GRAIN}}, "radius_jitter": 0.1,
            "count": [layers, 4, layers], "spacing": 2.3 * GRAIN, "position_jitter": 0.05 * GRAIN,
            "origin": [2.3 * GRAIN * across[0], -1.5 * 2.3 * GRAIN, 2.3 * GRAIN * across[0] - 0.02]}}],
        "probes": [{"name": "drum", "type": "force", "on": "drum", "from": "grains", "about": [0, 0, 0],
                    "interval": "50 ms"}],
        "time": {"step": "0.5 ms", "end": end}, "output": {"snapshot_interval": "50 ms"}})


def slope(position):
    """Angle of the surface, degrees: of a line through the highest grains of strips across the drum's middle."""
    x, z = np.asarray(position)[:, [0, 2]].T
    strips = np.linspace(-0.5 * RADIUS, 0.5 * RADIUS, 9)
    tops = [z[(x >= a) & (x < b)].max(initial=-RADIUS) for a, b in zip(strips[:-1], strips[1:])]
    return np.degrees(np.arctan(np.polyfit(0.5 * (strips[:-1] + strips[1:]), tops, 1)[0]))


def main(end=6, layers=14):
    result = catena.run(case(end, layers), out="drum", progress=False)
    late = [s for s in result if s.time > 0.5 * end]
    angle = np.mean([slope(s.position[s.rows("grains")]) for s in late])
    torque = result.probe("drum").torque_y_mean[-len(late):].mean()
    print(f"surface at {abs(angle):.1f} degrees, torque {torque:.4f} N m")
    return result


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
