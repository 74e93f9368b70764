#!/usr/bin/python3
"""Every solver's errors are what scripts/user/check_solution.py finds in the files that it leaves.

    solve_errors_test.py CATENA SOURCE_DIRECTORY
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

CATENA, SOURCE = sys.argv[1:3]
PROBLEMS = pathlib.Path(SOURCE, "tests", "data", "fclib")
LAWS = ("coulomb", "ccp", "box", "frictionless")
SOLVERS = ("gauss_seidel", "jacobi", "apgd", "interior_point", "dantzig", "auto")

# Joints with limit, motor, dry friction and compliance; contacts that slide, roll, spin and cohere.
CASE = """catena: 1
name: rows
gravity: [0.5, 0, -9.81]
contact: {stiffness: rigid, margin: 1 mm}
materials:
  stone: {density: 2500, friction: 0.5}
  mud: {density: 1500, friction: 0.6, rolling_friction: 5 mm, spinning_friction: 2 mm, cohesion: 0.4}
bodies:
  - {name: ground, material: stone, shape: plane}
  - {name: bog, material: mud, shape: plane, position: [-0.05, 0, 0], orientation: {axis: [0, 1, 0], angle: 90 deg}}
  - {name: lump, material: mud, shape: {sphere: {radius: 0.05}}, position: [0, 0, 0.05]}
  - {name: crumb, material: mud, shape: {sphere: {radius: 0.04}}, position: [0.005, 0.089, 0.04],
     angular_velocity: [1, 2, 3]}
  - {name: slab, material: stone, shape: {box: {size: [0.2, 0.2, 0.1]}}, position: [0.5, 0, 0.05],
     velocity: [0.3, 0.1, 0]}
  - {name: arm, mass: 0.5, inertia: [1e-3, 1e-3, 1e-3], position: [0.5, 0, 0.3]}
  - {name: hand, mass: 0.2, inertia: [1e-4, 2e-4, 3e-4], position: [0.7, 0, 0.3], velocity: [0, 0, 1]}
joints:
  - {name: shoulder, type: revolute, between: [slab, arm], at: [0.5, 0, 0.2], axis: [0, 1, 0],
     limits: [0 deg, 10 deg], motor: {velocity: -1 rad/s, max_force: 0.2}}
  - {name: elbow, type: prismatic, between: [arm, hand], at: [0.6, 0, 0.3], axis: [0, 0, 1], limits: [-0.1, 0.1],
     friction: 0.3, compliance: 1e-5}
