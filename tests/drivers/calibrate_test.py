#!/usr/bin/python3
"""`catena calibrate`: constants that are there, have units and lie where a machine's may.

    calibrate_test.py CATENA RANKS MPIEXEC
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CATENA, RANKS, MPIEXEC = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

# unit, least and largest that any machine may have, also a loaded one
ALWAYS = {
    "update_spheres_cached": ("s", 5e-10, 2e-6), "update_spheres": ("s", 5e-10, 2e-6),
    "update_arms_cached": ("s", 5e-10, 2e-6), "update_arms": ("s", 5e-10, 2e-6), "triad": ("B/s", 1e7, 1e12),
    "pack": ("B/s", 1e6, 1e13), "joint_factor": ("s", 1e-9, 1e-5), "joint_solve": ("s", 1e-10, 1e-5),
    "reduction": ("s", 0.0, 1.0), "posted_reduction": ("s", 0.0, 1.0),
    "front_flop": ("s", 1e-12, 1e-8), "front_flop_large": ("s", 1e-12, 1e-8),
    **{f"{kind}_{phase}{size}": ("s", 1e-10, 1e-4) for kind in ("chain", "tree", "cords", "net")
       for phase in ("rows", "factor", "solve", "motion") for size in ("_cached", "")}}
PAIRS = {
    "latency_node": ("s", 1e-8, 1.0), "overhead_node": ("s", 1e-9, 1.0), "bandwidth_node": ("B/s", 1e5, 1e13),
    "halo_1": ("s", 1e-8, 1.0), "halo_1000": ("s", 1e-8, 1.0), "halo_10000": ("s", 1e-7, 1.0)}


class Calibrate(unittest.TestCase):
    def test_constants(self):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory, "c.json")
            start = [CATENA] if RANKS == 1 else [MPIEXEC, "-n", str(RANKS), CATENA]
            done = subprocess.run(start + ["calibrate", "-o", str(file)], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            calibration = json.loads(file.read_text())
            self.plan(pathlib.Path(directory), calibration)
        self.assertEqual((calibration["schema"], calibration["ranks"]), (1, RANKS))
        self.assertTrue(calibration["cpu"] and calibration["hosts"])
        expected = ALWAYS if RANKS == 1 else {**ALWAYS, **PAIRS}
        self.assertEqual(set(calibration["constants"]), set(expected))
        # what others on the machine disturbed too much to be a number is null: never a wrong one
        disturbed = [name for name in expected if calibration["constants"][name]["value"] is None]
        self.assertLessEqual(len(disturbed), 3, disturbed)
        for name, (unit, least, largest) in expected.items():
            constant = calibration["constants"][name]
            with self.subTest(name=name):
                self.assertEqual(constant["unit"], unit)
                if name in disturbed:
                    self.assertEqual((constant["low"], constant["high"]), (None, None))
                    continue
                self.assertLessEqual(constant["low"], constant["value"])
                self.assertLessEqual(constant["value"], constant["high"])
                self.assertGreater(constant["value"], least)
                self.assertLess(constant["value"], largest)
            self.assertIn(name, done.stdout)
        # general contacts have more to do than those of spheres
        cached = {"update_arms_cached", "update_spheres_cached"}
        if not cached & set(disturbed):
            self.assertGreater(calibration["constants"]["update_arms_cached"]["low"],
                               calibration["constants"]["update_spheres_cached"]["low"])

    NET = """catena: 1
name: net
materials: {m: {density: 1000}}
time: {step: 1 ms, end: 1}
generators:
  - net: {name: g, material: m, shape: {sphere: {radius: 0.01}}, count: [20, 20], from: [0, 0, 0],
          spacing: [[0.1, 0, 0], [0, 0.1, 0]], joint: distance, collide: false}
"""

    def plan(self, directory, calibration):
        """`catena plan` takes what was written, and refuses what was not."""
        (directory / "net.yaml").write_text(self.NET)
        file = directory / "changed.json"

        def plan(change, *options):
            changed = json.loads(json.dumps(calibration))
            for constant in changed["constants"].values():
                constant["value"] = 1e-9  # none is disturbed
            change(changed)
            file.write_text(json.dumps(changed))
            return subprocess.run([CATENA, "plan", str(directory / "net.yaml"), "-n", "1", *options], capture_output=True,
                                  text=True, timeout=60)

        given = ["--calibration", str(file)]
        done = plan(lambda c: None, *given)
        self.assertEqual(done.returncode, 0, done.stderr)
        # 760 rods of 400 knots, 360 loops: 1 ns a row, 12 360^1.5 multiply-adds more of factor, 1 ns a body; solves
        # grow with the logarithm of the joints
        solve = 760 * math.log2(761)
        factor = 760 + 12 * 360**1.5
        expected = [760, factor, solve, 400, 0, 760 + factor + solve + 400]
        line = next(line for line in done.stdout.splitlines() if line.startswith("predicted time of a step, ms: "))
        for found, value in zip(re.findall(r" (\d[\d.e+-]*)", line), expected, strict=True):
            self.assertAlmostEqual(float(found) / (1e-6 * value) if value else float(found) + 1.0, 1.0, 3, line)
        self.assertEqual(done.stderr, "")
        for change, what in ((lambda c: c.update(schema=2), "has schema 2, not 1"),
                             (lambda c: c["constants"].pop("net_solve"), "lacks the constant net_solve"),
                             (lambda c: c["constants"]["net_solve"].update(value=None), "net_solve"),
                             (lambda c: c.update(bodies=3), "bodies: unknown key"),
                             (lambda c: c.pop("constants"), "constants")):
            done = plan(change, *given)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(what, done.stderr)
            self.assertIn("changed.json", done.stderr)
            self.assertNotIn("predicted", done.stdout)
        done = plan(lambda c: c.update(cpu="an abacus"), *given)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("is of another machine: an abacus", done.stderr)
        if RANKS == 1:
            done = subprocess.run(
                [CATENA, "plan", str(directory / "net.yaml"), "-n", "2", *given], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("mpirun -n 2 catena calibrate", done.stderr)
        done = plan(lambda c: None)
        self.assertIn("no time is predicted: give --calibration FILE", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
