#!/usr/bin/python3
"""scripts/studies/compare_solvers.py on two problems and two solvers.

    compare_solvers_test.py CATENA SOURCE_DIRECTORY
"""
import contextlib
import csv
import io
import os
import pathlib
import sys
import tempfile
import unittest

CATENA, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SCRIPT = pathlib.Path(SOURCE, "scripts", "studies", "compare_solvers.py")
sys.path.insert(0, str(SCRIPT.parent))
import compare_solvers  # noqa: E402

PROBLEMS = pathlib.Path(SOURCE, "tests", "data", "fclib")

# Reference times: one that nobody meets, one that everybody does.
REFERENCE = """# made up
problem,solver,tol,converged,time_s
Rover1039,A,1e-4,1,1e-12
Rover1039,B,1e-4,0,1e-15
Capsules-i100-889,A,1e-4,1,4000
Capsules-i100-889,B,1e-4,1,3000
"""

STUDY = """name: small
folders: [PROBLEMS]
problems: [Capsules-i100-889.hdf5, Rover1039*.hdf5, absent.hdf5]
solvers:
  - {name: gauss_seidel}
  - {name: both ways, method: gauss_seidel, set: [order=symmetric], max_iterations: 1}
comparisons:
  - {name: first, law: coulomb, metric: siconos, tolerances: [1e-4]}
time_limit: 30 s
reference: {file: made_up.csv, name: Made up, from_contacts: 25}
""".replace("PROBLEMS", str(PROBLEMS))

# What is put in the place of what, and what is said.
BROKEN = [
    ("time_limit: 30 s", "time_limit: soon", "study.yaml:9:13: time_limit: 'soon' is no duration"),
    ("time_limit", "time_limt", "study.yaml:9:1: time_limt: unknown key; did you mean time_limit?"),
    ("metric: siconos", "metric: siconis", "study.yaml:8:41: comparisons[0].metric: unknown value 'siconis'; did you"),
    ("- {name: gauss_seidel}", "- {name: newton}", "study.yaml:5:12: solvers[0].name: 'newton' is no solver"),
    ("name: both ways", "name: gauss_seidel", "study.yaml:6:12: solvers[1].name: 'gauss_seidel' stands twice"),
    ("tolerances: [1e-4]", "tolerances: 1e-4", "study.yaml:8:62: comparisons[0].tolerances: must be a list"),
    ("name: small", "name: small\nname: large", "study.yaml:2:1: name: duplicate key"),
    ("made_up.csv", "none.csv", "none.csv: No such file"),
    ("folders: [", "folders: {", "study.yaml:"),
    ("[Capsules-i100-889.hdf5, Rover1039*.hdf5, absent.hdf5]", "[absent.hdf5]", "none of them is there"),
]


class CompareSolvers(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        (self.path / "made_up.csv").write_text(REFERENCE)

    def compare(self, study, *options, code=0):
        """What the script prints, and tells as an error."""
        (self.path / "study.yaml").write_text(study)
        out, error = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.path), contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            sys.argv = [str(SCRIPT), "study.yaml", "--catena", CATENA, *options]
            found = compare_solvers.main()
        self.assertEqual(found, code, out.getvalue() + error.getvalue())
        return out.getvalue(), error.getvalue()

    def rows(self):
        with open(self.path / "small" / "results.csv") as file:
            return {(row["problem"], row["solver"]): row for row in csv.DictReader(file)}

    def test_writes_tables_and_a_profile_and_does_nothing_twice(self):
        out, _ = self.compare(STUDY, "--judge")
        self.assertIn("left out: absent.hdf5", out)
        self.assertIn("[4/4]", out)
        rows = self.rows()
        self.assertEqual(len(rows), 4)
        solved = rows["Capsules-i100-889", "gauss_seidel"]
        self.assertEqual((solved["status"], solved["contacts"]), ("converged", "276"))
        self.assertLessEqual(float(solved["siconos"]), 1e-4)
        self.assertAlmostEqual(float(solved["judged"]) / float(solved["siconos"]), 1.0, 9)
        self.assertAlmostEqual(float(solved["ratio"]), float(solved["time_s"]) / 3000.0)
        self.assertEqual(rows["Capsules-i100-889", "both ways"]["status"], "iteration_limit")
        text = (self.path / "small" / "results.md").read_text()
        self.assertIn("| **at most 1** |  |  | 1 of 1 | 0 of 1 |", text)  # Rover1039 has too few contacts to count
        self.assertIn("| **missed though the reference solves it** |  |  | 0 | 2 |", text)
        # Capsules in all columns; Rover1039 where the time, which varies, is within the factor of the 1 ms of Made up
        times_1_ms = max(float(rows["Rover1039", "gauss_seidel"]["time_s"]), 1e-3) / 1e-3
        counts = [1 + (times_1_ms <= factor) for factor in (1, 2, 4, 10)]
        self.assertIn("| gauss_seidel | " + " | ".join(map(str, counts)) + " | 2 |", text)
        self.assertIn("| both ways | 0 | 0 | 0 | 0 | 0 |", text)
        picture = (self.path / "small" / "profile-first-0.0001.png").read_bytes()
        self.assertEqual(picture[1:4], b"PNG")

        again, _ = self.compare(STUDY, "--judge")
        self.assertNotIn("[", again)
        self.assertEqual(self.rows(), rows)
        tighter, _ = self.compare(STUDY.replace("[1e-4]", "[1e-5]"), "--judge")
        self.assertIn("[4/4]", tighter)

    def test_what_a_solver_refuses_is_told(self):
        out, _ = self.compare(STUDY.replace("order=symmetric", "order=sideways"))
        self.assertEqual(out.count("refused: exit code 3: --set: order: unknown value 'sideways'"), 2, out)

    def test_mistakes_are_told_with_their_place(self):
        for old, new, message in BROKEN:
            with self.subTest(new=new):
                self.assertEqual(STUDY.count(old), 1)
                self.assertIn(message, self.compare(STUDY.replace(old, new), code=3)[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
