#!/usr/bin/python3
"""check_layers.py finds what may not be, and says where."""
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = sys.argv[1]
CASES = {
    "src/io/config.cpp": ('#include "catena/solvers/solver.hpp"',
                          "src/io/config.cpp:2: io may not include solvers"),
    "src/model/model.cpp": ("#include <mpi.h>", "src/model/model.cpp:2: model may not include mpi.h"),
    "include/catena/io/fclib.hpp": ("#include <hdf5.h>",
                                    "include/catena/io/fclib.hpp:2: public headers may not include hdf5.h"),
    "src/solvers/pivoting/dantzig.cpp": ('#include "solvers/first_order/apgd.hpp"',
                                         "src/solvers/pivoting/dantzig.cpp:2: room pivoting may not include room "
                                         "first_order"),
    "src/solvers/joints/chain/cost.cpp": ('#include "solvers/stop_monitor.hpp"', None),
    "src/solvers/cellar/wine.cpp": ('#include "solvers/cellar/wine.hpp"',
                                    "src/solvers/cellar/wine.cpp:2: solvers/cellar is not a room of the map"),
    "src/metrics/errors.cpp": ('#include "row_errors.hpp"',
                               'src/metrics/errors.cpp:2: "row_errors.hpp" needs its path below src'),
    "src/stepper/stepper.cpp": ('#include "catena/base/error.hpp"', None),
}

with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    for name, (line, _) in CASES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("// a comment\n" + line + "\n")
    for number in range(21):
        crowd = root / "src/math" / f"part_{number}.cpp"
        crowd.parent.mkdir(parents=True, exist_ok=True)
        crowd.write_text("// a comment\n")
    (root / "drivers").mkdir()
    result = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True)

expected = sorted([message for _, message in CASES.values() if message]
                  + ["src/math: 21 source files, 20 at most: split it by job"])
found = sorted(result.stdout.splitlines())
if found != expected or result.returncode != 1:
    print("expected:", *expected, "found:", *found, result.stderr, sep="\n  ")
    sys.exit(1)
