#!/usr/bin/python3
"""DIR/profile.json of a run: phases that add up to the wall time, counts that agree with the series.

    run_profile_test.py CATENA RANKS MPIEXEC
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CATENA, RANKS, MPIEXEC = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

SCENE = """catena: 1
name: packing
materials: {m: {density: 2500, friction: 0.5}}
bodies: [{name: floor, material: m, shape: {plane: {}}}]
generators:
  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [14, 14, 10], spacing: 0.2,
              origin: [0, 0, 0.1]}
time: {step: 2 ms, end: 40 ms}
solver: {max_iterations: 30, relative_tolerance: 1e-3}
parallel: {rebalance_steps: 10}
output: {snapshot_interval: 10 ms}
"""
PHASES = ["setup", "contacts", "rows", "solver_setup", "sweeps", "motion", "checks", "flow", "balance", "probes",
          "output", "checkpoint"]
STAGES = ["find_contacts", "assemble_problem", "note_forbidden", "solve_impulses", "find_held_drives",
          "check_solution", "keep_impulses", "audit_work", "advance_poses", "project_joints", "record"]


class RunProfile(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        (self.path / "packing.yaml").write_text(SCENE)

    def run_case(self, *options, code=0):
        start = [CATENA] if RANKS == 1 else [MPIEXEC, "-n", str(RANKS), CATENA]
        done = subprocess.run(start + ["run", "packing.yaml", "-o", "out", "--quiet", *options], cwd=self.path,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        with open(self.path / "out" / "profile.json") as file:
            profile = json.load(file)
        with open(self.path / "out" / "series.csv") as file:
            return profile, [{k.split(" ")[0]: float(v) for k, v in row.items()} for row in csv.DictReader(file)]

    def test_phases_add_up_to_the_wall_time(self):
        profile, _ = self.run_case()
        self.assertEqual(list(profile["phases"]), PHASES)
        total = sum(phase["mean"] for phase in profile["phases"].values())
        wall = profile["per_rank"]["wall_s"]["mean"]
        # what the system takes between the clocks of a loaded machine, besides
        self.assertLess(abs(total - wall), 0.03 * wall + 0.05, profile)
        steps = profile["per_rank"]["steps_wall_s"]["mean"]
        inside = [p for p in PHASES if p not in ("setup", "output", "checkpoint")]
        self.assertLess(abs(sum(profile["phases"][p]["mean"] for p in inside) - steps), 0.03 * steps + 0.05, profile)
        for phase in ("setup", "contacts", "rows", "solver_setup", "sweeps", "motion", "checks", "output"):
            self.assertGreater(profile["phases"][phase]["min"], 0.0, phase)
        for spread in (*profile["phases"].values(), *profile["per_rank"].values()):
            self.assertLessEqual(spread["min"], spread["mean"] * (1.0 + 1e-12))
            self.assertLessEqual(spread["mean"], spread["max"] * (1.0 + 1e-12))

    def test_stages_of_the_steps_are_within_their_phases(self):
        profile, _ = self.run_case()
        self.assertEqual(list(profile["stages"]), STAGES)
        stages = {name: spread["mean"] for name, spread in profile["stages"].items()}
        phases = {name: spread["mean"] for name, spread in profile["phases"].items()}
        self.assertAlmostEqual(stages["find_contacts"], phases["contacts"], 9)
        self.assertAlmostEqual(stages["assemble_problem"], phases["rows"], 9)
        self.assertAlmostEqual(stages["solve_impulses"], phases["solver_setup"] + phases["sweeps"], 9)
        motion = ("keep_impulses", "audit_work", "advance_poses", "project_joints")
        self.assertAlmostEqual(sum(stages[name] for name in motion), phases["motion"], 9)
        for name in ("check_solution", "record"):
            self.assertGreater(stages[name], 0.0)
        self.assertLess(stages["note_forbidden"] + stages["find_held_drives"] + stages["check_solution"]
                        + stages["record"], phases["checks"])

    def test_counts_are_those_of_the_series(self):
        profile, series = self.run_case()
        per_rank = profile["per_rank"]
        self.assertEqual((profile["schema"], profile["ended"], profile["case"]), (1, "done", "packing"))
        self.assertEqual((profile["ranks"], profile["steps"], profile["step"]), (RANKS, 20, 20))
        self.assertAlmostEqual(profile["time"], 0.04)
        self.assertEqual(profile["iterations"], sum(row["iterations"] for row in series))
        self.assertEqual(profile["most_iterations"], max(row["iterations"] for row in series))
        self.assertAlmostEqual(profile["contacts_per_step"], sum(row["contacts"] for row in series) / 20, 6)
        self.assertAlmostEqual(profile["imbalance"], sum(row["imbalance"] for row in series) / 20, 9)
        updates = sum(row["contacts"] * row["iterations"] for row in series)
        self.assertAlmostEqual(RANKS * per_rank["contact_updates"]["mean"] / updates, 1.0, 9)
        self.assertAlmostEqual(RANKS * per_rank["contacts"]["mean"] / profile["contacts_per_step"], 1.0, 9)
        self.assertAlmostEqual(RANKS * per_rank["bodies"]["mean"], 1960.0, 6)
        self.assertGreater(per_rank["peak_memory"]["min"], 5e6)
        self.assertLess(per_rank["peak_memory"]["max"], 4e9)
        if RANKS == 1:
            self.assertEqual((per_rank["messages"]["max"], per_rank["ghosts"]["max"], profile["edge_cut"]), (0, 0, 0))
        else:
            self.assertGreater(profile["edge_cut"], 0)
            self.assertGreater(per_rank["ghosts"]["min"], 0)
            # at least the two messages of each sweep to each neighbour
            self.assertGreaterEqual(per_rank["messages"]["min"], 2 * profile["iterations"])
            self.assertGreater(per_rank["bytes"]["min"], 48 * per_rank["messages"]["min"])
        self.assertEqual(per_rank["ghosts"]["mean"], per_rank["shared"]["mean"])
        for name in ("collectives", "posted_reductions"):
            self.assertEqual(per_rank[name]["min"], per_rank[name]["max"], name)
        # at least one of the search and one of the solver in a step
        self.assertGreater(per_rank["collectives"]["min"], 2 * profile["steps"])
        # eight boxes of six numbers of every rank, in the first step at least
        self.assertEqual(per_rank["gathered_bytes"]["max"] % (RANKS * 8 * 48), 0)
        self.assertEqual(per_rank["gathered_bytes"]["max"] > 0, RANKS > 1)

    def test_a_run_that_stops_has_one_too(self):
        profile, series = self.run_case("--set", "solver.on_missed_tolerance=stop", "--set", "solver.max_iterations=1",
                                        "--set", "solver.relative_tolerance=1e-12", code=4)
        self.assertEqual((profile["ended"], profile["steps_missed"]), ("tolerance_missed", 1))
        self.assertEqual(profile["steps"], len(series))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
