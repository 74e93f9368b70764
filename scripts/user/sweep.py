#!/usr/bin/python3
"""Runs a case many times with other values: see `catena sweep --help` and docs/sweep.md."""
import sys

import _package  # noqa: F401
from catena.sweep import main

if __name__ == "__main__":
    sys.exit(main())
