#!/usr/bin/python3
"""A rope of links over a fixed post with unequal weights: tensions beside Euler's bound. capstan.py [END in s]"""
import sys

import catena
import numpy as np

POST, LINK, FRICTION, WEIGHTS = 0.1, 0.02, 0.4, (10, 50)  # radius of the post, length of a link, m; masses, kg
ROPE = POST + 6e-3  # radius of the rope's way about the post, m


def case(end, hang=30):
    arc = np.linspace(np.pi, 0, 61)
    way = [[-ROPE, 0, -hang * LINK], *np.c_[ROPE * np.cos(arc), 0 * arc, ROPE * np.sin(arc)], [ROPE, 0, -hang * LINK]]
    links = 2 * hang + round(np.pi * ROPE / LINK)
    ends = zip(("left", "right"), (-ROPE, ROPE), WEIGHTS, (0, links - 1))
    weights, joints = zip(*(
        ({"name": name, "material": "steel", "mass": mass, "group": "rope", "position": [x, 0, -hang * LINK - 0.1],
          "shape": {"sphere": {"radius": 0.05}}},
         {"name": f"hook-{name}", "type": "spherical", "between": [name, f"rope-{link}"], "at": [x, 0, -hang * LINK]})
        for name, x, mass, link in ends))
    return catena.Case({
        "catena": 1, "name": "capstan", "materials": {"steel": {"density": 7800, "friction": FRICTION}},
        "contact": {"no_collisions": [{"between": ["rope", "rope"]}]},
        "bodies": [{"name": "post", "material": "steel", "fixed": True,
                    "shape": {"cylinder": {"radius": POST, "length": 0.2}},
                    "orientation": {"axis": [1, 0, 0], "angle": "90 deg"}}, *weights],
        "generators": [{"chain": {"name": "rope", "material": "steel", "mass": 0.02, "links": links, "group": "rope",
                                  "shape": {"capsule": {"radius": "6 mm", "length": 0.8 * LINK}}, "joint": "spherical",
                                  "path": way}}],
        "joints": joints,
        "probes": [{"name": name, "type": "joint", "joint": f"hook-{name}"} for name in ("left", "right")],
        "time": {"step": "0.2 ms", "end": end}})


def main(end=0.2, hang=30):
    result = catena.run(case(end, hang), out="capstan", progress=False)
    left, right = (result.probe(name) for name in ("left", "right"))
    late = left.time > 0.5 * end
    ratio = np.abs(right.force_z[late]).mean() / np.abs(left.force_z[late]).mean()
    print(f"tensions {np.abs(left.force_z[late]).mean():.1f} and {np.abs(right.force_z[late]).mean():.1f} N, "
          f"ratio {ratio:.2f}; Euler's bound {np.exp(FRICTION * np.pi):.2f}")
    return ratio


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
