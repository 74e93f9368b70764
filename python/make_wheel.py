#!/usr/bin/python3
"""Makes a wheel of the package with its extension module, the program and the scripts that it calls, for this machine's
shared libraries (MPI, PETSc, HDF5). Needs setuptools and wheel, and no network. The build's target `wheel` calls it.

    make_wheel.py VERSION EXTENSION PROGRAM OUT
"""
import os
import pathlib
import shutil
import sys
import tempfile

from setuptools import find_packages, setup
from setuptools.dist import Distribution

SOURCE = pathlib.Path(__file__).resolve().parents[1]
# what `catena study` needs, as CMakeLists.txt installs it
STUDIES = ["compare_solvers", "cost_model", "scaling_plots", "scaling_report", "scaling_text"]


class WithExtension(Distribution):
    """Not for every platform, although setuptools compiles nothing."""

    def has_ext_modules(self):
        return True


def main():
    version, out = sys.argv[1], pathlib.Path(sys.argv[4]).resolve()
    extension, program = (pathlib.Path(p).resolve() for p in sys.argv[2:4])
    caches = shutil.ignore_patterns("__pycache__")
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        shutil.copytree(SOURCE / "python/catena", "catena", ignore=caches)
        shutil.copytree(SOURCE / "scripts/user", "user", ignore=caches)
        shutil.copy(extension, "catena")
        shutil.copy(program, "catena-program")
        os.makedirs("bin")
        shutil.move("catena-program", "bin/catena")
        scripts = [str(p) for p in sorted(pathlib.Path("user").iterdir()) if p.is_file()]
        shutil.copy(SOURCE / "scripts/scaling_study.py", ".")
        for template in ("slurm.sh", "sweep.sbatch"):
            shutil.copy(SOURCE / "scripts/templates" / template, ".")
        shutil.copytree(SOURCE / "scripts/studies", "studies", ignore=caches)
        studies = [f"studies/{name}.py" for name in STUDIES]
        setup(name="catena", version=version, description="MPI-distributed multibody dynamics with frictional contact",
              license="see LICENSE", python_requires=">=3.9", install_requires=["numpy", "h5py", "PyYAML"],
              extras_require={"mpi": ["mpi4py"]}, packages=find_packages(include=["catena", "catena.*"]),
              package_data={"catena": ["**/*"]}, include_package_data=False, distclass=WithExtension,
              data_files=[("bin", ["bin/catena"]), ("libexec/catena", ["scaling_study.py"]),
                          ("libexec/catena/templates", ["slurm.sh", "sweep.sbatch"]),
                          ("libexec/catena/user", scripts), ("libexec/catena/studies", studies)],
              script_args=["-q", "bdist_wheel", "-d", str(out)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
