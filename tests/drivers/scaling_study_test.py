#!/usr/bin/python3
"""scripts/scaling_study.py on a tiny study: runs, goes on, collects, writes jobs, refuses mistakes.

    scaling_study_test.py CATENA SOURCE_DIRECTORY MPIEXEC
"""
import contextlib
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CATENA, SOURCE, MPIEXEC = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
SCRIPT = pathlib.Path(SOURCE, "scripts", "scaling_study.py")
sys.path[:0] = [str(SCRIPT.parent), str(SCRIPT.parent / "studies")]
import cost_model  # noqa: E402
import scaling_report  # noqa: E402
import scaling_study  # noqa: E402

STUDY = f"""name: tiny
kind: weak
case: {SOURCE}/configs/studies/cases/packing.yaml
ranks: [1, 2]
scale: ["generators.grains.count=[{{6 * n}}, 6, 3]", "generators.bin.size=[{{1.2 * n}}, 1.2, .inf]"]
steps: 3
fixed: {{iterations: 10}}
tolerance: {{relative: 1e-2, max_iterations: 50}}
repeats: 1
predict:
  ranks: [16]
  plan: yes
  network: {{name: made up, latency: 1 ms, overhead: 2e-6, bandwidth: 1e9, ranks_per_node: 8, noise: 0.01}}
"""
# each rank on its own: oversubscribed on purpose, since the test may have one core only
MPIRUN = MPIEXEC + " --oversubscribe --bind-to none -n {ranks}"

# What is put in the place of what, and what is said.
BROKEN = [
    ("kind: weak", "kind: week", "study.yaml:2:7: kind: unknown value 'week'; did you mean weak?"),
    ("kind: weak", "kind: strong", "study.yaml:5:8: scale: is for kind: weak"),
    ("steps: 3", "step: 3", "study.yaml:6:1: step: unknown key; did you mean steps?"),
    ("ranks: [1, 2]", "ranks: [2, 1]", "study.yaml:4:8: ranks: must ascend"),
    ("ranks: [1, 2]", "ranks: [1, 2.5]", "study.yaml:4:8: ranks: must be whole numbers"),
    ("ranks: [1, 2]", "ranks: [0, 2]", "study.yaml:4:9: ranks[0]: '0' is out of range; must be finite, and at least 1"),
    ("ranks: [1, 2]", "rank: [1, 2]", "study.yaml:4:1: rank: unknown key; did you mean ranks?"),
    ("name: tiny", "", "study.yaml:2:1: name: is missing"),
    ("{6 * n}", "{six * n}", "study.yaml:5:8: scale: 'six * n': only numbers, n"),
    ("{6 * n}", "{6 * n +}", "study.yaml:5:8: scale: '6 * n +': only numbers, n"),
    ("{iterations: 10}", "{iteration: 10}", "study.yaml:7:9: fixed.iteration: unknown key; did you mean iterations?"),
    ("latency: 1 ms", "latency: 1 mm", "predict.network.latency: '1 mm' is no duration"),
    ("packing.yaml", "none.yaml", "none.yaml is not there; its path is relative to the study's file"),
    ("generators.grains.count", "generators.gravel.count", "generators.gravel"),
]


