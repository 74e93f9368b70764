from spack.package import *


class BulletFloat64(CMakePackage):
    """Bullet's collision library in double precision, named as Debian names it."""

    homepage = "https://bulletphysics.org"
    git = "https://github.com/bulletphysics/bullet3.git"

    license("Zlib")

    version("3.25", tag="3.25")
    version("3.24", tag="3.24")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.5:", type="build")

    def cmake_args(self):
        return [
            self.define("USE_DOUBLE_PRECISION", True),
            self.define("CMAKE_RELEASE_POSTFIX", "-float64"),
            self.define("CMAKE_BUILD_TYPE", "Release"),
            self.define("BUILD_SHARED_LIBS", True),
            self.define("INSTALL_LIBS", True),
            self.define("BUILD_EXTRAS", False),
            self.define("BUILD_UNIT_TESTS", False),
            self.define("BUILD_CPU_DEMOS", False),
            self.define("BUILD_BULLET2_DEMOS", False),
            self.define("BUILD_OPENGL3_DEMOS", False),
            self.define("BUILD_PYBULLET", False),
        ]
