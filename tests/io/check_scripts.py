#!/usr/bin/python3
"""check_scripts.py plot|render|paraview SCRIPTS_DIR RESULT_DIR: the post-processing works on a small
result. Ends with 77 where what it needs is not installed."""
import importlib.util
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np


def need(found, what):
    if not found:
        print("skipped: %s is not installed" % what)
        sys.exit(77)


def picture(path):
    """Pixels of a PNG, 0 .. 1."""
    import matplotlib.image
    return matplotlib.image.imread(path)[:, :, :3]


def check_picture(path):
    pixels = picture(path)
    assert pixels.std() > 0.02, "%s is uniform" % path
    assert len(np.unique((pixels * 255).astype(int).reshape(-1, 3), axis=0)) > 50, path


def plot(scripts, result):
    need(importlib.util.find_spec("matplotlib"), "python3-matplotlib")
    out = os.path.join(result, "series-test.png")
    subprocess.run([os.path.join(scripts, "plot_series.py"), result, "-o", out], check=True)
    check_picture(out)
    drawing = os.path.join(result, "series-test.svg")
    subprocess.run([os.path.join(scripts, "plot_series.py"), result, "-o", drawing], check=True)
    with open(drawing) as f:
        assert f.read(1000).count("<svg") == 1, "the ending of the name says the format"


def volume(points, faces):
    """Of a closed surface, by the divergence theorem."""
    total = 0.0
    for face in faces:
        p = points[np.asarray(face)]
        for a, b in zip(p[1:-1], p[2:]):
            total += float(np.dot(p[0], np.cross(a, b))) / 6
    return total


def check_surfaces(script, result):
    """What is drawn for hollow cylinders and geometries has the volume of the shape."""
    sys.path.insert(0, os.path.join(os.path.dirname(script), "..", "..", "python"))
    from catena import Result, geometry
    wall, disc = np.pi * (0.25 ** 2 - 0.2 ** 2) * 0.6, np.pi * 0.25 ** 2 * 0.05
    polygon = 72 / (2 * np.pi) * np.sin(2 * np.pi / 72)  # its area over the circle's
    for ends, expected in ((0, wall), (1, wall + disc), (2, wall + disc), (3, wall + 2 * disc)):
        drawn = geometry.hollow_cylinder(0.2, 0.6, 0.05, ends)
        found = abs(volume(drawn["points"], drawn["faces"]))
        assert np.isclose(found, polygon * expected, rtol=1e-12), (ends, found, expected)
    geometries = Result(result).geometries
    assert [g["type"] for g in geometries] == ["hull", "mesh", "heightfield", "compound"]
    for level, sides in ((1, 16), (3, 64)):  # a cylinder's volume is that of its prism
        drawn = geometry.template("cylinder", [], level)
        prism = sides / 2 * np.sin(2 * np.pi / sides)
        assert np.isclose(volume(drawn["points"], drawn["faces"]), prism, rtol=1e-12)
    assert np.isclose(volume(**geometry.box()), 1.0, rtol=1e-12)
    assert 0.98 < volume(**geometry.sphere(3)) / (4 / 3 * np.pi) < 1.0
    for g in geometries[:2]:
        assert np.isclose(volume(g["points"], g["faces"]), 0.3 ** 3 / 6, rtol=1e-12)
    assert np.allclose(geometries[2]["points"][4], [0.2, 0.2, 0.2])
    assert np.isclose(geometry.outer_radius("compound", [1, 0, 0], 3, geometries), 0.5)


def render(scripts, result):
    need(importlib.util.find_spec("vtk") or importlib.util.find_spec("vtkmodules"), "python3-vtk9")
    need(os.environ.get("DISPLAY") or shutil.which("Xvfb"), "xvfb")
    need(importlib.util.find_spec("matplotlib"), "python3-matplotlib")
    script = os.path.join(scripts, "render.py")
    check_surfaces(script, result)
    out = os.path.join(result, "frame-test.png")
    for options in (["--color", "speed"], ["--color", "rank"], ["--color", "material"], ["--color", "coordination"], ["--color", "generator", "--background", "white"],
                    ["--scale-bar", "--projection", "parallel"]):
        subprocess.run([script, result, "--frame", "1", *options, "-o", out, "--size", "320x240"], check=True)
        check_picture(out)
    subprocess.run([script, result, "--background", "transparent", "--no-planes", "--no-labels", "-o", out,
                    "--size", "320x240"], check=True)
    import matplotlib.image
    alpha = matplotlib.image.imread(out)[:, :, 3]
    assert alpha.min() == 0.0 and alpha.max() == 1.0
    wrong = subprocess.run([script, result, "--frame", "9"], capture_output=True, text=True)
    assert wrong.returncode != 0 and "5 snapshots" in wrong.stderr, wrong.stderr


PARAVIEW = """
import sys
from paraview.simple import *
from paraview import servermanager
reader = OpenDataFile(sys.argv[1])
times = list(reader.TimestepValues)
for t in times:
    reader.UpdatePipeline(t)
    data = servermanager.Fetch(reader)
    while data.IsA("vtkMultiBlockDataSet"):
        data = data.GetBlock(0)
    arrays = data.GetPointData()
    print("step", t, data.GetNumberOfPoints(), data.GetNumberOfCells(), data.GetPoint(5)[0],
          arrays.GetArray("velocity").GetTuple(5)[0], arrays.GetArray("radius").GetTuple(5)[0],
          arrays.GetArray("orientation").GetNumberOfComponents(),
          arrays.GetArray("size").GetTuple(8)[2], arrays.GetArray("rank").GetTuple(5)[0])
"""


def paraview(scripts, result):
    need(shutil.which("pvpython"), "ParaView's pvpython")
    need(os.environ.get("DISPLAY") or shutil.which("xvfb-run"), "xvfb")
    program = os.path.join(result, "open.py")
    with open(program, "w") as f:
        f.write(PARAVIEW)
    command = ["pvpython", program, os.path.abspath(os.path.join(result, "result.xdmf"))]
    if not os.environ.get("DISPLAY"):
        command = ["xvfb-run", "-a"] + command
    run = subprocess.run(command, capture_output=True, text=True)
    print(run.stdout, run.stderr)
    assert run.returncode == 0
    lines = [line.split()[1:] for line in run.stdout.splitlines() if line.startswith("step ")]
    with h5py.File(os.path.join(result, "result.h5"), "r") as f:
        names = sorted(f["snapshots"])
        assert len(lines) == len(names) == 5
        for line, name in zip(lines, names):
            bodies = f["snapshots"][name]["bodies"]
            expected = [f["snapshots"][name].attrs["time"], len(bodies["id"]), len(bodies["id"]),
                        bodies["position"][5, 0], bodies["velocity"][5, 0],
                        f["bodies/radius"][5], 4, f["bodies/size"][8, 2], bodies["rank"][5]]
            assert np.allclose([float(x) for x in line], expected, rtol=1e-6), (line, expected)


if __name__ == "__main__":
    {"plot": plot, "render": render, "paraview": paraview}[sys.argv[1]](sys.argv[2], sys.argv[3])
