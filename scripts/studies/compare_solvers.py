#!/usr/bin/python3
"""Compares solvers on contact problems: runs `catena solve` for every problem and solver of a study,
and writes tables and performance profiles.

    catena study STUDY.yaml [-o DIR] [--problems FOLDER]... [--catena PATH] [--jobs 1] [--judge] [--force]

A study (configs/studies/fclib.yaml is one) has the keys

    name          of the study; results go to ./NAME unless -o says otherwise
    folders       where problems lie, relative to the study; --problems and the folders in the
                  environment variable CATENA_PROBLEMS (a:b) come after them
    problems      file names or patterns (Capsules-*.hdf5); what is in no folder is left out with a
                  message
    solvers       list of {name, method (default: name), set: [key=value, ...], max_iterations}
    comparisons   list of {name, law, metric, tolerances, solvers (default: all), reference}
    time_limit    of one solve (60 s)
    repeats       solves per entry, of which the fastest counts (1); an entry whose solves have
                  taken 10 s is not repeated
    reference     {file, name, from_contacts}: other programs' times, a CSV with the columns problem,
                  solver, tol, converged, time_s; ratios are summed up over problems of
                  from_contacts (1) contacts or more. Comparisons with `reference: false` leave it out.

DIR holds one report per run in runs/, results.csv, results.md and profile-COMPARISON-TOLERANCE.png. A study that
was stopped goes on where it was: what was done with the same program, problem and settings is not
done again (--force does it again). --judge checks every solution with scripts/user/check_solution.py
besides. Times are `wall_s` of the reports: a whole solve with its set-up, without start of the
program and reading of the file. With --jobs above 1 they disturb each other.

Profiles (Dolan, More): for each solver, the part of the problems that it solves within a factor of the
fastest one's time, times below 1 ms counted as 1 ms; as figures, and as tables in results.md.

Exit code: 0 done, 1 a program failed in a way that is not a solver's answer, 3 wrong usage or study.
Needs python3-yaml, python3-numpy, python3-matplotlib, python3-h5py.
"""
import argparse
import concurrent.futures
import csv
import fnmatch
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "user"))
import _package  # noqa: E402, F401
from catena import study_file  # noqa: E402
from catena.study_file import StudyError  # noqa: E402

LAWS = ["coulomb", "ccp", "box", "frictionless"]
METRICS = ["energy", "natural_map", "natural_map_rms", "siconos", "fclib_merit", "scaled", "gap",
           "fischer_burmeister"]
METHODS = ["gauss_seidel", "jacobi", "apgd", "interior_point", "dantzig", "auto"]
FLOOR = 1e-3  # s
PROFILE_AT = [1, 2, 4, 10]  # factors of the table of a profile
REPEAT_UP_TO = 10.0  # s
COLUMNS = ["comparison", "tolerance", "problem", "contacts", "rows", "solver", "status", "reached",
           "time_s", "setup_s", "iterations", "linear_iterations", "objective"] + METRICS + [
           "reference_time_s", "ratio", "judged", "reason"]


# --- the study ----------------------------------------------------------------------------------

def read_solver(item):
    solver = {"name": item.word("name")}
    solver["method"] = item.word("method", None if solver["name"] not in METHODS else solver["name"],
                                 METHODS)
    if solver["method"] is None:
        item.refuse("name", f"'{solver['name']}' is no solver; add method: " + ", ".join(METHODS))
    solver["set"] = item.words("set", [])
    solver["max_iterations"] = item.whole("max_iterations", None)
    item.finish()
    return solver


def read_comparison(item, solvers):
    comparison = {"name": item.word("name"), "law": item.word("law", "coulomb", LAWS),
                  "metric": item.word("metric", "siconos", METRICS),
                  "tolerances": item.numbers("tolerances"),
                  "solvers": item.words("solvers", list(solvers), list(solvers)),
                  "reference": item.word("reference", "true", ["true", "false"]) == "true"}
    item.finish()
    return comparison


