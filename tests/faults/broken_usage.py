#!/usr/bin/python3
"""Wrong usage and broken files through the program itself: exit code, one message, nothing written.

    broken_usage.py CATENA RANKS MPIEXEC
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

GOOD = "catena: 1\nname: good\ntime: {step: 1 ms, end: 10 ms}\n"
NATURAL = "catena: 1\nname: good\ntime: {stepper: natural, step: 1 ms, end: 10 ms}\n"

FILES = {
    "good.yaml": GOOD,
    "misspelt.yaml": GOOD + "solver:\n    max_sweep: 3\n",
    "empty.yaml": "",
    "table.yaml": GOOD + "materials: {m: {}}\ngenerators: [{table: {file: rows.csv, material: m}}]\n",
    "rows.csv": "radius,x,y,z\n1,2,3,4\n1,2,x,4\n",
    "no_table.yaml": GOOD + "materials: {m: {}}\ngenerators: [{table: {file: none.csv, material: m}}]\n",
    "long.yaml": GOOD + "materials: {m: {}}\nperiodic: {x: [0, 1]}\n"
                 "bodies: [{name: b, material: m, shape: {sphere: {radius: 1}}}]\n",
    "tilted.yaml": GOOD + "materials: {m: {}}\ndimension: 2\nbodies: [{name: b, material: m, "
                   "shape: {box: {size: [1, 2, 3]}}, orientation: {axis: [1, 0, 0], angle: 1}}]\n",
    "touching.yaml": NATURAL + "materials: {m: {}}\nbodies: [{name: a, material: m, shape: {sphere: {radius: 1}}}, "
                     "{name: b, material: m, shape: {sphere: {radius: 1}}, position: [1.9, 0, 0]}]\n",
    "limited.yaml": NATURAL + "bodies: [{name: a, mass: 1, inertia: [1, 1, 1]}]\n"
                    "joints: [{name: h, type: revolute, between: [world, a], at: [0, 0, 0], axis: [0, 0, 1], "
                    "limits: [-1, 1]}]\n",
    "rod.yaml": NATURAL + "bodies: [{name: a, mass: 1, inertia: [0, 1, 1]}]\n"
                "joints: [{name: h, type: revolute, between: [world, a], at: [0, 0, 0], axis: [0, 0, 1]}]\n",
    "pushed_point.yaml": NATURAL + "bodies: [{name: a, mass: 1, inertia: [0, 0, 0]}]\n"
                         "forces: [{name: f, type: force, body: a, force: [1, 0, 0], frame: body}]\n",
    "motors.yaml": GOOD + "bodies: [{name: a, mass: 1, inertia: [1, 1, 1]}]\njoints:\n"
                   "- {name: slow, type: revolute, between: [world, a], at: [0, 0, 0], axis: [0, 0, 1], "
                   "motor: {velocity: 1}}\n"
                   "- {name: fast, type: revolute, between: [world, a], at: [0, 0, 0], axis: [0, 0, 1], "
                   "motor: {velocity: 2}}\n",
    "flat.yaml": GOOD + "materials: {m: {}}\nbodies: [{name: b, material: m, shape: {hull: {vertices: "
                 "[[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]}}}]\n",
    "clash.yaml": GOOD + "materials: {m: {}}\nbodies: [{name: g-0, fixed: true}]\ngenerators: [{lattice: "
                  "{name: g, material: m, shape: {sphere: {radius: 0.1}}, spacing: 1}}]\n",
    "huge.yaml": GOOD + "materials: {m: {}}\ngenerators: [{lattice: {name: g, material: m, "
                 "shape: {sphere: {radius: 0.1}}, count: [10000, 10000, 1000], spacing: 0.3}}]\n",
    "not.hdf5": "this is no HDF5 file\n",
}

# arguments, exit code, what stderr holds
CASES = [
    ([], 3, "command line: "),
    (["jump"], 3, "command line: unknown subcommand 'jump'; known: run, check, plan, solve, calibrate, info"),
    (["rnu", "good.yaml"], 3, "command line: unknown subcommand 'rnu'; did you mean run?"),
    (["--resume", "chekc", "good.yaml"], 3, "command line: unknown subcommand 'chekc'; did you mean check?"),
    (["run", "good.yaml", "--max-walll", "1"], 3,
     "command line: unknown option '--max-walll' of catena run; did you mean --max-wall?"),
    (["run", "good.yaml", "--max-walll=1"], 3, "unknown option '--max-walll' of catena run; did you mean --max-wall?"),
    (["solve", "not.hdf5", "--tolerence", "1"], 3,
     "unknown option '--tolerence' of catena solve; did you mean --tolerance?"),
    (["info", "absent.h5", "-z"], 3, "command line: unknown option '-z' of catena info; did you mean -h?"),
    (["--verison"], 3, "unknown option '--verison' of catena; did you mean --version?"),
    (["calibrate", "-o", "good.yaml"], 3, "good.yaml: exists already"),
    (["calibrate", "-o", "none/c.json"], 5, "none: there is no such directory; make it, or choose another"),
    (["run"], 3, "command line: CASE is required"),
    (["run", "good.yaml", "--frobnicate"], 3, "command line: unknown option '--frobnicate' of catena run; "),
    (["run", "good.yaml", "--resume"], 3, "--resume: there is no checkpoint in ./good"),
    (["run", "good.yaml", "--resume=x.h5"], 5, "x.h5: no such file; check the path"),
    (["run", "good.yaml", "--resume=not.hdf5"], 5, "not.hdf5: is not an HDF5 file; name one of Catena's or of FCLIB's"),
    (["run", "good.yaml", "--from", "none"], 3, "--from: there is no "),
    (["run", "good.yaml", "-o", "good.yaml"], 5, "good.yaml: is a file, where the result's directory should be"),
    (["run", "good.yaml", "-o", "/proc/none"], 5,
     "/proc/none: cannot be prepared for a result: No such file or directory; choose another with -o"),
    (["run", "good.yaml", "--resume", "--force"], 3, "command line: "),
    (["run", "good.yaml", "--max-wall", "soon"], 3, "--max-wall: 'soon' is not a number"),
    (["run", "good.yaml", "--max-wall", "0"], 3, "--max-wall: '0' is out of range; must be > 0"),
    (["check", "good.yaml", "--", "-log_view"], 3, "--: '-log_view' stands after --"),
    (["run", "good.yaml", "--", "cg"], 3, "--: 'cg' is not an option of PETSc's"),
    (["run", "good.yaml", "--force", "--", "-catena_contact_ksp_typ", "cg"], 3,
     "-catena_contact_ksp_typ: no solver asked for this option"),
    (["run", "good.yaml", "second.yaml"], 3, "command line: "),
    (["run", "absent.yaml"], 5, "absent.yaml: no such file"),
    (["run", "."], 5, ".: is a directory"),
    (["run", "empty.yaml"], 3, "empty.yaml:1:1: empty"),
    (["run", "misspelt.yaml"], 3,
     "misspelt.yaml:5:5: solver.max_sweep: unknown key; did you mean solver.max_iterations?"),
    (["check", "misspelt.yaml"], 3, "misspelt.yaml:5:5: solver.max_sweep: unknown key"),
    (["plan", "misspelt.yaml", "-n", "2"], 3, "misspelt.yaml:5:5: solver.max_sweep: unknown key"),
    (["run", "good.yaml", "--set", "solver.max_sweep=3"], 3, "--set: solver.max_sweep: unknown key"),
    (["run", "--set", "time.step=0", "good.yaml"], 3, "--set: time.step: '0' is out of range"),
    (["check", "table.yaml"], 3, "rows.csv:3: 'x' is not a finite number"),
    (["run", "table.yaml"], 3, "rows.csv:3: 'x' is not a finite number"),
    (["run", "no_table.yaml"], 5, "none.csv: cannot be read"),
    (["run", "long.yaml"], 3,
     "long.yaml:6:10: bodies.b: body b is longer than half the periodic box along x"),
    (["run", "tilted.yaml"], 3,
     "tilted.yaml:6:10: bodies.b: body b has no principal axis of inertia along y"),
    (["run", "touching.yaml"], 3,
     "touching.yaml:3:8: time.stepper: natural: bodies a and b touch at t = 0 s"),
    (["run", "motors.yaml"], 3, "joints contradict each other"),
    (["run", "flat.yaml"], 3, "flat.yaml:5:33: bodies.b.shape: the points of a hull lie in one plane"),
    (["run", "clash.yaml"], 3, "clash.yaml:6:25: generators.g.name: the body 'g-0' has the name of one of these bodies"),
    (["run", "limited.yaml"], 3, "limited.yaml:5:10: joints.h.limits: limits are inequalities"),
    (["check", "limited.yaml"], 3, "limited.yaml:5:10: joints.h.limits: limits are inequalities"),
    (["run", "rod.yaml"], 3, "joint h needs a direction that its body b, a rod (one moment of inertia is zero)"),
    (["run", "pushed_point.yaml"], 3, "force f needs a direction that its body a, a point"),
    (["run", "rod.yaml", "--set", "time.stepper=spook"], 3,
     "rod.yaml:4:29: bodies.a.inertia: a moment of inertia is 0: a rod or a point; use time.stepper: natural"),
    (["plan", "good.yaml"], 3, "command line: -n is required"),
    (["plan", "good.yaml", "-n", "0"], 3, "command line: "),
    (["plan", "good.yaml", "-n", "two"], 3, "command line: "),
    (["plan", "huge.yaml", "-n", "4"], 3, "its 100000000000 bodies and 0 joints take"),
    (["plan", "good.yaml", "-n", "2", "--calibration", "none.json"], 5, "none.json: no such file; check the path"),
    (["plan", "good.yaml", "-n", "2", "--calibration", "good.yaml"], 3,
     "good.yaml:1:1: catena: unknown key; write it anew: catena calibrate -o FILE"),
    (["solve", "absent.hdf5"], 5, "absent.hdf5: no such file; check the path"),
    (["solve", "not.hdf5", "--report", "none/r.json"], 5, "none: there is no such directory; make it, or choose another"),
    (["solve", "not.hdf5"], 5, "not.hdf5"),
    (["solve", "not.hdf5", "--solver", "apgd"], 5, "not.hdf5: is not an HDF5 file"),
    (["solve", "not.hdf5", "--solver", "newton"], 3, "--solver: unknown value 'newton'"),
    (["solve", "not.hdf5", "--law", "columb"], 3, "--law: unknown value 'columb'; did you mean coulomb?"),
    (["solve", "not.hdf5", "--metric", "enrgy"], 3, "--metric: unknown value 'enrgy'; did you mean energy?"),
    (["solve", "not.hdf5", "--tolerance", "small"], 3, "--tolerance: 'small' is not a number"),
    (["solve", "not.hdf5", "--max-iterations", "1.5"], 3, "--max-iterations: '1.5' is not a whole number"),
    (["solve", "not.hdf5", "--time-limit", "1 m"], 3, "--time-limit: found m, needs s"),
    (["solve", "not.hdf5", "--set", "local=exakt"], 3, "--set: local: unknown value 'exakt'"),
    (["solve", "not.hdf5", "--report", "good.yaml"], 3, "good.yaml: exists already"),
    (["info"], 3, "info: needs a file"),
    (["info", "absent.h5"], 5, "absent.h5: no such file; check the path"),
    (["info", "--rebuild", "absent"], 5, "absent"),
]


# A check refuses whatever a run of the same case refuses, with the same words.
CASES += [(["check", *arguments[1:]], code, message) for arguments, code, message in CASES
          if arguments[:1] == ["run"] and len(arguments) > 1 and arguments[1].endswith(".yaml")
          and arguments[1] not in ("good.yaml", "misspelt.yaml")]

# What is tried on several ranks, too: one of each place where they have to agree that something is wrong.
ON_RANKS = [["run"], ["run", "good.yaml", "--resume"], ["run", "good.yaml", "--resume=not.hdf5"],
            ["run", "good.yaml", "--force", "--", "-catena_contact_ksp_typ", "cg"], ["run", "absent.yaml"],
            ["run", "misspelt.yaml"], ["run", "table.yaml"], ["run", "tilted.yaml"], ["run", "touching.yaml"],
            ["check", "touching.yaml"], ["check", "motors.yaml"], ["check", "flat.yaml"], ["rnu", "good.yaml"],
            ["solve", "not.hdf5"], ["solve", "not.hdf5", "--solver", "apgd"],
            ["solve", "not.hdf5", "--report", "good.yaml"], ["info", "absent.h5"]]


def main():
    catena, ranks, mpiexec = sys.argv[1], sys.argv[2], sys.argv[3]
    command = [catena] if ranks == "1" else [mpiexec, "-n", ranks, catena]
    cases = CASES if ranks == "1" else [case for case in CASES if case[0] in ON_RANKS]
    failures = 0
    with tempfile.TemporaryDirectory() as directory:
        for name, text in FILES.items():
            pathlib.Path(directory, name).write_text(text)
        before = sorted(os.listdir(directory))
        for arguments, code, message in cases:
            done = subprocess.run(command + arguments, cwd=directory, capture_output=True, text=True, timeout=300)
            wrong = []
            if done.returncode != code:
                wrong.append(f"exit code {done.returncode}, expected {code}")
            if done.stderr.count(message) != 1:
                wrong.append(f"expected once: {message}")
            if done.stdout.strip():
                wrong.append(f"stdout holds {done.stdout!r}")
            if arguments[:1] == ["run"] and (message.endswith("no solver asked for this option")
                                          or message.startswith("joints contradict")):
                # only the first solve can tell: the run has begun
                shutil.rmtree(pathlib.Path(directory, "good"))
            if sorted(os.listdir(directory)) != before:
                wrong.append(f"the directory holds {sorted(os.listdir(directory))}")
            if wrong:
                failures += 1
                print(" ".join(["catena", *arguments]), *wrong, done.stderr, sep="\n  ")
    print(f"{len(cases)} wrong uses on {ranks} ranks, {failures} not answered as they should be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
