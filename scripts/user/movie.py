#!/usr/bin/python3
"""Makes a movie of a result or a case: see `movie.py --help`. Needs ffmpeg and what render.py needs."""
import sys

import _package  # noqa: F401
from catena.draw.movie import main

if __name__ == "__main__":
    sys.exit(main())
