#!/usr/bin/python3
"""Files of VTK that a run writes (output.vtk), read by VTK, against the result: on 1, 3 and 4 ranks, also where some have
no body, through a stop and a resume on other ranks, beside snapshots in the background.

    vtk_output_test.py CATENA MPIEXEC SOURCE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py  # noqa: F401
    import numpy as np
    import vtk
    from vtk.util.numpy_support import vtk_to_numpy
except ImportError as e:
    print(f"{e} (Debian: python3-h5py, python3-vtk9)")
    sys.exit(77)

CATENA, MPIEXEC, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "tests" / "faults")]
import catena  # noqa: E402
import program  # noqa: E402
from catena import fields, geometry  # noqa: E402

# one of every shape; grains that touch and move; a chain of joints
SCENE = """catena: 1
name: shapes
materials: {glass: {density: 1000, friction: 0.5}, steel: {density: 2000, friction: 0.3}}
bodies:
  - {name: floor, material: steel, shape: {plane: {}}}
  - {name: block, material: steel, shape: {box: {size: [0.4, 0.6, 0.2]}}, position: [3, 0, 0.1]}
  - {name: pill, material: glass, shape: {capsule: {radius: 0.1, length: 0.5}}, position: [4, 0, 0.4],
     orientation: {axis: [1, 1, 0], angle: 40 deg}}
  - {name: roll, material: glass, shape: {cylinder: {radius: 0.2, length: 0.5}}, position: [5, 0, 0.5]}
  - {name: drum, material: steel, shape: {hollow_cylinder: {inner_radius: 0.3, length: 0.4, thickness: 0.05,
     ends: lower}}, position: [6, 0, 0.6]}
  - {name: rock, material: glass, position: [7, 0, 0.5],
     shape: {hull: {vertices: [[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3]]}}}
  - {name: clump, material: glass, position: [8, 0, 0.5],
     shapes: [{sphere: {radius: 0.1}}, {box: {size: [0.3, 0.1, 0.1]}, at: [0.15, 0, 0]}]}
  - {name: slab, material: steel, fixed: true, shape: {mesh: {file: slab.obj, unit: m, open: true}}, position: [9, 0, 0]}
  - {name: soil, material: steel, fixed: true, shape: {heightfield: {file: soil.csv, unit: m, spacing: [1, 1]}},
     position: [10, 0, 0]}
  - {name: bob, mass: 2, inertia: [0.1, 0.1, 0.1], position: [5, 5, 3]}
  - {name: bell, mass: 2, inertia: [0.1, 0.1, 0.1], position: [5, 6, 3]}
generators:
  - lattice: {name: grains, material: glass, group: loose, shape: {sphere: {radius: 0.1}}, count: [4, 4, 3],
              spacing: 0.199, origin: [0, 0, 0.0995]}
joints:
  - {name: hook, type: spherical, between: [world, bob], at: [5, 5, 3]}
  - {name: rod, type: spherical, between: [bob, bell], at: [5, 5.5, 3]}
time: {step: 2 ms, end: 24 ms}
output: {snapshot_interval: 8 ms, vtk: true}
"""
# fewer bodies than ranks
FEW = """catena: 1
name: few
materials: {glass: {density: 1000, friction: 0.5}, steel: {density: 2000, friction: 0.3}}
bodies:
  - {name: floor, material: steel, shape: {plane: {}}}
  - {name: slab, material: steel, fixed: true, shape: {mesh: {file: slab.obj, unit: m, open: true}}, position: [9, 0, 0]}
generators:
  - lattice: {name: grains, material: glass, group: loose, shape: {sphere: {radius: 0.1}}, count: [1, 1, 2],
              spacing: 0.199, origin: [0, 0, 0.0995]}
