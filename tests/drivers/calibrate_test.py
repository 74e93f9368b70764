#!/usr/bin/python3
"""`catena calibrate`: constants that are there, have units and lie where a machine's may.

    calibrate_test.py CATENA RANKS MPIEXEC
"""
import json
import os
import pathlib
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
    "reduction": ("s", 0.0, 1.0), "posted_reduction": ("s", 0.0, 1.0)}
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
