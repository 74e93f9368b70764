from spack.package import *


class Catena(CMakePackage):
    """Multibody dynamics with joints and frictional contact, distributed over MPI."""

    # There is no public archive yet: give the source tree with
    #   spack develop --path /path/to/catena catena@main
    # or `spack dev-build catena@main` in it.
    license("Apache-2.0")

    version("main")

    variant("native", default=True, description="Tune for the CPU that builds (-march=native)")
    variant("scripts", default=True, description="What the Python scripts for plots and studies need")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    generator("ninja")

    depends_on("mpi@3:")
    depends_on("hdf5@1.10: +mpi")
    depends_on("petsc@3.18: +mpi ~complex +double")
    depends_on("metis@5:")
    depends_on("eigen@3.4:3.4")
    depends_on("yaml-cpp@0.7:")
    depends_on("cli11@2.1:")
    depends_on("spdlog@1.10:")
    depends_on("muparser@2.3:")
    depends_on("bullet-float64@3.24:")
    depends_on("python@3.9:", type="run", when="+scripts")
    depends_on("py-numpy", type="run", when="+scripts")
    depends_on("py-h5py", type="run", when="+scripts")
    depends_on("py-matplotlib", type="run", when="+scripts")
    depends_on("py-pyyaml", type="run", when="+scripts")
    depends_on("py-mpi4py", type="run", when="+scripts")
    # catena.Simulation
    depends_on("py-pybind11@2.10:", type="build", when="+scripts")

    conflicts("%gcc@:11", msg="needs a compiler for C++20 as g++ 12 has it")

    def cmake_args(self):
        return [
            self.define_from_variant("CATENA_NATIVE", "native"),
            self.define("CATENA_TESTS", self.run_tests),
            self.define("CATENA_BENCHMARKS", False),
        ]
