#!/usr/bin/python3
"""Checks that modules and their rooms include only what they may, private headers by their path below src,
and libraries' headers only where they belong (docs/design/0001-module-map.md), and that no folder of src grows
beyond MOST_FILES. Prints a line for each violation.

    scripts/dev/check_layers.py [ROOT]
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
    "search": "comm model collision",
    "partition": "constraints search",
    "solvers": "metrics partition",
    "stepper": "solvers",
    "io": "constraints",
    "scenarios": "io",
    "probes": "stepper scenarios",
    "simulation": "probes",
}
DRIVERS = "drivers"
PYTHON = "python/extension"

# Rooms of a module, and what each may include of the module's other rooms; its own files and those that
# stand in the module's folder itself ("") are named, too. Rooms that are not named may include nothing of it.
ROOMS = {
    "collision": {"": "convex", "convex": ""},
    "search": {"": "ranks", "ranks": ""},
    "partition": {"graph": "ownership", "balance": "graph", "ownership": "graph", "mechanisms": "ownership"},
    "solvers": {
        "": "gauss_seidel newton patches",
        "gauss_seidel": "gauss_seidel/formulations batches batches/local batches/simd joints joints/drives",
        "gauss_seidel/formulations": "gauss_seidel batches",
        "batches": "batches/local batches/simd",
        "batches/local": "batches/simd",
        "batches/simd": "lanes",
        "lanes": "",
        "patches": "gauss_seidel batches/simd",
        "first_order": "batches batches/simd joints",
        "newton": "linear",
        "interior_point": "newton interior_point/fang",
        "interior_point/fang": "linear",
        "pivoting": "",
        "joints": "joints/chain joints/elimination joints/across",
        "joints/drives": "joints",
        "joints/chain": "joints/elimination",
        "joints/elimination": "linear",
        "joints/elimination/redundant": "joints/elimination",
        "joints/across": "joints/elimination joints/dissection",
        "joints/dissection": "joints/dissection/simd",
        "joints/dissection/simd": "lanes",
        "linear": "",
    },
    "io": {"": "hdf5 checkpoint fclib result", "yaml": "", "hdf5": "", "vtk": "hdf5",
           "result": "hdf5 vtk", "checkpoint": "hdf5", "fclib": "hdf5"},
    "scenarios": {"": "chains make pack", "chains": "", "describe": "", "make": "pack pieces", "pack": "", "pieces": "pack"},
    "stepper": {"": "", "natural": ""},
    "simulation": {"": "initial", "run": "diagnosis initial", "diagnosis": "", "flow": "", "initial": "",
                   "control": ""},
}

MOST_FILES = 20

# header (by pattern) -> places whose sources may include it; none may in include/
LIBRARIES = [
    (r"spdlog/", {"base"}),
    (r"mpi\.h$", {"comm", "solvers", "io"}),  # PETSc and HDF5 take an MPI_Comm
    (r"metis\.h$", {"partition"}),
    (r"petsc\w*\.h$", {"solvers"}),
    (r"(hdf5|H5\w+)\.h$", {"io"}),
    (r"(Bullet|LinearMath|bt[A-Z])", {"collision"}),
    (r"yaml-cpp/", {"io"}),
    (r"muParser", {"simulation"}),
    (r"CLI/", {DRIVERS}),
    (r"pybind11/", {PYTHON}),
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


def room_violations(root, file, module, path, where):
    """What is wrong with a private include of a source file, by rooms."""
    if "/" not in path:
        yield f'{where}: "{path}" needs its path below src'
    elif path.split("/")[0] == module and module in ROOMS:
        own, other = (str(pathlib.PurePath(p).parent.relative_to(module)).replace(".", "")
                      for p in (file.relative_to(root / "src"), pathlib.PurePath(path)))
        rooms = ROOMS[module]
        for room in (own, other):
            if room not in rooms:
                yield f"{where}: {module}/{room} is not a room of the map"
                return
        if other not in ("", own) and other not in rooms[own].split():
            yield f"{where}: room {own or 'of ' + module + ' itself'} may not include room {other}"


def violations(root):
    allowed = {module: reachable(module) for module in NEEDS}
    allowed[DRIVERS] = allowed[PYTHON] = set(NEEDS)
    places = [(root / "include/catena" / m, m, True) for m in NEEDS]
    places += [(root / "src" / m, m, False) for m in NEEDS] + [(root / place, place, False) for place in (DRIVERS, PYTHON)]
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
                if match.group(1) == '"' and not public and module in NEEDS and not path.startswith("catena/"):
                    yield from room_violations(root, file, module, path, where)
                for pattern, homes in LIBRARIES:
                    if re.match(pattern, path):
                        if public:
                            yield f"{where}: public headers may not include {path}"
                        elif module not in homes:
                            yield f"{where}: {module} may not include {path}"
    for folder in sorted(p for p in (root / "src").rglob("*") if p.is_dir()):
        count = sum(1 for p in folder.iterdir() if p.suffix in (".cpp", ".hpp", ".inl"))
        if count > MOST_FILES:
            yield f"{folder.relative_to(root)}: {count} source files, {MOST_FILES} at most: split it by job"
    for base in ("include/catena", "src"):
        for folder in sorted((root / base).iterdir()):
            if folder.is_dir() and folder.name not in NEEDS:
                yield f"{folder.relative_to(root)}: not a module of the map"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    found = list(violations(root))
    print("\n".join(found) if found else "layers: clean")
    return 1 if found else 0


sys.exit(main())
