#!/usr/bin/python3
"""Admissible horizontal thrust of the arches of F03_arch, as a part of their weight: least
and greatest over all force fields in equilibrium without tension and within friction 1 (linear
programs; straight-faced voussoirs, mean radius 1). Writes reference.csv. Needs python3-scipy.
"""
import os

import numpy as np
from scipy.optimize import linprog

HERE = os.path.dirname(os.path.abspath(__file__))
FRICTION = 1.0


def voussoirs(n, thickness, half):
    """Joint angles from the vertical, weights and centroids of the quadrilaterals."""
    angles = np.linspace(-half, half, n + 1)
    inner, outer = 1 - thickness / 2, 1 + thickness / 2
    weight, centre = [], []
    for a, b in zip(angles[:-1], angles[1:]):
        p = np.array([[r * np.sin(t), r * np.cos(t)]
                      for r, t in ((inner, a), (outer, a), (outer, b), (inner, b))])
        q = np.roll(p, -1, axis=0)
        cross = p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]
        area = cross.sum() / 2
        weight.append(abs(area))
        centre.append(((p + q) * cross[:, None]).sum(axis=0) / (6 * area))
    return angles, (inner, outer), np.array(weight), np.array(centre)


def thrust_range(n, thickness, half):
    angles, radii, weight, centre = voussoirs(n, thickness, half)
    total = weight.sum()
    # unknowns: per joint normal force at the inner and outer corner, then the two shears
    columns = 4 * (n + 1)
    equal, right = [], []
    for i in range(n):
        rows = np.zeros((3, columns))
        for joint, sign in ((i, 1.0), (i + 1, -1.0)):
            a = angles[joint]
            along, radial = np.array([np.cos(a), -np.sin(a)]), np.array([np.sin(a), np.cos(a)])
            for corner, r in enumerate(radii):
                arm = r * radial - centre[i]
                for force, column in ((along, 4 * joint + corner), (radial, 4 * joint + 2 + corner)):
                    f = sign * force
                    rows[:, column] += f[0], f[1], arm[0] * f[1] - arm[1] * f[0]
        equal.append(rows)
        right += [0.0, weight[i] / total, 0.0]
    inequal = []
    for k in range(n + 1):
        for corner in (0, 1):
            for sign in (1.0, -1.0):
                row = np.zeros(columns)
                row[4 * k + 2 + corner], row[4 * k + corner] = sign, -FRICTION
                inequal.append(row)
    bounds = [(0, None) if j % 4 < 2 else (None, None) for j in range(columns)]
    # horizontal force at the first springing
    goal = np.zeros(columns)
    a = angles[0]
    goal[0:2], goal[2:4] = np.cos(a), np.sin(a)
    out = []
    for sign in (1.0, -1.0):
        s = linprog(sign * goal, A_ub=np.array(inequal), b_ub=np.zeros(len(inequal)),
                    A_eq=np.vstack(equal), b_eq=right, bounds=bounds, method="highs")
        out.append(sign * s.fun if s.status == 0 else float("nan"))
    return out


def main():
    reference = np.genfromtxt(os.path.join(HERE, "..", "F03_arch", "reference.csv"), delimiter=",", skip_header=1,
                              usecols=(0, 1, 2, 3))
    cases = []
    for n, half, least, thickness in reference:
        for t in (1.05 * least, thickness):
            if (n, half, t) not in cases:
                cases.append((n, half, t))
    with open(os.path.join(HERE, "reference.csv"), "w") as f:
        f.write("# N,half_angle,t_over_R,thrust_min,thrust_max\n")
        for n, half, t in cases:
            low, high = thrust_range(int(n), t, half)
            f.write(f"{int(n)},{half:.17g},{t:.9g},{low:.9g},{high:.9g}\n")


if __name__ == "__main__":
    main()
