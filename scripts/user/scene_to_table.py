#!/usr/bin/python3
"""Turns a scene of spheres in a box, as other engines' benchmarks keep it, into a table and a case.

A scene is text: comment lines (#), a line `N W mu rho g h`, then N lines
`r x y z qw qx qy qz vx vy vz wx wy wz`. The box is |x|, |y| <= W/2, z >= 0, open at the top. A file
SCENE.block beside it (a line `mass size_x size_y size_z`, then a line as of a sphere, its r unused)
becomes a body of the case.

    scripts/user/scene_to_table.py s4000.txt out/      ->  out/s4000.csv, out/s4000.yaml
"""
import argparse
import pathlib
import sys

COLUMNS = "radius,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz"


def numbers(line, count, where):
    words = line.split()
    if len(words) != count:
        sys.exit(f"{where}: found {len(words)} numbers, expected {count}")
    for word in words:
        float(word)
    return words


def block_yaml(path):
    """A heavy block's lines for the case, or nothing."""
    if not path.exists():
        return ""
    lines = path.read_text().splitlines()
    mass, *size = numbers(lines[0], 4, f"{path}:1")
    state = numbers(lines[1], 14, f"{path}:2")
    position, turn, velocity, spin = state[1:4], state[4:8], state[8:11], state[11:14]

    def listed(values):
        return "[" + ", ".join(values) + "]"

    return (
        "bodies:\n"
        f"  - {{name: block, material: grain, mass: {mass}, shape: {{box: {{size: {listed(size)}}}}},\n"
        f"     position: {listed(position)}, orientation: {{quaternion: {listed(turn)}}},\n"
        f"     velocity: {listed(velocity)}, angular_velocity: {listed(spin)}}}\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scene", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path)
    arguments = parser.parse_args()
    lines = [(i, text) for i, text in enumerate(arguments.scene.read_text().splitlines(), 1)
             if text.strip() and not text.startswith("#")]
    n, width, friction, density, gravity, step = numbers(lines[0][1], 6, f"{arguments.scene}:{lines[0][0]}")
    if len(lines) - 1 != int(n):
        sys.exit(f"{arguments.scene}: found {len(lines) - 1} bodies, expected {n}")
    arguments.directory.mkdir(parents=True, exist_ok=True)
    name = arguments.scene.stem
    with open(arguments.directory / f"{name}.csv", "w") as table:
        table.write(COLUMNS + "\n")
        for i, line in lines[1:]:
            table.write(",".join(numbers(line, 14, f"{arguments.scene}:{i}")) + "\n")
    half = float(width) / 2
    case = (
        "catena: 1\n"
        f"name: {name}\n"
        f"gravity: [0, 0, {-float(gravity)!r}]\n"
        f"materials: {{grain: {{density: {density}, friction: {friction}, restitution: 0}}}}\n"
        + block_yaml(arguments.scene.with_name(arguments.scene.name + ".block"))
        + "generators:\n"
        f"  - container: {{name: box, material: grain, size: [{2 * half!r}, {2 * half!r}, .inf], "
        f"origin: [{-half!r}, {-half!r}, 0]}}\n"
        f"  - table: {{name: grains, material: grain, file: {name}.csv}}\n"
        f"time: {{step: {step}, end: {100 * float(step)!r}}}\n"
    )
    (arguments.directory / f"{name}.yaml").write_text(case)


if __name__ == "__main__":
    main()
