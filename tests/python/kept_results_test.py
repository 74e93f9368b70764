#!/usr/bin/python3
"""Results that earlier versions wrote stay readable, and results of newer formats are refused with one message.

    kept_results_test.py CATENA SOURCE
"""
import importlib.util
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)

CATENA, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "python"))
import catena  # noqa: E402

KEPT = sorted((SOURCE / "tests" / "data" / "results").glob("*"))
RADIUS, DENSITY, WEIGHT = 0.05, 1000.0, 9.81


class KeptResults(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)

    def copy(self, kept):
        out = pathlib.Path(self.work.name) / kept.name
        shutil.copytree(kept, out)
        return out

    def catena(self, *arguments, code=0):
        done = subprocess.run([CATENA, *map(str, arguments)], capture_output=True, text=True, cwd=self.work.name,
                              timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_the_package_reads_what_the_case_says(self):
        self.assertTrue(KEPT)
        for kept in KEPT:
            result = catena.Result(kept)
            self.assertEqual([round(float(t), 6) for t in result.times], [0, 0.02])
            self.assertEqual(len(result.series.time), 10)
            last = result[-1]
            mass = [float(m) for m in last.mass[last.rows("grains")]]
            for m in mass:
                self.assertAlmostEqual(m, DENSITY * 4 / 3 * math.pi * RADIUS**3, delta=1e-12)
            self.assertAlmostEqual(float(last.mass[last.rows("block")][0]), 4.0, delta=1e-12)
            self.assertAlmostEqual(float(last.position[last.rows("block")][0][2]), 0.05, delta=1e-3)
            # floor and grains hold the block: in free fall it would have no force on it, at rest its weight
            force = result.probe("load").force_z_mean
            self.assertEqual(force.unit, "N")
            self.assertGreater(float(force[-1]), 0.9 * 4.0 * WEIGHT)
            self.assertLess(float(force[-1]), 1.1 * 4.0 * WEIGHT)
            self.assertGreater(len(result.contacts(0.02).force), 0)

    def test_the_programs_read_it(self):
        for kept in KEPT:
            out = self.copy(kept)
            told = self.catena("info", out)
            self.assertIn("catena-result, version", told)
            self.assertIn("snapshots           2", told)
            for snapshot in sorted((out / "snapshots").iterdir()):
                self.assertIn("all good", self.catena("info", snapshot))
            self.catena("view", out, "-o", "page.html")
            self.catena("vtk", out, "-o", "vtk")
            self.assertGreater((pathlib.Path(self.work.name) / "page.html").stat().st_size, 10000)
            self.catena("info", "--rebuild", out)
            self.assertEqual(len(catena.Result(out).times), 2)

    def test_plots_and_the_renderer_read_it(self):
        for module in ("matplotlib", "vtk"):
            if subprocess.run([sys.executable, "-c", "import " + module], capture_output=True).returncode:
                self.skipTest("no %s here" % module)
        if not shutil.which("Xvfb"):
            self.skipTest("no xvfb here")
        for kept in KEPT:
            out = self.copy(kept)
            self.catena("plot", out, "-o", "series.png")
            self.catena("render", out, "-o", "picture.png", "--size", "160x120")
            for name in ("series.png", "picture.png"):
                self.assertEqual((pathlib.Path(self.work.name) / name).read_bytes()[:4], b"\x89PNG")

    def test_a_result_that_is_not_there_is_one_message_of_each_program(self):
        plots = ["plot"] if importlib.util.find_spec("matplotlib") else []
        for command in ("view", "vtk", *plots):
            told = self.catena(command, "none", code=5)
            self.assertEqual(told, "none: there is no such directory; give the directory that a run left\n", command)

    def test_a_snapshot_starts_another_case(self):
        for kept in KEPT:
            case = pathlib.Path(self.work.name) / "next.yaml"
            case.write_text("catena: 1\nname: next\nmaterials: {m: {density: 1000}}\n"
                            "generators: [table: {name: t, material: m, file: %s/snapshots/00000010.h5}]\n"
                            "time: {step: 1 ms, end: 1 ms}\n" % kept)
            self.catena("check", case)

    def test_a_newer_format_gives_one_clear_message(self):
        for kept in KEPT:
            for name in ("result.h5", "bodies.h5", "snapshots/00000010.h5"):
                out = self.copy(kept)
                with h5py.File(out / name, "a") as f:
                    f.attrs["format_version"] = 7
                told = self.catena("info", out / name, code=5)
                self.assertIn("was written by a newer Catena, format 7; this program reads up to 1", told)
                self.assertEqual(told.strip().count("\n"), 0, told)
                if name == "bodies.h5":
                    self.assertIn("newer Catena", self.catena("info", "--rebuild", out, code=5))
                else:
                    with self.assertRaisesRegex(catena.CatenaError, "newer Catena, format 7"):
                        catena.Result(out)[-1]
                shutil.rmtree(out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
