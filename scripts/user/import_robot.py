#!/usr/bin/python3
"""A URDF or MJCF model as a case: import_robot.py robot.urdf -o case.yaml (docs/import.md)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
from catena.importers.__main__ import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
