#!/usr/bin/python3
"""Time, memory and file rates of a case by phase over its size.

    scripts/studies/size_study.py [CASE.yaml] [--edges 63 100 171] [--ranks 2] [--catena PROGRAM] [-o DIR] [--csv FILE]

Runs the case (configs/studies/million.yaml if not given) with a lattice `grains` of edge^3 bodies for each
edge, and prints a Markdown table. Memory is the peak of the largest rank in that phase alone. Files are
held against the disk: as many bytes, written by one process and synced, right before and after the run.
Needs Linux (/proc) and room for the files in DIR, which is emptied of them afterwards.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEGABYTE = 1e6


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="?", default=str(ROOT / "configs" / "studies" / "million.yaml"))
    parser.add_argument("--edges", type=int, nargs="+", default=[63, 100, 171])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--catena", default=str(ROOT / "build" / "release" / "drivers" / "catena"))
    parser.add_argument("--mpirun", default="mpirun --oversubscribe")
    parser.add_argument("--set", action="append", default=[], help="passed on to catena")
    parser.add_argument("--timeout", type=float, default=1800, help="of one run, s")
    parser.add_argument("--csv", help="the same numbers as a file")
    parser.add_argument("-o", "--directory", help="where to run; a temporary directory")
    return parser.parse_args()


class Ranks:
    """The processes of a run, by their entries in /proc."""

    def __init__(self, mpirun):
        self.mpirun = mpirun
        self.pids = []

    def find(self):
        listed = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(self.mpirun)], capture_output=True, text=True)
        self.pids = [int(pid) for pid, name in (line.split() for line in listed.stdout.splitlines())
                     if name.startswith("catena")]

    def take_peak(self):
        """Largest rank's peak of resident memory since the last call, MB."""
        peak = 0.0
        for pid in self.pids:
            try:
                status = pathlib.Path("/proc/%d/status" % pid).read_text()
                pathlib.Path("/proc/%d/clear_refs" % pid).write_text("5")
            except OSError:
                continue  # it has ended
            for line in status.splitlines():
                if line.startswith("VmHWM:"):
                    peak = max(peak, float(line.split()[1]) * 1024 / MEGABYTE)
        return peak


def rows_of(path):
    try:
        return path.read_bytes().count(b"\n") - 1
    except FileNotFoundError:
        return -1


def wait_for(condition, run, ranks, deadline):
    """Peak of memory and time at which `condition` became true."""
    while not condition():
        if run.poll() is not None or time.time() > deadline:
            return None
        if len(ranks.pids) == 0:
            ranks.find()
        time.sleep(0.005)
    return time.time(), ranks.take_peak()


def disk_seconds(directory, size):
    """To write `size` bytes and sync them, by one process."""
    block = os.urandom(1 << 23)
    path = pathlib.Path(directory, "probe")
    start = time.time()
    with open(path, "wb", buffering=0) as f:
        for begin in range(0, size, len(block)):
            f.write(block[:min(len(block), size - begin)])
        os.fsync(f.fileno())
    seconds = time.time() - start
    path.unlink()
    return seconds


def phases_of(out, steps):
    """Name of each phase and what shows that it is over, in the order of a run."""
    def started():
        try:
            return '"start: ' in (out / "log.jsonl").read_text()
        except FileNotFoundError:
            return False

    def some(pattern):
        return lambda: bool(list(out.glob(pattern)))

    return [("set up", lambda: (out / "log.jsonl").exists()), ("bodies.h5", started),
            ("first snapshot", some("snapshots/00000000.h5")),
            ("steps", lambda: rows_of(out / "series.csv") >= steps),
            ("last snapshot", some("snapshots/%08d.h5" % steps)),
            ("checkpoint", some("checkpoint-%08d.h5" % steps))]


