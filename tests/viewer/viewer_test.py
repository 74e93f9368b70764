#!/usr/bin/python3
"""viewer_test.py CATENA PYTHON_DIR: pages of the viewer hold what the result holds, and a browser shows it."""
import base64
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

import h5py
import numpy as np

CATENA, PACKAGE = sys.argv[1], sys.argv[2]
sys.path.insert(0, PACKAGE)
from catena import CatenaError  # noqa: E402
from catena.viewer import View, server, write_page  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CHROMIUM = shutil.which("chromium")


def turn_of(bits):
    """A quaternion (w, x, y, z) from 32 bits: two say which component is the largest, ten each hold the others."""
    small = [((bits >> shift & 1023) / 1023 * 2 - 1) / 2**0.5 for shift in (20, 10, 0)]
    small.insert(bits >> 30, (1 - sum(x * x for x in small))**0.5)
    return np.array(small)


def half(data):
    return np.array(struct.unpack(f"<{len(data) // 2}e", data))


class Unpacked:
    """A frame taken apart by what frames.py documents."""

    def __init__(self, packed, scene):
        self.data, self.at = gzip.decompress(packed), 16
        self.count, self.chains, every, _ = struct.unpack("<4I", self.data[:16])
        n, width = self.count, 4 if scene["wide"] else 2
        low, high = np.array(scene["lower"]), np.array(scene["upper"])

        def places(m):
            whole = np.array(struct.unpack(f"<{3 * m}{'I' if width == 4 else 'H'}", self.take(3 * m * width)))
            return low + (high - low) * whole.reshape(m, 3) / (256**width - 1)

        self.body = range(n) if every else struct.unpack(f"<{n}I", self.take(4 * n))
        self.position = places(n)
        self.turn = np.array([turn_of(b) for b in struct.unpack(f"<{n}I", self.take(4 * n))])
        self.fields = {f["name"]: f["scale"] * half(self.take(2 * f["width"] * n)) for f in scene["frameFields"]}
        self.force = np.array(struct.unpack(f"<{self.chains}f", self.take(4 * self.chains)))
        self.ends = places(2 * self.chains)

    def take(self, size):
        block = self.data[self.at:self.at + size]
        self.at += (size + 3) // 4 * 4
        return block


