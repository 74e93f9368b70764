#!/usr/bin/python3
"""Grains between rough plates under a steady load, sheared at several speeds: friction of the layer over the speed.
shear_cell.py [END in s]"""
import sys

import catena

LOAD = 3.6  # N


def case(name, end, velocity, initial=None):
    plate = {"material": "grain", "shape": {"sphere": {"radius": "2.5 mm"}}, "count": [12, 6, 1], "spacing": "5 mm"}
    values = {
        "catena": 1, "name": name, "periodic": {"x": [0, 0.06], "y": [0, 0.03]},
        "materials": {"grain": {"density": 2600, "friction": 0.5}},
        "generators": [
            {"lattice": dict(plate, name="floor", origin=[0.0025, 0.0025, 0], fixed=True)},
            {"pack": {"name": "grains", "material": "grain", "shape": {"sphere": {"radius": "2 mm"}},
                      "sizes": {"uniform": [0.8, 1.2]}, "solid_fraction": 0.5,
                      "region": {"lower": [0, 0, 0.0026], "upper": [0.06, 0.03, 0.022]}}},
            {"lattice": dict(plate, name="lid", origin=[0.0025, 0.0025, 0.025], motion={"velocity": [velocity, 0, 0]})}],
        "probes": [{"name": name, "type": "force", "on": name, "from": "grains", "interval": "20 ms"}
                   for name in ("lid", "floor")],
        "controllers": [{"name": "press", "type": "servo", "measure": "lid.contact_force_z", "response": "rises",
                         "drive": "lid", "along": [0, 0, -1], "target": LOAD, "max_velocity": 0.1}],
        "time": {"step": "0.2 ms", "end": end}}
    return catena.Case(dict(values, **({"initial": {"from": initial, "time": "reset"}} if initial else {})))


def main(end=0.6, settle=0.4, velocities=(0.04, 0.08, 0.16)):
    catena.run(case("settle", settle, 0), progress=False)
    found = {}
    for velocity in velocities:
        result = catena.run(case(f"shear-{velocity}", end, velocity, "settle"), progress=False)
        lid, floor = result.probe("lid"), result.probe("floor")
        late = lid.time > 0.5 * end
        found[velocity] = [p[c][late].mean() for p in (lid, floor) for c in ("force_x_mean", "force_z_mean")]
        print(f"{velocity} m/s: friction {-found[velocity][0] / found[velocity][1]:.3f}")
    return found


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
