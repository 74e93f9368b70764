#!/usr/bin/python3
"""Runs a strong or weak scaling study and writes its report (docs/scaling.md).

    catena study STUDY.yaml [-o DIR] [--catena PATH] [--mpirun COMMAND] [--ranks N [N ...]] [--repeats N] [--force]
    catena study STUDY.yaml [-o DIR] --slurm TEMPLATE
    catena study STUDY.yaml [-o DIR] --collect

A study (configs/studies/strong_packing.yaml is one) has the keys

    name        of the study; results go to ./NAME unless -o says otherwise
    kind        strong (the same scene on all rank counts) or weak (it grows with them)
    case        case file, relative to the study
    make        in place of case and scale (kind: weak): a program, relative to the study, that writes the case, and its
                options, in which {expressions} of n are worked out, too. The path of the file that it writes is
                added as the last one: [../../scripts/studies/tracks.py, --tracks, "{2 * n}", 2, --case]
    ranks       list of rank counts; the first one is the base
    set         overrides of the case, as for --set
    scale       more of them, in which {expressions} of n, the rank count, are worked out:
                "generators.grains.count=[20, 20, {20 * n}]"
    steps       time steps of a run (20)
    warm_up     time steps that come before them and are not measured (0): once for each rank count,
                with the case's own solver; its points go on from that checkpoint
    checkpoint  of a run of the case, relative to the study: all points go on from it (kind: strong;
                in place of warm_up)
    fixed       {iterations}: a run with so many iterations in every step
    tolerance   {relative, max_iterations (10000)}: a run to this part of the error at zero impulses
    repeats     runs of each point (3), made in turns; the fastest counts. With more ranks than cores one,
                of which counts are taken and no times
    predict     {ranks, network: {name, latency (s), overhead (s), bandwidth (B/s, of a node),
                ranks_per_node, noise (0)}, plan (no; yes: `catena plan` for each)}

At least one of fixed and tolerance is there. Points run through `mpirun`, each rank bound to a core
of its own where there are cores enough, else oversubscribed, which the report marks. --mpirun is
the command in place of `mpirun`; with it no options of Open MPI are used, and {ranks} stands for the
number of ranks. What was done with the same program and settings is not done again (--force does it
again). --ranks and --repeats take the place of the study's own. --slurm writes job scripts from a template
(scripts/templates/slurm.sh) into DIR/slurm instead of running; --collect makes the report of what has been done so far.

DIR holds points/, starts/ (warm-ups), cases/ (those of make), calibration-RANKS.json, results.csv,
predictions.csv, report.md and *.png.

Exit code: 0 done, 1 a run failed or none is done, 3 wrong usage or study.
Needs python3-yaml, python3-numpy, python3-matplotlib, python3-h5py.
"""
import argparse
import ast
import json
import math
import operator
import os
import re
import shlex
import shutil
import subprocess
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "studies"), os.path.join(HERE, "user")]
import _package  # noqa: E402, F401
from catena import study_file  # noqa: E402
from catena.study_file import StudyError  # noqa: E402

RUNS = ["fixed", "tolerance"]


# --- the study ----------------------------------------------------------------------------------

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow, ast.Mod: operator.mod, ast.USub: operator.neg}
FUNCTIONS = {"round": round, "ceil": math.ceil, "floor": math.floor, "sqrt": math.sqrt, "log2": math.log2, "min": min, "max": max}
ALLOWED = "only numbers, n, + - * / // ** % and " + ", ".join(FUNCTIONS)


def evaluate(node, n):
    """Value of arithmetic in n; ValueError for anything else."""
    if isinstance(node, ast.Expression):
        return evaluate(node.body, n)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name) and node.id == "n":
        return n
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](evaluate(node.left, n), evaluate(node.right, n))
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](evaluate(node.operand, n))
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) in FUNCTIONS and not node.keywords:
        return FUNCTIONS[node.func.id](*(evaluate(a, n) for a in node.args))
    raise ValueError(ALLOWED)


