#!/usr/bin/python3
"""The evaluation of scripts/reproduce/dem_beside.py on states made by hand, what it tells other programs of
their dashpots, how it reads their dumps, and that `catena check` takes its cases.

    dem_beside_test.py build/drivers/catena path/to/repository
"""
import dataclasses
import functools
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py  # noqa: F401
    import numpy as np
    import scipy.optimize  # noqa: F401
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

CATENA, ROOT = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.join(ROOT, "scripts/reproduce"))
import dem_beside as evaluation  # noqa: E402
import dem_programs as programs  # noqa: E402
import dem_scenes as scenes  # noqa: E402

D = scenes.D
SCENES = {name: functools.lru_cache(scene) for name, scene in scenes.SCENES.items()}


def cube_bed():
    """6 x 6 x 6 equal spheres on a simple cubic lattice in a box six diameters wide."""
    grid = np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), -1).reshape(-1, 3)
    x = (grid + 0.5) * D
    scene = scenes.Scene("cube", np.full(216, 0.5 * D), x, np.zeros((216, 3)), scenes.box_planes(6 * D, 6 * D),
                      np.zeros(3), np.full(3, 7 * D), 1.0, 1.0, contacts=True)
    weight, side = scene.mass[0] * scenes.G, 0.25  # each layer carries those above; sideways a quarter of it
    a, b, force, point = [], [], [], []

    def touch(i, j, f, p):
        a.append(i), b.append(j), force.append(f), point.append(p)
    for i, cell in enumerate(grid):
        load = weight * (6 - cell[2])
        for axis in range(3):
            unit = np.eye(3)[axis]
            f = load if axis == 2 else side * load
            if cell[axis] > 0:
                touch(i, i - (36, 6, 1)[(0, 1, 2).index(axis)], f * unit, x[i] - 0.5 * D * unit)
            else:
                touch(i, {2: -1, 0: -2, 1: -4}[axis], f * unit, x[i] - 0.5 * D * unit)
            if axis < 2 and cell[axis] == 5:
                touch(i, {0: -3, 1: -5}[axis], -f * unit, x[i] + 0.5 * D * unit)
    contacts = programs.Contacts(np.array(a), np.array(b), np.array(force), np.array(point))
    return scene, programs.State(1.0, np.arange(216), x, np.zeros((216, 3)), np.zeros((216, 3))), contacts, weight


