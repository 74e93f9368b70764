#!/usr/bin/python3
"""pictures_test.py CATENA SOURCE_DIR: pictures show what a result holds, and movies are whole or not there.

Ends with 77 where VTK or a display is missing; movies are skipped without ffmpeg."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

CATENA, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
SCRIPTS = SOURCE / "scripts/user"
sys.path.insert(0, str(SOURCE / "python"))

try:
    import vtk  # noqa: F401
except ImportError as e:
    print("skipped: %s" % e)
    sys.exit(77)
import catena  # noqa: E402
from vtk.util.numpy_support import vtk_to_numpy  # noqa: E402
from catena.draw import movie, picture  # noqa: E402
from catena.draw.camera import Camera  # noqa: E402
from catena.draw.display import need_display  # noqa: E402
from catena.draw.framing import bounds_of  # noqa: E402
from catena.draw.hidden import lit, seen  # noqa: E402
from catena.draw.picture import Frame, Options, Scene  # noqa: E402
from catena.draw.render import options_of  # noqa: E402

try:
    need_display()
except catena.CatenaError as e:
    print("skipped: %s" % e)
    sys.exit(77)
FFMPEG = shutil.which("ffmpeg") and shutil.which("ffprobe")
PILE = """catena: 1
name: pile
gravity: [0, 0, 0]
materials: {glass: {density: 2500, friction: 0.5}}
bodies:
  - {name: floor, fixed: true, material: glass, shape: {plane: {}}, position: [0, 0, -0.12]}
generators:
  - lattice: {name: grains, material: glass, shape: {sphere: {radius: 0.1}}, radius_jitter: 0.2,
              count: [12, 12, 8], spacing: 0.21, position_jitter: 5 mm}
time: {step: 1 ms, end: 2 ms}
output: {snapshot_interval: 1 ms}
"""
BALL = """catena: 1
name: ball
gravity: [0, 0, 0]
materials: {glass: {density: 2500, friction: 0.5}}
bodies:
  - {name: ball, material: glass, shape: {sphere: {radius: 0.1}}, velocity: [0, 0, 1]}
  - {name: far, material: glass, shape: {sphere: {radius: 0.1}}, position: [0, 1.0, 0]}
