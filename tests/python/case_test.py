#!/usr/bin/python3
"""Cases as dicts and runs from Python, against the program and a closed form.

    case_test.py CATENA SOURCE
"""
import doctest
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

try:
    import h5py  # noqa: F401
    import numpy as np
    import yaml  # noqa: F401
except ImportError:
    print("h5py or yaml is missing (Debian: python3-h5py python3-yaml)")
    sys.exit(77)

CATENA, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
os.environ["CATENA"] = CATENA
sys.path.insert(0, str(SOURCE / "python"))
import catena  # noqa: E402
import catena.case  # noqa: E402

FALL = {"catena": 1, "name": "fall", "materials": {"m": {"density": 1000}},
        "bodies": [{"name": f"ball-{k}", "material": "m", "shape": {"sphere": {"radius": 0.1}}, "position": [k, 0, 5]}
                   for k in range(4)],
        "time": {"step": 1e-3, "end": np.float64(0.1)}, "output": {"snapshot_interval": "50 ms"}}


class CaseTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def refused(self, call):
        with self.assertRaises(catena.CatenaError) as caught:
            call()
        return caught.exception

    def test_examples_are_the_same_cases_as_dicts(self):
        for name in ("settled_spheres", "crane", "hopper", "rotating_drum"):
            path = SOURCE / "configs" / "examples" / f"{name}.yaml"
            expected = subprocess.run([CATENA, "check", path], capture_output=True, text=True, check=True).stdout
            case = catena.Case.load(path)
            with case.file() as file:
                found = subprocess.run([CATENA, "check", file], capture_output=True, text=True, check=True).stdout
            self.assertEqual(found, expected, name)

    def test_mistakes_name_key_and_remedy(self):
        case = catena.Case(FALL, self.path)
        case["solver"] = {"max_sweep": 3}
        e = self.refused(case.check)
        self.assertEqual((e.path, e.found, e.remedy, e.exit_code),
                         ("solver.max_sweep", "unknown key", "did you mean solver.max_iterations?", 3))
        self.assertNotIn("solver", FALL)
        self.assertEqual(list(self.path.iterdir()), [])

    def test_balls_fall_on_one_and_two_ranks(self):
        for ranks in (1, 2):
            lines = []
            out = self.path / f"out{ranks}"
            result = catena.run(catena.Case(FALL, self.path), ranks=ranks, out=out, progress=lines.append)
            self.assertEqual(int(result.profile["ranks"]), ranks)
            self.assertTrue(any("done: 100 steps" in line for line in lines), lines)
            # n steps of semi-implicit Euler from rest: v = g n h, z = z0 - g h^2 n (n + 1) / 2
            last = result.snapshot(0.1)
            np.testing.assert_allclose(last.velocity[:, 2], -9.81 * 0.1, rtol=1e-12)
            np.testing.assert_allclose(last.position[:, 2], 5 - 9.81e-6 * 100 * 101 / 2, rtol=1e-12)

    def test_what_a_run_refuses_is_an_error(self):
        case = catena.Case(FALL, self.path)
        catena.run(case, out=self.path / "out", progress=False)
        e = self.refused(lambda: catena.run(case, out=self.path / "out", progress=False))
        self.assertEqual(e.exit_code, 3)
        self.assertIn("--force", str(e))
        self.assertEqual(len(catena.run(case, out=self.path / "out", force=True, progress=False)), 3)
        with mock.patch("catena.launch.shutil.which", return_value=None):
            self.assertIn("openmpi-bin", str(self.refused(lambda: catena.run(case, ranks=2, out=self.path / "none"))))
        with mock.patch.dict(os.environ, CATENA="/nowhere/catena"):
            self.assertIn("set CATENA", str(self.refused(case.check)))

    def test_a_run_that_is_broken_off_stops_with_a_checkpoint(self):
        def broken_off(line):
            if "step" in line:
                raise KeyboardInterrupt

        for ranks in (1, 2):
            out = self.path / f"long{ranks}"
            with self.assertRaises(KeyboardInterrupt):
                catena.run({**FALL, "time": {"step": 1e-3, "end": 1e6}}, ranks=ranks, out=out, progress=broken_off)
            self.assertTrue(list(out.rglob("checkpoint-*.h5")))

    def test_examples_in_the_module_hold(self):
        self.assertEqual(doctest.testmod(catena.case).failed, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
