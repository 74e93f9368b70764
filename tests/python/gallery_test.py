#!/usr/bin/python3
"""gallery_test.py CATENA SOURCE_DIR: docs/gallery.md is what its script makes, names every example, and its commands
are accepted. Pictures are there and small; what they show is not looked at."""
import importlib.util
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

CATENA, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "python"))
from catena.draw import render  # noqa: E402

PAGE = (SOURCE / "docs/gallery.md").read_text()
EXAMPLES = sorted(p.stem for p in (SOURCE / "configs/examples").glob("*.yaml"))


class Gallery(unittest.TestCase):
    def test_the_page_is_what_the_script_makes(self):
        spec = importlib.util.spec_from_file_location("make_gallery", SOURCE / "scripts/dev/make_gallery.py")
        script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(script)
        self.assertEqual(PAGE, script.page(), "run scripts/dev/make_gallery.py CATENA --page")

    def test_every_example_is_named_with_a_sentence_and_a_small_picture(self):
        entries = re.findall(r"^!\[\]\((images/gallery/(\w+)\.png)\)\n\n([A-Z].*\.) \(\[\2\.yaml\]", PAGE, re.MULTILINE)
        self.assertEqual(sorted(name for _, name, _ in entries), EXAMPLES)
        sizes = [(SOURCE / "docs" / path).stat().st_size for path, _, _ in entries]
        self.assertLessEqual(max(sizes), 60_000)
        self.assertLessEqual(sum(sizes), 2_500_000)
        kept = {p.stem for p in (SOURCE / "docs/images/gallery").iterdir()}
        self.assertEqual(kept, set(EXAMPLES), "pictures of no example")

    def test_commands_are_accepted(self):
        lines = re.findall(r"^    (catena (?:run|render) .*)$", PAGE, re.MULTILINE)
        self.assertEqual(len(lines), 2 * len(EXAMPLES))
        for line in lines:
            words = shlex.split(line)
            if words[1] == "render":
                render.options_of(render.parse_arguments(words[2:]))
                continue
            out = words.index("-o")
            check = [CATENA, "check", *words[2:out], *words[out + 2:]]
            done = subprocess.run(check, cwd=SOURCE, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, line + "\n" + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
