#!/usr/bin/python3
"""The examples of python/examples in short forms, against what can be worked out by hand.

    examples_test.py CATENA SOURCE
"""
import contextlib
import os
import pathlib
import sys
import tempfile
import unittest

try:
    import h5py  # noqa: F401
    import numpy as np
    import yaml  # noqa: F401
except ImportError:
    print("h5py or yaml is missing (Debian: python3-h5py python3-yaml)")
    sys.exit(77)

CATENA, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
os.environ["CATENA"] = CATENA
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "python" / "examples")]
sys.dont_write_bytecode = True
import arm  # noqa: E402
import shear_cell  # noqa: E402
import silo  # noqa: E402
import vehicle  # noqa: E402

G = 9.81


class Examples(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.enterContext(contextlib.chdir(directory.name))

    def test_silo_is_tight_until_its_gate_opens(self):
        result = silo.main(0.8, 6)
        outlet, grains = result.probe("outlet"), result.bodies.mass[result.bodies.rows("grains")]
        self.assertEqual(outlet.number[outlet.time < 0.59].max(), 0)
        self.assertGreater(outlet.number[-1], 50)
        # mass that went is that of the grains that passed
        self.assertAlmostEqual(outlet.mass[-1] / outlet.number[-1], grains.mean(), delta=0.2 * grains.mean())

    def test_arm_bears_its_weight_at_the_shoulder(self):
        result = arm.main(0.1)
        weights = 5 * 0.2 + 3 * 0.6 + 1 * 0.83 + 1 * 0.89 + 0.5 * 0.935 + 2 * 0.1 * 0.99
        self.assertAlmostEqual(result.probe("q2").torque_y[90], -G * weights, delta=1e-3 * G * weights)

    def test_car_stands_on_its_springs(self):
        result = vehicle.main(0.9, gravel=False, flat=True)
        ground = result.probe("ground").force_z_mean[-1]
        self.assertAlmostEqual(-ground, G * (300 + 4 * 23), delta=0.02 * G * 392)
        spring = result[-1]
        hub, chassis = (spring.position[spring.rows(n)[0], 2] for n in ("hub-fl", "chassis"))
        # between the chassis 0.15 m above its centre and the hub: 0.5 m less the load of a quarter of 300 kg
        self.assertAlmostEqual(chassis + 0.15 - hub, 0.5 - 75 * G / 15e3, delta=2e-3)

    def test_plates_of_the_shear_cell_bear_the_same_shear_and_the_load(self):
        found = shear_cell.main(0.2, 0.3, (0.1,))[0.1]
        lid_x, lid_z, floor_x, floor_z = found
        self.assertAlmostEqual(lid_z, shear_cell.LOAD, delta=0.03 * shear_cell.LOAD)
        self.assertAlmostEqual(-floor_x, lid_x, delta=0.1 * abs(lid_x))
        self.assertTrue(0.2 < -lid_x / lid_z < 0.6, found)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
