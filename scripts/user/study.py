#!/usr/bin/python3
"""Runs a study and writes its report. What study it is its file says:

    catena study STUDY.yaml [-o DIR] [options]

    scaling   has a `case` and `ranks`: the same case on several rank counts, or one that grows with them; tables,
              plots, and what a cost model predicts for more ranks, here or on a cluster (docs/scaling.md)
    solvers   has `solvers` and `problems`: contact problems solved by several methods, with tables and performance
              profiles (docs/choosing-a-solver.md)

`catena study scaling --help` and `catena study solvers --help` tell the keys and options of each.
"""
import os
import sys

import _package  # noqa: F401

SCRIPTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
KINDS = {"scaling": ("", "scaling_study"), "solvers": ("studies", "compare_solvers")}


def kind_of(path):
    """By the keys at the top of a study file."""
    from catena import study_file
    return "solvers" if "solvers" in study_file.read(path).values else "scaling"


def main():
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if words else 3
    if words[0] in KINDS:
        kind = words.pop(0)
    else:
        named = [w for w in words if w.endswith((".yaml", ".yml"))] or [w for w in words if not w.startswith("-")]
        if not named:
            print("catena study: a study file is missing; see catena study --help", file=sys.stderr)
            return 3
        from catena.study_file import StudyError
        try:
            kind = kind_of(named[0])
        except StudyError as e:
            print(f"catena study: {e}", file=sys.stderr)
            return 3
    folder, script = KINDS[kind]
    sys.path.insert(0, os.path.join(SCRIPTS, folder))
    sys.argv = [f"catena study {kind}", *words]
    return __import__(script).main()


if __name__ == "__main__":
    sys.exit(main())
