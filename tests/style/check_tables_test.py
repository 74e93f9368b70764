#!/usr/bin/python3
"""check_tables.py finds rows that take a table apart, also in tables within lists, says where, and lets code be."""
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = sys.argv[1]
README = r"""# Tables

| a | b |
|---|---|
| 1 | `x \| y` |
| 1 | 2 | 3 |

| no | dashes |
| 1 | 2 |

- In a list:

  | a | b |
  |:--|--:|
  | 1 | `x | y` |

    | code | of
    | four | blanks

```
| fenced
```
"""
FAULTS = ["README.md:6: 3 cells in a table of 2",
          "README.md:8: no line of dashes below the head of a table",
          "README.md:15: 3 cells in a table of 2"]

with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "README.md").write_text(README)
    done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)
    wanted = FAULTS + ["check_tables: 1 pages, 3 rows that take a table apart"]
    if done.stdout.splitlines() != wanted or done.returncode != 1:
        sys.exit("\n".join(["expected", *wanted, "found", done.stdout, done.stderr]))