def run_once(options, edge, steps, directory):
    """One row of the table, or None if the run failed."""
    out = pathlib.Path(directory, "out")
    shutil.rmtree(out, ignore_errors=True)
    command = options.mpirun.split() + ["-n", str(options.ranks), options.catena, "run", options.case, "-o", str(out),
                                        "--quiet", "--set", "generators.grains.count=[%d, %d, %d]" % (3 * (edge,))]
    for text in options.set:
        command += ["--set", text]
    row = {"bodies": edge**3}
    start = time.time()
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        ranks = Ranks(run.pid)
        last = start
        for name, over in phases_of(out, steps):
            ended = wait_for(over, run, ranks, start + options.timeout)
            # the last file may be there and the run over between two looks
            if ended is None and over():
                ended = time.time(), ranks.take_peak()
            if ended is None:
                run.kill()
                print("%d bodies: no end of %s: %s" % (edge**3, name, run.stderr.read()), file=sys.stderr)
                return None
            row[name + " s"], row[name + " MB"] = ended[0] - last, ended[1]
            last = ended[0]
        code = run.wait(timeout=options.timeout)
    finally:
        run.kill()
    row["total s"] = time.time() - start
    if code != 0:
        print("%d bodies: exit code %d: %s" % (edge**3, code, run.stderr.read()), file=sys.stderr)
        return None
    with open(out / "series.csv") as series:
        table = list(csv.DictReader(series))
    row["contacts"] = int(float(table[-1]["contacts [1]"]))
    row["step s"] = min(float(line["step_wall_s [s]"]) for line in table)
    row["split s"] = 0.0
    for line in open(out / "log.jsonl"):
        row["split s"] = json.loads(line).get("setup_s", row["split s"])
        written = re.match(r"checkpoint \S+ in (\S+) s", json.loads(line)["text"])
        if written:
            row["checkpoint s"] = float(written.group(1))
    for name in ("bodies.h5", "first snapshot", "checkpoint", "last snapshot"):
        path = {"bodies.h5": "bodies.h5", "first snapshot": "snapshots/00000000.h5",
                "checkpoint": "checkpoint-%08d.h5" % steps, "last snapshot": "snapshots/%08d.h5" % steps}[name]
        if (out / path).exists():
            row[name + " bytes"] = os.path.getsize(out / path)
    return row


def measure(options, edge, steps, directory):
    before = None
    if getattr(options, "last_size", None):
        size = int(options.last_size * edge**3)
        before = size / disk_seconds(directory, size)
    row = run_once(options, edge, steps, directory)
    if row is None:
        return None
    size = row["last snapshot bytes"]
    options.last_size = size / edge**3
    after = size / disk_seconds(directory, size)
    row["disk MB/s"] = ((before or after) + after) / 2 / MEGABYTE
    for name in ("last snapshot", "checkpoint"):
        if name + " bytes" in row:
            row[name + " MB/s"] = row[name + " bytes"] / row[name + " s"] / MEGABYTE
    return row


def show(rows):
    names = [name for name in rows[0] if not name.endswith("bytes")]
    print("| | " + " | ".join("%d" % row["bodies"] for row in rows) + " |")
    print("|---|" + "---|" * len(rows))
    for name in names[1:]:
        print("| %s | " % name + " | ".join("%.4g" % row[name] if name in row else "" for row in rows) + " |")


def main():
    options = arguments()
    printed = subprocess.run([options.catena, "check", options.case] + [a for s in options.set for a in ("--set", s)],
                             capture_output=True, text=True, check=True).stdout
    import yaml

    times = yaml.safe_load(printed)["time"]
    steps = round(times["end"] / times["step"])
    rows = []
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        for edge in options.edges:
            row = measure(options, edge, steps, directory)
            if row is None:
                return 1
            rows.append(row)
            print("%d bodies: %.1f s" % (row["bodies"], row["total s"]), file=sys.stderr, flush=True)
    show(rows)
    if options.csv:
        with open(options.csv, "w", newline="") as f:
            out = csv.DictWriter(f, fieldnames=sorted({name for row in rows for name in row}))
            out.writeheader()
            out.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
