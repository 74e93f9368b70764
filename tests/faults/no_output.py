#!/usr/bin/python3
"""Output that cannot be written: exit code 5 on all ranks, a message that names the place, no hang.

    no_output.py CATENA MPIEXEC
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import program


def own_mounts_work():
    """Whether this user may mount in a name space of his own."""
    try:
        return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"],
                              capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def main():
    catena, mpiexec = sys.argv[1:]
    report = program.Report()
    tried = 0
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "scene.yaml").write_text(program.SCENE)
        pathlib.Path(directory, "file").write_text("not a directory\n")
        os.mkdir(os.path.join(directory, "mounted"))
        run = ["run", "scene.yaml", "--quiet", "-o"]

        def expect(arguments, place, prefix=()):
            nonlocal tried
            for ranks in (1, 3):
                done = program.run(mpiexec, catena, ranks, arguments, directory, prefix)
                what = "%s on %d ranks" % (" ".join(prefix) + " " + place, ranks)
                report.expect(done.returncode == 5, what, done)
                report.expect(place in done.stderr, what, done)
                tried += 1

        expect(run + ["file"], "file: is a file")
        expect(run + ["file/below"], "file/below")
        expect(run + ["/proc/none"], "/proc/none")  # no directory can be made there, even by root
        report.expect(pathlib.Path(directory, "file").read_text() == "not a directory\n",
                      "the file is as it was")
        if own_mounts_work():
            mount = lambda options: ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o " + options +
                                     " none mounted && exec \"$@\"", "sh"]
            expect(run + ["mounted/out"], "mounted/out", mount("ro"))
            # full in the middle of the run: the start and some snapshots fit
            expect(run + ["mounted/out", "--set", "time.end=2"], "mounted/out", mount("size=400k"))
            # full before the first file
            expect(run + ["mounted/out"], "mounted/out", mount("size=8k"))
        else:
            print("no mounts of one's own here: disks that are full or read-only were not tried")
    print("%d runs, %d failures" % (tried, report.failures))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