time: {step: 2 ms, end: 24 ms}
output: {snapshot_interval: 8 ms, vtk: true}
"""
FILES = {"slab.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "soil.csv": "0,0,0\n0,0.1,0\n"}
KINDS = ("spheres", "surfaces", "contacts", "chains", "joints")


def read(path):
    reader = vtk.vtkXMLPPolyDataReader()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


def arrays(data):
    """Arrays of points or cells by name."""
    return {data.GetArrayName(k): vtk_to_numpy(data.GetArray(k)) for k in range(data.GetNumberOfArrays())}


def points(data):
    return vtk_to_numpy(data.GetPoints().GetData()) if data.GetNumberOfPoints() else np.empty((0, 3))


def sorted_rows(*columns):
    """Columns side by side, rows in an order that does not depend on who wrote them."""
    table = np.column_stack([np.asarray(c, float) for c in columns])
    return table[np.lexsort(np.round(table, 9).T[::-1])]


def area_of(at, cells):
    a, b, c = (at[cells[:, k]] for k in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        for name, text in {**FILES, "scene.yaml": SCENE, "few.yaml": FEW}.items():
            (cls.folder / name).write_text(text)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_case(self, ranks, out, *options, case="scene.yaml", code=0):
        done = program.run(MPIEXEC, CATENA, ranks, ["run", case, "-o", out, "--quiet", *options], self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return self.folder / out

    def same(self, found, expected, tolerance=1e-12):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)

    def check_numbers(self, found, result, snapshot):
        """Arrays of bodies, each value that of its body in the result."""
        row = np.searchsorted(np.asarray(snapshot.id), found["id"])
        for name in ("velocity", "angular_velocity", "rank"):
            self.same(found[name], np.asarray(getattr(snapshot, name))[row])
        for name in ("speed", "force", "coordination", "size"):
            expected = np.asarray(fields.field(result, snapshot, name))[row]
            # the run's sphere about a heightfield holds the corners of its box
            held = (np.asarray(snapshot.shape)[row] == "heightfield") if name == "size" else np.zeros(len(row), bool)
            self.same(found[name][~held], expected[~held], 1e-9)
            self.assertTrue(np.all(found[name][held] >= expected[held]))
        names = np.asarray(snapshot.name)[row]
        self.same(found["material"], [("glass", "steel").index(m) for m in np.asarray(snapshot.material)[row]])
        self.same(found["group"] > 0, [n.startswith("grains") for n in names])
        generator = np.asarray(snapshot.generator)[row]
        self.assertEqual(len(set(zip(found["generator"], generator))), len(set(generator)))

    def check_spheres(self, data, result, snapshot):
        found = arrays(data.GetPointData())
        at, _, scale, rows = geometry.primitives(snapshot, result.geometries)["sphere"]
        self.same(sorted_rows(found["id"], points(data), found["radius"]),
                  sorted_rows(np.asarray(snapshot.id)[rows], at, scale[:, 0]))
        self.check_numbers(found, result, snapshot)

    def check_surfaces(self, data, result, snapshot):
        """Area and extent of each body's triangles, by the package's own surfaces."""
        found, at = arrays(data.GetCellData()), points(data)
        cells = vtk_to_numpy(data.GetPolys().GetConnectivityArray()).reshape(-1, 3)
        area = area_of(at, cells)
        expected = {}
        for key, (where, turn, scale, bodies) in geometry.primitives(snapshot, result.geometries).items():
            if key == "sphere":
                continue
            made = geometry.template(key, result.geometries, 1)
            corners, faces = np.asarray(made["points"], float), geometry.triangles(made["faces"])
            for p, q, s, body in zip(where, turn, scale, bodies):
                placed = (s * corners) @ geometry.rotation(q[None])[0].T + p
                expected.setdefault(int(np.asarray(snapshot.id)[body]), []).append((placed, area_of(placed, faces)))
        self.assertEqual(set(found["id"]), set(expected))
        for body, parts in expected.items():
            mine = found["id"] == body
            self.assertEqual(mine.sum(), sum(len(a) for _, a in parts))
            self.same(area[mine].sum(), sum(a.sum() for _, a in parts))
            placed = np.concatenate([p for p, _ in parts])
            for limit in (np.min, np.max):
                self.same(limit(at[cells[mine]].reshape(-1, 3), axis=0), limit(placed, axis=0))
        self.check_numbers(found, result, snapshot)
        return {name: area[found["id"] == k].sum() for k, name in zip(snapshot.id, snapshot.name)}

    def check_closed_forms(self, area):
        """Areas of shapes; round ones are prisms of 16 and 72 sides."""
        def prism(n, r, length):
            return 2 * n * r * np.sin(np.pi / n) * length

        def disc(n, r):
            return n / 2 * r * r * np.sin(2 * np.pi / n)
        self.same(area["block"], 2 * (0.4 * 0.6 + 0.6 * 0.2 + 0.2 * 0.4))
        self.same(area["pill"], prism(16, 0.1, 0.5))  # its caps are spheres
        self.same(area["roll"], prism(16, 0.2, 0.5) + 2 * disc(16, 0.2))
        self.same(area["drum"], prism(72, 0.3, 0.4) + prism(72, 0.35, 0.45) + 2 * disc(72, 0.35))
        self.same(area["rock"], 0.3**2 / 2 * (3 + 3**0.5))
        self.same(area["clump"], 2 * (2 * 0.3 * 0.1 + 0.1**2))
        self.same(area["slab"], 0.5)

    def check_contacts(self, files, result, snapshot):
        data = read(files("contacts"))
        found, contacts = arrays(data.GetPointData()), snapshot.contacts
        self.assertEqual(data.GetNumberOfVerts(), len(contacts))
        step = 2e-3
        if len(contacts):
            self.same(sorted_rows(found["bodies"], points(data), found["normal"], found["gap"], found["force"]),
                      sorted_rows(contacts.bodies, contacts.point, contacts.normal, contacts.gap,
                                  np.asarray(contacts.impulse) / step), 1e-9)
        chains = read(files("chains"))
        a, b, force = fields.chains(snapshot)
        self.assertEqual(chains.GetNumberOfLines(), len(force))
        if len(force):
            self.same(sorted_rows(arrays(chains.GetCellData())["normal_force"], *points(chains).reshape(-1, 2, 3).swapaxes(0, 1)),
                      sorted_rows(force, a, b), 1e-9)

    def check_joints(self, files, result, snapshot):
        data = read(files("joints"))
        pairs, rows = fields.joined(result, snapshot)
        self.assertEqual(data.GetNumberOfLines(), len(rows))
        if len(rows):
            self.same(sorted_rows(arrays(data.GetCellData())["id"], *points(data).reshape(-1, 2, 3).swapaxes(0, 1)),
                      sorted_rows(np.asarray(result.joints.id)[rows], *np.asarray(snapshot.position)[pairs].swapaxes(0, 1)))

    def check(self, out, closed_forms=True):
        result = catena.Result(out)
        for kind in KINDS:
            times = re.findall(r'timestep="(.*?)"', (out / "vtk" / f"{kind}.pvd").read_text())
            self.assertEqual([float(t) for t in times], list(result.times), kind)
        named = {f"{kind}.pvd" for kind in KINDS}
        for snapshot in result:
            def files(kind):
                return out / "vtk" / f"{kind}-{snapshot.step:08d}.pvtp"
            self.check_spheres(read(files("spheres")), result, snapshot)
            area = self.check_surfaces(read(files("surfaces")), result, snapshot)
            if closed_forms:
                self.check_closed_forms(area)
            self.check_contacts(files, result, snapshot)
            self.check_joints(files, result, snapshot)
            for kind in KINDS:
                pieces = re.findall(r'Source="(.*?)"', files(kind).read_text())
                self.assertEqual(len(pieces), len(set(pieces)))
                named |= {files(kind).name, *pieces}
        self.assertEqual(sorted(p.name for p in (out / "vtk").iterdir()), sorted(named))
        return result

    def test_files_hold_the_result_on_any_number_of_ranks(self):
        for ranks in (1, 3, 4):
            result = self.check(self.run_case(ranks, f"out{ranks}"))
            self.assertGreater(len(result[-1].contacts), 40)
            self.assertEqual(len(result), 4)

    def test_ranks_without_bodies_have_no_pieces(self):
        result = self.check(self.run_case(4, "few", case="few.yaml"), closed_forms=False)
        self.assertLess(len(list((self.folder / "few" / "vtk").glob("spheres-00000000-*.vtp"))), 4)
        self.assertEqual(len(result[0]), 4)

    def test_a_resumed_run_goes_on_with_the_series(self):
        out = self.run_case(2, "resumed", "--set", "time.end=16 ms")
        # what a kill can leave, and what is of a later step
        left = ["surfaces-00000009-0.vtp", "surfaces-00000009-1.vtp.part", "contacts-00000010.pvtp", "joints.pvd.part"]
        for name in left:
            (out / "vtk" / name).write_text("half")
        for kind in KINDS:
            index = out / "vtk" / f"{kind}.pvd"
            line = f'    <DataSet timestep="0.02" file="{kind}-00000010.pvtp"/>\n'
            index.write_text(index.read_text().replace("  </Collection>", line + "  </Collection>"))
        self.check(self.run_case(3, "resumed", "--resume"))

    def test_force_removes_own_files_alone(self):
        out = self.run_case(2, "forced")
        (out / "vtk" / "surfaces-mine.vtp").write_text("mine")
        self.run_case(1, "forced", "--force", "--set", "output.vtk=false")
        self.assertEqual([p.name for p in (out / "vtk").iterdir()], ["surfaces-mine.vtp"])

    def test_snapshots_in_the_background_change_nothing(self):
        plain = self.run_case(2, "at_once")
        other = self.run_case(2, "asynchronous", "--set", "output.asynchronous=true")
        self.check(other)
        for path in (plain / "vtk").iterdir():
            self.assertEqual(path.read_bytes(), (other / "vtk" / path.name).read_bytes(), path.name)

    def test_contacts_can_be_left_out_but_count(self):
        out = self.run_case(2, "without", "--set", "output.contacts=false")
        last = read(out / "vtk" / "spheres-00000012.pvtp")
        self.assertEqual(read(out / "vtk" / "contacts-00000012.pvtp").GetNumberOfPoints(), 0)
        self.assertEqual(read(out / "vtk" / "chains-00000012.pvtp").GetNumberOfPoints(), 0)
        self.assertGreater(arrays(last.GetPointData())["force"].max(), 10.0)

    def test_a_folder_that_cannot_be_made_is_an_error_on_all_ranks(self):
        (self.folder / "refused").mkdir()
        (self.folder / "refused" / "vtk").write_text("a file")
        done = program.run(MPIEXEC, CATENA, 2, ["run", "scene.yaml", "-o", "refused", "--force"], self.folder)
        self.assertEqual(done.returncode, 5)
        self.assertIn("refused/vtk", done.stderr)

    def test_paraview_opens_the_series(self):
        if not shutil.which("pvpython") or not (os.environ.get("DISPLAY") or shutil.which("xvfb-run")):
            self.skipTest("ParaView's pvpython or xvfb is not installed")
        out = self.run_case(2, "paraview")
        (self.folder / "open.py").write_text("""
import sys
from paraview.simple import *
from paraview import servermanager
for path in sys.argv[1:]:
    reader = OpenDataFile(path)
    times = list(reader.TimestepValues)
    reader.UpdatePipeline(times[-1])
    print("read", len(times), times[-1], servermanager.Fetch(reader).GetNumberOfCells())
""")
        command = ["pvpython", self.folder / "open.py", *(out / "vtk" / f"{kind}.pvd" for kind in KINDS)]
        if not os.environ.get("DISPLAY"):
            command = ["xvfb-run", "-a", *command]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("read ")]
        cells = [read(out / "vtk" / f"{kind}-00000012.pvtp").GetNumberOfCells() for kind in KINDS]
        self.assertEqual([(int(n), float(t), int(c)) for n, t, c in lines], [(4, 0.024, c) for c in cells], done.stderr)


if __name__ == "__main__":
    sys.argv[1:] = []
    unittest.main()
