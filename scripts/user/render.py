#!/usr/bin/python3
"""Renders snapshots of a result: see `render.py --help`. Needs python3-vtk9, python3-h5py and python3-numpy; movies
need ffmpeg."""
import sys

import _package  # noqa: F401
from catena.draw.render import main

if __name__ == "__main__":
    sys.exit(main())
