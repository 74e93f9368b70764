#!/usr/bin/python3
"""sweep_test.py CATENA SOURCE_DIR: sweeps make every run once and a table of what came out."""
import csv
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CATENA, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
SCRIPT = SOURCE / "scripts/user/sweep.py"

CASE = """catena: 1
name: ball
materials: {steel: {density: 7800, friction: 0.3}}
bodies:
  - {name: ball, material: steel, shape: {sphere: {radius: 0.1}}, position: [0, 0, 10]}
time: {step: 1 ms, end: 0.1 s}
probes:
  - {name: tip, type: body, body: ball}
"""
STUDY = """case: ball.yaml
at_once: 2
grid:
  gravity: [[0, 0, -9.81], [0, 0, -1.62]]
  time.end: [100 ms, 0.2]
columns: [series.kinetic_energy, tip.velocity_z min, tip.position_z]
"""


class Sweeps(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        (self.folder / "ball.yaml").write_text(CASE)
        self.write(STUDY)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def write(self, study):
        (self.folder / "study.yaml").write_text(study)

    def sweep(self, *options, path=""):
        environment = dict(os.environ, CATENA=CATENA, PATH=path + os.environ["PATH"])
        return subprocess.run([SCRIPT, "study.yaml", "-o", "out", *options], cwd=self.folder, env=environment,
                              capture_output=True, text=True)

    def table(self):
        with open(self.folder / "out/table.csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def check_falls(self):
        """Sums of the semi-implicit steps: v = -g h n, z = 10 - g h^2 n (n + 1)/2."""
        rows = self.table()
        self.assertEqual([(r["gravity"], r["time.end"]) for r in rows],
                         [(g, t) for g in ("[0, 0, -9.81]", "[0, 0, -1.62]") for t in ("100 ms", "0.2")])
        for row, g, n in zip(rows, (9.81, 9.81, 1.62, 1.62), (100, 200, 100, 200)):
            self.assertEqual(row["exit_code"], "0")
            self.assertAlmostEqual(float(row["tip.velocity_z min [m/s]"]), -g * 1e-3 * n, delta=1e-12)
            self.assertAlmostEqual(float(row["tip.position_z [m]"]), 10 - g * 1e-6 * n * (n + 1) / 2, delta=1e-12)
            mass = 7800 * 4 / 3 * 3.141592653589793 * 1e-3
            self.assertAlmostEqual(float(row["series.kinetic_energy [J]"]), mass / 2 * (g * 1e-3 * n)**2, delta=1e-9)

    def test_every_run_of_the_grid_once(self):
        done = self.sweep()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_falls()
        self.assertIn("4 of 4 runs are done already", self.sweep().stdout)
        self.assertEqual(len(self.sweep("--force").stdout.splitlines()), 5)
        (self.folder / "ball.yaml").write_text(CASE.replace("10]", "20]"))
        self.assertNotIn("done already", self.sweep().stdout)
        self.assertGreater(float(self.table()[0]["tip.position_z [m]"]), 19)

    def test_a_list_with_a_grid(self):
        self.write(STUDY.replace("grid:", "list:\n  - {materials.steel.density: 1000}\n"
                                          "  - {bodies.ball.velocity: [0, 0, 1], time.step: 2 ms}\ngrid:"))
        self.assertEqual(self.sweep().returncode, 0)
        rows = self.table()
        self.assertEqual(len(rows), 8)
        self.assertEqual([r["materials.steel.density"] for r in rows], ["1000"] * 4 + [""] * 4)
        self.assertGreater(float(rows[4]["tip.position_z [m]"]), 10)

    def test_a_run_that_fails_is_told_and_the_others_go_on(self):
        self.write(STUDY.replace("time.end: [100 ms, 0.2]", "time.step: [1 ms, -1 ms]"))
        done = self.sweep()
        self.assertEqual(done.returncode, 1)
        self.assertIn("time.step", done.stdout)
        self.assertEqual([r["exit_code"] for r in self.table()], ["0", "3", "0", "3"])
        self.assertEqual(self.table()[1]["tip.position_z [m]"], "")
        self.assertIn("2 of 4 runs are done already", self.sweep().stdout)

    def test_an_array_job(self):
        """With a stand-in for srun that starts what it is given."""
        srun = self.folder / "srun"
        srun.write_text('#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec "$@"\n')
        srun.chmod(0o755)
        done = self.sweep("--slurm", SOURCE / "scripts/templates/sweep.sbatch")
        self.assertEqual(done.returncode, 0, done.stderr)
        job = self.folder / "out/sweep.sbatch"
        self.assertIn("--array=1-4", job.read_text())
        # the program reaches the script as an installed one does
        for task in "1234":
            ran = subprocess.run(["bash", job], capture_output=True, text=True, cwd=self.folder, env=dict(
                os.environ, SLURM_ARRAY_TASK_ID=task, PATH=f"{self.folder}:{os.environ['PATH']}"))
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(self.sweep("--collect").returncode, 0)
        self.check_falls()

    def test_mistakes_are_told_with_their_place(self):
        for study, what in ((STUDY.replace("grid", "gird"), "study.yaml:1:1: grid: is missing"),
                            (STUDY + "clumns: [a]\n", "clumns: unknown key; did you mean columns?"),
                            (STUDY.replace("ball.yaml", "bull.yaml"), "study.yaml:1:7: case: bull.yaml is not there"),
                            (STUDY.replace("[100 ms, 0.2]", "7"), "grid.time.end: must be a list of values"),
                            (STUDY.replace(" min", " median"), "'tip.velocity_z median' is no column")):
            self.write(study)
            done = self.sweep()
            self.assertEqual(done.returncode, 3, study)
            self.assertIn(what, done.stderr)
        self.write(STUDY.replace("tip.position_z", "tip.height"))
        done = self.sweep()
        self.assertEqual(done.returncode, 3)
        self.assertIn("has no column 'height'", done.stderr)
        self.assertIn("none of the 4 runs", self.sweep("--only", "5").stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
