#!/usr/bin/python3
"""speed_ratios.py on made-up times: what is within its bound, what is not, and what another run helps.

    speed_ratios_test.py SCRIPT
"""
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = sys.argv[1]
TABLE = """name,loop,under,times,bound,measured
a step,pile/step,pile/sweep,50,3,2
a look,pile/look,pile/sweep,1,4,2.5
"""
HEAD = "# triad_GB_s 10\nscene,loop,bodies,items,ns_least,ns_median,bytes,flops\n"
# each run of the made-up benchmark prints the next text and stays at the last
BENCH = """#!/bin/sh
echo run >> {folder}/runs
n=$(wc -l < {folder}/runs)
while [ ! -e {folder}/out$n ]; do n=$((n - 1)); done
cat {folder}/out$n
"""


def loops(sweep, look, step):
    return HEAD + (f"pile,sweep,4,8,{sweep},{2 * sweep},100,150\n"
                   f"pile,look,4,8,{look},{2 * look},100,0\n"
                   f"pile,step,4,8,{step},{2 * step},0,0\n"
                   f"pile,sweep,400,800,{0.1 * sweep},{sweep},100,150\n")  # of another size: not compared


def run(*outputs, extra=()):
    """Exit code, output, and how often the benchmark was run."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "table.csv").write_text(TABLE)
        bench = folder / "bench"
        bench.write_text(BENCH.format(folder=folder))
        bench.chmod(0o755)
        for number, output in enumerate(outputs):
            (folder / f"out{number + 1}").write_text(output)
        result = subprocess.run([sys.executable, SCRIPT, "--bench", bench, "--table", folder / "table.csv", *extra],
                                capture_output=True, text=True)
        runs = len((folder / "runs").read_text().splitlines())
        return result.returncode, result.stdout + result.stderr, runs


failures = []


def expect(condition, what, output):
    if not condition:
        failures.append(f"{what}:\n{output}")


code, out, runs = run(loops(10, 39, 1499))  # 3.9 of 4, 2.998 of 3
expect(code == 0 and runs == 1, "ratios within their bounds pass at once", out)
expect("3.90" in out and "3.00" in out, "ratios are shown", out)

code, out, runs = run(loops(10, 41, 1000))
expect(code == 1 and runs == 4, "a ratio above its bound fails after four runs", out)
lines = [line for line in out.splitlines() if "PASSED ITS BOUND" in line]
expect(len(lines) == 1 and lines[0].endswith("a look"), "the ratio is named", out)

code, out, runs = run(loops(10, 41, 1000), loops(10, 35, 1000))
expect(code == 0 and runs == 2, "a quieter second run helps", out)

# of each loop the least of all runs counts, so noise in the loop below the line does not hide anything
code, out, runs = run(loops(10, 50, 1000), loops(20, 45, 1000), extra=["--runs", "2"])
expect(code == 1 and "4.50" in out, "the least times of all runs are compared", out)

code, out, runs = run(loops(10, float("nan"), 1000), extra=["--runs", "1"])
expect(code == 1, "what is no number is no pass", out)

code, out, runs = run(HEAD + "pile,sweep,4,8,1,1,1,1\n")
expect(code == 1 and "no loop pile/step" in out, "a loop that is gone is told", out)

print(*failures, sep="\n")
sys.exit(1 if failures else 0)