class ScalingStudy(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)

    def study(self, text, *options, code=0):
        """What the script prints, and tells as an error."""
        (self.path / "study.yaml").write_text(text)
        out, error = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.path), contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            sys.argv = [str(SCRIPT), "study.yaml", "--catena", CATENA, *options]
            found = scaling_study.main()
        self.assertEqual(found, code, out.getvalue() + error.getvalue())
        return out.getvalue(), error.getvalue()

    def rows(self):
        with open(self.path / "tiny" / "results.csv") as file:
            return {(row["run"], int(row["ranks"])): row for row in csv.DictReader(file)}

    def without_calibration(self):
        """Constants as a file, since measuring them takes seconds."""
        constants = {"update_spheres": (1e-8, "s"), "update_spheres_cached": (1e-8, "s"), "pack": (1e10, "B/s"),
                     "latency_node": (1e-6, "s"), "overhead_node": (1e-7, "s"), "bandwidth_node": (1e10, "B/s")}
        (self.path / "tiny").mkdir()
        for ranks in (1, 2):
            text = {"cpu": "made up", "constants": {name: {"value": v, "low": v, "high": v, "unit": unit}
                                                    for name, (v, unit) in constants.items()}}
            (self.path / "tiny" / f"calibration-{ranks}.json").write_text(json.dumps(text))

    def test_runs_reports_and_does_nothing_twice(self):
        self.without_calibration()
        out, _ = self.study(STUDY, "--mpirun", MPIRUN)
        self.assertIn("[4/4]", out)
        rows = self.rows()
        self.assertEqual(set(rows), {("fixed", 1), ("fixed", 2), ("tolerance", 1), ("tolerance", 2)})
        one, two = rows["fixed", 1], rows["fixed", 2]
        self.assertEqual((one["bodies"], two["bodies"]), ("108", "216"))
        self.assertEqual((one["iterations"], one["messages"], one["edge_cut"]), ("10", "0", "0"))
        self.assertEqual(two["iterations"], "10")
        self.assertGreaterEqual(float(two["messages"]), 20.0)
        self.assertLessEqual(float(rows["tolerance", 1]["iterations"]), 50.0)
        self.assertAlmostEqual(float(two["efficiency"]), float(one["step_s"]) / float(two["step_s"]), 4)
        self.assertAlmostEqual(float(two["speed_up"]), 2.0 * float(two["efficiency"]), 4)
        phases = sum(float(one[f"{p}_mean"]) for p in scaling_report.PHASES)
        self.assertAlmostEqual(phases / float(one["step_s"]), 1.0, delta=0.2)  # of a busy machine
        report = (self.path / "tiny" / "report.md").read_text()
        self.assertIn("## Measured", report)
        prediction = report.split("## Model")[1]
        self.assertIn("**Not measured.**", prediction)
        self.assertIn("latency 1000 us", prediction)
        self.assertIn("### Sensitivity of the prediction", prediction)
        self.assertNotIn("made up", report.split("## Model")[0].replace("; made up;", ""))
        for name in ("speed-up", "efficiency", "phases", "iterations"):
            self.assertEqual((self.path / "tiny" / f"{name}.png").read_bytes()[1:4], b"PNG")
        with open(self.path / "tiny" / "predictions.csv") as file:
            ranks = {(row["ranks"], row["network"]) for row in csv.DictReader(file)}
        self.assertEqual(ranks, {("2", "this machine"), ("16", "made up")})

        again, _ = self.study(STUDY, "--mpirun", MPIRUN)
        self.assertNotIn("[", again)
        self.assertEqual(self.rows(), rows)
        (self.path / "tiny" / "points" / "fixed-2-0" / "profile.json").unlink()
        self.assertIn("[1/1] fixed on 2 ranks", self.study(STUDY, "--mpirun", MPIRUN)[0])
        self.assertIn("[4/4]", self.study(STUDY.replace("steps: 3", "steps: 2"), "--mpirun", MPIRUN)[0])

    def test_options_take_the_place_of_ranks_and_repeats(self):
        self.assertIn("--ranks: 2 1: must ascend", self.study(STUDY, "--ranks", "2", "1", code=3)[1])
        self.assertIn("--repeats: 0: must be 1 or more", self.study(STUDY, "--repeats", "0", code=3)[1])
        template = pathlib.Path(SOURCE, "scripts", "templates", "slurm.sh")
        self.study(STUDY, "--slurm", str(template), "--repeats", "3", "--ranks", "4")
        folder = self.path / "tiny" / "slurm"
        self.assertEqual({f.name for f in folder.iterdir()}, {"ranks-4.sh", "submit.sh"})
        # two runs, three times each
        self.assertEqual(re.search(r"--array=1-(\d+)", (folder / "ranks-4.sh").read_text())[1], "6")

    def test_jobs_are_arrays_that_leave_what_collect_gathers(self):
        template = pathlib.Path(SOURCE, "scripts", "templates", "slurm.sh")
        self.study(STUDY, "--slurm", str(template))
        _, error = self.study(STUDY, "--collect", code=1)
        self.assertIn("no point is done", error)
        folder = self.path / "tiny" / "slurm"
        self.assertEqual({f.name for f in folder.iterdir()}, {"ranks-1.sh", "ranks-2.sh", "submit.sh"})
        for file in folder.iterdir():
            subprocess.run(["bash", "-n", str(file)], check=True)
        job = (folder / "ranks-2.sh").read_text()
        self.assertIn("#SBATCH --ntasks=2\n", job)
        self.assertEqual(re.search(r"--array=1-(\d+)", job)[1], "2")
        self.assertEqual(re.findall(r"^(\d+)\)$", job, re.MULTILINE), ["1", "2"])
        self.assertNotIn("@", re.sub(r'"\$@"', "", job.split("launch()")[0]).replace("@WORDS@", ""))

        # each task as SLURM would start it, but for the launcher and the calibration
        (self.path / "srun").write_text('#!/bin/bash\nshift\n[ "$2" = calibrate ] || exec "$@"\n')
        (self.path / "srun").chmod(0o755)
        for task in ("1", "2"):
            environment = {**os.environ, "SLURM_ARRAY_TASK_ID": task, "PATH": f"{self.path}:{os.environ['PATH']}"}
            subprocess.run(["bash", str(folder / "ranks-1.sh")], env=environment, check=True, cwd="/", timeout=300)
        out, _ = self.study(STUDY, "--collect")
        self.assertIn("2 of 4 points", out)
        self.assertEqual(set(self.rows()), {("fixed", 1), ("tolerance", 1)})
        out, _ = self.study(STUDY, "--slurm", str(template))
        self.assertIn("1 array jobs", out)

    # Balls 5 cm above a floor reach it after 101 ms of fall, before the step 51 of 2 ms.
    FALL = STUDY.replace(f"{SOURCE}/configs/studies/cases/packing.yaml", "fall.yaml").replace(
        "kind: weak", "kind: strong").replace(re.search(r"scale: .*\n", STUDY)[0], "").replace(
        "tolerance: {relative: 1e-2, max_iterations: 50}\n", "").split("predict:")[0]
    FALLING = """catena: 1
name: fall
materials: {m: {density: 1000, friction: 0.5}}
generators:
  - container: {name: bin, material: m, size: [1, 1, .inf]}
  - lattice: {name: balls, material: m, shape: {sphere: {radius: 0.05}}, count: [3, 3, 1], spacing: 0.2,
              origin: [0.2, 0.2, 0.1]}
time: {step: 2 ms, end: 1 s}
"""

    def test_free_fall_is_warned_of_and_a_warm_up_goes_before(self):
        (self.path / "fall.yaml").write_text(self.FALLING)
        self.without_calibration()
        _, error = self.study(self.FALL, "--mpirun", MPIRUN)
        self.assertIn("no contact and no joint in any step of: fixed on 1, fixed on 2", error)
        self.assertIn("**Warning:** no contact", (self.path / "tiny" / "report.md").read_text())

        out, error = self.study(self.FALL + "warm_up: 52\n", "--mpirun", MPIRUN)
        self.assertIn("52 steps before the measured ones on 2 ranks", out)
        self.assertNotIn("no contact", error)
        self.assertEqual({row["contacts"] for row in self.rows().values()}, {"9"})
        profile = json.loads((self.path / "tiny" / "points" / "fixed-2-0" / "profile.json").read_text())
        self.assertEqual((profile["step"], profile["steps"]), (55, 3))
        self.assertIn("after 52 that are not measured", (self.path / "tiny" / "report.md").read_text())
        self.assertNotIn("before the measured", self.study(self.FALL + "warm_up: 52\n", "--mpirun", MPIRUN)[0])

        # the same state as a checkpoint of the user's
        start = self.path / "tiny" / "starts" / "1" / "checkpoint-00000052.h5"
        self.study(self.FALL + f"checkpoint: {start}\n", "--mpirun", MPIRUN)
        self.assertEqual({row["contacts"] for row in self.rows().values()}, {"9"})
        self.assertIn("excludes warm_up", self.study(
            self.FALL + f"checkpoint: {start}\nwarm_up: 2\n", "--collect", code=3)[1])
        self.assertIn("is not there", self.study(self.FALL + "checkpoint: none.h5\n", "--collect", code=3)[1])
        job = self.path / "tiny" / "slurm" / "ranks-2.sh"
        self.study(self.FALL + "warm_up: 51\n", "--slurm", str(pathlib.Path(SOURCE, "scripts", "templates", "slurm.sh")))
        self.assertIn("checkpoint-00000051.h5 ] || launch", job.read_text())

    MADE = STUDY.replace(f"case: {SOURCE}/configs/studies/cases/packing.yaml", 'make: [maker, "{n + 1}"]').replace(
        re.search(r"scale: .*\n", STUDY)[0], "").replace("tolerance: {relative: 1e-2, max_iterations: 50}\n", "").split("predict:")[0]

    def test_a_program_makes_the_case_of_each_rank_count(self):
        self.without_calibration()
        maker = self.path / "maker"
        maker.write_text("#!/bin/bash\nsed \"s/count: .3, 3, 1/count: [3, 3, $1/\" fall.yaml >$2\n")
        (self.path / "fall.yaml").write_text(self.FALLING)
        self.assertIn("maker is no program", self.study(self.MADE, "--collect", code=3)[1])
        maker.chmod(0o755)
        self.study(self.MADE, "--mpirun", MPIRUN)
        self.assertEqual({n: row["bodies"] for (_, n), row in self.rows().items()}, {1: "18", 2: "27"})

        self.assertIn("excludes case", self.study(self.MADE + "case: fall.yaml\n", "--collect", code=3)[1])
        self.assertIn("not made", self.study(self.MADE + "scale: [a=1]\n", "--collect", code=3)[1])
        self.assertIn("make: is for kind: weak", self.study(self.MADE.replace("weak", "strong"), "--collect", code=3)[1])
        maker.write_text("#!/bin/bash\necho no such wood >&2; exit 7\n")
        self.assertIn("ends with 7: no such wood", self.study(self.MADE, "--collect", code=3)[1])
        (self.path / "tiny" / "cases" / "1.yaml").unlink()
        maker.write_text("#!/bin/bash\n")
        self.assertIn("wrote no tiny/cases/1.yaml", self.study(self.MADE, "--collect", code=3)[1])

    def test_mistakes_are_told_with_their_place(self):
        for old, new, message in BROKEN:
            with self.subTest(new=new):
                self.assertEqual(STUDY.count(old), 1)
                self.assertIn(message, self.study(STUDY.replace(old, new), "--collect", code=3)[1])
        self.assertIn("--mpirun: no_mpirun is not there", self.study(STUDY, "--mpirun", "no_mpirun -n {ranks}", code=3)[1])
        self.assertIn("-o: study.yaml/points: Not a directory", self.study(STUDY, "-o", "study.yaml", code=3)[1])
        (self.path / "bare.sh").write_text("#!/bin/bash\n")
        self.assertIn("bare.sh: holds no @NAME@", self.study(STUDY, "--slurm", "bare.sh", code=3)[1])

    def test_studies_that_come_with_the_program_are_sound(self):
        folder = pathlib.Path(SOURCE, "configs", "studies")
        studies = [f for f in folder.glob("*.yaml") if re.search(r"^kind: ", f.read_text(), re.MULTILINE)]
        self.assertGreaterEqual(len(studies), 5)
        for file in studies:
            with self.subTest(file=file.name):
                text = re.sub(r"^(case: |make: \[)", rf"\g<1>{folder}/", file.read_text(), flags=re.MULTILINE)
                self.study(text, "--slurm", str(pathlib.Path(SOURCE, "scripts", "templates", "slurm.sh")))


