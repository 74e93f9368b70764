#!/usr/bin/python3
"""catena.Simulation on ranks: the program's bits, a controller, and failures of one rank that hang none.

    simulation_mpi_test.py CATENA MPIEXEC SOURCE RANKS
"""
import pathlib
import subprocess
import sys
import tempfile

CATENA, MPIEXEC, SOURCE, RANKS = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve(), int(sys.argv[4])
ON_RANKS = pathlib.Path(__file__).resolve().parent / "simulation_on_ranks.py"


def start(*words, cwd=None):
    return subprocess.run([MPIEXEC, "-n", str(RANKS), *map(str, words)], capture_output=True, text=True,
                          timeout=300, check=False, cwd=cwd)


def succeeds(*words, cwd=None):
    done = start(*words, cwd=cwd)
    assert done.returncode == 0, f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def main():
    succeeds(sys.executable, ON_RANKS, "failures")
    succeeds(sys.executable, ON_RANKS, "pendulum")
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        succeeds(sys.executable, ON_RANKS, "additions", cwd=work)
        # split among ranks by the graph and anew every 10 steps, as it comes; and the same bits on any number
        case = (SOURCE / "tests/data/cases/deterministic_packing.yaml").read_text()
        for name, text in (("any", case), ("own", case.replace("deterministic: true, tile_bodies: 50, rebalance_steps: 20",
                                                               "rebalance_steps: 10"))):
            path = work / f"{name}.yaml"
            path.write_text(text.replace("end: 0.24 s", "end: 0.12 s"))
            succeeds(CATENA, "run", path, "-o", work / name, "--quiet")
            assert succeeds(sys.executable, ON_RANKS, path, work / name).count("done") == RANKS
    done = start(sys.executable, ON_RANKS, "uncaught")
    assert done.returncode != 0 and "outside of callbacks" in done.stderr, f"{done.returncode}\n{done.stderr}"
    ends_by_exit()
    return 0


def ends_by_exit():
    """sys.exit on one rank ends all with its status, and on all, or caught, it is what it always is."""
    for words, status in ((("exit", 3), 3), (("exit-in-step",), 7)):
        done = start(sys.executable, ON_RANKS, *words)
        assert done.returncode == status, f"{words}: exit {done.returncode}\n{done.stderr}"
    for words in (("exit-caught",), ("exit-together",)):
        assert succeeds(sys.executable, ON_RANKS, *words).count("done") == RANKS
    done = start(sys.executable, ON_RANKS, "exit", 0)
    if RANKS == 1:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode != 0 and f"rank {RANKS - 1} has ended its program" in done.stderr, done.stderr


if __name__ == "__main__":
    sys.exit(main())
