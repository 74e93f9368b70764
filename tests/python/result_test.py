#!/usr/bin/python3
"""catena.Result against h5py alone and against statics; framing and surfaces of pictures against closed forms.

    result_test.py CATENA SOURCE
"""
import doctest
import importlib.util
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py is missing (Debian: python3-h5py)")
    sys.exit(77)

CATENA, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(SOURCE / "python"))
import catena  # noqa: E402
import catena.draw.framing as framing  # noqa: E402
import catena.draw.overlay as overlay  # noqa: E402
from catena import errors, fields, geometry, quantity  # noqa: E402

# a ball on a block on a floor, a ball that hangs from the world, and a row of balls
SCENE = """catena: 1
name: rest
materials: {m: {density: 1000, friction: 0.5}}
bodies:
  - {name: floor, material: m, shape: {plane: {}}}
  - {name: block, material: m, shape: {box: {size: [1, 1, 0.4]}}, position: [0, 0, 0.2]}
  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.5]}
  - {name: bob, mass: 2, inertia: [0.1, 0.1, 0.1], position: [5, 0, 3]}
generators:
  - lattice: {name: row, material: m, shape: {sphere: {radius: 0.1}}, count: [3, 1, 1], spacing: 0.5, origin: [3, 3, 0.1]}
joints:
  - {name: hinge, type: spherical, between: [world, bob], at: [5, 0, 3]}
time: {step: 2 ms, end: 1}
solver: {relative_tolerance: 1e-10, max_iterations: 1000}
output: {snapshot_interval: 0.25}
"""
G = 9.81
BLOCK, BALL = 400.0, 1000 * 4 / 3 * np.pi * 1e-3


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        (cls.path / "rest.yaml").write_text(SCENE)
        subprocess.run([CATENA, "run", "rest.yaml", "--quiet"], cwd=cls.path, check=True, stderr=subprocess.DEVNULL)
        cls.out = cls.path / "rest"
        cls.result = catena.Result(cls.out)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def copy(self):
        out = self.path / self.id().rsplit(".", 1)[-1]
        shutil.copytree(self.out, out)
        return out

    def refused(self, words, call):
        with self.assertRaises(catena.CatenaError) as caught:
            call()
        self.assertRegex(str(caught.exception).replace("\n", " "), words)
        return caught.exception


