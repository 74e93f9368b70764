#!/usr/bin/python3
"""A silo: 3,000 grains leave through a funnel of 30 mm; the flow beside Beverloo's law. silo.py [END in s]"""
import pathlib
import sys

import catena
import numpy as np

PROFILE, SIDES = [(50, 200), (50, 35), (15, 0)], 48  # radius and height of the funnel's rings, mm


def funnel(path):
    """The funnel as OBJ: rings of vertices, triangles between them that face inwards."""
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    rings = [f"v {r * np.cos(a):.6f} {r * np.sin(a):.6f} {z}" for r, z in PROFILE for a in angles]
    faces = []
    for first in range(1, SIDES * (len(PROFILE) - 1), SIDES):
        for i in range(SIDES):
            a, b = first + i, first + (i + 1) % SIDES
            faces += [f"f {a} {a + SIDES} {b + SIDES}", f"f {a} {b + SIDES} {b}"]
    pathlib.Path(path).write_text("\n".join(rings + faces) + "\n")


def case(end, layers=30):
    funnel("funnel.obj")
    pathlib.Path("gate.csv").write_text("t,x,y,z\n0,0,0,0\n0.6,0,0,0\n0.65,0.1,0,0\n")  # shut until 0.6 s
    return catena.Case({
        "catena": 1, "name": "silo",
        "materials": {"grain": {"density": 2500, "friction": 0.4, "restitution": 0.3},
                      "steel": {"density": 7800, "friction": 0.3}},
        "bodies": [
            {"name": "funnel", "material": "steel", "fixed": True,
             "shape": {"mesh": {"file": "funnel.obj", "unit": "mm", "open": True}}},
            {"name": "gate", "material": "steel", "shape": {"box": {"size": [0.06, 0.06, 0.002]}},
             "position": [0, 0, -1.5e-3], "motion": {"table": {"file": "gate.csv"}}}],
        "generators": [{"lattice": {
            "name": "grains", "material": "grain", "shape": {"sphere": {"radius": "2.5 mm"}}, "radius_jitter": 0.2,
            "count": [10, 10, layers], "spacing": "6.5 mm", "origin": [-0.02925, -0.02925, 0.04],
            "position_jitter": "0.2 mm"}}],
        "probes": [{"name": "outlet", "type": "flux", "interval": "0.1 s",
                    "through": {"point": [0, 0, -0.01], "normal": [0, 0, -1]}}],
        "outflow": [{"name": "below", "lower": ["-.inf", "-.inf", "-.inf"], "upper": [".inf", ".inf", -0.05]}],
        "time": {"step": "0.5 ms", "end": end}, "solver": {"relative_tolerance": 1e-3}})


def main(end=2.6, layers=30, out="silo"):
    result = catena.run(case(end, layers), out=out, progress=False)
    outlet = result.probe("outlet")
    steady = outlet.time > 1.05
    flow = outlet.mass_rate_mean[steady].mean() if steady.any() else float("nan")
    beverloo = 0.58 * 2500 * 0.6 * np.sqrt(9.81) * (0.03 - 1.5 * 0.005) ** 2.5
    print(f"flow {flow:.3f} kg/s, Beverloo {beverloo:.3f} kg/s")
    return result


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