def scene_in(page):
    return json.loads(re.search(r'id="scene">(.*?)</script>', page, re.DOTALL).group(1))


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.result = os.path.join(cls.folder, "shapes")
        subprocess.run([CATENA, "run", os.path.join(HERE, "shapes.yaml"), "-o", cls.result, "--quiet"], check=True)
        cls.page = os.path.join(cls.folder, "page.html")
        cls.view = View(cls.result)
        write_page(cls.view, cls.page)
        with open(cls.page, encoding="utf-8") as file:
            cls.text = file.read()
        cls.scene = scene_in(cls.text)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def snapshot(self, k):
        return h5py.File(os.path.join(self.result, "snapshots", f"{self.scene['steps'][k]:08d}.h5"), "r")

    def test_frames_hold_the_snapshots_within_the_stated_errors(self):
        self.assertEqual(len(self.scene["times"]), 6)
        error = float(re.search(r"off by ([0-9.e-]+) m", self.scene["notes"]).group(1))
        for k in range(6):
            packed = base64.b64decode(re.search(rf'id="frame-{k}">(.*?)<', self.text).group(1))
            frame = Unpacked(packed, self.scene)
            with self.snapshot(k) as file:
                bodies = file["bodies"]
                self.assertEqual(frame.count, 8)
                self.assertLessEqual(np.abs(frame.position - bodies["position"][()]).max(), 1.01 * error)
                same = np.abs(np.sum(frame.turn * bodies["orientation"][()], axis=1))
                self.assertLessEqual(2 * np.arccos(np.minimum(1, same)).max(), 0.003)
                velocity = frame.fields["velocity"].reshape(-1, 3)
                wanted = bodies["velocity"][()]
                self.assertLessEqual(np.abs(velocity - wanted).max(), 5e-4 * np.abs(wanted).max() + 1e-7)
                if k == 5:
                    self.check_forces(frame, file)

    def check_forces(self, frame, file):
        pairs, normal = file["contacts/bodies"][()], file["contacts/normal"][()]
        pressing = np.sum(file["contacts/impulse"][()] * normal, axis=1) / 2e-3
        total = np.array([pressing[(pairs == i).any(axis=1)].sum() for i in file["bodies/id"][()]])
        np.testing.assert_allclose(frame.fields["force"], total, rtol=1e-3, atol=1e-6)
        touching = {tuple(p) for p, f in zip(pairs, pressing) if f > 0}
        self.assertEqual(frame.chains, len(touching))
        self.assertAlmostEqual(frame.force.sum(), pressing.sum(), delta=1e-5 * pressing.sum())
        self.assertTrue(np.all(np.diff(frame.force) <= 0))

    def test_every_body_has_its_shape(self):
        scene = self.scene
        kinds = {name: sorted(scene["shapes"][p[1]]["type"] for p in scene["parts"] if p[0] == k)
                 for k, name in enumerate(scene["bodies"]["name"])}
        self.assertEqual(kinds["ball"], ["sphere"])
        self.assertEqual(kinds["brick"], ["box"])
        self.assertEqual(kinds["rod"], ["sphere", "sphere", "tube"])
        self.assertEqual(kinds["pair"], ["box", "sphere"])
        self.assertEqual(kinds["wedge"], ["surface"])
        self.assertEqual(kinds["floor"], ["plane"])
        names = scene["bodies"]["name"]
        self.assertEqual(scene["joints"], [[names.index("ball"), names.index("brick")]])
        part = next(p for p in scene["parts"] if names[p[0]] == "brick")
        self.assertEqual(part[4], [0.3, 0.2, 0.1])

    def test_a_page_needs_no_network_and_names_cannot_break_it(self):
        outside = re.findall(r'(?:src|href)="(?!data:)[^"]*"', self.text)
        self.assertEqual(outside, [])
        self.assertEqual(self.text.count("</script><b>"), 0)
        self.assertIn("</script><b>", self.scene["bodies"]["name"])

    def test_few_chains_are_the_strongest_and_less_is_smaller(self):
        view = View(self.result, kept=(), chains=2, every=5)
        frame = Unpacked(view.frame(1), {**view.scene})
        full = Unpacked(self.view.frame(5), self.scene)
        np.testing.assert_allclose(frame.force, full.force[:2])
        self.assertEqual(frame.fields, {})

    def test_a_page_that_cannot_be_written_leaves_the_old_one(self):
        with open(self.page, "rb") as file:
            before = file.read()
        view = View(self.result)
        view.frame = lambda k: (_ for _ in ()).throw(OSError(28, "No space left on device", self.page))
        with self.assertRaises(OSError):
            write_page(view, self.page)
        with open(self.page, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".part")], [])
        with self.assertRaisesRegex(CatenaError, "nowhere: there is no such directory; make it, or choose another"):
            write_page(view, os.path.join(self.folder, "nowhere", "view.html"))

    def test_no_result(self):
        with self.assertRaises(CatenaError):
            View(os.path.join(self.folder, "nowhere"))

    def test_a_server_follows_a_run(self):
        grown = os.path.join(self.folder, "grown")
        shutil.copytree(self.result, grown)
        os.remove(os.path.join(grown, "result.h5"))  # made at the end of a run
        held = [os.path.join(grown, "snapshots", f"{self.scene['steps'][k]:08d}.h5") for k in (4, 5)]
        for path in held:
            os.rename(path, path + ".part")
        with server(grown) as following:
            thread = threading.Thread(target=following.serve_forever, daemon=True)
            thread.start()
            self.assertEqual(following.server_address[0], "127.0.0.1")
            address = f"http://127.0.0.1:{following.server_address[1]}/"
            get = lambda path: urllib.request.urlopen(address + path, timeout=300).read()
            scene = scene_in(get("").decode())
            self.assertTrue(scene["live"])
            self.assertEqual(len(scene["times"]), 4)
            os.rename(held[0] + ".part", held[0])
            news = json.loads(get("times"))
            self.assertEqual((len(news["times"]), news["stale"]), (5, False))
            frame = Unpacked(get("frame/4"), scene)
            with self.snapshot(4) as file:
                far = np.abs(frame.position - file["bodies/position"][()]).max()
            self.assertLessEqual(far, np.max(np.array(scene["upper"]) - scene["lower"]) / 2**16)
            with self.assertRaises(urllib.error.HTTPError):
                get("frame/5")
            # faster than what the page's numbers hold: it has to be made anew
            with h5py.File(held[1] + ".part", "r+") as file:
                file["bodies/velocity"][1] = [1e7, 0, 0]
            os.rename(held[1] + ".part", held[1])
            self.assertTrue(json.loads(get("times"))["stale"])
            following.shutdown()

    @unittest.skipUnless(CHROMIUM, "no chromium here (scripts/install_dependencies browser)")
    def test_a_browser_shows_it(self):
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--no-first-run",
                   "--enable-unsafe-swiftshader", "--disable-background-networking", "--disable-component-update",
                   "--disable-sync", "--window-size=900,600", "--virtual-time-budget=8000", "--enable-logging=stderr",
                   "--user-data-dir=" + os.path.join(self.folder, "profile")]
        picture = os.path.join(self.folder, "page.png")
        run = lambda *more: subprocess.run([CHROMIUM, *options, *more, "file://" + self.page + "#6"], timeout=300,
                                           capture_output=True, text=True, check=True)
        shown = run("--dump-dom")
        self.assertIn("t 0.1 s, step 50 (6/6)", shown.stdout)
        self.assertNotIn("CONSOLE", re.sub(r".*(GPU stall|GL Driver Message).*", "", shown.stderr))
        run("--run-all-compositor-stages-before-draw", "--screenshot=" + picture)
        import matplotlib.image
        pixels = matplotlib.image.imread(picture)[:540, :590, :3]
        # bodies are darker than sky and floor; without them there is nothing such
        dark = np.mean(pixels.sum(axis=2) < 1.5)
        self.assertTrue(0.01 < dark < 0.3, dark)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
