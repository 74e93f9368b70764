#!/usr/bin/python3
"""Writes a result as files of VTK: see `to_vtk.py --help`. Needs python3-vtk9, python3-h5py and python3-numpy."""
import sys

import _package  # noqa: F401
from catena.vtk_files import main

if __name__ == "__main__":
    sys.exit(main())
