"""Runs a case many times with other values, and makes one table of what came out (docs/sweep.md).

    catena sweep STUDY.yaml [-o DIR] [--force]
    catena sweep STUDY.yaml [-o DIR] --only K              run K alone, from 1, and no table
    catena sweep STUDY.yaml [-o DIR] --slurm TEMPLATE      writes an array job instead of running
    catena sweep STUDY.yaml [-o DIR] --collect             the table of what is there so far
"""
from __future__ import annotations

import argparse
import concurrent.futures
import csv
import hashlib
import itertools
import json
import os
import pathlib
import shlex
import subprocess
import sys
from typing import Any

import numpy as np
import yaml

from . import study_file
from .case import program
from .errors import CatenaError
from .launch import STOPPED_EARLY, launcher
from .result import Result
from .study_file import StudyError

_REDUCTIONS = {"last": lambda x: x[-1], "mean": np.mean, "min": np.min, "max": np.max}


def _text(node) -> str:
    """A value as --set takes it: as it is written, lists and maps on one line."""
    if isinstance(node, yaml.ScalarNode):
        return node.value
    if isinstance(node, yaml.SequenceNode):
        return "[" + ", ".join(_text(item) for item in node.value) + "]"
    return "{" + ", ".join(f"{_text(key)}: {_text(value)}" for key, value in node.value) + "}"


def _values(node, path, top) -> list[str]:
    if not isinstance(node, yaml.SequenceNode):
        top.fail(node, path, "must be a list of values")
    return [_text(item) for item in node.value]


class Column:
    """What the table has of each result: `series.NAME` or `PROBE.NAME`, of it the last value, mean, min or max."""

    def __init__(self, text: str, top) -> None:
        words = text.split()
        self.text, self.of = words[0] if words else "", words[1] if len(words) > 1 else "last"
        self.table, _, self.name = self.text.partition(".")
        if len(words) > 2 or not self.name or self.of not in _REDUCTIONS:
            top.refuse("columns", f"'{text}' is no column; write series.kinetic_energy, or plate.force_z_mean max")

    def value(self, result: Result) -> tuple[float, str]:
        columns = result.series if self.table == "series" else result.probe(self.table)
        values = columns[self.name]
        return float(_REDUCTIONS[self.of](np.asarray(values))) if len(values) else float("nan"), values.unit


