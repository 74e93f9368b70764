#!/usr/bin/python3
"""A URDF or MJCF model as a case: import_robot.py robot.urdf -o case.yaml (docs/import.md)."""
import sys

import _package  # noqa: F401
from catena.importers.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
