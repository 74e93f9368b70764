#!/usr/bin/python3
"""The subcommands on good files: outputs, exit codes, and that nothing is overwritten unasked.

    command_line_test.py CATENA RANKS MPIEXEC SOURCE_DIRECTORY
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import h5py

CATENA, RANKS, MPIEXEC, SOURCE = sys.argv[1:5]

CASE = """catena: 1
name: drop
materials: {glass: {density: 2500, restitution: 0.5}}
bodies:
  - {name: ground, material: glass, shape: plane}
  - {name: ball, material: glass, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.1]}
generators:
  - lattice: {name: grains, material: glass, shape: {sphere: {radius: 0.05}}, count: [3, 2, 1], spacing: 0.2,
              origin: [0.5, 0, 0.05]}
time: {step: 1 ms, end: 5 ms}
output: {snapshot_interval: 5 ms, dump_interval: 5 ms}
"""

REPORT_FIELDS = ["bodies", "contacts", "errors", "form", "iterations", "law", "linear_iterations", "objective",
                 "options", "problem", "ranks", "reason", "rows", "schema", "setup_s", "solver", "start", "status",
                 "units", "version", "wall_s"]


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.path = pathlib.Path(self.directory.name)
        (self.path / "drop.yaml").write_text(CASE)

    def catena(self, *arguments, code=0):
        prefix = [] if RANKS == "1" else [MPIEXEC, "-n", RANKS]
        done = subprocess.run([*prefix, CATENA, *arguments], cwd=self.path, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + (done.stderr if code == 3 else "")

    def problem(self):
        """A dumped step."""
        self.catena("run", "drop.yaml", "--quiet")
        dumps = sorted((self.path / "drop").rglob("*.hdf5"))
        self.assertTrue(dumps, sorted(map(str, (self.path / "drop").rglob("*"))))
        return str(dumps[0])

    @unittest.skipUnless(RANKS == "1", "one program without mpirun")
    def test_the_program_describes_itself_where_mpi_cannot_start(self):
        environment = dict(os.environ, OMPI_MCA_pml="none_of_this_name")

        def ask(option):
            return subprocess.run([CATENA, option], env=environment, capture_output=True, text=True, timeout=300, check=False)

        self.assertNotEqual(ask("--version").returncode, 0, "MPI starts after all")
        described = ask("--describe")
        self.assertEqual((described.returncode, described.stderr), (0, ""))
        kinds = {line.split("\t")[0] for line in described.stdout.splitlines()}
        self.assertEqual(kinds, {"command", "argument", "option", "script", "key"})

    def test_version_names_build_and_libraries(self):
        text = self.catena("--version")
        for word in ("catena ", "Open MPI", "PETSc 3.", "METIS 5.", "HDF5 1."):
            self.assertEqual(text.count(word), 1, text)

    def test_help_is_printed_once_and_lists_what_exists(self):
        text = self.catena("--help")
        self.assertEqual(text.count("Usage:"), 1)
        for word in ("run", "check", "plan", "solve", "info", "calibrate"):
            self.assertIn(f"\n  {word} ", text)

    def test_check_prints_a_case_that_checks_to_itself(self):
        printed = self.catena("check", "drop.yaml", "--set", "bodies.ball.mass=2 kg")
        (self.path / "again.yaml").write_text(printed)
        self.assertIn("mass: 2  # kg", printed)
        self.assertEqual(self.catena("check", "again.yaml"), printed)

    def test_plan_takes_any_number_of_ranks(self):
        self.assertIn("ranks 5, bodies 7, contacts 7", self.catena("plan", "drop.yaml", "-n", "5"))

    def test_plan_of_a_lattice_that_has_not_fallen_yet_counts_close_pairs(self):
        # 3 x 2 grains, 0.12 m apart with radius 0.05 m: 7 pairs of neighbours closer than 0.05 m
        text = self.catena("plan", "drop.yaml", "-n", "2", "--set", "generators.grains.spacing=0.12",
                           "--set", "generators.grains.origin=[0.5, 0, 1]", "--set", "bodies.ball.position=[0, 0, 1]")
        self.assertIn("few bodies touch yet", text)
        self.assertIn("ranks 2, bodies 7, contacts 7\n", text)

    def test_plan_prints_the_tree_of_a_net_that_ranks_share(self):
        (self.path / "net.yaml").write_text("""catena: 1