def named(items, read, where):
    """Entries by name, in order."""
    result = {}
    for item in items:
        entry = read(item)
        if entry["name"] in result:
            item.refuse("name", f"'{entry['name']}' stands twice among the {where}")
        result[entry["name"]] = entry
    return result


def read_study(path):
    top = study_file.read(path)
    study = {"name": top.word("name"), "folders": top.words("folders", []),
             "problems": top.words("problems"), "time_limit": top.seconds("time_limit", 60.0),
             "repeats": top.whole("repeats", 1), "reference": None}
    study["solvers"] = named(top.maps("solvers"), read_solver, "solvers")
    study["comparisons"] = list(named(
        top.maps("comparisons"), lambda item: read_comparison(item, study["solvers"]), "comparisons").values())
    for key in ("problems", "solvers", "comparisons"):
        if not study[key]:
            top.refuse(key, "is empty")
    reference = top.map("reference", None)
    if reference:
        file = reference.word("file")
        study["reference"] = {"name": reference.word("name"),
                              "from_contacts": reference.whole("from_contacts", 1)}
        reference.finish()
        study["reference"]["rows"] = read_reference(os.path.join(os.path.dirname(path), file))
    top.finish()
    return study


def read_reference(path):
    """{(problem, tolerance): {solver: time}} of what converged there, and the problems known."""
    rows = {}
    try:
        with open(path) as f:
            lines = [(k, line) for k, line in enumerate(f, 1) if not line.startswith("#")]
    except OSError as e:
        raise StudyError(f"{path}: {e.strerror}") from e
    reader = csv.DictReader(line for _, line in lines)
    missing = {"problem", "solver", "tol", "converged", "time_s"} - set(reader.fieldnames or [])
    if missing:
        raise StudyError(f"{path}: column {sorted(missing)[0]} is missing")
    for (k, _), row in zip(lines[1:], reader):
        try:
            times = rows.setdefault((row["problem"], float(row["tol"])), {})
            if row["converged"] == "1":
                times[row["solver"]] = float(row["time_s"])
        except (TypeError, ValueError) as e:
            raise StudyError(f"{path}:{k}: {e}") from e
    return rows


def find_problems(study, path, more):
    """Files by name; a name counts once, in the first folder that has it."""
    folders = [os.path.join(os.path.dirname(path), folder) for folder in study["folders"]] + list(more)
    folders += [f for f in os.environ.get("CATENA_PROBLEMS", "").split(":") if f]
    found = {}
    for pattern in study["problems"]:
        hits = 0
        for folder in folders:
            names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
            for name in fnmatch.filter(names, pattern):
                found.setdefault(name, os.path.join(folder, name))
                hits += 1
        if hits == 0:
            print(f"left out: {pattern} is in none of {', '.join(folders) or 'no folder'} "
                  "(--problems FOLDER names another)")
    if not found:
        raise StudyError(f"{path}: problems: none of them is there; name their folder by --problems")
    return found


# --- runs -----------------------------------------------------------------------------------------

