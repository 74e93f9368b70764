#!/usr/bin/python3
"""A trolley starts and stops with 1,000 kg on a rope of links of 0.1 kg: tension and swing. crane.py [END in s]"""
import sys

import catena
import numpy as np

TOP, BOTTOM, LINKS = 5.9, 1.325, 45  # ends of the rope, m
SPEED = [[0, 0], [0.5, 0], [1, 1], [3, 1], [3.5, 0]]  # of the trolley: s, m/s


def case(end):
    return catena.Case({
        "catena": 1, "name": "crane", "materials": {"steel": {"density": 7800, "friction": 0.3}},
        "contact": {"no_collisions": [{"between": ["rig", "rig"]}]},
        "bodies": [{"name": "trolley", "material": "steel", "mass": 200, "group": "rig", "position": [0, 0, 6],
                    "shape": {"box": {"size": [0.6, 0.6, 0.2]}}},
                   {"name": "load", "material": "steel", "mass": 1000, "group": "rig", "position": [0, 0, 1],
                    "shape": {"box": {"size": [0.8, 0.8, 0.65]}}}],
        "generators": [{"chain": {"name": "rope", "material": "steel", "mass": 0.1, "links": LINKS, "joint": "spherical",
                                  "shape": {"capsule": {"radius": "8 mm", "length": "80 mm"}}, "group": "rig",
                                  "from": [0, 0, TOP], "to": [0, 0, BOTTOM]}}],
        "joints": [{"name": "rail", "type": "prismatic", "between": ["world", "trolley"], "at": [0, 0, 6],
                    "axis": [1, 0, 0], "motor": {"table": {"rows": SPEED, "values": "velocity"}}},
                   {"name": "top", "type": "spherical", "between": ["trolley", "rope-0"], "at": [0, 0, TOP]},
                   {"name": "hook", "type": "spherical", "between": [f"rope-{LINKS - 1}", "load"], "at": [0, 0, BOTTOM]}],
        "probes": [{"name": "hook", "type": "joint", "joint": "hook"}] +
                  [{"name": name, "type": "body", "body": name} for name in ("trolley", "load")],
        "time": {"step": "1 ms", "end": end}})


def main(end=8):
    result = catena.run(case(end), out="crane", progress=False)
    hook, load, trolley = (result.probe(name) for name in ("hook", "load", "trolley"))
    tension = np.linalg.norm([hook.force_x, hook.force_y, hook.force_z], axis=0)[1:]
    swing = load.position_x - trolley.position_x
    print(f"tension {tension.min():.0f} to {tension.max():.0f} N, swing {swing.min():.2f} to {swing.max():.2f} m")
    return result


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