class ResultTest(Case):
    def test_numbers_and_units_are_those_of_the_files(self):
        with h5py.File(self.out / "result.h5") as f:
            self.assertEqual(set(self.result.series), set(f["series"]))
            for name, data in f["series"].items():
                unit = data.attrs["unit"]
                self.assertTrue(np.array_equal(self.result.series[name], data[()]), name)
                self.assertEqual(self.result.series[name].unit, "" if unit == "1" else unit)
            names = sorted(f["snapshots"])
            self.assertEqual(list(self.result.steps), [int(n) for n in names])
            for snapshot, name in zip(self.result, names):
                self.assertEqual(snapshot.time, f["snapshots"][name].attrs["time"])
                for column in ("position", "orientation", "velocity", "angular_velocity", "rank", "id"):
                    data = f["snapshots"][name]["bodies"][column]
                    self.assertTrue(np.array_equal(getattr(snapshot, column), data[()]), column)
                    self.assertEqual(getattr(snapshot, column).unit, data.attrs["unit"])
            self.assertTrue(np.array_equal(self.result[-1].mass, f["bodies/mass"][()]))
            self.assertEqual(self.result.provenance["git_hash"], f["provenance"].attrs["git_hash"])

    def test_forces_on_named_bodies_are_their_weights(self):
        snapshot = self.result.snapshot(1.0)
        on = lambda name: np.asarray(self.result.contacts(1.0, on=name).total_force)
        # the ball rests on the block, both and the row on the floor
        np.testing.assert_allclose(on("ball"), [0, 0, BALL * G], atol=1e-4 * BALL * G)
        np.testing.assert_allclose(on("block"), [0, 0, BLOCK * G], atol=1e-4 * BLOCK * G)
        np.testing.assert_allclose(on("row"), [0, 0, 3 * BALL * G], atol=1e-4 * BALL * G)
        np.testing.assert_allclose(on("floor"), [0, 0, -(BLOCK + 4 * BALL) * G], atol=1e-4 * BLOCK * G)
        # the floor carries block and ball about their common centre, the row 3.5 m beside it in x and 3 m in y
        torque = self.result.contacts(1.0, on="row").torque_about([0, 0, 0])
        np.testing.assert_allclose(torque, np.array([3, -3.5, 0]) * 3 * BALL * G, atol=1e-3 * BALL * G)
        pressed = fields.force(snapshot)[snapshot.rows("block")]
        np.testing.assert_allclose(pressed, (BLOCK + 2 * BALL) * G, rtol=1e-4)
        touched = fields.coordination(snapshot)
        self.assertEqual([int(touched[snapshot.rows(n)[0]]) for n in ("ball", "block", "floor", "bob")], [1, 2, 4, 0])

    def test_a_joint_carries_the_weight_that_hangs_on_it(self):
        joint = self.result.joint("hinge")
        self.assertEqual((joint.type, joint.bodies, joint.force.unit), ("spherical", ("world", "bob"), "N"))
        np.testing.assert_allclose(joint.force[-1], [0, 0, 2 * G], atol=1e-6)
        error = self.refused("no joint door; there are 1: hinge", lambda: self.result.joint("door"))
        self.assertEqual(error.exit_code, 3)

    def test_snapshots_are_found_by_time_and_step(self):
        self.assertEqual(self.result.snapshot(0.3).step, 125)
        self.assertEqual(self.result.snapshot(step=250).time, 0.5)
        self.assertEqual(self.result.snapshot().step, 500)
        self.refused("from 0.0 to 1.0 s", lambda: self.result.snapshot(1.5))
        self.refused("no snapshot of step 3", lambda: self.result.snapshot(step=3))
        self.refused("door: no such body; there are floor, block, ball, bob, row$",
                     lambda: self.result.contacts(1.0, on="door"))
        self.assertEqual(len(self.result.bodies.rows("row")), 3)

    def test_a_run_without_index_is_read_all_the_same(self):
        out = self.copy()
        (out / "result.h5").unlink()
        with open(out / "series.csv", "a") as series:
            series.write("0.5,3")  # a row cut in half
        result = catena.Result(out)
        self.assertTrue(np.array_equal(result.series.kinetic_energy, self.result.series.kinetic_energy))
        self.assertEqual(result.series.kinetic_energy.unit, "J")

    def test_newer_and_damaged_results_are_refused(self):
        out = self.copy()
        with h5py.File(out / "result.h5", "a") as f:
            f.attrs["format_version"] = 2
        self.refused("newer Catena, format 2; this package reads up to 1; take the package", lambda: catena.Result(out))
        with open(out / "result.h5", "r+b") as f:
            f.truncate(1000)
        self.refused("result.h5: truncated, or no HDF5 file.*--rebuild", lambda: catena.Result(out))
        self.refused("no such directory", lambda: catena.Result(out / "nowhere"))

    def test_probes_are_columns_with_units(self):
        out = self.copy()
        with h5py.File(out / "result.h5", "a") as f:
            for name, unit, values in (("time", "s", [0.1, 0.2]), ("force_z_mean", "N", [1.0, 2.0])):
                f.create_dataset(f"probes/load/{name}", data=values).attrs["unit"] = unit
        probe = catena.Result(out).probe("load")
        self.assertEqual((list(probe.force_z_mean), probe.units), ([1.0, 2.0], {"force_z_mean": "N", "time": "s"}))
        error = self.refused("no such probe; there are load", lambda: catena.Result(out).probe("push"))
        self.assertEqual(error.exit_code, 3)

    def test_pictures_show_forces(self):
        if not (importlib.util.find_spec("vtk") and (os.environ.get("DISPLAY") or shutil.which("Xvfb"))):
            self.skipTest("python3-vtk9 or xvfb is missing")
        seen = {self.result.picture(size="200x150", **options) for options in
                ({"color": "force"}, {"chains": True}, {"lines": 3, "color": "none"})}
        self.assertEqual(len(seen), 3)
        for png in seen:
            self.assertTrue(png.startswith(b"\x89PNG"))
        self.refused("no picture: .*invalid choice", lambda: self.result.picture(color="taste"))

    def test_files_of_vtk_hold_surfaces_and_forces(self):
        if not importlib.util.find_spec("vtk"):
            self.skipTest("python3-vtk9 is missing")
        import vtk
        from vtk.util.numpy_support import vtk_to_numpy
        script = SOURCE / "scripts" / "user" / "to_vtk.py"
        out = self.path / "vtk"
        subprocess.run([script, self.out, "-o", out, "--level", "3"], check=True, stdout=subprocess.DEVNULL)

        def read(kind, step):
            reader = vtk.vtkXMLPolyDataReader()
            reader.SetFileName(str(out / f"{kind}-{step:08d}.vtp"))
            reader.Update()
            return reader.GetOutput()

        # the volume of what moves is that of the block and four balls; a fine polyhedron lacks 1 %
        volume = vtk.vtkMassProperties()
        volume.SetInputData(read("surfaces", 500))
        self.assertAlmostEqual(volume.GetVolume() / (0.4 + 4 * BALL / 1000), 1.0, delta=2e-3)
        ids = vtk_to_numpy(read("surfaces", 500).GetCellData().GetArray("id"))
        self.assertEqual(sorted(np.unique(ids, return_counts=True)[1]), [12, 1280, 1280, 1280, 1280])
        contacts = read("contacts", 500).GetPointData()
        pairs, force = (vtk_to_numpy(contacts.GetArray(name)) for name in ("bodies", "force"))
        floor = self.result.bodies.id[self.result.bodies.rows("floor")][0]
        carried = np.where(pairs[:, :1] == floor, force, 0.0).sum(axis=0)[2]
        self.assertAlmostEqual(carried, (BLOCK + 4 * BALL) * G, delta=1e-4 * BLOCK * G)
        self.assertEqual(read("chains", 500).GetNumberOfLines(), 5)
        times = [float(t) for t in re.findall(r'timestep="(.*?)"', (out / "surfaces.pvd").read_text())]
        self.assertEqual(times, list(self.result.times))

    def test_mass_flow_is_the_slope_of_the_mass(self):
        sys.path.insert(0, str(SOURCE / "scripts" / "user"))
        plot = importlib.import_module("plot_series")
        time = np.linspace(0.01, 5.0, 500)
        middle, rate = plot.flow_rate(time, 3.0 * time)
        np.testing.assert_allclose(rate, 3.0, rtol=1e-12)
        shown = [n for _, names, _ in plot.panels_of(self.result.series) for n in names]
        self.assertNotIn("inserted_mass", shown)  # nothing comes here
        self.assertNotIn("motor_work", shown)
        self.assertIn("kinetic_energy", shown)

    def test_quantities_keep_their_unit_where_it_holds(self):
        mass = self.result.bodies.mass
        self.assertEqual((mass[1:].unit, mass.copy().unit, pickle.loads(pickle.dumps(mass)).unit), ("kg",) * 3)
        self.assertNotIsInstance(mass * 2, catena.Quantity)
        mass = mass.copy()
        mass *= 1000
        self.assertNotIsInstance(mass, catena.Quantity)

    def test_examples_in_the_package_hold(self):
        for module in (errors, quantity, geometry, overlay):
            self.assertEqual(doctest.testmod(module).failed, 0, module.__name__)

    def test_examples_of_the_page_run(self):
        page = (SOURCE / "docs" / "python.md").read_text()
        code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        self.assertGreater(len(code), 0)
        for block in code:
            if "catena.Simulation" in block:
                continue  # needs the extension module: simulation_test.py
            done = subprocess.run([sys.executable, "-c", block], cwd=self.path, capture_output=True, text=True,
                                  env=dict(os.environ, PYTHONPATH=str(SOURCE / "python"), CATENA=CATENA))
            self.assertEqual(done.returncode, 0, done.stderr)


