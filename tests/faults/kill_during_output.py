#!/usr/bin/python3
"""kill_during_output.py WRITE_SNAPSHOTS DIR MPIEXEC: kills the ranks with SIGKILL while they write and
checks that every finished snapshot can be read whole and that the index can be rebuilt."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py is missing (Debian: python3-h5py)")
    sys.exit(77)

import program


def ranks_of(mpirun):
    """Processes that this mpirun started."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(mpirun)], capture_output=True,
                            text=True).stdout
    return [int(pid) for pid in listed.split()]


def main():
    writer, directory, mpiexec = sys.argv[1:]
    finished = 0
    for delay in (0.05, 0.13, 0.21):
        shutil.rmtree(directory, ignore_errors=True)
        run = subprocess.Popen([mpiexec, "-n", "2", writer, directory],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        start = time.time()
        while time.time() - start < 60:
            if len(glob.glob(os.path.join(directory, "snapshots", "*.h5"))) >= 3:
                break
            time.sleep(0.01)
        time.sleep(delay)
        pids = ranks_of(run.pid)
        assert len(pids) == 2, pids
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        assert program.end_after_kill(run, pids)[0] == []

        files = sorted(glob.glob(os.path.join(directory, "snapshots", "*.h5")))
        assert len(files) >= 3, files
        for path in files:
            with h5py.File(path, "r") as f:
                assert np.array_equal(f["bodies/id"][()], np.arange(20000)), path
                assert f["bodies/position"].shape == (20000, 3), path
                assert f.attrs["step"] == int(os.path.basename(path)[:8]), path
        text = subprocess.run([writer, "--rebuild", directory], check=True, capture_output=True,
                              text=True).stdout
        assert "left out 0" in text and "snapshots           %d\n" % len(files) in text, text
        with h5py.File(os.path.join(directory, "result.h5"), "r") as f:
            assert len(f["snapshots"]) == len(files)
            assert len(f["series/time"]) >= len(files)
        finished += len(files)
    print("%d snapshots, all whole" % finished)


if __name__ == "__main__":
    main()
