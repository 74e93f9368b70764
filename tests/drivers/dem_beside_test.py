#!/usr/bin/python3
"""The evaluation of scripts/reproduce/dem_beside.py on beds small enough for a pencil, what it tells other programs of
their dashpots, how it reads their dumps, and that `catena check` takes its cases.

    dem_beside_test.py build/drivers/catena path/to/repository
"""
import importlib.util
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
spec = importlib.util.spec_from_file_location("dem", os.path.join(ROOT, "scripts/reproduce/dem_beside.py"))
dem = importlib.util.module_from_spec(spec)
sys.modules["dem"] = dem
spec.loader.exec_module(dem)
D = dem.D


def cube_bed():
    """6 x 6 x 6 equal spheres on a simple cubic lattice in a box six diameters wide."""
    grid = np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), -1).reshape(-1, 3)
    x = (grid + 0.5) * D
    scene = dem.Scene("cube", np.full(216, 0.5 * D), x, np.zeros((216, 3)), dem.box_planes(6 * D, 6 * D),
                      np.zeros(3), np.full(3, 7 * D), 1.0, 1.0, contacts=True)
    weight, side = scene.mass[0] * dem.G, 0.25  # each layer carries those above; sideways a quarter of it
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
    contacts = dem.Contacts(np.array(a), np.array(b), np.array(force), np.array(point))
    return scene, dem.State(1.0, np.arange(216), x, np.zeros((216, 3)), np.zeros((216, 3))), contacts, weight


class DemBeside(unittest.TestCase):
    def test_cubic_lattice_has_the_figures_that_a_pencil_gives(self):
        scene, state, contacts, weight = cube_bed()

        found = dem.bed_figures(scene, [state], contacts)

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
            alpha = dem.damping(e)
            self.assertAlmostEqual(dem.rebound(alpha), e, 5)
            tsuji = np.polyval([4.8218, -18.022, 27.467, -22.348, 11.087, -4.2783, 1.2728],
                               dem.lammps_restitution(alpha))
            self.assertAlmostEqual(tsuji, alpha, 9)
        # T. Schwager and T. Poeschel's zeta of Catena, c = 2 zeta sqrt(m dF/dx): 2 sqrt(1.5) zeta
        self.assertAlmostEqual(dem.damping(0.472) / (2.0 * np.sqrt(1.5)), 0.2553, 3)

    def test_dumps_of_both_kinds_are_read_alike(self):
        scene = dem.Scene("two", np.full(2, 0.5 * D), np.array([[0.0, 0, 0.5 * D], [0.0, 0, 1.5 * D]]),
                          np.zeros((2, 3)), [dem.Plane(2, 1, 0.0)], -np.ones(3), np.ones(3), dem.STEP, dem.STEP,
                          contacts=True)
        head = "ITEM: TIMESTEP\n1\nITEM: NUMBER OF %s\n%d\nITEM: BOX BOUNDS ff ff ff\n-1 1\n-1 1\n-1 1\nITEM: %s\n"
        names = "ATOMS id x y z vx vy vz wx wy wz r f1 f2 f3"
        atoms = (head % ("ATOMS", 2, names) + "1 0 0 0.005 0 0 0 0 0 0 0.005 0.1 0 5\n"
                 "2 0 0 0.015 0 0 0 0 0 0 0.005 0 0 0\n")
        read = []
        for pairs in (head % ("ENTRIES", 1, "ENTRIES a b f t1 t2 t3") + "2 1 3 0.5 0 0\n",
                      head % ("ENTRIES", 1, "ENTRIES a b fx fy fz") + "2 1 0.5 0 3\n"):
            with tempfile.TemporaryDirectory() as directory:
                dem.write(os.path.join(directory, "state.dump"), atoms)
                dem.write(os.path.join(directory, "pairs.dump"), pairs)
                read.append(dem.read_dump(scene, directory)[1])
        for contacts in read:
            self.assertEqual(contacts.b.tolist(), [-1, 0])
            self.assertEqual(contacts.a.tolist(), [0, 1])
            np.testing.assert_allclose(contacts.force, [[0.1, 0, 5], [0.5, 0, 3]])
            np.testing.assert_allclose(contacts.point, [[0, 0, 0], [0, 0, D]], atol=1e-15)

    def test_catena_takes_its_cases(self):
        with tempfile.TemporaryDirectory() as directory:
            for name, scene in dem.SCENES.items():
                for code in dem.CATENA:
                    case = dem.write_catena(scene(1), os.path.join(directory, name, code), code)
                    done = subprocess.run([CATENA, "check", case], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, "%s: %s" % (name, done.stderr))
                    self.assertNotIn("warning", done.stderr, name)

    def test_grains_start_apart_and_inside(self):
        for name in ("bed", "silo", "heap"):
            scene = dem.SCENES[name](2)
            x = np.concatenate([scene.x, scene.fixed_x])
            radius = np.concatenate([scene.radius, scene.fixed_radius])
            n = len(scene.radius)
            for i in range(n):
                gap = np.linalg.norm(x - x[i], axis=1) - radius - radius[i]
                gap[i] = 1.0
                self.assertGreater(gap.min(), 0.0, "%s: grain %d" % (name, i))
            for p in scene.planes:
                self.assertGreater((p.side * (scene.x[:, p.axis] - p.at) - scene.radius).min(), 0.0, name)


if __name__ == "__main__":
    unittest.main()