class DemBeside(unittest.TestCase):
    def test_cubic_lattice_has_the_figures_that_a_pencil_gives(self):
        scene, state, contacts, weight = cube_bed()

        found = evaluation.bed_figures(scene, programs.Run([state], contacts))

        self.assertAlmostEqual(found["load on the floor, of the weight"], 1.0, 12)
        # 36 spheres along a wall carry a quarter of 1 + .. + 6 weights, six times, of 216 weights
        self.assertAlmostEqual(found["normal force on a side wall, of the weight"], 0.25 * 21 * 6 / 216, 12)
        self.assertAlmostEqual(found["horizontal over vertical stress"], 0.25 * (4 + 3) / (3.5 + 2.5), 12)
        self.assertAlmostEqual(found["coordination inside"], 6.0, 12)
        self.assertAlmostEqual(found["mean height, mm"], 30.0, 9)
        # 1.5 to 4.5 diameters wide, deep and high: halves of cells and whole ones
        self.assertAlmostEqual(found["solid fraction inside"], np.pi / 6.0, delta=1e-3)
        # centres of the third and fourth layer: each carries the mean of what is below and above it, on D^2
        expected = weight / D**2 * (0.5 * (4 + 3) + 0.5 * (3 + 2)) / 2.0
        self.assertAlmostEqual(found["vertical stress inside, Pa"] / expected, 1.0, delta=2e-3)

    def test_dashpots_rebound_as_asked(self):
        for e in (0.3, 0.5, 0.8):
            alpha = programs.damping(e)
            self.assertAlmostEqual(programs.rebound(alpha), e, 5)
            tsuji = np.polyval([4.8218, -18.022, 27.467, -22.348, 11.087, -4.2783, 1.2728],
                               programs.lammps_restitution(alpha))
            self.assertAlmostEqual(tsuji, alpha, 9)
        # T. Schwager and T. Poeschel's zeta of Catena, c = 2 zeta sqrt(m dF/dx): 2 sqrt(1.5) zeta
        self.assertAlmostEqual(programs.damping(0.472) / (2.0 * np.sqrt(1.5)), 0.2553, 3)

    def test_dumps_of_both_kinds_are_read_alike(self):
        scene = scenes.Scene("two", np.full(2, 0.5 * D), np.array([[0.0, 0, 0.5 * D], [0.0, 0, 1.5 * D]]),
                          np.zeros((2, 3)), [scenes.Plane(2, 1, 0.0)], -np.ones(3), np.ones(3), scenes.STEP, scenes.STEP,
                          contacts=True)
        head = "ITEM: TIMESTEP\n1\nITEM: NUMBER OF %s\n%d\nITEM: BOX BOUNDS ff ff ff\n-1 1\n-1 1\n-1 1\nITEM: %s\n"
        names = "ATOMS id x y z vx vy vz wx wy wz r f1 f2 f3"
        atoms = (head % ("ATOMS", 2, names) + "1 0 0 0.005 0 0 0 0 0 0 0.005 0.1 0 5\n"
                 "2 0 0 0.015 0 0 0 0 0 0 0.005 0 0 0\n")
        read = []
        for pairs in (head % ("ENTRIES", 1, "ENTRIES a b f t1 t2 t3") + "2 1 3 0.5 0 0\n",
                      head % ("ENTRIES", 1, "ENTRIES a b fx fy fz") + "2 1 0.5 0 3\n"):
            with tempfile.TemporaryDirectory() as directory:
                programs.write(os.path.join(directory, "state.dump"), atoms)
                programs.write(os.path.join(directory, "pairs.dump"), pairs)
                read.append(programs.read_dump(scene, directory).contacts)
        for contacts in read:
            self.assertEqual(contacts.b.tolist(), [-1, 0])
            self.assertEqual(contacts.a.tolist(), [0, 1])
            np.testing.assert_allclose(contacts.force, [[0.1, 0, 5], [0.5, 0, 3]])
            np.testing.assert_allclose(contacts.point, [[0, 0, 0], [0, 0, D]], atol=1e-15)

    def test_drum_with_a_plane_surface_has_its_angle_speed_and_torque(self):
        slope = np.tan(np.radians(25.0))
        # equal grains on a slanted plane through the middle and in three layers below it; those on top slide downhill
        across, along, layer = np.meshgrid(np.arange(-6, 7), np.arange(4) + 0.5, np.arange(4), indexing="ij")
        x = np.stack([across * D, along * D, slope * across * D - 1.2 * layer * D], -1).reshape(-1, 3)
        n = len(x)
        scene = dataclasses.replace(SCENES["drum"](1), radius=np.full(n, 0.5 * D))
        v = np.where(layer.reshape(-1, 1) == 0, 0.2, 0.0) * [-np.cos(np.radians(25.0)), 0.0, -np.sin(np.radians(25.0))]
        x[:, 0] += 2 * D  # the centre of mass is that far from the axis
        states = [programs.State(t, np.arange(n), x, v, 0 * x) for t in (0.0, scenes.DRUM_FROM, scene.end)]
        weight = n * scene.mass[0] * scenes.G
        load = np.array([[scenes.DRUM_FROM, 0, 0, 0, 9.0], [scene.end, 0, 0, 0, weight * 2 * D]])

        found = evaluation.drum_figures(scene, programs.Run(states, load=load))

        self.assertAlmostEqual(found["angle of the surface, degrees"], 25.0, 9)
        self.assertAlmostEqual(found["speed down the surface, mm/s"], 200.0, 9)
        self.assertAlmostEqual(found["torque, of weight times radius"], 2 * D / scenes.DRUM_RADIUS, 12)
        self.assertAlmostEqual(found["torque, of that of the grains' weight"], 1.0, 12)

    def test_neighbours_of_the_other_kind_tell_layers_from_a_mixed_bed(self):
        rng = np.random.default_rng(1)
        x = rng.uniform(0.0, 1.0, (4000, 3))
        self.assertAlmostEqual(evaluation.unlike_neighbours(x, rng.permutation(4000) < 2000), 1.0, delta=0.03)
        # in layers only those beside the boundary have any
        self.assertLess(evaluation.unlike_neighbours(x, x[:, 2] < 0.5), 0.1)

    def test_shear_that_is_uniform_has_its_rate_and_stresses(self):
        scene = SCENES["shear"](1)
        v = np.zeros_like(scene.x)
        v[:, 0] = scenes.SHEAR_SPEED * scene.x[:, 2] / scenes.SHEAR_SIZE[2]
        v[:, 1] = 0.03 * np.where(np.arange(len(v)) % 2, 1, -1)
        area = scenes.SHEAR_SIZE[0] * scenes.SHEAR_SIZE[1]
        states = [programs.State(t, np.arange(len(v)), scene.x, v, 0 * v) for t in (0.0, scenes.SHEAR_FROM, scene.end)]
        load = np.array([[scenes.SHEAR_FROM, 9, 9, 9, 9], [scene.end, -200.0 * area, 0.0, 500.0 * area, 0.0]])

        found = evaluation.shear_figures(scene, programs.Run(states, load=load))

        self.assertAlmostEqual(found["normal stress on the moved wall, Pa"], 500.0, 9)
        self.assertAlmostEqual(found["shear stress on it, Pa"], 200.0, 9)
        self.assertAlmostEqual(found["shear over normal stress"], 0.4, 12)
        self.assertAlmostEqual(found["shear rate in the middle, of speed over height"], 1.0, 9)
        self.assertAlmostEqual(found["fluctuation of speed there, mm/s"], 30.0, 6)

    def test_overlaps_are_found_across_periodic_sides_alone(self):
        scene = SCENES["shear"](1)
        ends = scene.upper - scene.lower
        for axis in range(3):
            unit = np.eye(3)[axis]
            x = np.array([scene.lower + 0.5 * ends * (1 - unit) + 0.2 * D * unit,
                          scene.lower + 0.5 * ends * (1 - unit) + (ends[axis] - 0.2 * D) * unit])
            overlap = scenes.overlaps(scene, x, np.full(2, 0.5 * D))[3]
            np.testing.assert_allclose(overlap, [0.6 * D] if axis < 2 else [], err_msg=str(axis))

    def test_what_moved_grains_bear_is_read_from_dumps(self):
        scene = SCENES["shear"](1)
        with tempfile.TemporaryDirectory() as directory:
            programs.write(os.path.join(directory, "state.dump"), "")
            programs.write(os.path.join(directory, "moved.txt"), "# Time-averaged data\n# TimeStep a b c d\n1000 1 2 3 4\n")
            np.testing.assert_allclose(programs.read_dump(scene, directory).load, [[1000 * scenes.STEP, 1, 2, 3, 4]])

    def test_catena_takes_its_cases(self):
        with tempfile.TemporaryDirectory() as directory:
            for name, scene in SCENES.items():
                for code in programs.CATENA if name == "bed" else ["material"]:
                    case = programs.write_catena(scene(1), os.path.join(directory, name, code), code)
                    done = subprocess.run([CATENA, "check", case], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, "%s: %s" % (name, done.stderr))
                    self.assertNotIn("warning", done.stderr, name)

    def test_grains_start_apart_and_inside(self):
        for name, depth in (("bed", 0.0), ("silo", 0.0), ("heap", 0.0), ("drum", 0.0), ("shear", 0.005 * D)):
            scene = SCENES[name](1)
            x, radius = np.concatenate([scene.x, scene.fixed_x]), np.concatenate([scene.radius, scene.fixed_radius])
            self.assertLessEqual(scenes.overlaps(scene, x, radius)[3].max(initial=0.0), depth, name)
            for p in scene.planes:
                self.assertGreater((p.side * (scene.x[:, p.axis] - p.at) - scene.radius).min(), 0.0, name)
            self.assertTrue((scene.x > scene.lower).all() and (scene.x < scene.upper).all(), name)


if __name__ == "__main__":
    unittest.main()