class Framing(unittest.TestCase):
    def frame(self, position, extent=0.1, kind="dynamic"):
        n = len(position)
        return (np.array(position, float), np.full(n, extent), np.full(n, kind, object), np.full(n, "sphere", object))

    def test_bodies_that_fell_out_are_not_framed(self):
        grains = np.stack(np.meshgrid(range(4), range(4), range(4)), -1).reshape(-1, 3) * 0.2
        later = grains.copy()
        later[:5, 2] -= 100.0
        low, high = framing.bounds_of([self.frame(grains), self.frame(later)])
        np.testing.assert_allclose([low, high], [[-0.1] * 3, [0.7] * 3])

    def test_a_vehicle_that_drove_off_is_framed(self):
        parts = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], float)
        _, high = framing.bounds_of([self.frame(parts), self.frame(parts + [50, 0, 0])])
        self.assertAlmostEqual(high[0], 51.1)

    def test_the_rim_of_a_drum_is_framed_and_a_terrain_is_not(self):
        grains, drum, ground = self.frame([[0.5, 0, -0.5], [-0.5, 0, -0.5]]), [[0, 0, 0]], [[0, 0, -5]]
        joined = [np.concatenate(x) for x in zip(grains, self.frame(drum, 0.9, "kinematic"), self.frame(ground, 50, "fixed"))]
        low, high = framing.bounds_of([joined])
        np.testing.assert_allclose([low[2], high[2]], [-0.9, 0.9])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
