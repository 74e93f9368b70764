#!/usr/bin/python3
"""check_links.py finds links to nothing, in pages and in a built site, says where, and lets all others be."""
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = sys.argv[1]
README = """# A `page` of [links](docs/deep.md)

[text](docs/deep.md#two-words), [again](docs/deep.md#two-words-1), [here](#a-page-of-links), [folder](docs),
[deep](docs/deep.md), "Two words" and [deep](docs/deep.md), "Of its own", [deep](docs/deep.md), "Names".
`[code](nothing.md)` P\\[l\\](x) [one](http://example.org/a#b) [two](mailto:a@example.org)

    [indented](nothing.md)

```md
[fenced](nothing.md)
```
![picture](docs/none.png) [anchor](docs/deep.md#three-words) [none](#none)
[deep](docs/deep.md), "Three words" [file](docs/data.csv#row) [bad](http://nowhere) [bad](ftp:x)
"""
DEEP = """# Deep

## Two words
## Two *words*
## Names: what they mean

*Of its own.* A paragraph.

```sh
# three words
```
[up](../README.md) [lost](../lost.md)
"""
PAGES = ["README.md:12: docs/none.png: no such file",
         "README.md:12: docs/deep.md#three-words: no heading with this anchor",
         "README.md:12: #none: no heading with this anchor",
         'README.md:13: docs/deep.md: no section "Three words"',
         "README.md:13: docs/data.csv#row: no heading with this anchor",
         "README.md:13: http://nowhere: not an address",
         "README.md:13: ftp:x: not an address",
         "docs/deep.md:12: ../lost.md: no such file"]
INDEX = """<a href="in/page.html#name">
<a href="in/page.html#none"><img src="none.png">
<a href="../out.html"><a href="#here"><p id="here"><a href="in/">
<a href="https://example.org"><a href="https://">
"""
SITE = ["index.html:2: in/page.html#none: no such anchor",
        "index.html:2: none.png: no such file",
        "index.html:3: ../out.html: leads out of the site",
        "index.html:3: in/: no such file",
        "index.html:4: https://: not an address"]


def check(expected, links, *arguments):
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)
    wanted = expected + [f"check_links: {links} links, {len(expected)} to nothing"]
    if done.stdout.splitlines() != wanted or done.returncode != 1:
        sys.exit("\n".join(["expected", *wanted, "found", done.stdout, done.stderr]))


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    (root / "docs").mkdir()
    (root / "docs" / "data.csv").touch()
    (root / "docs" / "deep.md").write_text(DEEP)
    (root / "README.md").write_text(README)
    check(PAGES, 19, folder)

    site = root / "site"
    (site / "in").mkdir(parents=True)
    (site / "index.html").write_text(INDEX)
    (site / "in" / "page.html").write_text('<h1 id="name"></h1>')
    check(SITE, 8, "--site", str(site))

    empty = subprocess.run([sys.executable, SCRIPT, str(site)], capture_output=True, text=True, check=False)
    if empty.returncode != 1 or "no links below" not in empty.stderr:
        sys.exit("a folder without pages passes: " + empty.stdout + empty.stderr)
