#!/usr/bin/python3
"""An arm of six axes takes a box, turns by 90 degrees and sets it down. arm.py [END in s]"""
import sys

import catena
import numpy as np

H, A, B = 0.5, 0.4, 0.46  # height of the shoulder, upper arm, fore-arm to the wrist's pitch, m
# time, and place of the grip: distance, height, turn in degrees
PLACES = [(1, .6, .15, 0), (2, .6, .03, 0), (2.5, .6, .03, 0), (3.5, .6, .25, 0), (4.5, .6, .25, 90),
          (5.5, .6, .034, 90), (6, .6, .034, 90), (7, .6, .25, 90)]
JOINTS = [("q1", "world", "base", [0, 0, .05], [0, 0, 1]), ("q2", "base", "upper", [0, 0, H], [0, 1, 0]),
          ("q3", "upper", "fore", [A, 0, H], [0, 1, 0]), ("q4", "fore", "wrist1", [.8, 0, H], [1, 0, 0]),
          ("q5", "wrist1", "wrist2", [.86, 0, H], [0, 1, 0]), ("q6", "wrist2", "hand", [.92, 0, H], [1, 0, 0])]
LINKS = [("base", {"cylinder": {"radius": .1, "length": .4}}, [0, 0, .25], 15),
         ("upper", {"box": {"size": [.4, .08, .08]}}, [.2, 0, H], 5),
         ("fore", {"box": {"size": [.4, .06, .06]}}, [.6, 0, H], 3),
         ("wrist1", {"box": {"size": [.06, .05, .05]}}, [.83, 0, H], 1),
         ("wrist2", {"box": {"size": [.06, .05, .05]}}, [.89, 0, H], 1),
         ("hand", {"box": {"size": [.03, .14, .04]}}, [.935, 0, H], .5),
         ("left", {"box": {"size": [.08, .012, .04]}}, [.99, .06, H], .1),
         ("right", {"box": {"size": [.08, .012, .04]}}, [.99, -.06, H], .1)]


def angles(x, z, turn):
    """Joint angles with the tool straight down at distance x and height z."""
    z += 0.13 - H
    d = np.hypot(x, z)
    elbow = np.arccos((d * d - A * A - B * B) / (2 * A * B))
    shoulder = np.arctan2(-z, x) - np.arctan2(B * np.sin(elbow), A + B * np.cos(elbow))
    return np.array([np.radians(turn), shoulder, elbow, 0, np.pi / 2 - shoulder - elbow, 0])


def tables():
    """Rows of each joint: places joined smoothly (quintic)."""
    knots = np.array([np.zeros(6), np.zeros(6)] + [angles(*place[1:]) for place in PLACES])
    ends = [0, 0.1] + [place[0] for place in PLACES]
    time = np.arange(0, ends[-1] + 1e-9, 0.02)
    k = np.clip(np.searchsorted(ends, time, side="right") - 1, 0, len(ends) - 2)
    s = (time - np.take(ends, k)) / np.diff(ends)[k]
    way = knots[k] + (s**3 * (10 - 15 * s + 6 * s * s))[:, None] * np.diff(knots, axis=0)[k]
    return [np.c_[time, way[:, j]] for j in range(6)]


def case(end):
    grip = {"rows": [[0, 0], [2, 0], [2.4, 1], [5.5, 1], [5.9, 0]]}
    return catena.Case({
        "catena": 1, "name": "arm",
        "materials": {"steel": {"density": 2700, "friction": .5}, "pad": {"density": 1200, "friction": 1},
                      "wood": {"density": 600, "friction": .6}},
        "contact": {"no_collisions": [{"between": ["arm", "arm"]}]},
        "bodies": [{"name": "floor", "material": "wood", "shape": "plane"},
                   {"name": "box", "material": "wood", "shape": {"box": {"size": [.06] * 3}}, "position": [.6, 0, .03],
                    "mass": .5}] +
                  [{"name": name, "material": "pad" if name in ("left", "right") else "steel", "group": "arm",
                    "shape": shape, "position": place, "mass": mass} for name, shape, place, mass in LINKS],
        "joints": [{"name": name, "type": "revolute", "between": [a, b], "at": at, "axis": axis,
                    "motor": {"position": "1 rad", "max_force": 300, "table": {"rows": rows}}}
                   for (name, a, b, at, axis), rows in zip(JOINTS, tables())] +
                  [{"name": f"grip-{name}", "type": "prismatic", "between": ["hand", name], "at": [.935, 0, H],
                    "axis": [0, y, 0], "motor": {"position": -.05, "max_force": 30, "table": grip}}
                   for name, y in (("left", 1), ("right", -1))],
        "probes": [{"name": "q2", "type": "joint", "joint": "q2"}, {"name": "box", "type": "body", "body": "box"}],
        "time": {"step": "1 ms", "end": end}})


def main(end=7.5):
    result = catena.run(case(end), out="arm", progress=False)
    box = result.probe("box")
    print(f"torque at the shoulder at first {result.probe('q2').torque_y[90]:.1f} N m; the box ends at "
          f"({box.position_x[-1]:.3f}, {box.position_y[-1]:.3f}, {box.position_z[-1]:.3f}) m")
    return result


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
