#!/usr/bin/python3
"""Tracked carriages on grains: writes the case, runs it on the given numbers of ranks and prints contacts in the mean,
sweeps, steps that missed the tolerance, the joints' largest misfit, wall times of a step, the CPU time of all steps on
the busiest rank and the largest imbalance of contacts and of joints.

    scripts/studies/tracks.py --catena build/release/drivers/catena --tracks 2 5 --grains 54 46 2 -n 1 2 --steps 100

A carriage is a frame of 100 kg, a sprocket with a motor, an idler that a spring tightens, and a closed track of
shoes of 2 kg, whose hinges give a little (a rigid loop has three redundant rows); it stands on its track. Tracks and
grains of 8 cm in a bin begin with nothing that touches: grains fall on the floor of the bin, and tracks on them (over
one layer the first shoes after some 35 steps). --case writes the case alone. The exit code is 1 where a step missed
its tolerance, or where a track presses on no grain at the end. Two hundred tracks on 21,000 grains:

    scripts/studies/tracks.py --tracks 10 20 --gaps 0.16 0.15 --grains 210 100 1 --steps 80 -n 1 2
"""

import argparse
import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

PITCH, WHEEL, SHOE = 0.1, 0.2, 0.04  # m: between hinges, radius of wheels, thickness of shoes
# shoes are chords of the wheels: their middles touch
RADIUS = WHEEL + SHOE / 2 + PITCH**2 / (8 * WHEEL)
GRAIN, JITTER, SPACING = 0.04, 0.1, 0.09  # m; grains of up to GRAIN (1 + JITTER), placed to 1 mm: none touch
GAP = 0.003  # m: from the highest place of a grain to the shoes

HEAD = """# Written by scripts/studies/tracks.py.
catena: 1
name: tracks
gravity: [0, 0, -9.81]
materials:
  steel: {{density: 7800, friction: 0.6}}
  rubber: {{density: 1200, friction: 0.8}}
  gravel: {{density: 2600, friction: 0.6}}
time: {{stepper: spook, step: 1 ms, end: {end} s}}
output: {{snapshot_interval: .inf}}
solver: {{joints: {{projection: 1 um}}}}
contact:
  no_collisions: [{{between: [carriage, carriage]}}]
"""
BODIES = """  - {{name: frame{n}, material: steel, mass: 100, inertia: [3, 12, 12], group: carriage, position: [{x}, {y}, {z}],
     shape: {{box: {{size: [{frame}, 0.2, 0.1]}}}}}}
  - {{name: fork{n}, mass: 10, inertia: [0.5, 0.5, 0.5], group: carriage, position: [{front}, {y}, {z}]}}
"""
WHEELS = """  - {{name: {name}{n}, material: rubber, mass: 20, group: carriage, position: [{at}, {y}, {z}],
     shape: {{cylinder: {{radius: {wheel}, length: 0.25}}}}, orientation: {{axis: [1, 0, 0], angle: 90 deg}}}}
"""
CHAIN = """  - chain: {{name: track{n}, material: steel, shape: {{box: {{size: [0.09, 0.3, {shoe}]}}}}, mass: 2, links: {shoes},
            joint: revolute, closed: true, axis: [0, 1, 0]{hinges}, path: {path}}}
"""
BED = """  - container: {{name: bin, material: gravel, size: [{length}, {width}, .inf], origin: [{left}, {right}, 0]}}
  - lattice: {{name: grains, material: gravel, shape: {{sphere: {{radius: {grain}}}}}, radius_jitter: {jitter},
              count: {count}, spacing: {spacing}, origin: [{first_x}, {first_y}, {first_z}], position_jitter: 1 mm}}
"""
JOINTS = """  - {{name: drive{n}, type: revolute, between: [frame{n}, sprocket{n}], at: [{back}, {y}, {z}], axis: [0, 1, 0],
     motor: {{velocity: 4, max_force: 300}}}}
  - {{name: slide{n}, type: prismatic, between: [frame{n}, fork{n}], at: [{front}, {y}, {z}], axis: [1, 0, 0],
     limits: [-3 cm, 5 cm]}}
  - {{name: axle{n}, type: revolute, between: [fork{n}, idler{n}], at: [{front}, {y}, {z}], axis: [0, 1, 0]}}
"""
SPRING = """  - {{name: tension{n}, type: spring, between: [frame{n}, fork{n}], at: [[{rear}, {y}, {z}], [{front}, {y}, {z}]],
     length: 0.55, stiffness: 60 kN/m, damping: 1000}}
"""
PROBE = """  - {{name: footing{n}, type: pair, between: [track{n}, grains], interval: 1 ms}}
"""


def path(x, y, z, straight):
    """Corners of the track's way around its wheels."""
    bends = [(side, angle) for side, first in ((1, -0.5), (-1, 0.5))
             for angle in (math.pi * (first + k / 48) for k in range(49))]
    return [[round(x + side * straight / 2 + RADIUS * math.cos(a), 6), y, round(z + RADIUS * math.sin(a), 6)]
            for side, a in bends]


