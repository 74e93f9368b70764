#!/usr/bin/python3
"""Lays a chain of 100 spheres in a serpentine over a pile of spheres in a box: tables and a case.

    scripts/studies/chain_on_pile.py s1000.txt configs/studies/        writes mixed.yaml and its tables
    scripts/studies/chain_on_pile.py --measure s1000.txt RESULT/       measures the last state of a result

The scene's format is that of scene_to_table.py. The chain's spheres have a radius of 4 cm, lie 10 cm
apart, 6 cm above the highest sphere, and are joined half-way between their centres. The last one is
called load; see the head of mixed.yaml for a heavier one.

--measure prints the largest and mean penetration over 5 cm (all overlaps between spheres and of
spheres with the walls, neighbours in the chain left out) and the joints' largest and rms gap over
10 cm, as the programs of other engines are measured on this scene.
"""
import argparse
import math
import os
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "user"))
import _package  # noqa: E402, F401
import catena  # noqa: E402

LINKS, PER_ROW, SPACING, RADIUS, ABOVE = 100, 10, 0.1, 0.04, 0.06

CASE = """# A chain of 100 spheres dropped on 1,000 settled ones; written by scripts/studies/chain_on_pile.py.
# A last link 100 times heavier: --set bodies.load.mass={heavy_mass} --set
# 'bodies.load.inertia=[{heavy_inertia}, {heavy_inertia}, {heavy_inertia}]'
catena: 1
name: mixed
gravity: [0, 0, -{gravity}]
materials: {{grain: {{density: {density}, friction: {friction}}}}}
contact: {{stiffness: rigid, margin: 1 mm}}
bodies:
  - {{name: floor, material: grain, shape: plane, position: [0, 0, 0]}}
{walls}  - {{name: load, material: grain, shape: {{sphere: {{radius: {radius}}}}}, mass: {mass}, inertia: [{inertia}, {inertia}, {inertia}],
     position: {load}}}
generators:
  - table: {{name: pile, material: grain, file: {table}}}
  - table: {{name: chain, material: grain, file: mixed_chain.csv}}
joints:
{joints}time: {{step: {step}, end: 2 s}}
solver: {{max_iterations: {sweeps}, relative_tolerance: 1e-3, check_interval: {interval}, joints: {{projection: 1e-9}}}}
output: {{snapshot_interval: .inf}}
"""


def scene(path):
    lines = [t for t in path.read_text().splitlines() if t.strip() and not t.startswith("#")]
    return [float(x) for x in lines[0].split()], np.array([[float(x) for x in t.split()] for t in lines[1:]])


def centre(i, height):
    row, column = divmod(i, PER_ROW)
    column = PER_ROW - 1 - column if row % 2 else column
    return np.array([(column - 4.5) * SPACING, (row - 4.5) * SPACING, height])


def listed(values):
    return "[" + ", ".join(f"{x:.10g}" for x in values) + "]"


def write(path, out):
    (_, width, friction, density, gravity, step), grains = scene(path)
    height = (grains[:, 3] + grains[:, 0]).max() + ABOVE
    centres = [centre(i, height) for i in range(LINKS)]
    subprocess.run([pathlib.Path(__file__).parents[1] / "user" / "scene_to_table.py", path, out], check=True)
    table = out / "mixed_pile.csv"
    (out / f"{path.stem}.csv").rename(table)
    (out / f"{path.stem}.yaml").unlink()
    with open(out / "mixed_chain.csv", "w") as chain:
        chain.write("radius,x,y,z\n")
        for c in centres[:-1]:
            chain.write(f"{RADIUS},{c[0]:.10g},{c[1]:.10g},{c[2]:.17g}\n")
    walls = ""
    half = width / 2
    for name, p, z in (("left", (-half, 0, 0), (1, 0, 0)), ("right", (half, 0, 0), (-1, 0, 0)),
                       ("front", (0, -half, 0), (0, 1, 0)), ("back", (0, half, 0), (0, -1, 0))):
        turn = listed((math.sqrt(0.5), -z[1] * math.sqrt(0.5), z[0] * math.sqrt(0.5), 0))
        walls += (f"  - {{name: {name}, material: grain, shape: plane, position: {listed(p)}, "
                  f"orientation: {{quaternion: {turn}}}}}\n")
    names = [f"chain-{i}" for i in range(LINKS - 1)] + ["load"]
    joints = "".join(
        f"  - {{name: j{i}, type: spherical, between: [{names[i]}, {names[i + 1]}], "
        f"at: {listed((centres[i] + centres[i + 1]) / 2)}}}\n" for i in range(LINKS - 1))
    mass = density * 4 / 3 * math.pi * RADIUS**3
    inertia = 0.4 * mass * RADIUS**2
    (out / "mixed.yaml").write_text(CASE.format(
        gravity=gravity, density=density, friction=friction, walls=walls, radius=RADIUS, step=step,
        mass=f"{mass:.10g}", inertia=f"{inertia:.10g}", heavy_mass=f"{100 * mass:.10g}",
        heavy_inertia=f"{100 * inertia:.10g}", load="[" + ", ".join(f"{x:.17g}" for x in centres[-1]) + "]",
        table=table.name, joints=joints, sweeps=50, interval=50))


def turned(q, a):
    w, v = q[:, :1], q[:, 1:]
    return a + 2 * np.cross(v, np.cross(v, a) + w * a)


def measure(path, result):
    (_, width, *_), grains = scene(path)
    last = catena.Result(result)[-1]
    row = {name: i for i, name in enumerate(last.name)}
    # the load is the last link
    order = [row[f"pile-{i}"] for i in range(len(grains))]
    order += [row[f"chain-{i}"] for i in range(LINKS - 1)] + [row["load"]]
    x, q = np.asarray(last.position)[order], np.asarray(last.orientation)[order]
    radius = np.concatenate([grains[:, 0], np.full(LINKS, RADIUS)])
    half = width / 2
    overlaps = [radius - x[:, 2]]
    for axis in (0, 1):
        overlaps += [radius - (half - x[:, axis]), radius - (half + x[:, axis])]
    overlaps = np.concatenate(overlaps)
    first = len(grains)
    for i in range(len(x) - 1):
        other = slice(i + 2 if i >= first else i + 1, None)
        deep = radius[i] + radius[other] - np.linalg.norm(x[other] - x[i], axis=1)
        overlaps = np.concatenate([overlaps, deep[deep > 0]])
    overlaps = overlaps[overlaps > 0] / 0.05
    arm = np.array([(centre(i + 1, 0) - centre(i, 0)) / 2 for i in range(LINKS - 1)])
    a, b = slice(first, first + LINKS - 1), slice(first + 1, first + LINKS)
    gap = np.linalg.norm(x[a] + turned(q[a], arm) - x[b] - turned(q[b], -arm), axis=1) / SPACING
    print(f"gap of joints, largest {gap.max():.3e} rms {math.sqrt((gap**2).mean()):.3e} | "
          f"pen max {overlaps.max():.5f} mean {overlaps.mean():.6f} overlaps {len(overlaps)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("scene", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path)
    arguments = parser.parse_args()
    (measure if arguments.measure else write)(arguments.scene, arguments.directory)


if __name__ == "__main__":
    main()