def scaled(text, n):
    """`text` with its {expressions} of n worked out."""
    def value(match):
        try:
            result = evaluate(ast.parse(match[1].strip(), mode="eval"), n)
        except SyntaxError as e:
            raise ValueError(f"'{match[1]}': {ALLOWED}") from e
        except (ValueError, ZeroDivisionError, OverflowError, TypeError) as e:
            raise ValueError(f"'{match[1]}': {e}") from e
        return repr(int(result)) if result == int(result) else repr(float(result))
    return re.sub(r"\{([^{}]*)\}", value, text)


def whole_numbers(top, key, default=study_file.REQUIRED):
    values = top.numbers(key, default, 1.0)
    if any(v != int(v) for v in values):
        top.refuse(key, "must be whole numbers")
    return [int(v) for v in values]


def read_network(item):
    network = {"name": item.word("name"), "latency": item.seconds("latency"), "overhead": item.seconds("overhead"),
               "bandwidth": item.number("bandwidth", least=1.0), "ranks_per_node": item.whole("ranks_per_node"),
               "noise": item.number("noise", 0.0)}
    item.finish()
    return network


def read_runs(top):
    """Overrides of the case by run."""
    runs = {}
    fixed = top.map("fixed", None)
    if fixed:
        n = fixed.whole("iterations")
        fixed.finish()
        runs["fixed"] = [f"solver.max_iterations={n}", "solver.relative_tolerance=0", "solver.absolute_tolerance=0",
                         "solver.keep_best=false", f"solver.check_interval={n}"]
    tolerance = top.map("tolerance", None)
    if tolerance:
        runs["tolerance"] = [f"solver.relative_tolerance={tolerance.number('relative')!r}",
                             f"solver.max_iterations={tolerance.whole('max_iterations', 10000)}"]
        tolerance.finish()
    if not runs:
        top.fail(top.node, "fixed", "is missing, and so is tolerance: one of them at least says what to run")
    return runs


def read_checkpoint_key(top, study, folder):
    study["checkpoint"] = os.path.abspath(os.path.join(folder, study["checkpoint"]))
    if study["kind"] == "weak":
        top.refuse("checkpoint", "is for kind: strong: a scene that grows has no common state; use warm_up")
    if study["warm_up"]:
        top.refuse("checkpoint", "excludes warm_up: one of them says where points begin")
    if not os.path.isfile(study["checkpoint"]):
        top.refuse("checkpoint", f"{study['checkpoint']} is not there; its path is relative to the study's file")


def read_case(top, folder):
    """The case file, None where it is made, and the words of the command that makes it, else none."""
    case, make = top.word("case", None), top.words("make", [])
    if not case and not make:
        top.fail(top.node, "case", "is missing, and so is make: one of them says what to run")
    if case and make:
        top.refuse("make", "excludes case: one of them says what to run")
    if case:
        case = os.path.join(folder, case)
        if not os.path.isfile(case):
            top.refuse("case", f"{case} is not there; its path is relative to the study's file")
        return case, make
    make[0] = os.path.join(folder, make[0])
    if not os.access(make[0], os.X_OK):
        top.refuse("make", f"{make[0]} is no program")
    return None, make


def read_study(path):
    top = study_file.read(path)
    folder = os.path.dirname(os.path.abspath(path))
    case, make = read_case(top, folder)
    study = {"file": path, "name": top.word("name"), "kind": top.word("kind", choices=["strong", "weak"]),
             "case": case, "make": make, "ranks": whole_numbers(top, "ranks"),
             "set": top.words("set", []), "scale": top.words("scale", []), "steps": top.whole("steps", 20),
             "warm_up": top.whole("warm_up", 0, least=0), "checkpoint": top.word("checkpoint", None),
             "repeats": top.whole("repeats", 3), "runs": read_runs(top), "predict": None}
    if not study["ranks"] or sorted(set(study["ranks"])) != study["ranks"]:
        top.refuse("ranks", "must ascend, and hold one number at least")
    grows = [key for key in ("scale", "make") if study[key]]
    if study["kind"] == "weak" and not grows:
        top.fail(top.node, "scale", "is missing: what grows with the ranks?")
    if study["kind"] == "strong" and grows:
        top.refuse(grows[0], "is for kind: weak")
    if len(grows) == 2:
        top.refuse("scale", "is for a case that is not made")
    if study["checkpoint"]:
        read_checkpoint_key(top, study, folder)
    try:
        for text in study["scale"] + make:
            scaled(text, study["ranks"][0])
    except ValueError as e:
        top.refuse(grows[0], str(e))
    predict = top.map("predict", None)
    if predict:
        study["predict"] = {"ranks": whole_numbers(predict, "ranks"), "network": read_network(predict.map("network")),
                            "plan": predict.word("plan", "no", ["yes", "no"]) == "yes"}
        predict.finish()
    top.finish()
    return study


