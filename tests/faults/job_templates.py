#!/usr/bin/python3
"""The job scripts of scripts/templates against stand-ins for SLURM: what they start, what they do with
signals and exit codes.

    job_templates.py TEMPLATES_DIR
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import program

# As SLURM's: logs its arguments, drops its own and runs the rest.
SRUN = """#!/bin/bash
echo "srun $*" >>calls
while [[ "$1" == --* ]]; do shift; done
exec "$@"
"""
SCONTROL = '#!/bin/bash\necho "scontrol $*" >>calls\n'
# Ends with $CODE, or waits for SIGUSR2 and then ends with 2, as a run does that has a checkpoint.
CATENA = """#!/bin/bash
[[ -n "${CODE:-}" ]] && exit "$CODE"
trap 'sleep 0.1; exit 2' USR2
touch ready
for ((k = 0; k < 3000; ++k)); do sleep 0.02; done
exit 1
"""


def catches(pid, number):
    """Whether a process has a handler for a signal by now."""
    status = pathlib.Path("/proc/%d/status" % pid).read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (number - 1) & 1


class Job:
    """A directory in which jobs run one after the other."""

    def __init__(self, directory, templates):
        self.path = pathlib.Path(directory)
        self.templates = templates
        for name, text in {"srun": SRUN, "scontrol": SCONTROL, "catena": CATENA}.items():
            tool = self.path / name
            tool.write_text(text)
            tool.chmod(0o755)

    def start(self, template, **variables):
        for name in ("calls", "ready"):
            (self.path / name).unlink(missing_ok=True)
        environment = dict(os.environ, PATH="%s:%s" % (self.path, os.environ["PATH"]), SLURM_JOB_ID="7",
                           SCRATCH=str(self.path), RESULT="result", **variables)
        return subprocess.Popen(["bash", os.path.join(self.templates, template)], cwd=self.path, text=True,
                                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, template, signals=(), **variables):
        """Exit code and what was called; `signals` go to the script while the run goes on."""
        job = self.start(template, **variables)
        for number in signals:
            start = time.time()
            while not ((self.path / "ready").exists() and catches(job.pid, number)) and time.time() - start < 10:
                time.sleep(0.01)
            job.send_signal(number)
            time.sleep(0.2)
        job.communicate(timeout=300)
        calls = self.path / "calls"
        return job.returncode, calls.read_text() if calls.exists() else ""


def check_restarts(job, template, report):
    def expect(found, code, requeued, start, what):
        report.expect(found[0] == code, "%s: %s: exit code %d" % (template, what, found[0]))
        report.expect(("scontrol requeue" in found[1]) == requeued, "%s: %s: %s" % (template, what, found[1]))
        options = [o for o in ("--resume", "--force") if o in found[1]]
        report.expect(options == start, "%s: %s: %s" % (template, what, found[1]))

    for code in (0, 1, 4, 5, 6):
        expect(job.run(template, CODE=str(code)), code, False, [], "ends with %d" % code)
    expect(job.run(template, CODE="2"), 2, True, [], "stopped with a checkpoint")
    expect(job.run(template, signals=[signal.SIGUSR2]), 2, True, [], "SIGUSR2")
    expect(job.run(template, CODE="0", SLURM_RESTART_COUNT="1"), 0, False, ["--force"], "no checkpoint")
    (job.path / "result").mkdir()
    (job.path / "result" / "checkpoint-00000010.h5").write_text("")
    expect(job.run(template, CODE="0", SLURM_RESTART_COUNT="1"), 0, False, ["--resume"], "restart")
    expect(job.run(template, CODE="0"), 0, False, ["--resume"], "new job, old checkpoint")


def check_single(job, report):
    for template in ("single_node.sbatch", "multi_node.sbatch"):
        for code in (0, 2, 6):
            found = job.run(template, CODE=str(code))
            report.expect(found[0] == code and " run case.yaml -o result " in found[1], "%s: %s" % (template, found))
    code, calls = job.run("multi_node.sbatch", CODE="0", MAX_WALL="01:00:00")
    report.expect("--max-wall 01:00:00 --resume" in calls, "multi_node.sbatch: " + calls)
    (job.path / "parameters.txt").write_text("seed=1\nmaterials.m.friction=0.3 seed=2\n")
    code, calls = job.run("array.sbatch", CODE="0", SLURM_ARRAY_TASK_ID="2")
    report.expect(code == 0 and "-o results/2 --quiet --set materials.m.friction=0.3 --set seed=2\n" in calls,
                  "array.sbatch: " + calls)
    code, calls = job.run("array.sbatch", CODE="0", SLURM_ARRAY_TASK_ID="3")
    report.expect(code == 3 and not calls, "array.sbatch: a task without a line: %d" % code)


def main():
    templates = os.path.abspath(sys.argv[1])
    report = program.Report()
    names = sorted(os.listdir(templates))
    for name in names:
        read = subprocess.run(["bash", "-n", os.path.join(templates, name)], capture_output=True, text=True)
        report.expect(read.returncode == 0, name + ": " + read.stderr)
    for template in ("requeue.sbatch", "preemptible.sbatch"):
        with tempfile.TemporaryDirectory() as directory:
            check_restarts(Job(directory, templates), template, report)
    with tempfile.TemporaryDirectory() as directory:
        job = Job(directory, templates)
        code, calls = job.run("requeue.sbatch", CODE="2", SLURM_RESTART_COUNT="50")
        report.expect(code == 2 and "scontrol" not in calls, "requeue.sbatch: restarts without end")
        code, calls = job.run("requeue.sbatch", CODE="2", SLURM_ARRAY_JOB_ID="9", SLURM_ARRAY_TASK_ID="4")
        report.expect("scontrol requeue 9_4\n" in calls, "requeue.sbatch: " + calls)
        code, calls = job.run("preemptible.sbatch", signals=[signal.SIGTERM, signal.SIGUSR2])
        report.expect(code == 2 and "scontrol requeue 7\n" in calls, "preemptible.sbatch: SIGTERM ends the shell")
        (job.path / "result").mkdir()
        (job.path / "result" / "checkpoint-00000010.h5").write_text("")
        check_single(job, report)
    print("%s: %d failures" % (" ".join(names), report.failures))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
