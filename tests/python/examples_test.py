#!/usr/bin/python3
"""The examples of python/examples in short forms, or at their full length, against what can be worked out by hand.

    examples_test.py CATENA SOURCE Short|Long

That of the net needs the extension module on PYTHONPATH.
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
sys.path[:0] = [str(SOURCE / "python" / "examples")]
sys.path.append(str(SOURCE / "python"))
sys.dont_write_bytecode = True
import arm  # noqa: E402
import box_compression  # noqa: E402
import capstan  # noqa: E402
import crane  # noqa: E402
import drum  # noqa: E402
import net  # noqa: E402
import ranks  # noqa: E402
import roller_chain  # noqa: E402
import rolling  # noqa: E402
import shear_cell  # noqa: E402
import silo  # noqa: E402
import vehicle  # noqa: E402

G = 9.81


class InNewDirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.enterContext(contextlib.chdir(directory.name))


def grains_in(result):
    """Positions of a drum's grains at the end, from its axis."""
    last = result[-1]
    return np.asarray(last.position[last.rows("grains")]), np.asarray(last.radius[last.rows("grains")])


def swing_of_a_pendulum(length, end, h=1e-3):
    """Largest displacement of a mass on a rope without mass whose other end moves as the crane's trolley, m."""
    rows = np.array(crane.SPEED)
    speed = np.interp(np.arange(0, end + h, h), *rows.T)
    angle, rate, most = 0.0, 0.0, 0.0
    for a in np.diff(speed) / h:
        rate += h * -(G * np.sin(angle) + a * np.cos(angle)) / length
        angle += h * rate
        most = max(most, length * abs(np.sin(angle)))
    return most


class Short(InNewDirectory):
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

    def test_crane_swings_as_a_pendulum_and_its_rope_bears_the_load(self):
        result = crane.main(8)
        load, trolley, hook = (result.probe(name) for name in ("load", "trolley", "hook"))
        still = hook.time < 0.45
        np.testing.assert_allclose(hook.force_z[still][1:], 1000 * G, rtol=1e-3)
        swing = np.abs(np.asarray(load.position_x) - np.asarray(trolley.position_x)).max()
        self.assertAlmostEqual(swing, swing_of_a_pendulum(crane.TOP - 1, 8), delta=0.02 * swing)

    def test_ball_with_rolling_friction_slows_down_as_by_hand(self):
        self.assertAlmostEqual(rolling.main(0.3), 5 / 7 * G * rolling.LENGTH / rolling.RADIUS, delta=1e-5)

    def test_rope_over_a_post_holds_what_eulers_formula_says(self):
        bound = np.exp(capstan.FRICTION * np.pi)
        ratio = capstan.main()  # it slips, over links in place of a curve
        self.assertTrue(0.9 * bound < ratio < bound, (ratio, bound))

    def test_sides_of_a_box_press_each_other_and_the_lid_more(self):
        force = box_compression.main(0.1, 0.2, 6)
        self.assertAlmostEqual(force["x"][-1], -force["x0"][-1], delta=0.02 * force["x"][-1])
        self.assertAlmostEqual(force["x"][-1], box_compression.LOAD, delta=0.15 * box_compression.LOAD)
        self.assertGreater(force["z"][-1], 1.05 * force["x"][-1])

    def test_drum_keeps_its_grains_and_slopes_are_measured(self):
        position, radius = grains_in(drum.main(0.2, 6))
        self.assertEqual(len(position), 6 * 6 * 4)
        self.assertLess((np.hypot(position[:, 0], position[:, 2]) + radius).max(), drum.RADIUS * 1.001)
        x, z = np.meshgrid(np.linspace(-0.09, 0.09, 91), np.linspace(-0.1, 0.1, 201))
        below = z < np.tan(np.radians(25)) * x
        self.assertAlmostEqual(drum.slope(np.c_[x[below], 0 * x[below], z[below]]), 25, delta=1.5)

    def test_parts_on_other_ranks_are_the_whole_to_the_last_bit(self):
        parts, whole, same = ranks.main(0.09)
        self.assertTrue(same)
        self.assertEqual(len(parts.series.time), len(whole.series.time))

    def test_net_knows_the_boxes_that_came(self):
        try:
            import catena._core  # noqa: F401
        except ImportError:
            self.skipTest("Catena was built without its extension module")
        result = net.main(0.3, 2)
        self.assertEqual([len(s.rows("box")) if s.time > 0 else 0 for s in result], [0] + 5 * [1] + [2])
        last = result[-1]
        box = last.rows("box-0")[0]
        self.assertAlmostEqual(last.mass[box], 600 * net.SIZE**3, delta=1e-9)
        # in the air it falls freely
        self.assertAlmostEqual(last.velocity[box, 2], -G * 0.3, delta=1e-9)
        self.assertEqual(result.series.inserted[-1], 2)


class Long(InNewDirectory):
    def test_drum_bears_the_torque_of_grains_beside_its_axis(self):
        result = drum.main()
        late = [s for s in result if s.time > 3]
        arm, weight = [], 0.0
        for state in late:
            rows = state.rows("grains")
            mass = np.asarray(state.mass[rows])
            arm.append((mass * np.asarray(state.position[rows, 0])).sum() / mass.sum())
            weight = G * mass.sum()
        torque = result.probe("drum").torque_y_mean[-len(late):].mean()
        self.assertAlmostEqual(torque, weight * np.mean(arm), delta=0.1 * abs(torque))
        angle = np.mean([drum.slope(s.position[s.rows("grains")]) for s in late])
        self.assertTrue(20 < abs(angle) < 45, angle)

    def test_net_bears_the_boxes_in_it(self):
        result = net.main()
        weight = G * result[-1].mass.sum()
        self.assertAlmostEqual(result.probe("anchors").force_z_mean[-10:].mean(), weight, delta=0.1 * weight)

    def test_roller_chain_holds_the_ratio_of_its_teeth(self):
        result = roller_chain.main(0.5)
        drive, out = (np.asarray(result.probe(name).angle) for name in ("drive", "out"))
        # to a part of a tooth of play
        self.assertAlmostEqual(out[-1], drive[-1] * 12 / 24, delta=0.1 * 2 * np.pi / 24)
        self.assertLess(result.series.joint_misfit.max(), 1e-4)

    def test_sides_of_a_box_hold_their_load(self):
        force = box_compression.main()
        for name in "xy":
            self.assertAlmostEqual(np.mean(force[name][-25:]), box_compression.LOAD, delta=0.1 * box_compression.LOAD)
        # friction 0.5 lets the lid press up to some three times as much
        self.assertTrue(1.2 < force["z"].max() / box_compression.LOAD < 5, force["z"].max())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], sys.argv[3]], verbosity=2)
