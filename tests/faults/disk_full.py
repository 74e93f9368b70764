#!/usr/bin/python3
"""A disk that fills up in the middle of a run, in a mount of our own: exit code 5, what was written is
whole; the same where it has become read-only; and with more room the run resumes as if nothing had been.

    disk_full.py CATENA MPIEXEC
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py is missing (Debian: python3-h5py)")
    sys.exit(77)

import program

SCENE = program.SCENE.replace("end: 20 ms", "end: 200 ms").replace(
    "snapshot_interval: 2 ms", "snapshot_interval: 2 ms, checkpoint_steps: 3")
STEPS = 100
OWN_MOUNTS = "CATENA_TEST_OWN_MOUNTS"


def expect_whole(out, report, what):
    """Snapshots without a gap from 0 on, each readable to its end; a row per step up to the last."""
    files = sorted((out / "snapshots").glob("*.h5"))
    report.expect([int(p.stem) for p in files] == list(range(len(files))), "%s: snapshots %s" % (what, files))
    for path in files:
        with h5py.File(path, "r") as f:
            report.expect(np.array_equal(f["bodies/id"][()], np.arange(49)), "%s: %s" % (what, path))
            for name in f["bodies"]:
                report.expect(len(f["bodies"][name][()]) == 49, "%s: %s: %s" % (what, path, name))
    lines = (out / "series.csv").read_text().split("\n")[1:-1]
    rows = [int(float(line.split(",")[1])) for line in lines if line.count(",") == lines[0].count(",")]
    report.expect(rows == list(range(1, len(rows) + 1)), "%s: rows %s" % (what, rows))
    report.expect(len(rows) >= len(files) - 1, "%s: %d rows, %d snapshots" % (what, len(rows), len(files)))
    return len(files)


def expect_whole_vtk(out, count, report, what):
    """Indices of VTK's files name snapshots without a gap, and pieces that are there to their end."""
    for index in (out / "vtk").glob("*.pvd"):
        names = re.findall('file="(.*?)"', index.read_text())
        report.expect(names == ["%s-%08d.pvtp" % (index.stem, k) for k in range(len(names))], "%s: %s" % (what, names))
        # of the snapshot that met the full disk these may be there
        report.expect(len(names) in (count, count + 1), "%s: %d of %d in %s" % (what, len(names), count, index))
        for name in names:
            for piece in re.findall('Source="(.*?)"', (out / "vtk" / name).read_text()):
                report.expect((out / "vtk" / piece).read_bytes().endswith(b"</VTKFile>\n"), "%s: %s" % (what, piece))


def fill_and_resume(catena, mpiexec, directory, size, ranks, asynchronous, vtk, report):
    mounted = pathlib.Path(directory, "mounted")
    mounted.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % size, "none", mounted], check=True)
    what = "%d kB, %d ranks%s" % (size, ranks, ", asynchronous" if asynchronous else "") + (", vtk" if vtk else "")
    try:
        out = mounted / "out"
        run = ["run", "scene.yaml", "-o", "mounted/out", "--quiet"]
        run += ["--set", "output.asynchronous=%s" % str(asynchronous).lower(), "--set", "output.vtk=%s" % str(vtk).lower()]
        done = program.run(mpiexec, catena, ranks, run, directory)
        report.expect(done.returncode == 5 and "mounted/out" in done.stderr, what, done)
        found = expect_whole(out, report, what)
        expect_whole_vtk(out, found, report, what)
        checkpoints = sorted(p.name for p in out.glob("checkpoint-*.h5"))
        subprocess.run(["mount", "-o", "remount,ro,size=100m", mounted], check=True)
        done = program.run(mpiexec, catena, ranks, run + ["--resume" if checkpoints else "--force"], directory)
        report.expect(done.returncode == 5 and "mounted/out" in done.stderr, what + ": read-only", done)
        subprocess.run(["mount", "-o", "remount,rw", mounted], check=True)
        done = program.run(mpiexec, catena, ranks, run + ["--resume" if checkpoints else "--force"], directory)
        report.expect(done.returncode == 0, what + ": with more room", done)
        report.expect(expect_whole(out, report, what) == STEPS + 1, what + ": all snapshots after the resume")
        expect_whole_vtk(out, STEPS + 1, report, what)
        for path in (out / "snapshots").glob("*.h5"):
            same = path.read_bytes() == pathlib.Path(directory, "whole%d" % ranks, "snapshots", path.name).read_bytes()
            report.expect(same, "%s: %s is that of the undisturbed run" % (what, path.name))
        return "%s: %d snapshots, %s" % (what, found, checkpoints[-1] if checkpoints else "no checkpoint")
    finally:
        subprocess.run(["umount", mounted], check=True)


def main():
    catena, mpiexec = sys.argv[1:]
    if OWN_MOUNTS not in os.environ:
        # once more, in a name space in which we may mount
        tried = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
        if shutil.which("unshare") is None or subprocess.run(tried, capture_output=True).returncode != 0:
            print("skipped: no mounts of one's own here")
            return 77
        return subprocess.run(["unshare", "-m", sys.executable, *sys.argv],
                              env=dict(os.environ, **{OWN_MOUNTS: "1"})).returncode
    report = program.Report()
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "scene.yaml").write_text(SCENE)
        for ranks in (1, 2):
            done = program.run(mpiexec, catena, ranks, ["run", "scene.yaml", "-o", "whole%d" % ranks, "--quiet"], directory)
            report.expect(done.returncode == 0, "undisturbed run", done)
        # full at different moments: the file for which there is no room is a snapshot or a checkpoint
        for size, ranks, asynchronous, vtk in ((500, 1, True, False), (900, 2, False, False), (1100, 1, False, False),
                                               (1300, 2, True, False), (1800, 2, True, True)):
            print(fill_and_resume(catena, mpiexec, directory, size, ranks, asynchronous, vtk, report))
    print("%d failures" % report.failures)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
