#!/usr/bin/python3
"""A wall of bonded blocks that a steel ball hits: writes the case, runs it and prints, from the snapshots, the energies
with that of the bonds, and the pieces.

    scripts/studies/bonded_wall.py --catena build/release/drivers/catena --blocks 100 50 --end 0.06 -o wall
    scripts/user/render.py wall -o wall.png --azimuth -50 --elevation 12

Kinetic and potential energy are sums over the snapshot's bodies, and `in bonds` is 1/2 misfit^2 / compliance of those
that hold, by how far their two bodies have moved and turned from each other since the start. Everything else is
the run's audit: `bonds took` is the work that was done on the bonds, what they store, have damped, and had stored when
they broke. `balance` is kinetic + potential + elastic energy of the contacts less what the audit says has come and
gone; `unexplained` is that over the kinetic energy that is gone. Pieces are what the bonds that are left hold together.
--read DIR takes a run that is there, whose joints are all of one generator `bonds`, between bodies of one size (a bond
is taken to be halfway between their centres); step, gravity and compliances are those of the case that its bodies.h5
holds. Its snapshots have to begin at step 0 and to have the same bodies. The exit code is 1 where at the end more than
a hundredth of that energy is unexplained, the contacts' jumps are more than a tenth of it, or more is in the bonds than
they took: let --end be after the hit.
"""

import argparse
import csv
import pathlib
import subprocess
import sys

import h5py
import numpy as np
import scipy.sparse
import yaml
from scipy.spatial.transform import Rotation

COMPLIANCE, ANGULAR, STEP, G = 5e-8, 1.5e-5, 1e-3, 9.81
BLOCK = (0.1, 0.2, 0.1)  # m

CASE = """# Written by scripts/studies/bonded_wall.py.
catena: 1
name: bonded-wall
gravity: [0, 0, -{g}]
materials:
  stone: {{density: 2200, friction: 0.6}}
  steel: {{density: 7800, friction: 0.4}}
bodies:
  - {{name: ground, material: stone, shape: {{plane: {{}}}}}}
  - {{name: ball, material: steel, shape: {{sphere: {{radius: {radius}}}}}, position: [{x}, {y}, {z}],
     velocity: [0, 20, 0]}}
generators:
  - lattice: {{name: blocks, material: stone, shape: {{box: {{size: {block}}}}}, count: [{along}, 1, {high}],
              spacing: {block}, origin: [{first_x}, 0, {first_z}]}}
  - bonds: {{name: glue, between: [blocks], gap: 1 mm, compliance: {linear}, angular_compliance: {angular},
            break_tension: 10 kN, break_shear: 15 kN, break_torque: 200 N m}}
time: {{step: {step}, end: {end}}}
output: {{snapshot_interval: {interval}}}
"""


def case(along, high, end):
    radius = round(0.08 * BLOCK[2] * high, 6)
    return CASE.format(g=G, radius=radius, x=0.5 * along * BLOCK[0], y=-(radius + 0.5 * BLOCK[1] + 0.01),
                       z=round(max(0.6 * high * BLOCK[2], radius), 6), block=list(BLOCK), along=along, high=high,
                       first_x=0.5 * BLOCK[0], first_z=0.5 * BLOCK[2], linear=COMPLIANCE, angular=ANGULAR, step=STEP,
                       end=end, interval=STEP * max(1, round(end / STEP / 6)))


def read_case(config, directory):
    """Of a run's case: step, gravity, and linear and angular compliance of the bonds."""
    run = yaml.safe_load(config)
    made = [(kind, keys) for generator in run["generators"] for kind, keys in generator.items() if "joint" in keys]
    if run.get("joints") or len(made) != 1 or made[0][0] != "bonds":
        sys.exit(f"{directory}: its joints are not all of one generator `bonds`")
    # numbers without a point and with an exponent are texts in YAML 1.1
    linear, angular = (float(made[0][1].get(key, 0)) for key in ("compliance", "angular_compliance"))
    across, along, down = map(float, run["gravity"])
    if across or along:
        sys.exit(f"{directory}: its gravity is not along z")
    return float(run["time"]["step"]), -down, (linear, angular)


class Bonds:
    """Joints that were without a misfit at the start, halfway between the centres of their bodies."""

    def __init__(self, compliance, x, turn):
        self.compliance, self.x, self.turn = compliance, x, turn

    def stored(self, ends, x, turn):
        """J, of bonds between bodies `ends` (k x 2) at places x, turned by `turn`."""
        if len(ends) == 0:
            return 0.0
        middle = self.x[ends].mean(axis=1)
        moved = [turn[end] * self.turn[end].inv() for end in ends.T]  # since the start
        points = [x[end] + by.apply(middle - self.x[end]) for end, by in zip(ends.T, moved)]
        squares = [np.sum((points[1] - points[0])**2), np.sum((moved[1] * moved[0].inv()).as_rotvec()**2)]
        return sum(0.5 * square / eps for square, eps in zip(squares, self.compliance) if eps > 0.0)