name: net
materials: {rope: {density: 1400}}
generators:
  - net: {name: net, material: rope, shape: {sphere: {radius: 1 cm}}, count: [40, 40], joint: distance,
          spacing: [[0.1, 0, 0], [0, 0.1, 0]], collide: false}
time: {step: 1 ms, end: 5 ms}
solver: {joints: {cut_from: 100}}
""")
        text = self.catena("plan", "net.yaml", "-n", "4")
        # 40 x 39 cords in both directions, one row each
        self.assertIn("3120 joints in 4 parts", text)
        table = [line.split() for line in text[text.index("level"):].splitlines()[1:4]]
        rows, above = ([int(line[i]) for line in table] for i in (2, 3))
        # one separator of about 40 cords, two of half as many or more, and parts of about a quarter of the rest
        self.assertTrue(30 <= rows[0] <= 60, text)
        self.assertTrue(15 <= rows[1] <= 60, text)
        self.assertTrue((3120 - rows[0] - 2 * rows[1]) / 4 <= rows[2] <= 1.1 * 3120 / 4, text)
        self.assertEqual(above[0], 0)
        self.assertTrue(0 < above[1] <= rows[0], text)
        self.assertTrue(above[1] / 2 <= above[2] <= rows[0] + rows[1], text)
        # as a run does: a part a rank, where bodies of several ranks meet; 16 parts by the graph alone
        self.assertIn("3120 joints in 3 parts", self.catena("plan", "net.yaml", "-n", "3"))
        fixed = self.catena("plan", "net.yaml", "-n", "3", "--set", "parallel.deterministic=true")
        self.assertIn("3120 joints in 2 parts", fixed)

    def test_result_has_the_columns_and_provenance_that_other_programs_read(self):
        self.catena("run", "drop.yaml", "--quiet")
        with h5py.File(self.path / "drop" / "result.h5", "r") as result:
            for name in ("time", "kinetic_energy", "potential_energy", "dissipation_friction", "dissipation_impact",
                         "energy_residual", "error_energy", "error_natural_map", "error_joint", "contacts",
                         "iterations", "step_wall_s", "imbalance"):
                self.assertIn("unit", result["series"][name].attrs)
            for name in ("version", "git_hash", "build", "command_line", "config", "hosts", "ranks", "start_time",
                         "parent_checkpoint", "petsc_options"):
                self.assertIn(name, result["provenance"].attrs)

    def test_settings_that_do_not_fit_together_leave_no_result(self):
        self.catena("check", "drop.yaml", "--set", "contact.law=ccp", "--set", "solver.local=project", code=3)
        self.catena("run", "drop.yaml", "--set", "solver.formulation=residual", "--set", "parallel.subdomains=2",
                    code=3)
        self.assertFalse((self.path / "drop").exists())

    def test_run_overwrites_a_result_only_when_forced(self):
        self.catena("run", "drop.yaml", "--quiet")
        index = self.path / "drop" / "result.h5"
        first = index.stat().st_mtime_ns
        self.catena("run", "drop.yaml", "--quiet", code=3)
        self.assertEqual(index.stat().st_mtime_ns, first)
        self.catena("run", "drop.yaml", "--quiet", "--force")
        self.assertNotEqual(index.stat().st_mtime_ns, first)

    def test_run_stops_with_4_where_a_missed_tolerance_shall_stop_it(self):
        hard = ["--set", "solver.max_iterations=1", "--set", "solver.relative_tolerance=0",
                "--set", "solver.absolute_tolerance=0", "--set", "solver.metric=natural_map",
                "--set", "generators.grains.spacing=[0.09, 0.09, 1]", "--quiet"]
        self.catena("run", "drop.yaml", *hard, "-o", "warned")
        self.catena("run", "drop.yaml", *hard, "-o", "stopped", "--set", "solver.on_missed_tolerance=stop", code=4)

    def test_info_and_rebuild_know_a_result(self):
        self.catena("run", "drop.yaml", "--quiet")
        (self.path / "drop" / "result.h5").unlink()
        (self.path / "drop" / "snapshots" / "00000009.h5").write_text("half")
        self.assertIn("cannot be read: snapshots/00000009.h5", self.catena("info", "--rebuild", "drop"))
        self.assertIn("catena-result", self.catena("info", "drop/result.h5"))
        self.assertIn("excludes", self.catena("info", "--rebuild", "drop", "--whole", code=3))

    def test_solve_reports_what_it_reached(self):
        problem = self.problem()
        out = self.catena("solve", problem, "--metric", "siconos", "--tolerance", "1e-9", "--report", "r.json",
                          "--history", "h.csv", "--solution", "s.hdf5", "--time-limit", "00:30")
        self.assertEqual(out.count("converged"), 1)
        report = json.loads((self.path / "r.json").read_text())
        self.assertEqual(sorted(report), REPORT_FIELDS)
        self.assertEqual((report["schema"], report["form"], report["status"]), (1, "global", "converged"))
        self.assertEqual((report["ranks"], report["contacts"], report["rows"]), (int(RANKS), 7, 21))
        self.assertLessEqual(report["errors"]["siconos"], 1e-9)
        self.assertEqual(sorted(report["errors"]), sorted(report["units"]))
        self.assertEqual(report["options"]["absolute_tolerance"], 1e-9)
        rows = list(csv.reader((self.path / "h.csv").read_text().splitlines()))
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        self.assertTrue((self.path / "s.hdf5").exists())

    def test_solve_that_misses_its_tolerance_exits_with_4_and_writes_its_files(self):
        problem = f"{SOURCE}/tests/data/fclib/Capsules-i101-404.hdf5"
        options = ["--metric", "siconos", "--tolerance", "0", "--max-iterations", "3", "--report", "r.json",
                   "--solution", "s.hdf5", "--quiet"]
        self.assertEqual(self.catena("solve", problem, *options, code=4), "")
        report = json.loads((self.path / "r.json").read_text())
        self.assertEqual((report["status"], report["iterations"]), ("iteration_limit", 3))
        self.assertTrue((self.path / "s.hdf5").exists())
        self.catena("solve", problem, *options, code=3)
        self.catena("solve", problem, *options, "--force", code=4)

    def test_solve_tolerance_is_relative_for_metrics_with_a_unit(self):
        problem = self.problem()
        self.catena("solve", problem, "--tolerance", "1e-3", "--report", "r.json", "--set", "check_interval=1")
        options = json.loads((self.path / "r.json").read_text())["options"]
        self.assertEqual((options["relative_tolerance"], options["absolute_tolerance"]), (1e-3, 0))
        self.assertEqual(options["check_interval"], 1)
        self.catena("solve", problem, "--tolerance", "1e-3", "--report", "s.json", "--set", "metric=siconos")
        options = json.loads((self.path / "s.json").read_text())["options"]
        self.assertEqual((options["relative_tolerance"], options["absolute_tolerance"]), (0, 1e-3))

    def test_petsc_options_reach_the_solver_and_those_after_the_bar_override(self):
        solve = ["solve", f"{SOURCE}/tests/data/fclib/NESpheres_10_1.hdf5", "--law", "ccp", "--solver",
                 "interior_point", "--report", "r.json", "--set", "petsc.contact_ksp_type=cg", "--force"]
        self.assertIn("type: cg", self.catena(*solve, "--", "-catena_contact_ksp_view"))
        self.assertEqual(json.loads((self.path / "r.json").read_text())["options"]["petsc"],
                         {"contact_ksp_type": "cg"})
        self.assertIn("type: gmres",
                      self.catena(*solve, "--", "-catena_contact_ksp_type", "gmres", "-catena_contact_ksp_view"))

    def test_petsc_options_that_no_solver_asks_for_are_errors(self):
        solve = ["solve", self.problem(), "--solver", "interior_point"]
        self.assertIn("solver.petsc.contact_ksp_typ: no solver",
                      self.catena(*solve, "--set", "petsc.contact_ksp_typ=cg", code=3))
        self.assertIn("-catena_joint_ksp_type: no solver",
                      self.catena(*solve, "--", "-catena_joint_ksp_type", "cg", code=3))

    def test_run_records_petsc_options(self):
        self.catena("run", "drop.yaml", "--quiet", "--set", "solver.method=interior_point", "--set",
                    "solver.petsc.contact_ksp_type=cg", "--", "-catena_contact_pc_type", "pbjacobi")
        with h5py.File(self.path / "drop" / "result.h5", "r") as result:
            self.assertEqual(str(result["provenance"].attrs["petsc_options"]),
                             "-catena_contact_ksp_type cg -catena_contact_pc_type pbjacobi")

    def test_one_settled_run_is_sheared_three_times(self):
        bodies = """materials: {m: {density: 2500, friction: 0.5}}
