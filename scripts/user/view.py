#!/usr/bin/python3
"""Makes a page that shows a result in a browser, or follows a run (docs/viewer.md)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from catena.viewer.__main__ import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