def read(directory):
    """Rows of the table, one per snapshot."""
    with open(directory / "series.csv", newline="", encoding="utf-8") as table:
        series = {int(float(r["step [1]"])): {k.split(" ")[0]: float(v) for k, v in r.items()}
                  for r in csv.DictReader(table)}
    with h5py.File(directory / "bodies.h5") as file:
        bodies = {name: file["bodies"][name][()] for name in ("id", "mass", "inertia")}
        bonds = file["joints/bodies"][()]
        bond_id = file["joints/id"][()]
        step_size, gravity, compliance = read_case(file["provenance"].attrs["config"], directory)
    blocks = np.isin(bodies["id"], bonds)  # what bonds join at the start
    start = at_start = all_ids = None
    for path in sorted((directory / "snapshots").glob("*.h5")):
        step = int(path.stem)
        with h5py.File(path) as file:
            ids = file["bodies/id"][()]
            if all_ids is None and step > 0:
                sys.exit(f"{directory}: its first snapshot is of step {step}: what bonds hold is reckoned from step 0")
            all_ids = ids if all_ids is None else all_ids
            if not np.array_equal(ids, all_ids):
                sys.exit(f"{directory}: the bodies of step {step} are not those of the start: some came or left")
            row = np.searchsorted(bodies["id"], ids)
            m, inertia = bodies["mass"][row], bodies["inertia"][row]
            x, v, q, w = (file["bodies/" + name][()]
                          for name in ("position", "velocity", "orientation", "angular_velocity"))
            turn = Rotation.from_quat(q[:, [1, 2, 3, 0]])
            kinetic = 0.5 * np.sum(m * np.sum(v**2, axis=1)) + 0.5 * np.sum(inertia * turn.inv().apply(w)**2)
            potential = gravity * np.sum(m * x[:, 2])
            held = file["joints/id"][()]
            broken = len(file["broken/id"]) if "broken" in file else 0
        if not np.isin(held, bond_id).all():
            sys.exit(f"{directory}: bodies.h5 lacks bonds that the snapshot of step {step} has")
        if step == 0:  # joints are written from the first step on
            held, at_start = bond_id, Bonds(compliance, x, turn)
        ends = np.searchsorted(ids, bonds[np.searchsorted(bond_id, held)])
        stored = at_start.stored(ends, x, turn)
        graph = scipy.sparse.coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(row), len(row)))
        _, label = scipy.sparse.csgraph.connected_components(graph, directed=False)
        sizes = np.sort(np.unique(label[blocks], return_counts=True)[1])[::-1]
        audit = series.get(step, dict.fromkeys(next(iter(series.values())), 0.0))
        total = kinetic + potential + audit["elastic_energy"]
        start = total if start is None else start
        explained = (audit["recovery_work"] + audit["external_work"] + audit["cohesion_work"] + audit["joint_work"]
                     + audit["motor_work"] + audit["elastic_jump"] - audit["dissipation_friction"]
                     - audit["dissipation_impact"])
        yield step_size * step, kinetic, potential, stored, broken, audit, total - start - explained, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catena", default="catena", help="the program")
    parser.add_argument("--blocks", type=int, nargs=2, default=[20, 12], metavar=("ALONG", "HIGH"))
    parser.add_argument("--end", type=float, default=0.06, help="s")
    parser.add_argument("-n", dest="ranks", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    parser.add_argument("-o", dest="directory", type=pathlib.Path, default=pathlib.Path("bonded-wall"))
    parser.add_argument("--read", type=pathlib.Path, metavar="DIR", help="a run that is there")
    arguments = parser.parse_args()
    directory = arguments.read or arguments.directory
    if not arguments.read:
        file = directory.with_suffix(".yaml")
        file.write_text(case(*arguments.blocks, arguments.end), encoding="utf-8")
        command = ["mpirun", "-n", str(arguments.ranks), arguments.catena, "run", str(file), "-o", str(directory),
                   "--force"]
        for setting in arguments.set:
            command += ["--set", setting]
        if done := subprocess.run(command, check=False).returncode:
            sys.exit(done)
    print("Energies in kJ.")
    print(f"{'t, ms':>6} {'kinetic':>9} {'potential':>9} {'contacts':>9} {'in bonds':>9} {'bonds took':>10} "
          f"{'friction':>9} {'impacts':>9} {'recovery':>9} {'jump':>9} {'balance':>9} {'unexplained':>11} "
          f"{'broken':>6} {'pieces':>6} {'largest':>7} {'single':>6}")
    first = None
    for time, kinetic, potential, stored, broken, audit, balance, sizes in read(directory):
        first = (kinetic, potential) if first is None else first
        gone = first[0] - kinetic
        cells = [kinetic, potential - first[1], audit["elastic_energy"], stored, -audit["joint_work"],
                 audit["dissipation_friction"], audit["dissipation_impact"], audit["recovery_work"],
                 audit["elastic_jump"], balance]
        energies = " ".join(f"{1e-3 * c:{10 if i == 4 else 9}.3f}" for i, c in enumerate(cells))
        unexplained = f"{balance / gone:11.1e}" if gone > 1.0 else f"{'':11}"
        print(f"{1e3 * time:6.0f} {energies} {unexplained} {broken:6} {len(sizes):6} {sizes[0]:7} "
              f"{np.sum(sizes == 1):6}", flush=True)
    if (abs(balance) > 0.01 * gone or abs(audit["elastic_jump"]) > 0.1 * gone
            or stored > -audit["joint_work"] + 1e-9 * gone):
        sys.exit(1)


if __name__ == "__main__":
    main()
