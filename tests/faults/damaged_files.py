#!/usr/bin/python3
"""Checkpoints and snapshots that are cut short, have a bit turned, are other files or of another case: a
resume falls back to the older checkpoint or refuses, names the file, and never goes on from wrong numbers.

    damaged_files.py CATENA MPIEXEC [--flips 5] [--seed N]
"""
import os
import pathlib
import random
import shutil
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py is missing (Debian: python3-h5py)")
    sys.exit(77)

import program

SCENE = program.SCENE.replace("snapshot_interval: 2 ms", "snapshot_interval: 4 ms, checkpoint_steps: 2")
STEPS = 10
LOST = 6  # of the interrupted run: checkpoints of steps 4 and 6 are there


def flip(data, bit):
    data = bytearray(data)
    data[bit // 8] ^= 1 << (bit % 8)
    return bytes(data)


class Study:
    def __init__(self, catena, mpiexec, directory, report):
        self.catena, self.mpiexec, self.report = catena, mpiexec, report
        self.path = pathlib.Path(directory)
        self.out = self.path / "out"
        self.tried = 0

    def run(self, arguments, ranks=1):
        return program.run(self.mpiexec, self.catena, ranks, ["run", "scene.yaml", "-o", "out", "--quiet", *arguments],
                           self.path)

    def prepare(self):
        """The result of a whole run, and one that was stopped after LOST steps, as by a kill."""
        (self.path / "scene.yaml").write_text(SCENE)
        done = self.run([])
        self.report.expect(done.returncode == 0, "a whole run", done)
        self.wanted = {p.stem: p.read_bytes() for p in (self.out / "snapshots").iterdir()}
        shutil.rmtree(self.out)
        done = self.run(["--set", "time.end=%d ms" % (2 * LOST)])
        self.report.expect(done.returncode == 0, "half a run", done)
        for name in ("result.h5", "result.xdmf"):
            (self.out / name).unlink()
        shutil.rmtree(self.path / "half", ignore_errors=True)
        os.rename(self.out, self.path / "half")
        self.older, self.newer = sorted(p.name for p in (self.path / "half").glob("checkpoint-*.h5"))

    def restore(self):
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.copytree(self.path / "half", self.out)
        return self.out

    def expect_resumed(self, done, what):
        """Bit for bit the run that was never stopped."""
        self.report.expect(done.returncode == 0, what, done)
        if done.returncode != 0:
            return
        found = {p.stem: p.read_bytes() for p in (self.out / "snapshots").iterdir()}
        self.report.expect(found == self.wanted, what + ": other snapshots than the whole run")
        with h5py.File(self.out / "result.h5", "r") as f:
            steps = f["series/step"][()]
        self.report.expect(np.array_equal(steps, np.arange(1, STEPS + 1)), "%s: rows %s" % (what, steps))

    def expect_refused(self, done, names, what):
        self.report.expect(done.returncode in (3, 5), what, done)
        for name in names:
            self.report.expect(name in done.stderr, "%s: no word of %s" % (what, name), done)


def damages(data, flips):
    """What can happen to a file: name, content, and whether it must be noticed (a bit may turn in bytes
    that mean nothing)."""
    size = len(data)
    yield "empty", b"", True
    for length in (1, 512, size // 2, size - 1):
        yield "cut to %d of %d bytes" % (length, size), data[:length], True
    yield "text", b"not a checkpoint\n" * 100, True
    yield "zeros at its end", data[:size // 2] + bytes(size - size // 2), True
    # a length in HDF5's heap of texts, which has no checksum: HDF5 1.10 trusts it
    heap = data.find(b"GCOL")
    if heap >= 0:
        yield "length of a text beyond its heap", data[:heap + 24] + (1 << 40).to_bytes(8, "little") + data[heap + 32:], False
    for _ in range(flips):
        bit = random.randrange(8 * size)
        yield "bit %d of byte %d turned" % (bit % 8, bit // 8), flip(data, bit), False


def check_checkpoints(study, flips):
    data = (study.path / "half" / study.newer).read_bytes()
    noticed = 0
    for what, content, certain in damages(data, flips):
        (study.restore() / study.newer).write_bytes(content)
        done = study.run(["--resume"])
        study.expect_resumed(done, "newest checkpoint: " + what)
        told = study.newer in done.stderr
        study.report.expect(told or not certain, "newest checkpoint: %s: no word of it" % what, done)
        noticed += told
        study.tried += 1
    print("%d of %d damages of the newest checkpoint were noticed, all led to the same result" % (noticed, study.tried))
    for what, content, certain in damages(data, 0):
        if not certain:
            continue
        (study.restore() / study.newer).write_bytes(content)
        study.expect_refused(study.run(["--resume=out/" + study.newer]), [study.newer], "--resume=FILE: " + what)
        study.tried += 1
    out = study.restore()
    for name in (study.older, study.newer):
        (out / name).write_bytes(data[:1000])
    study.expect_refused(study.run(["--resume"], ranks=2), [study.older, study.newer], "both checkpoints")


def check_foreign(study):
    """Whole files, but of something else."""
    with_joint = SCENE.replace("count: [4, 4, 3]", "count: [4, 4, 4]")
    (study.path / "other.yaml").write_text(with_joint)
    done = program.run(study.mpiexec, study.catena, 1, ["run", "other.yaml", "-o", "other", "--quiet"], study.path)
    study.report.expect(done.returncode == 0, "another case", done)
    foreign = {"a snapshot": study.path / "half" / "snapshots" / "00000004.h5",
               "of another case": sorted((study.path / "other").glob("checkpoint-*.h5"))[-1]}
    for what, path in foreign.items():
        out = study.restore()
        before = sorted(p.name for p in out.iterdir())
        study.expect_refused(study.run(["--resume=" + str(path)]), [path.name], "--resume: " + what)
        study.report.expect(sorted(p.name for p in out.iterdir()) == before, what + ": the result is untouched")
        study.tried += 1


def check_snapshots(study):
    """A resume from step LOST keeps the snapshots up to it; one that is damaged is reported with its name, by
    the resume and by whoever rebuilds the index."""
    for what, content in (("empty", b""), ("cut", None), ("text", b"text\n")):
        out = study.restore()
        path = out / "snapshots" / "00000004.h5"
        path.write_bytes(path.read_bytes()[:1500] if content is None else content)
        done = program.run(study.mpiexec, study.catena, 1, ["info", "--rebuild", "out"], study.path)
        study.report.expect(done.returncode == 0 and "00000004.h5" in done.stdout + done.stderr,
                            "info --rebuild: %s snapshot" % what, done)
        done = study.run(["--resume"])
        study.report.expect("00000004" in done.stderr, "resume: %s snapshot: no word of it" % what, done)
        if done.returncode == 0:
            with h5py.File(study.out / "result.h5", "r") as f:
                for name in f["snapshots"]:
                    study.report.expect(f["snapshots"][name]["bodies/id"].shape == (49,), "link " + name)
        else:
            study.report.expect(done.returncode in (3, 5), "resume: %s snapshot" % what, done)
        study.tried += 1


def check_bits_of_snapshots(study, flips):
    """`catena info` of a snapshot tells any bit that has turned in its numbers."""
    out = study.restore()
    path = out / "snapshots" / "00000004.h5"
    data = path.read_bytes()
    done = program.run(study.mpiexec, study.catena, 1, ["info", str(path)], study.path)
    study.report.expect(done.returncode == 0 and "all good" in done.stdout, "info of a sound snapshot", done)
    with h5py.File(path, "r") as f:
        places = {name: (f[name].id.get_offset(), 8 * f[name].size) for name in
                  ("bodies/id", "bodies/position", "bodies/velocity", "contacts/point", "contacts/impulse")}
    for name, (begin, length) in list(places.items()) * max(1, flips // len(places)):
        if length == 0:
            continue
        path.write_bytes(flip(data, 8 * begin + random.randrange(8 * length)))
        done = program.run(study.mpiexec, study.catena, 1, ["info", str(path)], study.path)
        study.report.expect(done.returncode == 5 and "00000004.h5: /" + name in done.stderr, "a bit of " + name, done)
        study.tried += 1


def main():
    options = program.random_options(("--flips", {"type": int, "default": 5}))
    report = program.Report()
    with tempfile.TemporaryDirectory() as directory:
        study = Study(options.catena, options.mpiexec, directory, report)
        study.prepare()
        study.restore()
        study.expect_resumed(study.run(["--resume"]), "nothing is damaged")
        check_checkpoints(study, options.flips)
        check_foreign(study)
        check_snapshots(study)
        check_bits_of_snapshots(study, options.flips)
    print("%d damaged files, %d failures" % (study.tried, report.failures))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