class Runner:
    """Runs `catena solve` and keeps its reports."""

    def __init__(self, args, study, directory):
        self.args, self.study = args, study
        self.directory = os.path.join(directory, "runs")
        study_file.make_folder(self.directory)
        done = subprocess.run([args.catena, "--version"], capture_output=True, text=True)
        if done.returncode != 0:
            raise StudyError(f"{args.catena}: --version ends with {done.returncode}: {done.stderr.strip()}")
        self.version = done.stdout
        self.judge = None
        if args.judge:
            import check_solution  # needs python3-h5py
            self.judge = check_solution.judge

    def key(self, problem, comparison, tolerance, solver):
        """All that a result depends on."""
        stat = os.stat(problem)
        binary = os.stat(self.args.catena)
        return {"problem": [os.path.basename(problem), stat.st_size], "version": self.version,
                "program": [binary.st_size, int(binary.st_mtime)], "law": comparison["law"],
                "metric": comparison["metric"], "tolerance": tolerance, "solver": solver,
                "time_limit": self.study["time_limit"], "repeats": self.study["repeats"],
                "judged": self.args.judge}

    def file_of(self, name, comparison, tolerance, solver):
        parts = [comparison["name"], format(tolerance, "g"), os.path.splitext(name)[0], solver["name"]]
        return os.path.join(self.directory, "--".join(p.replace("/", "_") for p in parts) + ".json")

    def result(self, problem, comparison, tolerance, solver):
        """The kept result, or that of new solves; whether it is new."""
        path = self.file_of(os.path.basename(problem), comparison, tolerance, solver)
        key = self.key(problem, comparison, tolerance, solver)
        if not self.args.force and os.path.exists(path):
            try:
                with open(path) as f:
                    kept = json.load(f)
                if kept["key"] == key:
                    return kept["result"], False
            except (ValueError, KeyError):
                pass  # not one of ours, or half of one: made anew
        best, spent = None, 0.0
        for _ in range(self.study["repeats"]):
            found = self.solve(problem, comparison, tolerance, solver)
            spent += found["wall_s"] or REPEAT_UP_TO
            if best is None or (found["status"] == best["status"] and found["wall_s"] < best["wall_s"]):
                best = found
            if spent >= REPEAT_UP_TO or not found["wall_s"]:
                break
        with open(path + ".part", "w") as f:
            json.dump({"key": key, "result": best}, f, indent=1)
        os.replace(path + ".part", path)
        return best, True

    def solve(self, problem, comparison, tolerance, solver):
        """One solve's report; status `refused` where the solver does not take the problem and
        `failed` where the program ends as it should not."""
        with tempfile.TemporaryDirectory() as scratch:
            report, solution = os.path.join(scratch, "r.json"), os.path.join(scratch, "s.hdf5")
            command = [self.args.catena, "solve", problem, "--solver", solver["method"], "--law",
                       comparison["law"], "--metric", comparison["metric"], "--tolerance", repr(tolerance),
                       "--time-limit", repr(self.study["time_limit"]), "--report", report, "--quiet"]
            for assignment in solver["set"]:
                command += ["--set", assignment]
            if solver["max_iterations"]:
                command += ["--max-iterations", str(solver["max_iterations"])]
            if self.judge:
                command += ["--solution", solution]
            try:
                done = subprocess.run(command, capture_output=True, text=True,
                                      timeout=3.0 * self.study["time_limit"] + 60.0)
            except subprocess.TimeoutExpired:
                return failure("failed", "did not end in three times its time limit")
            if os.path.exists(report) and done.returncode in (0, 4, 6):
                with open(report) as f:
                    result = json.load(f)
                result["judged"] = self.judged(problem, solution, comparison, result)
                return result
            message = (done.stderr.strip().splitlines() or ["no message"])[-1]
            status = "refused" if done.returncode == 3 else "failed"
            return failure(status, f"exit code {done.returncode}: {message}")

    def judged(self, problem, solution, comparison, report):
        """The metric as check_solution.py finds it."""
        if not self.judge or not os.path.exists(solution):
            return None
        return self.judge(problem, solution, comparison["law"])[1][comparison["metric"]]


def failure(status, reason):
    return {"status": status, "reason": reason, "wall_s": None, "setup_s": None, "iterations": None,
            "linear_iterations": None, "objective": None, "errors": {}, "contacts": None, "rows": None,
            "judged": None}


