#!/usr/bin/python3
"""The wheel in a fresh environment: results, runs, simulations and scripts work, and without mpirun one message says so.

    wheel_test.py SOURCE EXTENSION PROGRAM
"""
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE, EXTENSION, PROGRAM = (pathlib.Path(p).resolve() for p in sys.argv[1:])

USE = """
import os, sys
import catena
assert catena.__file__.startswith(sys.prefix), catena.__file__
case = {"catena": 1, "name": "fall", "time": {"step": "1 ms", "end": "20 ms"},
        "bodies": [{"name": "ball", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 5]}]}
result = catena.run(case, out="out", progress=False)
with catena.Simulation(case) as sim:
    sim.run()
    assert (sim.body("ball").position == result[-1].position[0]).all()
try:
    catena.run(case, ranks=2, out="two")
except catena.CatenaError as e:
    print(e)
"""


def run(*words, **options):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300, check=False, **options)
    assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def main():
    outside = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "CATENA")}
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        run(sys.executable, SOURCE / "python/make_wheel.py", "0.1.0", EXTENSION, PROGRAM, work)
        wheel, = work.glob("catena-0.1.0-*.whl")
        assert "any" not in wheel.name, wheel.name
        run(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", work / "env", env=outside)
        python = work / "env/bin/python"
        run(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", wheel,
            env=outside)
        (work / "nothing").mkdir()
        said = run(python, "-c", USE, cwd=work, env={**outside, "PATH": str(work / "nothing")})
        assert said.count("\n") == 1 and "install openmpi-bin, or take ranks=1" in said, said
        assert "usage" in run(work / "env/bin/catena", "vtk", "--help", env=outside)
        assert "usage" in run(work / "env/bin/catena", "study", "scaling", "--help", env=outside)
        assert (work / "env/libexec/catena/templates/slurm.sh").is_file()
    return 0


if __name__ == "__main__":
    sys.exit(main())