def case(along, across, shoes, gaps, grains, hinges, end):
    straight = (shoes * PITCH - 2 * math.pi * RADIUS) / 2
    if straight <= 0:
        sys.exit(f"--shoes {shoes}: too few to go around two wheels; take {math.ceil(2 * math.pi * RADIUS / PITCH)} "
                 "or more")
    height = grains[2] * SPACING + GAP + RADIUS + SHOE / 2
    distance = straight + 2 * RADIUS + gaps[0], 0.3 + gaps[1]
    parts = {"bodies": "", "generators": "", "joints": "", "forces": "", "probes": ""}
    size = [n * SPACING for n in grains[:2]]
    for count, one, room, name in zip((along, across), distance, size, "XY"):
        if count * one - 0.3 > room:
            sys.exit(f"--grains: {count} tracks need a bed of {count * one - 0.3:.2f} m, {name} makes it {room:.2f} m; "
                     f"take {math.ceil((count * one - 0.3) / SPACING)} or more")
    parts["generators"] += BED.format(
        length=size[0] + 0.04, width=size[1] + 0.04, left=-size[0] / 2 - 0.02, right=-size[1] / 2 - 0.02, grain=GRAIN,
        count=grains, spacing=SPACING, jitter=JITTER, first_x=-(size[0] - SPACING) / 2, first_y=-(size[1] - SPACING) / 2,
        first_z=SPACING / 2)
    for n in range(along * across):
        i, j = divmod(n, across)
        x, y = (round((k - (count - 1) / 2) * d, 6) for k, count, d in zip((i, j), (along, across), distance))
        values = {"n": n, "x": x, "y": y, "z": height, "front": x + straight / 2, "back": x - straight / 2,
                  "rear": x + straight / 2 - 0.5, "frame": 0.8 * straight, "wheel": WHEEL, "shoe": SHOE, "shoes": shoes,
                  "hinges": f", angular_compliance: {hinges}" if hinges else "", "path": path(x, y, height, straight)}
        parts["bodies"] += BODIES.format(**values)
        for name, at in (("sprocket", values["back"]), ("idler", values["front"])):
            parts["bodies"] += WHEELS.format(name=name, at=at, **values)
        parts["generators"] += CHAIN.format(**values)
        parts["joints"] += JOINTS.format(**values)
        parts["forces"] += SPRING.format(**values)
        parts["probes"] += PROBE.format(**values)
    return HEAD.format(end=end) + "".join(f"{key}:\n{text}" for key, text in parts.items())


def footing(directory, track):
    """Contacts of a track and the grains that press, in the last step."""
    with open(directory / "probes" / f"footing{track}.csv", newline="", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    return int(float(rows[-1]["contacts [1]"]))


def run(arguments, file, ranks, directory):
    """Runs the case; prints its line of the table and returns how many steps missed their tolerance."""
    command = ["mpirun", "-n", str(ranks), arguments.catena, "run", str(file), "-o", str(directory), "--quiet"]
    for setting in arguments.set:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stderr}")
    with open(directory / "series.csv", newline="", encoding="utf-8") as table:
        rows = [{name.split(" ")[0]: float(value) for name, value in row.items()} for row in csv.DictReader(table)]
    missed = 0
    for line in open(directory / "log.jsonl", encoding="utf-8"):
        found = re.search(r"(\d+) of \d+ steps missed", json.dumps(json.loads(line)))
        missed = int(found[1]) if found else missed
    for track in range(arguments.tracks[0] * arguments.tracks[1]):
        if footing(directory, track) == 0:
            sys.exit(f"{ranks} ranks: no shoe of track{track} presses on a grain after {len(rows)} steps; give more --steps")
    sweeps = sorted(r["iterations"] for r in rows)
    profile = json.loads((directory / "profile.json").read_text(encoding="utf-8"))
    # the first steps make what later ones keep
    late = sorted(r["step_wall_s"] for r in rows[len(rows) // 5:])
    print(f"{ranks:5} {len(rows):6} {sum(r['contacts'] for r in rows) / len(rows):9.0f} "
          f"{sum(sweeps) / len(rows):13.1f} {sweeps[-1]:8.0f} {missed:7} "
          f"{max(r['joint_misfit'] for r in rows):10.2e} {1e3 * late[len(late) // 2]:10.2f} "
          f"{1e3 * sum(late) / len(late):8.2f} {profile['per_rank']['steps_cpu_s']['max']:8.2f} "
          f"{max(r['imbalance_contacts'] for r in rows):19.3f} {max(r['imbalance_joints'] for r in rows):9.3f}",
          flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catena", default="catena", help="the program")
    parser.add_argument("--tracks", type=int, nargs=2, default=[1, 1], metavar=("ALONG", "ACROSS"))
    parser.add_argument("--shoes", type=int, default=40, help="of a track")
    parser.add_argument("--gaps", type=float, nargs=2, default=[0.35, 0.4], metavar=("ALONG", "ACROSS"), help="m")
    parser.add_argument("--grains", type=int, nargs=3, default=[28, 12, 3], metavar=("X", "Y", "Z"))
    parser.add_argument("--hinges", default="1e-6 rad/(N m)", metavar="COMPLIANCE", help="angular; empty: rigid hinges")
    parser.add_argument("--steps", type=int, default=100, help="of 1 ms")
    parser.add_argument("-n", dest="ranks", type=int, nargs="+", default=[1])
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    parser.add_argument("--case", type=pathlib.Path, metavar="FILE", help="where the case goes, which is not run")
    arguments = parser.parse_args()
    text = case(*arguments.tracks, arguments.shoes, arguments.gaps, arguments.grains, arguments.hinges, arguments.steps / 1000)
    if arguments.case:
        arguments.case.write_text(text, encoding="utf-8")
        return
    with tempfile.TemporaryDirectory() as work:
        file = pathlib.Path(work) / "tracks.yaml"
        file.write_text(text, encoding="utf-8")
        print(f"{'ranks':>5} {'steps':>6} {'contacts':>9} {'sweeps a step':>13} {'largest':>8} {'missed':>7} "
              f"{'misfit, m':>10} {'ms a step':>10} {'mean':>8} {'CPU, s':>8} {'imbalance: contacts':>19} {'of joints':>9}")
        missed = [run(arguments, file, ranks, pathlib.Path(work) / f"ranks{ranks}") for ranks in arguments.ranks]
    sys.exit(1 if any(missed) else 0)


if __name__ == "__main__":
    main()
