#!/usr/bin/python3
"""One body without measure: every rank ends with exit code 6, the body is named, its step is dumped and
explained; so is a step that misses its tolerance where that ends a run (exit code 4).

    blow_up.py CATENA MPIEXEC
"""
import json
import os
import pathlib
import sys
import tempfile

import program

# the wild body has the highest id: the others are spoilt by it
WILD = "  - table: {name: wild, file: wild.csv, material: m}\n"
HEADER = "radius,x,y,z,vx,vy,vz,wx,wy,wz\n"

# position, velocity, angular velocity; all but the second fly into the others
ROWS = {
    "squares overflow": "0.1,0.1,0.1,0.7,0,0,-1e200,0,0,0",
    "alone": "0.1,50,0,7,0,1e9,0,0,0,0",
    "spoils what it hits": "0.1,0.1,0.1,0.7,0,0,-1e100,0,0,0",
    "just run away": "0.1,0.1,0.1,0.7,0,0,-1e12,0,0,0",
    "spins": "0.1,0.1,0.1,0.7,0,0,0,0,0,1e160",
}


def main():
    catena, mpiexec = sys.argv[1:]
    report = program.Report()
    with tempfile.TemporaryDirectory() as directory:
        text = program.SCENE.replace("time: {", WILD + "time: {")
        pathlib.Path(directory, "scene.yaml").write_text(text)
        for name, row in ROWS.items():
            pathlib.Path(directory, "wild.csv").write_text(HEADER + row + "\n")
            for ranks in (1, 2, 3) if name == "spoils what it hits" else (2,):
                done = program.run(mpiexec, catena, ranks,
                                   ["run", "scene.yaml", "-o", "out", "--force", "--quiet",
                                    "--set", "solver.method=gauss_seidel"], directory)
                what = "%s on %d ranks" % (name, ranks)
                report.expect(done.returncode == 6, what, done)
                report.expect("step 1: the state of body wild-0 (id 49) is not finite" in done.stderr,
                              what, done)
                files = os.listdir(os.path.join(directory, "out"))
                report.expect("blow-up-00000000.hdf5" in files and "result.h5" in files,
                              what + ": " + " ".join(files))
                found = json.loads(pathlib.Path(directory, "out/post-mortem-00000001.json").read_text())
                report.expect(found["cause"] == "blow_up" and found["reasons"][0] == "fast_motion"
                              and found["motion_per_step"]["body"] == "wild-0"
                              and found["advice"] in done.stderr, what + ": " + found["advice"], done)
        # what was dumped can be looked at
        dump = "out/blow-up-00000000.hdf5"
        done = program.run(mpiexec, catena, 1, ["info", dump], directory)
        report.expect(done.returncode == 0 and "contacts" in done.stdout, "info of the dump", done)
        # no state is unsound yet, but the numbers of the contacts overflow
        text = text.replace("{density: 1000, friction: 0.5}", "{density: 1e300}")
        pathlib.Path(directory, "scene.yaml").write_text(text.replace(WILD, ""))
        done = program.run(mpiexec, catena, 2, ["run", "scene.yaml", "-o", "out", "--force", "--quiet",
                                                "--set", "generators.grains.shape.sphere.radius=0.101"],
                           directory)
        report.expect(done.returncode == 6 and "the heaviest is body grains-0 (id 1)" in done.stderr,
                      "overflow", done)
        # a tolerance that no step meets
        pathlib.Path(directory, "scene.yaml").write_text(program.SCENE)
        done = program.run(mpiexec, catena, 2, ["run", "scene.yaml", "-o", "stop", "--quiet", "--set",
                                                "solver.on_missed_tolerance=stop", "--set",
                                                "solver.max_iterations=2", "--set",
                                                "generators.grains.spacing=0.199", "--set",
                                                "solver.relative_tolerance=1e-12"], directory)
        report.expect(done.returncode == 4, "stop", done)
        path = sorted(pathlib.Path(directory, "stop").glob("post-mortem-*.json"))[0]
        found = json.loads(path.read_text())
        energies = [w["error_J"] for w in found["worst"]]
        report.expect(found["cause"] == "tolerance_missed" and len(energies) == 10
                      and energies == sorted(energies, reverse=True)
                      and sum(energies) <= found["error_energy_J"] * (1 + 1e-12), "post-mortem")
        dump = "stop/step-%08d.hdf5" % found["step"]
        done = program.run(mpiexec, catena, 1, ["info", dump], directory)
        report.expect(done.returncode == 0 and "contacts" in done.stdout, "info of the step", done)
        # the state before it is there: with another solver the run goes on
        done = program.run(mpiexec, catena, 2, ["run", "scene.yaml", "-o", "stop", "--quiet", "--resume",
                                                "--set", "generators.grains.spacing=0.199"], directory)
        report.expect(done.returncode == 0, "resumed before the failed step", done)
    print("%d failures" % report.failures)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