class Study:
    """A study file: `case`, `ranks`, `at_once`, `grid` and `list` of overrides, `columns`."""

    def __init__(self, path: str, directory: str | None) -> None:
        top = study_file.read(path)
        self.name = top.word("name", pathlib.Path(path).stem)
        self.case = pathlib.Path(path).parent / top.word("case")
        self.ranks = top.whole("ranks", 1)
        self.at_once = top.whole("at_once", max(1, (os.cpu_count() or 1) // self.ranks))
        self.columns = [Column(text, top) for text in top.words("columns", [])]
        self.runs = self._overrides(top)
        top.finish()
        if not self.case.is_file():
            top.refuse("case", f"{self.case} is not there")
        self.directory = pathlib.Path(directory or self.name)
        self.start: list[str] = []  # what starts the program on its ranks

    @staticmethod
    def _overrides(top) -> list[dict[str, str]]:
        grid, listed = top.map("grid", None), top.maps("list", None)
        if grid is None and listed is None:
            top.fail(top.node, "grid", "is missing; give a grid, a list, or both")
        paths = list(grid.values) if grid is not None else []
        each = [_values(grid.values[p][1], grid.at(p), grid) for p in paths]
        combinations = [dict(zip(paths, chosen)) for chosen in itertools.product(*each)]
        entries = [{key: _text(node) for key, (_, node) in entry.values.items()}
                   for entry in listed] if listed is not None else [{}]
        runs = [{**entry, **chosen} for entry in entries for chosen in combinations]
        if not runs:
            top.fail(top.node, "grid", "leaves no run: a list in it is empty")
        return runs

    def folder(self, k: int) -> pathlib.Path:
        return self.directory / "runs" / f"{k + 1:0{len(str(len(self.runs)))}d}"

    def command(self, k: int) -> list[str]:
        sets = [word for path, value in self.runs[k].items() for word in ("--set", f"{path}={value}")]
        return [*self.start, "run", str(self.case), "-o", str(self.folder(k)), "--force", "--quiet", *sets]

    def key(self, k: int) -> str:
        """Changes with the case's text and the values of the run."""
        text = self.case.read_bytes() + json.dumps([self.runs[k], self.ranks], sort_keys=True).encode()
        return hashlib.sha256(text).hexdigest()

    def _note(self, k: int) -> pathlib.Path:
        return self.folder(k).with_suffix(".json")

    def note(self, k: int) -> dict[str, Any]:
        """How run k ended, where it was made with the present case and values; else empty."""
        try:
            held = json.loads(self._note(k).read_text())
        except (OSError, ValueError):
            return {}
        return held if held.get("key") == self.key(k) else {}

    def run(self, k: int) -> dict[str, Any]:
        self.folder(k).parent.mkdir(parents=True, exist_ok=True)
        self._note(k).unlink(missing_ok=True)
        done = subprocess.run(self.command(k), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True)
        said = [line for line in done.stderr.splitlines() if line.strip()]
        note = {"key": self.key(k), "exit_code": done.returncode, "message": said[-1] if done.returncode and said else ""}
        self._note(k).write_text(json.dumps(note))
        return note

    def told(self, k: int) -> str:
        return ", ".join(f"{path}={value}" for path, value in self.runs[k].items())


def run_all(study: Study, again: bool) -> int:
    """Runs what is not done; returns how many ended with an error."""
    todo = [k for k in range(len(study.runs)) if again or study.note(k).get("exit_code") != 0]
    if len(todo) < len(study.runs):
        print(f"{len(study.runs) - len(todo)} of {len(study.runs)} runs are done already")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(study.at_once) as pool:
        under_way = {pool.submit(study.run, k): k for k in todo}
        try:
            for n, done in enumerate(concurrent.futures.as_completed(under_way), 1):
                k, note = under_way[done], done.result()
                failed += note["exit_code"] not in (0, STOPPED_EARLY)
                said = f": exit code {note['exit_code']}: {note['message']}" if note["exit_code"] else ""
                print(f"{n}/{len(todo)}  {study.folder(k)}  {study.told(k)}{said}", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return failed


def write_table(study: Study) -> pathlib.Path:
    """DIR/table.csv: a row per run, its values, how it ended, and the columns where there is a result."""
    paths = list(dict.fromkeys(path for run in study.runs for path in run))
    rows, units = [], [""] * len(study.columns)
    for k, run in enumerate(study.runs):
        code = study.note(k).get("exit_code", "")
        cells: list[Any] = [k + 1, *(run.get(path, "") for path in paths), code]
        for c, column in enumerate(study.columns):
            cell: Any = ""
            if code in (0, STOPPED_EARLY):
                cell, units[c] = column.value(Result(study.folder(k)))
            cells.append(cell)
        rows.append(cells)
    heads = [column.text + ("" if column.of == "last" else " " + column.of) + (f" [{unit}]" if unit else "")
             for column, unit in zip(study.columns, units)]
    study.directory.mkdir(parents=True, exist_ok=True)
    output = study.directory / "table.csv"
    part = output.with_suffix(".part")
    with open(part, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["run", *paths, "exit_code", *heads], *rows])
    part.replace(output)
    return output


def write_job(study: Study, arguments) -> pathlib.Path:
    """DIR/sweep.sbatch from the template: an array job with a task per run."""
    try:
        text = pathlib.Path(arguments.slurm).read_text(encoding="utf-8")
    except OSError as e:
        raise StudyError(f"--slurm: {arguments.slurm}: {e.strerror}; scripts/templates/sweep.sbatch, "
                         "where Catena is installed libexec/catena/templates/sweep.sbatch, is one") from e
    command = [program(), "sweep", os.path.abspath(arguments.study), "-o", str(study.directory.resolve())]
    values = {"{name}": study.name, "{count}": str(len(study.runs)), "{ranks}": str(study.ranks),
              "{command}": shlex.join(command)}
    for mark, value in values.items():
        text = text.replace(mark, value)
    study.directory.mkdir(parents=True, exist_ok=True)
    job = study.directory / "sweep.sbatch"
    job.write_text(text, encoding="utf-8")
    return job


def _arguments():
    parser = argparse.ArgumentParser(prog="catena sweep", description=__doc__.split("\n")[0])
    parser.add_argument("study", metavar="STUDY.yaml")
    parser.add_argument("-o", "--output", metavar="DIR", help="default: ./NAME of the study")
    parser.add_argument("--force", action="store_true", help="do again what is done")
    parser.add_argument("--launcher", metavar="COMMAND",
                        help="what starts the ranks in place of mpirun, such as 'srun --cpu-bind=cores'")
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--only", type=int, metavar="K", help="run K alone, from 1, and no table")
    one.add_argument("--slurm", metavar="TEMPLATE",
                     help="write an array job from a template (scripts/templates/sweep.sbatch) instead of running")
    one.add_argument("--collect", action="store_true", help="make the table of what is there so far")
    return parser.parse_args()


def _sweep(arguments) -> int:
    study = Study(arguments.study, arguments.output)
    study.start = [*shlex.split(arguments.launcher), program()] if arguments.launcher else launcher(study.ranks)
    if arguments.slurm:
        print(f"{write_job(study, arguments)}: {len(study.runs)} tasks; sbatch submits it, --collect makes the table")
        return 0
    if arguments.only is not None:
        if not 1 <= arguments.only <= len(study.runs):
            raise StudyError(f"--only: {arguments.only} is none of the {len(study.runs)} runs")
        note = study.run(arguments.only - 1)
        print(f"{study.folder(arguments.only - 1)}: exit code {note['exit_code']} {note['message']}".rstrip())
        return note["exit_code"]
    failed = 0 if arguments.collect else run_all(study, arguments.force)
    print(write_table(study))
    return 1 if failed else 0


def main() -> int:
    try:
        return _sweep(_arguments())
    except (StudyError, CatenaError) as error:
        print(error, file=sys.stderr)
        return 3
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 5
    except KeyboardInterrupt:
        print("stopped; what is done is not done again", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
