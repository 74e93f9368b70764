#!/usr/bin/python3
"""A ball that rolls over a floor with rolling friction: how it slows down. rolling.py [END in s]"""
import sys

import catena
import numpy as np

RADIUS, LENGTH, SPEED = 0.1, 2e-3, 1.0  # of the ball, of rolling friction, m; at first, m/s


def main(end=1):
    result = catena.run({
        "catena": 1, "name": "rolling",
        "materials": {"m": {"density": 1000, "friction": 0.5, "rolling_friction": LENGTH}},
        "contact": {"stiffness": "rigid"},
        "bodies": [{"name": "floor", "material": "m", "shape": {"plane": {}}},
                   {"name": "ball", "material": "m", "shape": {"sphere": {"radius": RADIUS}},
                    "position": [0, 0, RADIUS], "velocity": [SPEED, 0, 0], "angular_velocity": [0, SPEED / RADIUS, 0]}],
        "probes": [{"name": "ball", "type": "body", "body": "ball"}],
        "time": {"step": "1 ms", "end": end}, "solver": {"relative_tolerance": 1e-10}}, out="rolling", progress=False)
    ball = result.probe("ball")
    found = -np.polyfit(ball.time, ball.velocity_x, 1)[0]
    print(f"slows down by {found:.6f} m/s^2, by hand {5 / 7 * 9.81 * LENGTH / RADIUS:.6f}")
    return found


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
