#!/usr/bin/python3
"""Makes a page that shows a result in a browser, or follows a run (docs/viewer.md)."""
import sys

import _package  # noqa: F401
from catena.viewer.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
