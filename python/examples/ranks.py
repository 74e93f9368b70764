#!/usr/bin/python3
"""One run in three parts on 1, 2 and 3 ranks, each from the checkpoint of the one before, and one in a whole: the same
to the last bit. ranks.py [END in s]"""
import sys

import catena
import numpy as np

PILE = {"catena": 1, "name": "pile", "materials": {"stone": {"density": 2500, "friction": 0.5}},
        "bodies": [{"name": "floor", "material": "stone", "shape": {"plane": {}}}],
        "generators": [{"lattice": {"name": "stones", "material": "stone", "shape": {"sphere": {"radius": 0.05}},
                                    "count": [5, 5, 8], "spacing": 0.102, "origin": [0, 0, 0.06],
                                    "position_jitter": "2 mm"}}],
        "solver": {"max_iterations": 40}, "parallel": {"deterministic": True, "tile_bodies": 50}}


def main(end=0.3):
    for ranks in (1, 2, 3):
        case = dict(PILE, time={"step": "2 ms", "end": end * ranks / 3})
        parts = catena.run(case, ranks=ranks, out="parts", force=ranks == 1, resume=ranks > 1, progress=False)
    whole = catena.run(case, out="whole", force=True, progress=False)
    same = all(np.array_equal(getattr(parts[-1], name), getattr(whole[-1], name))
               for name in ("id", "position", "orientation", "velocity", "angular_velocity"))
    print(f"{len(parts.series.time)} steps in parts, {len(whole.series.time)} in the whole, "
          f"the last states are {'the same' if same else 'different'}")
    return parts, whole, same


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
