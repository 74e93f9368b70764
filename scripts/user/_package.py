"""Finds the Python package `catena`: of this checkout, or installed beside these scripts."""
import glob
import os
import sys

_HERE = os.path.dirname(os.path.realpath(__file__))
_LIB = os.path.join(_HERE, "..", "..", "..", "lib", "python3*")
_PLACES = [os.path.join(_HERE, "..", "..", "python"),
           *glob.glob(os.path.join(_LIB, "site-packages")), *glob.glob(os.path.join(_LIB, "dist-packages"))]
for _place in _PLACES:
    if os.path.isdir(os.path.join(_place, "catena")):
        sys.path.insert(0, os.path.normpath(_place))
        break
try:
    import catena  # noqa: F401
except ImportError as e:
    sys.exit(f"{os.path.basename(sys.argv[0])}: {e}; install python3-numpy and python3-h5py, and have the package "
             "`catena` on PYTHONPATH")