# --- points -------------------------------------------------------------------------------------

class Study:
    """A study's points and the programs that run them. A point is (run, ranks, repeat)."""

    def __init__(self, args, study, directory):
        self.args, self.study, self.directory = args, study, directory
        self.points_directory = os.path.join(directory, "points")
        study_file.make_folder(self.points_directory)
        self.cores = len(os.sched_getaffinity(0))
        self.version = self.output(["--version"])
        self.step, self.made = {}, {}
        self.checkpoint_step = None

    def output(self, arguments):
        """What `catena` prints on one rank."""
        try:
            done = subprocess.run([self.args.catena] + arguments, capture_output=True, text=True)
        except OSError as e:
            raise StudyError(f"--catena: {self.args.catena}: {e.strerror}") from e
        if done.returncode != 0:
            raise StudyError(f"catena {' '.join(arguments[:2])} ends with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def points(self):
        """Repeats in turns, so that whatever disturbs the machine meets all points alike."""
        return [(run, ranks, repeat) for repeat in range(self.study["repeats"])
                for run in self.study["runs"] for ranks in self.study["ranks"]
                if repeat == 0 or not self.is_oversubscribed(ranks)]

    def is_oversubscribed(self, ranks):
        """As far as can be known here: --mpirun may start them anywhere."""
        return not self.args.mpirun and not self.args.slurm and ranks > self.cores

    def case(self, ranks):
        """The case file of a rank count, made when it is first asked for."""
        if not self.study["make"]:
            return self.study["case"]
        if ranks not in self.made:
            path = os.path.join(self.directory, "cases", f"{ranks}.yaml")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            words = [scaled(word, ranks) for word in self.study["make"]] + [path]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode != 0:
                raise StudyError(f"make: {shlex.join(words)} ends with {done.returncode}: {last_line(done.stderr)}")
            if not os.path.isfile(path):
                raise StudyError(f"make: {shlex.join(words)} wrote no {path}; is its last option the one that asks for it?")
            self.made[ranks] = path
        return self.made[ranks]

    def scene(self, ranks):
        """Overrides of the scene alone."""
        return self.study["set"] + [scaled(text, ranks) for text in self.study["scale"]]

    def overrides(self, run, ranks):
        scene = self.scene(ranks)
        if ranks not in self.step:  # checks the case and its overrides, too
            texts = scene + self.study["runs"][run]
            self.step[ranks] = yaml.safe_load(self.output(["check", self.case(ranks)] + set_options(texts)))["time"]["step"]
        end = (self.first_step() + self.study["steps"]) * float(self.step[ranks])
        return scene + self.study["runs"][run] + [
            f"time.end={end!r}", "output.snapshot_interval=.inf", "output.contacts=false", "output.series_steps=1"]

    def first_step(self):
        """Step that points go on from."""
        if self.study["checkpoint"] and self.checkpoint_step is None:
            text = self.output(["info", self.study["checkpoint"]])
            found = re.search(r"^ *step +(\d+)$", text, re.MULTILINE)
            if not found:
                raise StudyError(f"checkpoint: {self.study['checkpoint']} is no checkpoint of a run")
            self.checkpoint_step = int(found[1])
        return self.checkpoint_step if self.study["checkpoint"] else self.study["warm_up"]

    def start(self, ranks):
        """The checkpoint that a point goes on from; None for the case's own start."""
        if self.study["checkpoint"]:
            return self.study["checkpoint"]
        if not self.study["warm_up"]:
            return None
        return os.path.join(self.start_directory(ranks), f"checkpoint-{self.study['warm_up']:08d}.h5")

    def start_directory(self, ranks):
        return os.path.join(self.directory, "starts", str(ranks))

    def warm_up_arguments(self, ranks, catena=None):
        """The command line, after the launcher, of the steps before the measured ones."""
        end = self.study["warm_up"] * float(self.step[ranks])
        return [catena or self.args.catena, "run", self.case(ranks), "-o", self.start_directory(ranks), "--quiet",
                "--force"] + set_options(self.scene(ranks) + [
                    f"time.end={end!r}", "output.snapshot_interval=.inf", "output.contacts=false"])

    def warm_up_key(self, ranks):
        return {"version": self.version, "case": file_text(self.case(ranks)),
                "arguments": self.warm_up_arguments(ranks)[5:]}

    def warm_up(self, ranks):
        """Whether the checkpoint that points of a rank count go on from is there, after a run if need be."""
        if self.study["checkpoint"] or not self.study["warm_up"]:
            return True
        note = os.path.join(self.start_directory(ranks), "start.json")
        try:
            with open(note) as f:
                if json.load(f) == self.warm_up_key(ranks) and os.path.exists(self.start(ranks)):
                    return True
        except (OSError, ValueError):
            pass
        print(f"{self.study['warm_up']} steps before the measured ones on {ranks} ranks", flush=True)
        command, environment = self.launcher(ranks)
        done = subprocess.run(command + self.warm_up_arguments(ranks), env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"failed: warm-up on {ranks} ranks: exit code {done.returncode}: {last_line(done.stderr)}",
                  file=sys.stderr)
            return False
        with open(note, "w") as f:
            json.dump(self.warm_up_key(ranks), f, indent=1)
        return True

    def path(self, point):
        return os.path.join(self.points_directory, "-".join(str(p) for p in point))

    def arguments(self, point, catena=None):
        """The run's command line after the launcher."""
        run, ranks, _ = point
        start = self.start(ranks)
        return [catena or self.args.catena, "run", self.case(ranks), "-o", os.path.join(self.path(point), "result"),
                "--quiet", "--force" if start is None else "--resume=" + os.path.abspath(start)
                ] + set_options(self.overrides(run, ranks))

    def key(self, point):
        """All that a point depends on."""
        return {"version": self.version, "steps": self.study["steps"], "case": file_text(self.case(point[1])),
                "overrides": self.overrides(point[0], point[1]),
                "warm_up": self.study["warm_up"], "checkpoint": self.study["checkpoint"]}

    def launcher(self, ranks):
        """Command before the program, and its environment."""
        if self.args.mpirun:
            return [word.replace("{ranks}", str(ranks)) for word in shlex.split(self.args.mpirun)], None
        environment = {k: v for k, v in os.environ.items() if k not in (
            "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_mpi_yield_when_idle", "OMPI_MCA_hwloc_base_binding_policy")}
        command = ["mpirun", "-n", str(ranks)]
        if ranks <= self.cores:
            return command + ["--map-by", "core", "--bind-to", "core"], environment
        environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
        return command + ["--oversubscribe", "--bind-to", "none"], environment

    def prepare(self, point):
        """Notes what the point is; the profile of anything else is removed."""
        os.makedirs(self.path(point), exist_ok=True)
        note = os.path.join(self.path(point), "point.json")
        for old in ("profile.json", "series.csv"):
            if os.path.exists(os.path.join(self.path(point), old)):
                os.remove(os.path.join(self.path(point), old))
        with open(note, "w") as f:
            json.dump({"key": self.key(point), "run": point[0], "ranks": point[1], "repeat": point[2],
                       "cores": None if self.args.mpirun or self.args.slurm else self.cores,
                       "load": os.getloadavg()[0]}, f, indent=1)

    def is_done(self, point):
        try:
            with open(os.path.join(self.path(point), "point.json")) as f:
                same = json.load(f)["key"] == self.key(point)
            return same and os.path.exists(os.path.join(self.path(point), "profile.json"))
        except (OSError, ValueError, KeyError):
            return False

    def run(self, point):
        """Whether the run ended as it should."""
        self.prepare(point)
        command, environment = self.launcher(point[1])
        done = subprocess.run(command + self.arguments(point), env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"failed: {' '.join(map(str, point))}: exit code {done.returncode}: "
                  f"{last_line(done.stderr)}", file=sys.stderr)
            return False
        keep_profile(self.path(point))
        return True

    def calibration(self, ranks):
        return os.path.join(self.directory, f"calibration-{ranks}.json")

    def calibrate(self, ranks):
        """Once for each rank count that has a core for each rank."""
        path = self.calibration(ranks)
        if ranks > self.cores or (os.path.exists(path) and not self.args.force):
            return True
        command, environment = self.launcher(ranks)
        done = subprocess.run(command + [self.args.catena, "calibrate", "-o", path, "--force"], env=environment,
                              capture_output=True, text=True)
        if done.returncode != 0:
            print(f"failed: calibrate on {ranks} ranks: {done.stderr.strip()}", file=sys.stderr)
        return done.returncode == 0

    def plan(self, ranks):
        """What `catena plan` says of a rank count; kept."""
        path = os.path.join(self.directory, f"plan-{ranks}.txt")
        if not os.path.exists(path) or self.args.force:
            text = self.output(["plan", self.case(ranks), "-n", str(ranks)] + set_options(self.scene(ranks)))
            with open(path, "w") as f:
                f.write(text)
        return file_text(path)


def last_line(text):
    return (text.strip().splitlines() or ["no message"])[-1]


def set_options(texts):
    return [word for text in texts for word in ("--set", text)]


def file_text(path):
    with open(path) as f:
        return f.read()


def keep_profile(path):
    """Keeps profile and series of a point's result, nothing else."""
    result = os.path.join(path, "result")
    for name in ("series.csv", "profile.json"):
        os.replace(os.path.join(result, name), os.path.join(path, name))
    shutil.rmtree(result)


# --- SLURM --------------------------------------------------------------------------------------

def write_jobs(study, template):
    """One array job for each rank count, a task for each of its points; submit.sh submits them all."""
    text = file_text(template)
    for word in ("@NAME@", "@RANKS@", "@TASKS@", "@COMMANDS@"):
        if word not in text:
            raise StudyError(f"{template}: holds no {word}")
    folder = os.path.join(study.directory, "slurm")
    os.makedirs(folder, exist_ok=True)
    names = []
    for ranks in study.study["ranks"]:
        points = [p for p in study.points() if p[1] == ranks and (study.args.force or not study.is_done(p))]
        if not points:
            continue
        for point in points:
            study.prepare(point)
        job = text.replace("@NAME@", f"{study.study['name']}-{ranks}").replace("@RANKS@", str(ranks))
        job = job.replace("@TASKS@", str(len(points))).replace("@COMMANDS@", job_commands(study, points))
        names.append(f"ranks-{ranks}.sh")
        with open(os.path.join(folder, names[-1]), "w") as f:
            f.write(job)
    with open(os.path.join(folder, "submit.sh"), "w") as f:
        f.write('#!/bin/bash\ncd "$(dirname "$0")" || exit 1\n' + "".join(f"sbatch {name}\n" for name in names))
    os.chmod(os.path.join(folder, "submit.sh"), 0o755)
    return names


def job_commands(study, points):
    """A branch of the array's task for each point; the first one calibrates besides."""
    lines = ['case "$SLURM_ARRAY_TASK_ID" in']
    for k, point in enumerate(points, 1):
        path = os.path.abspath(study.path(point))
        words = study.arguments(point)
        start = study.start(point[1])
        words[2], words[4] = os.path.abspath(words[2]), os.path.join(path, "result")
        lines.append(f"{k})")
        if k == 1:
            calibration = os.path.abspath(study.calibration(point[1]))
            lines.append("  launch " + shlex.join([words[0], "calibrate", "-o", calibration, "--force"]))
        if start and not study.study["checkpoint"]:
            before = study.warm_up_arguments(point[1])
            before[2], before[4] = os.path.abspath(before[2]), os.path.abspath(before[4])
            lines.append(f"  [ -e {shlex.quote(os.path.abspath(start))} ] || "
                         f"launch {shlex.join(before)} || exit $?")
        lines.append("  launch " + shlex.join(words) + " || exit $?")
        lines.append(f"  mv {shlex.quote(path)}/result/profile.json {shlex.quote(path)}/result/series.csv "
                     f"{shlex.quote(path)}/")
        lines.append(f"  rm -r {shlex.quote(path)}/result")
        lines.append("  ;;")
    return "\n".join(lines + ["esac"])


# --- main ---------------------------------------------------------------------------------------

def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", metavar="STUDY.yaml", help="before --ranks")
    parser.add_argument("-o", "--output", metavar="DIR", help="default ./NAME of the study")
    parser.add_argument("--catena", metavar="PATH", default=study_file.default_catena(),
                        help="default that of CATENA or `catena study`, build/release/drivers/catena, or in PATH")
    parser.add_argument("--mpirun", metavar="COMMAND", help='in place of mpirun, such as "srun -n {ranks}"')
    parser.add_argument("--ranks", metavar="N", type=int, nargs="+", help="in place of the study's; the first one is the base")
    parser.add_argument("--repeats", metavar="N", type=int, help="in place of the study's")
    parser.add_argument("--slurm", metavar="TEMPLATE", help="write job scripts instead of running")
    parser.add_argument("--collect", action="store_true", help="report on what has been done")
    parser.add_argument("--force", action="store_true", help="do again what is there")
    return parser.parse_args()


def take_options(args, study):
    """What the command line has in place of the file's."""
    if args.ranks:
        if sorted(set(args.ranks)) != args.ranks or args.ranks[0] < 1:
            raise StudyError(f"--ranks: {' '.join(map(str, args.ranks))}: must ascend, from 1 on")
        study["ranks"] = args.ranks
    if args.repeats is not None:
        if args.repeats < 1:
            raise StudyError(f"--repeats: {args.repeats}: must be 1 or more")
        study["repeats"] = args.repeats


def run_all(study):
    """Number of points that failed."""
    failures = 0
    todo = [p for p in study.points() if study.args.force or not study.is_done(p)]
    for ranks in study.study["ranks"]:
        failures += not study.calibrate(ranks)
    started = {ranks: study.warm_up(ranks) for ranks in sorted({p[1] for p in todo})}
    for k, point in enumerate(todo, 1):
        if not started[point[1]]:
            failures += 1
            continue
        print(f"[{k}/{len(todo)}] {point[0]} on {point[1]} ranks, repeat {point[2] + 1}", flush=True)
        failures += not study.run(point)
    return failures


def main():
    try:
        args = arguments()
    except SystemExit as e:
        return 3 if e.code else 0
    try:
        if args.slurm and args.collect:
            raise StudyError("--slurm and --collect: one after the other")
        if not args.catena:
            raise StudyError("--catena: catena is not there; build it or name it")
        args.catena = os.path.abspath(args.catena)
        read = read_study(args.study)
        take_options(args, read)
        study = Study(args, read, args.output or read["name"])
        starter = study.launcher(1)[0][0]
        if not args.slurm and not args.collect and not shutil.which(starter):
            raise StudyError(f"--mpirun: {starter} is not there, which starts ranks; install openmpi-bin, "
                             "or name another; --collect reports on what is done")
        for ranks in read["ranks"]:
            for run in read["runs"]:
                study.overrides(run, ranks)
        if args.slurm:
            if not os.path.isfile(args.slurm):
                raise StudyError(f"--slurm: {args.slurm} is not there; {os.path.join(HERE, 'templates', 'slurm.sh')} is one")
            names = write_jobs(study, args.slurm)
            print(f"{len(names)} array jobs in {study.directory}/slurm; submit.sh submits them")
            return 0
        failures = 0 if args.collect else run_all(study)
        import scaling_report
        n, warnings = scaling_report.write(study)
    except StudyError as e:
        print(f"scaling_study.py: {e}", file=sys.stderr)
        return 3
    if n == 0:
        print("scaling_study.py: no point is done", file=sys.stderr)
        return 1
    for warning in warnings:
        print(f"scaling_study.py: warning: {warning}", file=sys.stderr)
    print(f"{n} of {len(study.points())} points in {study.directory}: report.md, results.csv, *.png")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
