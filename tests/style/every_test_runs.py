#!/usr/bin/python3
"""Every test of every GoogleTest program of a build is run by an entry of CTest: their filters are made from the
sources' text (tests/CMakeLists.txt), which could miss one.

    every_test_runs.py CTEST BUILD
"""
import collections
import fnmatch
import json
import os
import subprocess
import sys

ctest, build = sys.argv[1:3]
FILTER = "--gtest_filter="


def tests_of(program):
    """Full names of the program's tests, those of disabled ones left out."""
    listing = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    names, suite = set(), ""
    for line in listing.splitlines():
        word = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = word
        elif not word.startswith("DISABLED_"):
            names.add(suite + word)
    return names


def selected(names, text):
    """Of the names those that a filter of GoogleTest takes."""
    wanted, _, unwanted = text.partition("-")
    wanted, unwanted = wanted.rstrip(":").split(":"), unwanted.split(":")
    exact = names.intersection(wanted)
    patterns = [one for one in wanted if "*" in one or "?" in one]
    taken = exact | {name for name in names if any(fnmatch.fnmatchcase(name, one) for one in patterns)}
    return {name for name in taken if not any(fnmatch.fnmatchcase(name, one) for one in unwanted)}


listing = json.loads(subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], capture_output=True,
                                    text=True, check=True).stdout)
filters = collections.defaultdict(list)
for entry in listing["tests"]:
    command = entry.get("command", [])
    for at, word in enumerate(command):
        if word.startswith(FILTER):
            filters[command[at - 1]].append((entry["name"], word[len(FILTER):]))

faults = []
for program, entries in sorted(filters.items()):
    if not os.path.exists(program):
        faults.append(f"{program} is not built")
        continue
    names = tests_of(program)
    taken = set()
    for name, text in entries:
        chosen = selected(names, text)
        if not chosen:
            faults.append(f"{name} runs no test of {program}")
        taken |= chosen
    faults += [f"{os.path.basename(program)}: {name} is run by no entry" for name in sorted(names - taken)]
print(f"{len(filters)} programs" + "".join("\n" + fault for fault in faults))
sys.exit(bool(faults) or not filters)
