#!/usr/bin/python3
"""Boxes come one by one and fall into a net of ropes: what its anchors bear. net.py [END in s]"""
import sys

import catena

EDGE, PITCH, SIZE, EVERY = 1.0, 0.2, 0.3, 0.25  # half the net's edge, its mesh, the boxes, m; s between boxes


def case(end):
    knots = round(2 * EDGE / PITCH) + 1
    return {"catena": 1, "name": "net", "materials": {"rope": {"density": 1400, "friction": 0.5},
                                                      "wood": {"density": 600, "friction": 0.5}},
            "generators": [{"net": {
                "name": "net", "material": "rope", "shape": {"sphere": {"radius": "3 cm"}}, "count": [knots, knots],
                "from": [-EDGE, -EDGE, 0], "spacing": [[PITCH, 0, 0], [0, PITCH, 0]], "anchored": "all", "joint": "rope",
                "compliance": "5e-5 m/N", "damping_time": "20 ms"}}],
            "probes": [{"name": "anchors", "type": "force", "on": "net", "from": "world", "interval": "50 ms"}],
            "time": {"step": "1 ms", "end": end}, "output": {"snapshot_interval": "50 ms"}}


def main(end=3, boxes=6):
    with catena.Simulation(case(end)) as sim:
        @sim.before_each_step
        def drop(sim):
            number = round(sim.time / EVERY)
            if number < boxes and abs(sim.time - number * EVERY) < 0.5 * sim.step_length:
                sim.add_body({"name": f"box-{number}", "material": "wood", "shape": {"box": {"size": 3 * [SIZE]}},
                              "position": [0.2 * (-1) ** number, 0.1 * (number % 3 - 1), 1],
                              "orientation": {"axis": [1, 2, 3], "angle": number}})

        result = sim.run_into("net", progress=False)
    last = result[-1]
    weight = 9.81 * last.mass.sum()
    borne = result.probe("anchors").force_z_mean
    print(f"{len(last.rows('box'))} boxes in the net; anchors bear {borne[-1]:.0f} N, at most {borne.max():.0f} N; "
          f"all weighs {weight:.0f} N")
    return result


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