generators:
  - container: {name: bin, material: m, size: [.inf, .inf, .inf], origin: [-5, -5, 0]}
  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.05}}, count: [3, 3, 2], spacing: 0.1,
              origin: [0, 0, 0.052]}
output: {snapshot_interval: .inf}
bodies:
  - {name: lid, material: m, shape: {box: {size: [0.4, 0.4, 0.05]}}, position: [0.1, 0.1, 0.26]"""
        (self.path / "settle.yaml").write_text(
            "catena: 1\nname: settle\ntime: {step: 1 ms, end: 0.1}\n" + bodies + "}\n")
        (self.path / "shear.yaml").write_text(
            "catena: 1\nname: shear\ntime: {step: 1 ms, end: 20 ms}\n" + bodies +
            ", motion: {velocity: [0, 0, 0]}}\n")
        self.catena("run", "settle.yaml", "--quiet")

        def state(directory, first):
            name = sorted((self.path / directory / "snapshots").iterdir())[0 if first else -1]
            with h5py.File(name) as file:
                return file["bodies/id"][:], file["bodies/position"][:]

        ids, settled = state("settle", False)
        self.assertLess(settled[0][2], 0.26 - 1e-3)  # the lid has sunk
        moved = []
        for speed in (0.0, 0.1, 0.2):
            name = f"shear-{speed}"
            self.catena("run", "shear.yaml", "--quiet", "--from", "settle", "-o", name, "--set",
                        f"bodies.lid.motion.velocity=[{speed}, 0, 0]")
            start = state(name, True)
            self.assertTrue((start[0] == ids).all())
            self.assertTrue((abs(start[1] - settled) < 1e-15).all())
            end = state(name, False)[1]
            self.assertAlmostEqual(end[0][0] - settled[0][0], speed * 0.02, delta=1e-12)
            moved.append((end - settled)[:, 0][1:].mean())
        # friction takes the grains along
        self.assertLess(abs(moved[0]), 1e-5)
        self.assertGreater(moved[1], 1e-4)
        self.assertGreater(moved[2], moved[1])
        self.assertIn("--from: there is no ", self.catena("run", "shear.yaml", "--from", "no", code=3))
        self.assertIn("--from excludes", self.catena("run", "shear.yaml", "--from", "settle", "--resume", code=3))

    def test_scenes_of_other_engines_become_tables(self):
        (self.path / "two.txt").write_text(
            "# N W mu rho g h\n2 1.0 0.5 2500 9.81 0.005\n"
            "0.1 0 0 0.1 1 0 0 0 0 0 0 0 0 0\n0.2 0.3 0 0.2 1 0 0 0 0 0 1 0 0 2\n")
        subprocess.run([f"{SOURCE}/scripts/user/scene_to_table.py", "two.txt", "out"], cwd=self.path, check=True)
        printed = self.catena("check", "out/two.yaml")
        self.assertIn("size: [1, 1, .inf]", printed)
        self.assertIn("bodies 2,", self.catena("plan", "out/two.yaml", "-n", "2"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
