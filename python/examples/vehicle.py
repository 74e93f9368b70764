#!/usr/bin/python3
"""A car with springs and four driven wheels on a terrain with gravel. vehicle.py [END in s]"""
import sys

import catena
import numpy as np

CORNERS = {"fl": (1.8, 2.4), "fr": (1.8, 1.6), "rl": (0.6, 2.4), "rr": (0.6, 1.6)}


def case(end, gravel=True, flat=False):
    x, y = np.linspace(0, 8, 81)[None, :], np.linspace(0, 4, 41)[:, None]
    np.savetxt("terrain.csv", (not flat) * (0.08 * np.sin(2.2 * x) * np.cos(1.3 * y) + 0.03 * np.sin(5 * x) + 0 * y),
               delimiter=",", fmt="%.5f")
    bodies = [{"name": "terrain", "material": "soil", "fixed": True,
               "shape": {"heightfield": {"file": "terrain.csv", "unit": "m", "spacing": [.1, .1]}}},
              {"name": "chassis", "material": "steel", "mass": 300, "group": "car", "position": [1.2, 2, .75],
               "shape": {"box": {"size": [1.6, .6, .25]}}}]
    joints, forces = [], []
    for n, (a, b) in CORNERS.items():
        bodies += [{"name": f"hub-{n}", "mass": 8, "inertia": [.1] * 3, "group": "car", "position": [a, b, .45]},
                   {"name": f"wheel-{n}", "material": "rubber", "mass": 15, "group": "car", "position": [a, b, .45],
                    "shape": {"cylinder": {"radius": .28, "length": .2}},
                    "orientation": {"axis": [1, 0, 0], "angle": "90 deg"}}]
        joints += [{"name": f"strut-{n}", "type": "prismatic", "between": ["chassis", f"hub-{n}"], "at": [a, b, .45],
                    "axis": [0, 0, 1], "limits": [-.1, .12]},
                   {"name": f"axle-{n}", "type": "revolute", "between": [f"hub-{n}", f"wheel-{n}"], "at": [a, b, .45],
                    "axis": [0, 1, 0], "motor": {"velocity": 5, "max_force": 150,
                                                 "table": {"rows": [[0, 0], [1, 0], [2, 1]]}}}]
        forces.append({"name": f"spring-{n}", "type": "spring", "between": ["chassis", f"hub-{n}"],
                       "at": [[a, b, .9], [a, b, .45]], "length": .5, "stiffness": 15e3, "damping": 1200})
    grains = [{"lattice": {"name": "gravel", "material": "grain", "shape": {"sphere": {"radius": .03}},
                           "radius_jitter": .3, "count": [20, 18, 3], "spacing": .085, "origin": [3, 1.2, .25],
                           "position_jitter": "2 mm"}}]
    return catena.Case({
        "catena": 1, "name": "vehicle",
        "materials": {"soil": {"density": 2000, "friction": .8}, "rubber": {"density": 1200, "friction": .9},
                      "grain": {"density": 2500, "friction": .5}, "steel": {"density": 7800, "friction": .3}},
        "contact": {"no_collisions": [{"between": ["car", "car"]}]}, "bodies": bodies, "joints": joints,
        "forces": forces, "generators": grains if gravel else [],
        "probes": [{"name": "chassis", "type": "body", "body": "chassis"},
                   {"name": "ground", "type": "force", "on": "terrain", "from": [f"wheel-{n}" for n in CORNERS],
                    "interval": "0.1 s"}] +
                  [{"name": f"spring-{n}", "type": "joint", "joint": f"spring-{n}"} for n in CORNERS],
        "time": {"step": "1 ms", "end": end}, "solver": {"relative_tolerance": 1e-3}})


def main(end=6, gravel=True, flat=False):
    result = catena.run(case(end, gravel, flat), out="vehicle", progress=False)
    chassis = result.probe("chassis")
    print(f"driven {chassis.position_x[-1] - 1.2:.2f} m, at most {chassis.velocity_x.max():.2f} m/s")
    return result


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
