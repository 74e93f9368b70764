#!/usr/bin/python3
"""kill -9 of one rank of a run that writes a snapshot in every step, at random moments: what is finished
is whole, and `catena info --rebuild` makes the index again.

    kill_run.py CATENA MPIEXEC
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py is missing (Debian: python3-h5py)")
    sys.exit(77)

import program

COLUMNS = {"id": (), "position": (3,), "orientation": (4,), "velocity": (3,), "angular_velocity": (3,),
           "rank": ()}
CONTACTS = {"bodies": (2,), "point": (3,), "normal": (3,), "gap": (), "impulse": (3,)}
BODIES = 49


def ranks_of(mpirun):
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(mpirun)], capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]


def kill_one_rank(mpiexec, catena, directory, delay):
    """Of a run of two ranks, `delay` after its third snapshot."""
    snapshots = pathlib.Path(directory, "out", "snapshots")
    run = subprocess.Popen(program.command(mpiexec, catena, 2, ["run", "scene.yaml", "-o", "out", "--quiet"]),
                           cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        start = time.time()
        while time.time() - start < 60 and len(list(snapshots.glob("*.h5"))) < 3:
            time.sleep(0.005)
        time.sleep(delay)
        pids = ranks_of(run.pid)
        assert len(pids) == 2, pids
        os.kill(random.choice(pids), signal.SIGKILL)
        left, _ = program.end_after_kill(run, pids)
        assert not left, left
        return run.returncode
    finally:
        run.kill()


def expect_whole(path, report):
    with h5py.File(path, "r") as f:
        report.expect(np.array_equal(f["bodies/id"][()], np.arange(BODIES)), str(path) + ": ids")
        for name, shape in COLUMNS.items():
            values = f["bodies/" + name][()]
            report.expect(values.shape == (BODIES, *shape) and np.isfinite(values).all(),
                          "%s: bodies/%s" % (path, name))
        n = len(f["contacts/gap"])
        for name, shape in CONTACTS.items():
            report.expect(f["contacts/" + name][()].shape == (n, *shape), "%s: contacts/%s" % (path, name))
        report.expect(f.attrs["step"] == int(path.stem), str(path) + ": step")


def main():
    options = program.random_options()
    report = program.Report()
    finished = 0
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "scene.yaml").write_text(program.SCENE.replace("end: 20 ms", "end: 200"))
        for _ in range(3):
            out = pathlib.Path(directory, "out")
            shutil.rmtree(out, ignore_errors=True)
            code = kill_one_rank(options.mpiexec, options.catena, directory, random.uniform(0.0, 0.5))
            report.expect(code != 0, "mpirun says that a rank was killed")
            files = sorted((out / "snapshots").glob("*.h5"))
            report.expect(len(files) >= 3, "%d snapshots" % len(files))
            for path in files:
                expect_whole(path, report)
            done = program.run(options.mpiexec, options.catena, 1, ["info", "--rebuild", "out"], directory)
            report.expect(done.returncode == 0, "info --rebuild", done)
            with h5py.File(out / "result.h5", "r") as f:
                report.expect(sorted(f["snapshots"]) == [path.stem for path in files], "snapshots linked")
                for name in f["snapshots"]:
                    report.expect(f["snapshots"][name]["bodies/id"].shape == (BODIES,), "link " + name)
                # rows are written when they are full: at least the steps before the last snapshot's
                report.expect(len(f["series/time"]) >= len(files) - 2,
                              "%d rows of %d snapshots" % (len(f["series/time"]), len(files)))
                report.expect(f["bodies/mass"].shape == (BODIES,), "constants linked")
            finished += len(files)
    print("%d snapshots, %d failures" % (finished, report.failures))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
