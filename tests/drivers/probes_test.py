#!/usr/bin/python3
"""What probes write, and controllers do by it: the same bytes on any number of ranks in deterministic mode, and
from a run that was stopped within an interval and resumed on another number; in result.h5 the same numbers with
their units; what plot_series.py makes of it.

    probes_test.py CATENA MPIEXEC CASE PLOT_SERIES
"""
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy

CATENA, MPIEXEC, CASE, PLOT = sys.argv[1:5]
DETERMINISTIC = ["--set", "parallel.deterministic=true"]


def run(ranks, directory, *options):
    done = subprocess.run([MPIEXEC, "-n", str(ranks), CATENA, "run", CASE, "-o", str(directory), "--quiet",
                           *options], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{options}: exit {done.returncode}\n{done.stderr}"


def tables(directory):
    return {path.name: path.read_bytes() for path in sorted((directory / "probes").glob("*.csv"))}


def compare(found, expected, what):
    assert found.keys() == expected.keys(), found.keys()
    other = [name for name in expected if found[name] != expected[name]]
    assert not other, f"{what}: different: {', '.join(other)}"
    print(what + ": the same")


def look_at_index(directory):
    """Each column is a dataset with its unit."""
    with h5py.File(directory / "result.h5") as result:
        for path in (directory / "probes").glob("*.csv"):
            header, *rows = path.read_text().splitlines()
            values = numpy.array([[float(x) for x in row.split(",")] for row in rows])
            group = result["probes/" + path.stem]
            names = [field.split(" [")[0] for field in header.split(",")]
            assert set(group) == set(names), path
            for k, field in enumerate(header.split(",")):
                assert group[names[k]].attrs["unit"] == field.split(" [")[1].rstrip("]"), field
                assert numpy.array_equal(group[names[k]][()], values[:, k], equal_nan=True), field
        load = result["probes/plate_load"]
        assert {"force_z_mean", "force_z_min", "force_z_max", "force_z"} <= set(load)
        assert numpy.allclose(load["time"], 0.02 * numpy.arange(1, 17))
        # held at its centre of mass: the hinge bears its weight and what falls on it
        weight = 0.4 * 0.9 * 0.05 * 7800 * 9.81
        assert numpy.allclose(load["force_z_mean"], weight, rtol=1e-3), load["force_z_mean"][()]
        assert load["contact_force_z_min"][()].min() < -20.0
        # what the probe of every step says, over 20 ms
        steps = result["probes/bottom/force_z"][()]
        assert len(steps) == 160 and steps.min() < -10.0
        assert result["probes/fall/number"][-1] > 10
        # towards the controller's target
        assert abs(result["probes/hinge/angle"][-1] - 0.05) < 0.04, result["probes/hinge/angle"][()]


def main():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        run(1, work / "one", *DETERMINISTIC)
        expected = tables(work / "one")
        assert len(expected) == 9
        for ranks in (3, 4):  # on two it is resumed below
            run(ranks, work / f"np{ranks}", *DETERMINISTIC)
            compare(tables(work / f"np{ranks}"), expected, f"{ranks} ranks")
        # 90 ms are no multiple of the intervals
        run(3, work / "parts", *DETERMINISTIC, "--set", "time.end=90 ms")
        run(2, work / "parts", *DETERMINISTIC, "--resume")
        compare(tables(work / "parts"), expected, "stopped on 3 ranks, resumed on 2")
        # a run that goes back to an older checkpoint drops later rows
        run(1, work / "parts", *DETERMINISTIC, "--set", "output.checkpoint_steps=50", "--force")
        checkpoint = work / "parts" / "checkpoint-00000150.h5"
        run(2, work / "parts", *DETERMINISTIC, f"--resume={checkpoint}")
        compare(tables(work / "parts"), expected, "resumed from step 150 of 160")
        run(2, work / "free")
        free = tables(work / "free")
        assert free.keys() == expected.keys() and free != expected  # a comparison that can fail
        look_at_index(work / "free")
        picture = work / "probe.png"
        subprocess.run([sys.executable, PLOT, str(work / "free"), "--probe", "plate_load", "-o", str(picture)],
                       check=True, timeout=300, stdout=subprocess.DEVNULL)
        assert picture.stat().st_size > 10000
        wrong = subprocess.run([sys.executable, PLOT, str(work / "free"), "--probe", "plate"], timeout=300,
                               capture_output=True, text=True, check=False)
        assert wrong.returncode != 0 and "plate_load" in wrong.stderr
    return 0


if __name__ == "__main__":
    sys.exit(main())