time: {step: 1 ms, end: 1 ms}
output: {snapshot_interval: 1 ms}
"""


def top_of(across, depth, radius, size=200):
    """Spheres that a fine raster of the unit square shows, seen along the depth."""
    centre = (np.arange(size) + 0.5) / size
    nearest, owner = np.full((size, size), np.inf), np.full((size, size), -1)
    for k, (x, y) in enumerate(across):
        away = (centre[None, :] - x) ** 2 + (centre[:, None] - y) ** 2
        front = np.where(away < radius[k] ** 2, depth[k] - np.sqrt(np.maximum(radius[k] ** 2 - away, 0)), np.inf)
        owner[front < nearest] = k
        nearest = np.minimum(front, nearest)
    return np.unique(owner[owner >= 0])


class HiddenSpheres(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(3)
        n = 500
        self.at = random.uniform([-0.1, -0.1, 1], [1.1, 1.1, 2], (n, 3))
        self.radius = 0.06 * random.uniform(0.5, 2.5, n)

    def test_what_a_raster_shows_is_seen_and_most_others_are_left_out(self):
        across, depth = self.at[:, :2], self.at[:, 2]
        found = seen(across, depth, self.radius, self.radius, depth - self.radius)
        shown = top_of(across, depth, self.radius)
        self.assertTrue(found[shown].all(), np.flatnonzero(~found[shown]))
        self.assertLess(found.sum(), 2.5 * len(shown))

    def test_what_light_from_above_meets_is_lit(self):
        found = lit(self.at, self.radius, [0.0, 0.0, 1.0], 1000)
        inside = np.all((self.at[:, :2] > 0) & (self.at[:, :2] < 1), axis=1)
        shown = top_of(self.at[:, :2], -self.at[:, 2], self.radius)
        self.assertTrue(found[shown].all())
        self.assertLess(found[inside].mean(), 0.8)

    def test_one_alone_and_none_at_all_are_no_special_cases(self):
        self.assertTrue(lit(self.at[:1], self.radius[:1], [0.12, -0.25, 1.0], 12).all())
        nothing = np.empty(0)
        self.assertEqual(len(seen(np.empty((0, 2)), nothing, nothing, nothing, nothing)), 0)


class Framing(unittest.TestCase):
    def test_the_view_is_about_who_stayed_and_about_the_rim_around_them(self):
        random = np.random.default_rng(4)
        position = np.concatenate([random.uniform(-1, 1, (50, 3)), [[0, 0, 0], [0, 0, -9]]])
        extent = np.concatenate([np.full(50, 0.1), [1.5, 50.0]])  # grains, a drum, a terrain
        kind = np.array(["dynamic"] * 50 + ["kinematic", "fixed"])
        shape = np.array(["sphere"] * 50 + ["hollow_cylinder", "heightfield"])
        later = position.copy()
        later[7] = [0, 0, -1000]
        low, high = bounds_of([(p, extent, kind, shape) for p in (position, later)])
        np.testing.assert_allclose(low, [-1.5, -1.5, -1.5])
        np.testing.assert_allclose(high, [1.5, 1.5, 1.5])


class Drawing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name)
        for text in (PILE, BALL):
            name = text.split()[3]
            (cls.path / (name + ".yaml")).write_text(text)
            subprocess.run([CATENA, "run", name + ".yaml", "--quiet"], cwd=cls.path, check=True, capture_output=True)

    def picture(self, name, **options):
        """Pixels, the uppermost row first."""
        result = catena.Result(self.path / name)
        scene = Scene(result, Options(**{"size": "320x240", **options}), [0])
        image = scene.draw(Frame(result, result[0], scene.options.color))
        pixels = vtk_to_numpy(image.GetPointData().GetScalars()).reshape(240, 320, -1)[::-1]
        return scene, pixels.astype(int)

    def test_pictures_are_the_same_bits_without_what_is_hidden(self):
        for options in ({"zoom": 3.0}, {"projection": "parallel", "azimuth": 20.0}):
            _, pixels = self.picture("pile", **options)
            everything = lambda *a: np.ones(len(a[-2]), bool)  # noqa: E731
            with mock.patch.object(Camera, "seen", lambda self, at, radius: everything(at, radius)), \
                    mock.patch.object(picture, "lit", lambda at, radius, *_: everything(at, radius)):
                scene, full = self.picture("pile", **options)
            self.assertEqual(np.abs(pixels - full).max(), 0, options)
            position = np.asarray(scene.result[0].position)
            left = scene.camera.seen(position, np.asarray(scene.result[0].radius))
            self.assertLess(left.mean(), 0.9, options)

    def test_sprites_look_like_triangles(self):
        for options in ({"zoom": 2.0}, {"projection": "parallel"}):
            _, pixels = self.picture("pile", **options)
            with mock.patch.object(picture, "largest_sprite", lambda focal: 0.0):
                _, cut = self.picture("pile", **options)
            self.assertGreater(np.abs(pixels - cut).max(), 0, "both are the same kind")
            self.assertLess(np.abs(pixels - cut).mean(), 0.5, options)

    def test_a_ball_covers_its_circle_and_stands_where_it_should(self):
        scene, pixels = self.picture("ball", projection="parallel", background="white", labels=False, color="none",
                                     azimuth=0.0, elevation=0.0)
        drawn = pixels.min(axis=2) < 200  # half-way to the white ground
        camera = scene.camera
        radius = 0.1 * camera.focal / camera.distance
        self.assertAlmostEqual(drawn.sum() / (2 * np.pi * radius**2), 1.0, delta=0.02)
        # along x the axis y points to the right
        middle = (np.flatnonzero(drawn.any(axis=0)).min() + radius, np.flatnonzero(drawn.any(axis=1)).min() + radius)
        self.assertAlmostEqual(middle[0], 160 - 0.5 * radius / 0.1, delta=1.5)
        self.assertAlmostEqual(middle[1], 120, delta=1.5)

    def test_a_name_is_written_at_its_body(self):
        options = {"labels": False, "color": "none", "projection": "parallel", "azimuth": 0.0, "elevation": 0.0}
        _, without = self.picture("ball", **options)
        scene, named = self.picture("ball", label=("far",), **options)
        changed = np.argwhere(np.abs(named - without).max(axis=2) > 0)
        place = scene.camera.project(np.array([[0.0, 1.0, 0.0]]))[0][0]
        self.assertAlmostEqual(changed[:, 1].mean(), place[0], delta=4)
        self.assertAlmostEqual(changed[:, 0].mean(), 240 - place[1], delta=8)
        with self.assertRaisesRegex(catena.CatenaError, "nobody"):
            self.picture("ball", label=("nobody",))

    def script(self, name, *arguments, code=0, **environment):
        done = subprocess.run([sys.executable, SCRIPTS / name, *map(str, arguments)], cwd=self.path, text=True,
                              capture_output=True, env=dict(os.environ, CATENA=CATENA, **environment), timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_bad_options_are_told(self):
        result = catena.Result(self.path / "ball")
        for options, words in (("--size 640", "width and height"), ("--zoom 0", "--zoom"), ("--text -1", "--text"),
                               ("--size 641x480", "even"), ("--background transparent", "transparency"),
                               ("-o out.gif", ".mp4"), ("-o nowhere/x.mp4", "nowhere"), ("--every 0", "--every"),
                               ("--fps 0", "--fps"), ("--quality 70", "--quality"), ("--ranks 0", "--ranks"),
                               ("--ranks 8", "no case"), ("--force", "no case"), ("--max 0", "--max"),
                               ("--lines -1", "--lines"),
                               ("--from 5", "they go from 0 to 0.001 s")):
            args = movie.parse_arguments(["ball", *options.split()])
            with self.assertRaisesRegex(catena.CatenaError, words), mock.patch("shutil.which", lambda name: name):
                movie.check(args, options_of(args))
                movie.numbers_of(args, result)
        with self.assertRaisesRegex(catena.CatenaError, "nowhere: there is no such directory; make it, or choose another"):
            picture.write_png(None, self.path / "nowhere/x.png")

    def test_times_and_every_choose_snapshots(self):
        result = catena.Result(self.path / "pile")
        for options, expected in (("", [0, 1, 2]), ("--every 2", [0, 2]), ("--from 0.001", [1, 2]),
                                  ("--from 0.0005 --to 0.0015", [1])):
            self.assertEqual(movie.numbers_of(movie.parse_arguments(["pile", *options.split()]), result), expected)

    def with_ffmpeg(self, text="#!/bin/sh\nexit 1\n"):
        """A PATH where a stand-in comes first."""
        stand_in = self.path / "bin"
        stand_in.mkdir(exist_ok=True)
        (stand_in / "ffmpeg").write_text(text)
        (stand_in / "ffmpeg").chmod(0o755)
        return "%s:%s" % (stand_in, os.environ["PATH"])

    def test_without_ffmpeg_a_movie_says_what_to_install_before_anything_runs(self):
        (self.path / "other.yaml").write_text(BALL.replace("name: ball\ng", "name: other\ng"))
        told = self.script("movie.py", "other.yaml", code=5, PATH=str(self.path))
        self.assertIn("install the package ffmpeg", told)
        self.assertFalse((self.path / "other").exists())

    def test_a_movie_that_fails_leaves_nothing(self):
        path = self.with_ffmpeg('#!/bin/sh\nfor last; do :; done\necho half >"$last"\n'
                                'echo "no space left" >&2\nexit 1\n')
        told = self.script("movie.py", "ball", "-o", "out.mp4", "--size", "160x120", code=5, PATH=path)
        self.assertIn("ffmpeg failed: no space left", told)
        self.assertFalse(list(self.path.glob("*out*")))

    @unittest.skipUnless(FFMPEG, "ffmpeg is not installed")
    def test_a_movie_shows_the_snapshots_upright(self):
        told = self.script("movie.py", "pile", "-o", "pile.mp4", "--size", "320x240", "--fps", "10", "--quality", "5", "--max", "1")
        self.assertIn("picture 3 of 3", told)
        probed = subprocess.run(["ffprobe", "-v", "error", "-of", "json", "-show_streams", "pile.mp4"],
                                cwd=self.path, capture_output=True, text=True, check=True)
        stream = json.loads(probed.stdout)["streams"][0]
        self.assertEqual([stream[k] for k in ("width", "height", "nb_frames", "r_frame_rate")], [320, 240, "3", "10/1"])
        raw = subprocess.run(["ffmpeg", "-loglevel", "error", "-i", "pile.mp4", "-f", "rawvideo", "-pix_fmt", "rgb24",
                              "-"], cwd=self.path, capture_output=True, check=True).stdout
        shown = np.frombuffer(raw, np.uint8).reshape(3, 240, 320, 3).astype(int)
        _, still = self.picture("pile", max=1.0)
        self.assertLess(np.abs(shown[0] - still).mean(), 3.0)
        self.assertGreater(np.abs(shown[0][::-1] - still).mean(), 20.0)

    @unittest.skipUnless(FFMPEG, "ffmpeg is not installed")
    def test_a_case_is_run_first_and_its_movie_lies_beside_the_snapshots(self):
        (self.path / "third.yaml").write_text(BALL.replace("name: ball\ng", "name: third\ng"))
        self.script("movie.py", "third.yaml", "--size", "160x120", "--every", "2")
        self.assertTrue((self.path / "third/movie.mp4").exists())
        self.assertEqual(len(catena.Result(self.path / "third")), 2)
        self.assertIn("third", self.script("movie.py", "third.yaml", "--size", "160x120", code=3))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
