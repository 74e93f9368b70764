#!/usr/bin/python3
"""Checks that modules include only what lies below them, and libraries' headers only where
they belong (docs/design/0001-module-map.md). Prints a line for each include that may not be.

    scripts/check_layers.py [ROOT]
"""
import pathlib
import re
import sys

# what each module names as its own needs; whatever those may include comes with them
NEEDS = {
    "base": "",
    "math": "base",
    "comm": "base math",
    "model": "base math",
    "collision": "model",
    "constraints": "comm model collision",
    "metrics": "constraints",
    "partition": "constraints",
    "solvers": "metrics partition",
    "stepper": "solvers",
    "io": "constraints",
    "scenarios": "io",
    "simulation": "stepper scenarios",
}
DRIVERS = "drivers"

# header (by pattern) -> places whose sources may include it; none may in include/
LIBRARIES = [
    (r"spdlog/", {"base"}),
    (r"mpi\.h$", {"comm", "solvers", "io"}),  # PETSc and HDF5 take an MPI_Comm
    (r"metis\.h$", {"partition"}),
    (r"petsc\w*\.h$", {"solvers"}),
    (r"(hdf5|H5\w+)\.h$", {"io"}),
    (r"(Bullet|LinearMath|bt[A-Z])", {"collision"}),
    (r"yaml-cpp/", {"io"}),
    (r"CLI/", {DRIVERS}),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def reachable(module):
    found = {module}
    for needed in NEEDS[module].split():
        found |= reachable(needed)
    return found


def module_of_include(path):
    """Module that an include path names, or None for other libraries and neighbours."""
    parts = path.split("/")
    if parts[0] == "catena" and len(parts) > 2:
        return parts[1]
    return parts[0] if len(parts) > 1 and parts[0] in NEEDS else None


def violations(root):
    allowed = {module: reachable(module) for module in NEEDS}
    allowed[DRIVERS] = set(NEEDS)
    places = [(root / "include/catena" / m, m, True) for m in NEEDS]
    places += [(root / "src" / m, m, False) for m in NEEDS] + [(root / "drivers", DRIVERS, False)]
    for folder, module, public in places:
        for file in sorted(folder.rglob("*.[ch]pp")):
            for number, line in enumerate(file.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                path = match.group(2)
                where = f"{file.relative_to(root)}:{number}"
                target = module_of_include(path)
                if target and target not in allowed[module]:
                    yield f"{where}: {module} may not include {target}"
                for pattern, homes in LIBRARIES:
                    if re.match(pattern, path):
                        if public:
                            yield f"{where}: public headers may not include {path}"
                        elif module not in homes:
                            yield f"{where}: {module} may not include {path}"
    for base in ("include/catena", "src"):
        for folder in sorted((root / base).iterdir()):
            if folder.is_dir() and folder.name not in NEEDS:
                yield f"{folder.relative_to(root)}: not a module of the map"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    found = list(violations(root))
    print("\n".join(found) if found else "layers: clean")
    return 1 if found else 0


sys.exit(main())