class CostModel(unittest.TestCase):
    CONSTANTS = {"pack": {"value": 1e10}, "latency_node": {"value": 1e-6}, "overhead_node": {"value": 1e-7},
                 "bandwidth_node": {"value": 5e9}}

    NETWORK = {"name": "n", "latency": 5e-6, "overhead": 1e-6, "bandwidth": 1e10, "ranks_per_node": 8, "noise": 0.0}
    LOAD = {"bodies": 100.0, "contacts": 300.0, "imbalance": 1.0, "iterations": 10.0, "messages": 0.0, "bytes": 0.0,
            "collectives": 0.0, "box_exchanges": 0.0}

    def test_messages_cost_latency_by_rounds_and_overhead_by_number(self):
        machine = cost_model.Machine(self.CONSTANTS)
        # three messages sent and three received, in two rounds
        self.assertAlmostEqual(machine.waits(2, 2, 3), 2e-6 + 6e-7, 15)
        self.assertAlmostEqual(machine.transfer(2, 48000.0), 2.0 * 48000.0 / 1e10 + 48000.0 / 5e9, 15)

    def test_a_network_is_used_beyond_a_node(self):
        machine = cost_model.Machine(self.CONSTANTS, self.NETWORK, 1e-9)
        self.assertEqual(machine.path(8)[0], 1e-6)
        # half of the halo of a node's eight ranks leaves it, all eight at one card
        latency, _, per_byte = machine.path(16)
        self.assertEqual(latency, 5e-6)
        self.assertAlmostEqual(per_byte, 0.5 / 5e9 + 0.5 * 8 / 1e10, 20)
        # 96 bytes of each of 16 ranks for each of the node's eight ranks
        self.assertAlmostEqual(machine.gather(16, 96.0), 16 * 96 * 8 / 1e10, 15)

    def test_boxes_are_exchanged_within_groups_and_between_their_first_ranks(self):
        machine = cost_model.Machine(self.CONSTANTS, {**self.NETWORK, "ranks_per_node": 128}, 1e-9)
        # within a node: 384 bytes and eight boxes of each rank
        self.assertAlmostEqual(machine.box_exchange(64), 64 * 384 / 5e9 + 64 * 8e-9, 15)
        # 32 groups, two a node: rows of the 152 ranks around a cube of 64, from 26 groups
        within = 64 * 384 / 5e9 + 3 * 6 * 1.1e-6 + 152 * 392 / 5e9 + (64 + 152) * 8e-9
        between = 2 * 5 * 6e-6 + 5e-6 + 2 * 26e-6 + (32 * 48 + 152 * 392) * 2 / 1e10 + 32e-9
        self.assertAlmostEqual(machine.box_exchange(32 * 64), within + between, 15)
        # of a group's first rank: 64 ranks, and 3 groups
        self.assertEqual(cost_model.gathered_bytes(64), 64 * 384)
        self.assertEqual(cost_model.gathered_bytes(130), 64 * 384 + 3 * 48)

    def test_phases_grow_with_their_work_and_causes_add_up(self):
        phases = dict.fromkeys(cost_model.PHASES, 1.0)
        load = {**self.LOAD, "bodies": 50.0, "contacts": 200.0, "iterations": 15.0, "imbalance": 1.2, "messages": 30.0,
                "bytes": 9600.0, "collectives": 4.0}
        machine = cost_model.Machine(self.CONSTANTS)
        times, causes = cost_model.predict(self.LOAD, phases, load, 2, machine, 1.1)
        self.assertAlmostEqual(times["motion"], 0.5 * 1.2 * 1.1)
        self.assertAlmostEqual(times["rows"], 2.0 / 3.0 * 1.2 * 1.1)
        exchanged = machine.waits(2, 15 * 2 + cost_model.SEARCH_ROUNDS, 30.0) + machine.transfer(2, 9600.0)
        self.assertAlmostEqual(times["sweeps"], 2.0 / 3.0 * 1.5 * 1.2 * 1.1 + exchanged)
        self.assertAlmostEqual(sum(causes.values()), sum(times.values()))
        # five phases follow the bodies, three the contacts; sweeps alone have half as many iterations more
        work = 5 * 0.5 + 3 * 2.0 / 3.0
        self.assertAlmostEqual(causes["work"], work)
        self.assertAlmostEqual(causes["iterations"], 1.0 / 3.0)
        self.assertAlmostEqual(causes["imbalance"], 0.2 * (work + 1.0 / 3.0))
        self.assertAlmostEqual(causes["memory"], 0.1 * 1.2 * (work + 1.0 / 3.0))
        self.assertAlmostEqual(causes["messages"] + causes["bytes"], exchanged)
        self.assertAlmostEqual(causes["reductions"], 4 * 1.1e-6)
        self.assertEqual((causes["noise"], causes["gathers"]), (0.0, 0.0))

    def test_messages_of_joints_and_waits_of_all_take_rounds_of_the_network(self):
        phases = dict.fromkeys(cost_model.PHASES, 0.0)
        load = {**self.LOAD, "contacts": 0.0, "iterations": 1.0, "messages": 7.0, "collectives": 25.0}
        times, causes = cost_model.predict(load, phases, load, 8, cost_model.Machine(self.CONSTANTS), 1.0)
        self.assertAlmostEqual(times["sweeps"], 7 * (1e-6 + 2e-7), 15)
        # three rounds for eight ranks
        self.assertAlmostEqual(causes["reductions"], 25 * 3 * 1.1e-6, 15)

    def test_growth_is_that_of_the_last_three_rank_counts_above_one(self):
        a, b = cost_model.growth_of([(1, 5.0), (2, 7.0), (4, 12.0), (8, 13.0), (16, 14.0)])
        self.assertAlmostEqual(a, 10.0)
        self.assertAlmostEqual(b, 1.0)
        self.assertIsNone(cost_model.growth_of([(1, 5.0), (2, 11.0), (4, 12.0)]))

    def test_one_constant_at_a_time_is_changed(self):
        machine = cost_model.Machine(self.CONSTANTS, self.NETWORK, 1e-9)
        other, load = cost_model.with_factor(machine, self.LOAD, "latency", 2.0)
        self.assertEqual((other.network["latency"], machine.network["latency"], load), (1e-5, 5e-6, self.LOAD))
        other, load = cost_model.with_factor(machine, {**self.LOAD, "bytes": 3.0}, "bytes", 0.5)
        self.assertEqual((load["bytes"], other.network), (1.5, self.NETWORK))
        self.assertEqual(cost_model.with_factor(machine, self.LOAD, "pack", 2.0)[0].pack, 2e10)