time: {step: 2 ms, end: 20 ms}
output: {snapshot_interval: .inf, dump_interval: 20 ms}
"""


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(SOURCE, "scripts", "user", name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class SolveErrors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = load_script("check_solution")
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.path = pathlib.Path(cls.directory.name)
        (cls.path / "rows.yaml").write_text(CASE)
        cls.call("run", "rows.yaml", "--quiet", codes=[0])
        cls.dump = sorted((cls.path / "rows").rglob("*.hdf5"))[-1]

    @classmethod
    def call(cls, *arguments, codes):
        done = subprocess.run([CATENA, *map(str, arguments)], cwd=cls.path, capture_output=True, text=True, timeout=300)
        if done.returncode not in codes:
            raise AssertionError(f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def judged(self, problem, solver, law, iterations):
        """Errors found, those reported, what round-off explains; None where the solver refuses the problem."""
        report, solution = self.path / "report.json", self.path / "solution.hdf5"
        done = self.call("solve", problem, "--solver", solver, "--law", law, "--max-iterations", iterations, "--report",
                         report, "--solution", solution, "--force", "--quiet", codes=[0, 3, 4])
        if done.returncode == 3:
            return None
        data = json.loads(report.read_text())
        found, errors, noise = self.script.judge(problem, solution, law)
        self.assertTrue(all(same for _, same in found.differences.values()), found.differences)
        return errors, dict(data["errors"], objective=data["objective"]), noise

    def compare(self, problem, solver, law, iterations):
        with self.subTest(problem=problem.name, solver=solver, law=law):
            judged = self.judged(problem, solver, law, iterations)
            if judged is None:
                return 0
            errors, reported, noise = judged
            self.assertEqual(sorted(errors), sorted(reported))
            for name, value in errors.items():
                self.assertTrue(self.script.agree(value, reported[name], noise[name], 1e-9),
                                f"{name}: {reported[name]} reported, {value} found, round-off {noise[name]:.1g}")
            return 1

    def test_of_a_step_with_all_kinds_of_rows_under_every_law(self):
        import h5py
        with h5py.File(self.dump, "r") as file:
            self.assertTrue(all(name in file for name in ("fclib_global/G", "catena/couples")), list(file))
            self.assertGreater(len(file["catena/boxed/w"]), 0)
            self.assertGreater(sum(file["catena/unilateral"]), 0)
        for law in LAWS:
            self.assertEqual(self.compare(self.dump, "gauss_seidel", law, 2), 1)

    def test_of_a_step_with_contacts_that_give(self):
        import h5py
        self.call("run", "rows.yaml", "--quiet", "-o", "soft", "--set", "contact.stiffness=auto", codes=[0])
        dump = sorted((self.path / "soft").rglob("*.hdf5"))[-1]
        with h5py.File(self.dump, "r") as rigid, h5py.File(dump, "r") as soft:
            self.assertGreater(soft["fclib_global/vectors/f"].size, rigid["fclib_global/vectors/f"].size)
        for law in ("coulomb", "ccp"):
            self.assertEqual(self.compare(dump, "gauss_seidel", law, 2), 1)

    def test_of_a_step_of_law_lagged(self):
        import h5py
        self.call("run", "rows.yaml", "--quiet", "-o", "lagged", "--set", "contact.law=lagged", codes=[0])
        dump = sorted((self.path / "lagged").rglob("*.hdf5"))[-1]
        with h5py.File(dump, "r") as file:
            self.assertGreater(max(file["catena/shift"]), 1e-3)
        for law in ("lagged", "ccp", "coulomb"):
            self.assertEqual(self.compare(dump, "gauss_seidel", law, 2), 1)
        laws = [self.judged(dump, "gauss_seidel", law, 2)[1]["energy"] for law in ("lagged", "ccp", "coulomb")]
        self.assertEqual(len(set(laws)), 3)  # the shift matters

    def test_law_lagged_is_refused_without_shifts(self):
        problem = PROBLEMS / "GFC3D_TwoRods1.hdf5"
        done = self.call("solve", problem, "--solver", "gauss_seidel", "--law", "lagged", codes=[3])
        for text in ("/catena/shift", "--law coulomb", "GFC3D_TwoRods1.hdf5"):
            self.assertIn(text, done.stderr)

    def test_of_local_and_global_problems_under_every_law(self):
        for name in ("Capsules-i100-889", "GFC3D_TwoRods1"):
            for law in LAWS:
                self.assertEqual(self.compare(PROBLEMS / f"{name}.hdf5", "gauss_seidel", law, 3), 1)

    def test_of_every_solver(self):
        for solver in SOLVERS[1:]:
            solved = sum(self.compare(problem, solver, law, 3) for problem, law in
                         ((PROBLEMS / "Capsules-i100-889.hdf5", "ccp"), (PROBLEMS / "GFC3D_TwoRods1.hdf5", "coulomb"),
                          (PROBLEMS / "GFC3D_TwoRods1.hdf5", "box")))
            self.assertGreater(solved, 0, solver)

    def test_a_report_of_another_solution_is_found_out(self):
        problem = PROBLEMS / "Capsules-i100-889.hdf5"
        for iterations, report in ((1, "one.json"), (2, "two.json")):
            self.call("solve", problem, "--solver", "gauss_seidel", "--max-iterations", iterations, "--report", report,
                      "--solution", "last.hdf5", "--force", "--quiet", codes=[0, 4])
        script = pathlib.Path(SOURCE, "scripts", "user", "check_solution.py")
        codes = []
        for report in ("one.json", "two.json", "none.json"):
            done = subprocess.run([script, problem, self.path / "last.hdf5", "--report", self.path / report],
                                  capture_output=True, text=True, timeout=300)
            codes.append(done.returncode)
        self.assertEqual(codes, [1, 0, 3], done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