def entry_of(comparison, tolerance, name, solver, result, reference):
    """One row of results.csv."""
    problem = os.path.splitext(name)[0]
    reached = result["status"] == "converged"
    time = result["wall_s"] if reached else None
    theirs = (reference or {}).get((problem, tolerance), {})
    best = min(theirs.values()) if theirs else None
    entry = {"comparison": comparison["name"], "tolerance": tolerance, "problem": problem,
             "contacts": result["contacts"], "rows": result["rows"], "solver": solver["name"],
             "status": result["status"], "reached": int(reached), "time_s": result["wall_s"],
             "reference_time_s": best, "ratio": time / best if reached and best else None,
             "judged": result["judged"], "reason": result["reason"]}
    for key in ("setup_s", "iterations", "linear_iterations", "objective"):
        entry[key] = result[key]
    for metric in METRICS:
        entry[metric] = result["errors"].get(metric)
    return entry


def run_all(runner, study, problems):
    """Rows of results.csv in the order of the study."""
    tasks = [(comparison, tolerance, name, study["solvers"][solver])
             for comparison in study["comparisons"] for tolerance in comparison["tolerances"]
             for name in problems for solver in comparison["solvers"]]
    rows = study["reference"]["rows"] if study["reference"] else None

    def do(task):
        comparison, tolerance, name, solver = task
        result, new = runner.result(problems[name], comparison, tolerance, solver)
        return entry_of(comparison, tolerance, name, solver, result,
                        rows if comparison["reference"] else None), new

    entries = []
    with concurrent.futures.ThreadPoolExecutor(runner.args.jobs) as pool:
        futures = [pool.submit(do, task) for task in tasks]
        try:
            for k, future in enumerate(futures, 1):
                entry, new = future.result()
                entries.append(entry)
                if new:
                    why = f": {entry['reason']}" if entry["status"] in ("refused", "failed") else ""
                    print(f"[{k}/{len(tasks)}] {entry['comparison']} {entry['tolerance']:g} "
                          f"{entry['problem']} {entry['solver']}: {outcome(entry)}{why}", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return entries


# --- tables -----------------------------------------------------------------------------------------

def seconds(t):
    """With three figures."""
    if t < 1e-3:
        return f"{1e6 * t:.3g} us"
    return f"{1e3 * t:.3g} ms" if t < 1.0 else f"{t:.3g} s"


def outcome(entry):
    if entry["reached"]:
        ratio = f" ({entry['ratio']:.2g}x)" if entry["ratio"] else ""
        return seconds(entry["time_s"]) + ratio
    return {"iteration_limit": "iterations", "time_limit": "time"}.get(entry["status"], entry["status"])


def groups_of(study, entries):
    """Per comparison and tolerance: its entries by problem (fewest contacts first) and solver."""
    for comparison in study["comparisons"]:
        for tolerance in comparison["tolerances"]:
            table = {}
            for e in entries:
                if e["comparison"] == comparison["name"] and e["tolerance"] == tolerance:
                    table.setdefault(e["problem"], {})[e["solver"]] = e
            size = {p: contacts_of(row) for p, row in table.items()}
            yield comparison, tolerance, {p: table[p] for p in sorted(table, key=lambda p: (size[p], p))}


def contacts_of(row):
    """Contacts of a problem, from the solvers that took it; 0 if none did."""
    return max(e["contacts"] or 0 for e in row.values())


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary_lines(study, comparison, table):
    """Solved by each solver; ratios to the fastest of the reference."""
    n = len(table)
    size = {p: contacts_of(row) for p, row in table.items()}
    lines = ["**reached** (of %d)" % n, "**total time where reached**"]
    reference = study["reference"] if comparison["reference"] else None
    if reference:
        least = reference["from_contacts"]
        lines += [f"**ratio, {least} contacts or more: geometric mean**", "**the same, times below 1 ms as 1 ms**",
                  "**at most 1**", "**worst**", "**missed though the reference solves it**"]
    cells = [[] for _ in lines]
    for solver in comparison["solvers"]:
        column = [row[solver] for row in table.values() if solver in row]
        reached = [e for e in column if e["reached"]]
        cells[0].append(str(len(reached)))
        cells[1].append(seconds(sum(e["time_s"] for e in reached)) if reached else "-")
        if not reference:
            continue
        large = [e for e in column if size[e["problem"]] >= least and e["reference_time_s"]]
        hits = [e for e in large if e["reached"]]
        floored = [max(e["time_s"], FLOOR) / max(e["reference_time_s"], FLOOR) for e in hits]
        worst = max(hits, key=lambda e: e["ratio"], default=None)
        cells[2].append(f"{geometric_mean([e['ratio'] for e in hits]):.2g}" if hits else "-")
        cells[3].append(f"{geometric_mean(floored):.2g}" if hits else "-")
        cells[4].append(f"{sum(e['ratio'] <= 1.0 for e in hits)} of {len(large)}")
        cells[5].append(f"{worst['ratio']:.2g} ({worst['problem']})" if worst else "-")
        cells[6].append(str(sum(bool(e["reference_time_s"]) and not e["reached"] for e in column)))
    return list(zip(lines, cells))


def markdown(study, entries):
    text = [f"# {study['name']}", ""]
    for comparison, tolerance, table in groups_of(study, entries):
        reference = study["reference"] if comparison["reference"] else None
        text += [f"## {comparison['name']}: law {comparison['law']}, {comparison['metric']} to {tolerance:g}", ""]
        text.append("Time of a solve" + (f" and its ratio to the fastest of {reference['name']}"
                                         if reference else "") + "; where the tolerance is missed, the status.")
        text.append("")
        heads = ["problem", "contacts"] + ([reference["name"]] if reference else []) + comparison["solvers"]
        text += ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
        for problem, row in table.items():
            times = [e["time_s"] for e in row.values() if e["reached"]]
            first = next(iter(row.values()))
            cells = [problem, str(contacts_of(row) or "?")]
            if reference:
                cells.append(seconds(first["reference_time_s"]) if first["reference_time_s"] else "-")
            for solver in comparison["solvers"]:
                cell = outcome(row[solver])
                best = row[solver]["reached"] and row[solver]["time_s"] == min(times)
                cells.append(f"**{cell}**" if best else cell)
            text.append("| " + " | ".join(cells) + " |")
        for head, cells in summary_lines(study, comparison, table):
            text.append("| " + " | ".join([head, ""] + ([""] if reference else []) + cells) + " |")
        text.append("")
        text += profile_lines(study, comparison, tolerance, table)
    return "\n".join(text)


def write_csv(path, entries):
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for entry in entries:
            writer.writerow({k: "" if entry[k] is None else entry[k] for k in COLUMNS})


# --- profiles ---------------------------------------------------------------------------------------

def profile(times, best):
    """Ratios to the best, ascending: the k-th is reached by k problems."""
    return sorted(max(t, FLOOR) / best[p] for p, t in times.items() if t is not None)


def times_of(study, comparison, tolerance, table):
    """Times per line of the profile and problem: our solvers, then those of the reference."""
    times = {s: {p: row[s]["time_s"] if row[s]["reached"] else None for p, row in table.items()}
             for s in comparison["solvers"]}
    if study["reference"] and comparison["reference"]:
        rows = study["reference"]["rows"]
        solvers = sorted({s for (_, tol), row in rows.items() if tol == tolerance for s in row})
        for solver in solvers:
            times[(solver,)] = {p: rows.get((p, tolerance), {}).get(solver) for p in table}
        times[("fastest per problem",)] = {
            p: min(rows.get((p, tolerance), {}).values(), default=None) for p in table}
    return times


def profiles_of(study, comparison, tolerance, table):
    """Profile per line."""
    times = times_of(study, comparison, tolerance, table)
    best = {}
    for line in times.values():
        for p, t in line.items():
            if t is not None:
                best[p] = min(best.get(p, math.inf), max(t, FLOOR))
    return {s: profile(line, best) for s, line in times.items()}


def label_of(study, solver):
    return f"{study['reference']['name']}: {solver[0]}" if isinstance(solver, tuple) else solver


def profile_lines(study, comparison, tolerance, table):
    """The profiles as a table: problems solved within a factor of the fastest one's time."""
    text = [f"Problems of {len(table)} that are solved within a factor of the fastest one's time:", "",
            "| factor | " + " | ".join("%g" % f for f in PROFILE_AT) + " | any |", "|---" * (len(PROFILE_AT) + 2) + "|"]
    for solver, ratios in profiles_of(study, comparison, tolerance, table).items():
        counts = [sum(r <= f for r in ratios) for f in PROFILE_AT] + [len(ratios)]
        text.append(f"| {label_of(study, solver)} | " + " | ".join(map(str, counts)) + " |")
    return text + [""]


def draw_profile(study, comparison, tolerance, table, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axis = plt.subplots(figsize=(7.5, 4.6))
    profiles = profiles_of(study, comparison, tolerance, table)
    right = 2.0 * max([r[-1] for r in profiles.values() if r], default=2.0)
    for solver, ratios in profiles.items():
        theirs = isinstance(solver, tuple)
        label = label_of(study, solver)
        heights = [k / len(table) for k in range(len(ratios) + 1)]
        style = {"linestyle": "--", "linewidth": 1.0} if theirs else {"linewidth": 1.8}
        if theirs and solver[0].startswith("fastest"):
            style.update(color="black")
        axis.step([1.0] + ratios + [right], heights + [heights[-1]], where="post", label=label, **style)
    axis.set_xscale("log")
    axis.set_xlim(1.0, right)
    axis.set_ylim(0.0, 1.02)
    axis.set_xlabel("time over that of the fastest (below 1 ms counted as 1 ms)")
    axis.set_ylabel(f"part of {len(table)} problems solved")
    axis.set_title(f"law {comparison['law']}, {comparison['metric']} to {tolerance:g}", fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", metavar="STUDY.yaml")
    parser.add_argument("-o", "--output", metavar="DIR", help="default ./NAME of the study")
    parser.add_argument("--problems", metavar="FOLDER", action="append", default=[], help="where to look besides")
    parser.add_argument("--catena", metavar="PATH", default=study_file.default_catena(),
                        help="default build/release/drivers/catena, else that in PATH")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="solves at a time")
    parser.add_argument("--judge", action="store_true", help="check solutions with check_solution.py")
    parser.add_argument("--force", action="store_true", help="do again what is there")
    return parser.parse_args()


def main():
    try:
        args = arguments()
    except SystemExit as e:
        return 3 if e.code else 0
    try:
        if args.jobs < 1:
            raise StudyError(f"--jobs: '{args.jobs}' is out of range")
        if not args.catena or not os.path.exists(args.catena):
            raise StudyError(f"--catena: {args.catena or 'catena'} is not there; build it or name it")
        args.catena = os.path.abspath(args.catena)
        for folder in args.problems:
            if not os.path.isdir(folder):
                raise StudyError(f"--problems: {folder} is no folder")
        study = read_study(args.study)
        problems = find_problems(study, args.study, args.problems)
        directory = args.output or study["name"]
        runner = Runner(args, study, directory)
    except StudyError as e:
        print(f"compare_solvers.py: {e}", file=sys.stderr)
        return 3
    entries = run_all(runner, study, problems)
    write_csv(os.path.join(directory, "results.csv"), entries)
    with open(os.path.join(directory, "results.md"), "w") as f:
        f.write(markdown(study, entries))
    for comparison, tolerance, table in groups_of(study, entries):
        draw_profile(study, comparison, tolerance, table,
                     os.path.join(directory, f"profile-{comparison['name']}-{tolerance:g}.png"))
    failed = [e for e in entries if e["status"] == "failed"]
    for e in failed:
        print(f"failed: {e['problem']} {e['solver']}: {e['reason']}", file=sys.stderr)
    print(f"{len(entries)} results in {directory}: results.md, results.csv, profile-*.png")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