# Three spheres in a row on the floor, which touch: with one on each rank a contact lies on each border.
ROW = """catena: 1
name: row
materials: {m: {density: 1000, friction: 0.5}}
bodies: [{name: floor, material: m, shape: {plane: {}}}]
generators:
  - lattice: {name: balls, material: m, shape: {sphere: {radius: 0.1}}, count: [COUNT, 1, 1], spacing: 0.199,
              origin: [0, 0, 0.0995]}
solver: {method: gauss_seidel, max_iterations: ITERATIONS, relative_tolerance: 0, absolute_tolerance: 0, keep_best: false}
time: {step: 1 ms, end: 4 ms}
output: {snapshot_interval: .inf}
"""


class CountedByHand(unittest.TestCase):
    """What the model takes from profiles is what a row of spheres exchanges, counted by hand."""

    def profile(self, ranks, iterations):
        with tempfile.TemporaryDirectory() as directory:
            text = ROW.replace("COUNT", str(8 * ranks)).replace("ITERATIONS", str(iterations))
            pathlib.Path(directory, "row.yaml").write_text(text)
            subprocess.run([*MPIRUN.format(ranks=ranks).split(), CATENA, "run", "row.yaml", "-o", "out", "--quiet"],
                           cwd=directory, check=True, timeout=300, capture_output=True)
            return json.loads(pathlib.Path(directory, "out", "profile.json").read_text())

    def test_messages_bytes_and_waits_of_a_row_on_two_and_three_ranks(self):
        for ranks in (2, 3):
            few, many = self.profile(ranks, 10), self.profile(ranks, 30)
            # each border's contact is one rank's, which needs one body and sends its change; its owner answers
            borders = ranks - 1
            iterations = many["iterations"] - few["iterations"]
            self.assertGreater(iterations, 40)
            self.assertEqual(ranks * few["per_rank"]["ghosts"]["mean"], borders)
            self.assertEqual(ranks * few["per_rank"]["shared"]["mean"], borders)

            def more(name, ranks=ranks, few=few, many=many):
                return ranks * (many["per_rank"][name]["mean"] - few["per_rank"][name]["mean"])
            self.assertAlmostEqual(more("messages"), iterations * cost_model.ROUNDS * borders, 6)
            self.assertAlmostEqual(more("bytes"), iterations * cost_model.ROUNDS * borders * cost_model.ITEM_BYTES, 6)
            # eight boxes of each rank once, in the first step; one wait for all in each iteration, up to one a step
            self.assertEqual(few["per_rank"]["gathered_bytes"], many["per_rank"]["gathered_bytes"])
            self.assertEqual(few["per_rank"]["gathered_bytes"]["max"], 8 * 6 * 8 * ranks)
            # which no step of its own asks for: not the start of a run, and not that of one that goes on
            self.assertEqual(scaling_report.box_exchanges_of(many), 0.0)
            gone_on = {**many, "step": 6, "per_rank": {"gathered_bytes": {"max": 3 * 8 * 6 * 8 * ranks}}}
            self.assertEqual(scaling_report.box_exchanges_of(gone_on), 1 / 4)
            self.assertAlmostEqual(more("collectives") / ranks, iterations, delta=few["steps"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
