#!/usr/bin/python3
"""Recipes for containers and Spack: their form, and that what they name is there. They are not built.

    recipes.py ROOT
"""
import ast
import pathlib
import re
import subprocess
import sys

import program

# Debian package of a dependency of the Spack recipe, and what Debian's tools bring with them
SPACK_NAMES = {"mpi": "libopenmpi-dev", "hdf5": "libhdf5-openmpi-dev", "petsc": "libpetsc-real-dev",
               "metis": "libmetis-dev", "eigen": "libeigen3-dev", "yaml-cpp": "libyaml-cpp-dev",
               "cli11": "libcli11-dev", "spdlog": "libspdlog-dev", "bullet-float64": "libbullet-dev", "muparser": "libmuparser-dev",
               "cmake": "cmake", "pkgconfig": "pkg-config", "c": "g++", "cxx": "g++", "python": "python3-numpy",
               "py-numpy": "python3-numpy", "py-h5py": "python3-h5py", "py-matplotlib": "python3-matplotlib",
               "py-pyyaml": "python3-yaml", "py-pybind11": "pybind11-dev", "py-mpi4py": "python3-mpi4py"}
# of the sections build and run: Debian's ways to BLAS and to headers of Python, pictures, and tools that Spack has itself
NOT_IN_SPACK = {"openmpi-bin", "libopenblas0-pthread", "python3-dev", "git", "ninja-build", "python3-vtk9", "xvfb", "xauth",
                "libgl1-mesa-dri"}


def debian_packages(root):
    found, section = set(), None
    for line in (root / "scripts" / "dependencies.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            section = line
        elif line and section in ("[build]", "[run]"):
            found.add(line.split("|")[0].strip())
    return found


def check_sources(root, name, paths, report):
    """All that CMakeLists.txt needs is copied, and all that is copied is there."""
    for path in paths:
        report.expect((root / path).exists(), "%s copies %s, which is not there" % (name, path))
    # what the build reads and installs, by the words of the lists themselves
    read = set()
    for listed in ("CMakeLists.txt", "packaging/CMakeLists.txt", "src/CMakeLists.txt"):
        text = (root / listed).read_text()
        read |= set(re.findall(r"\$\{PROJECT_SOURCE_DIR\}/([A-Za-z]+(?:\.md)?)", text))
        if listed == "CMakeLists.txt":
            read |= set(re.findall(r"(?:add_subdirectory\(|install\(DIRECTORY )(\w+)", text)) - {"tests"}
    for path in sorted(read | {"CMakeLists.txt"}):
        report.expect(path in paths, "%s does not copy %s" % (name, path))


def check_options(root, name, text, report):
    known = set(re.findall(r"option\((CATENA_\w+)", (root / "CMakeLists.txt").read_text()))
    known |= set(re.findall(r"set\((CATENA_\w+)[^)]*CACHE", (root / "python" / "CMakeLists.txt").read_text()))
    used = set(re.findall(r"CATENA_\w+", text))
    report.expect(used and used <= known, "%s: options %s" % (name, used - known))


def check_containers(root, report):
    text = (root / "containers" / "Dockerfile").read_text()
    lines = re.sub(r"\\\n", " ", text).splitlines()
    words = {line.split()[0] for line in lines if line and not line.startswith("#")}
    report.expect(words <= {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "CMD"}, "Dockerfile: %s" % words)
    copied = [w for line in lines if line.startswith("COPY") for w in line.split()[1:-1]]
    check_sources(root, "Dockerfile", copied, report)
    check_options(root, "Dockerfile", text, report)
    for line in lines:
        if line.startswith("RUN"):
            read = subprocess.run(["bash", "-n"], input=line[4:], capture_output=True, text=True)
            report.expect(read.returncode == 0, "Dockerfile: " + read.stderr)

    text = (root / "containers" / "catena.def").read_text()
    sections = dict(re.findall(r"^%(\w+)\n(.*?)(?=^%|\Z)", text, re.MULTILINE | re.DOTALL))
    report.expect(set(sections) <= {"files", "post", "environment", "runscript", "test", "labels", "help"},
                  "catena.def: sections %s" % set(sections))
    check_sources(root, "catena.def", [line.split()[0] for line in sections["files"].splitlines() if line.strip()],
                  report)
    check_options(root, "catena.def", text, report)
    for name in ("post", "environment", "runscript", "test"):
        read = subprocess.run(["sh", "-n"], input=sections[name], capture_output=True, text=True)
        report.expect(read.returncode == 0, "catena.def: %s: %s" % (name, read.stderr))


def check_spack(root, report):
    names = set()
    for path in sorted((root / "packaging" / "spack" / "packages").glob("*/package.py")):
        tree = ast.parse(path.read_text(), str(path))
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        expected = "".join(word.capitalize() for word in path.parent.name.split("-"))
        report.expect([c.name for c in classes] == [expected], "%s: class %s" % (path, expected))
        if path.parent.name != "catena":
            continue
        check_options(root, str(path), path.read_text(), report)
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "depends_on":
                names.add(re.match(r"[\w-]+", call.args[0].value).group())
    report.expect(names <= set(SPACK_NAMES), "Spack's names: %s" % (names - set(SPACK_NAMES)))
    missing = debian_packages(root) - NOT_IN_SPACK - {SPACK_NAMES.get(name) for name in names}
    report.expect(not missing, "the Spack recipe lacks what Debian calls %s" % missing)


def check_versions(root, report):
    """One version, that of CMakeLists.txt, in all that names it."""
    version = re.search(r"project\(catena VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text()).group(1)
    for name, text in (("CITATION.cff", "version: %s\n"), ("README.md", "This is version %s."),
                       ("docs/versions.md", "This is %s;")):
        report.expect(text % version in (root / name).read_text(), "%s does not say %s" % (name, text % version))


def main():
    root = pathlib.Path(sys.argv[1])
    report = program.Report()
    check_containers(root, report)
    check_spack(root, report)
    check_versions(root, report)
    print("%d failures" % report.failures)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
