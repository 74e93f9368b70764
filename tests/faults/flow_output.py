#!/usr/bin/python3
"""A run with insertion and outflow, through the program: its files agree with each other, whatever
the number of ranks, bodies that have left keep their rows, a snapshot can start another run, and
a region without room is reported.

    flow_output.py CATENA MPIEXEC
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py is missing (Debian: python3-h5py)")
    sys.exit(77)

import program

SCENE = """catena: 1
name: flow
materials: {m: {density: 1000, friction: 0}}
contact: {law: frictionless, margin: 1 um}
bodies:
  - {name: post, material: m, shape: {box: {size: [1, 1, 1]}}, position: [9, 0, 0], fixed: true}
generators:
  - insertion: {name: rain, material: m, shape: {sphere: {radius: 2 mm}}, sizes: {uniform: [0.5, 1]},
                region: {lower: [0, 0, 1], upper: [3, 2, 1.2]}, number_rate: 500, count: 100000,
                velocity: [0, 0, -20]}
  - insertion: {name: stuck, material: m, shape: {box: {size: [0.3, 0.2, 0.1]}}, mass_rate: 60,
                region: {lower: [8.7, -0.3, -0.3], upper: [9.3, 0.3, 0.3]}, count: 10, attempts: 3}
outflow:
  - {name: low, lower: [-.inf, -.inf, -.inf], upper: [.inf, .inf, -1]}
time: {step: 2 ms, end: 0.2}
parallel: {rebalance_steps: 10, imbalance: 1.02, move_price: 0}
output: {snapshot_interval: 20 ms}
"""

AGAIN = """catena: 1
name: again
materials: {m: {density: 1000}}
generators:
  - table: {file: out1/snapshots/00000100.h5, material: m}
time: {step: 1 ms, end: 0}
"""


# a chain falls through an outflow that is shorter than it, beside one that is held
CHAINS = """catena: 1
name: chains
materials: {m: {density: 1000}}
generators:
  - chain: {name: falls, links: 6, joint: spherical, from: [0, 0, 0.5], to: [0, 0, 1.1], material: m,
            shape: {capsule: {radius: 1 cm, length: 8 cm}}}
  - chain: {name: stays, links: 4, joint: spherical, from: [1, 0, 2], to: [1, 0, 2.4], anchored: last,
            material: m, shape: {capsule: {radius: 1 cm, length: 8 cm}}}
outflow: [{name: slit, lower: [-9, -9, 0], upper: [9, 9, 0.3]}]
time: {step: 2 ms, end: 0.5}
output: {snapshot_interval: 50 ms, checkpoint_steps: 60}
"""
TRIAL = pathlib.Path(__file__).resolve().parent.parent / "data" / "trials" / "outflow_chain.yaml"


def messages_of(path):
    with open(path / "log.jsonl") as log:
        return [str(json.loads(line)) for line in log]


def check_chains(report, run, path):
    """Joined bodies leave together with their joints, which keep their rows of bodies.h5."""
    (path / "chains.yaml").write_text(CHAINS)
    for ranks in (1, 3):
        out = path / ("chains%d" % ranks)
        done = run(ranks, ["run", "chains.yaml", "--quiet", "-o", out])
        report.expect(done.returncode == 0, "chains on %d ranks" % ranks, done)
        removed = series_of(out)["removed_1"]
        report.expect(set(removed) == {0.0, 6.0}, "all links leave in one step: %s" % set(removed))
        with h5py.File(out / "result.h5", "r") as f:
            last = f["snapshots"][sorted(f["snapshots"])[-1]]
            names = list(f["joints/name"].asstr()[()])
            report.expect(len(names) == 5 + 4, "joints keep their rows: %s" % names)
            kept = [names[i] for i in np.searchsorted(f["joints/id"][()], last["joints/id"][()])]
            report.expect(kept == ["stays-%d" % i for i in range(4)], "joints that are left: %s" % kept)
            report.expect(len(last["bodies/id"]) == 4, "bodies that are left")
        told = [text for text in messages_of(out) if "outflow slit and stays" in text]
        report.expect(len(told) == 1 and "the first is falls-0" in told[0], "named once: %s" % told)
    # from before the chain has left
    done = run(2, ["run", "chains.yaml", "--quiet", "-o", "chains-part", "--set", "time.end=0.25"])
    report.expect(done.returncode == 0 and set(series_of(path / "chains-part")["removed_1"]) == {0.0},
                  "a part of the run", done)
    done = run(3, ["run", "chains.yaml", "--quiet", "-o", "chains-part", "--resume"])
    report.expect(done.returncode == 0, "resumed on other ranks", done)
    whole, parts = (series_of(path / name)["removed_1"] for name in ("chains1", "chains-part"))
    report.expect(np.array_equal(whole, parts), "the chain leaves in the same step")
    # the joint that left is drawn up to then
    plot = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "user" / "plot_series.py"
    done = subprocess.run([sys.executable, plot, path / "chains1", "--joint", "stays-2"],
                          capture_output=True, text=True)
    report.expect(done.returncode in (0, 77) or "matplotlib" in done.stderr, "plot of a joint", done)


def check_held(report, run, path):
    """A chain that hangs in the outflow stays, and the log says so once, with its name."""
    done = run(2, ["run", TRIAL, "--quiet", "-o", "held"])
    report.expect(done.returncode == 0, "held chain", done)
    report.expect(not np.any(series_of(path / "held")["removed_1"]), "nothing leaves")
    told = [text for text in messages_of(path / "held") if "stays" in text]
    report.expect(len(told) == 1 and "'warning'" in told[0], "one warning: %s" % told)
    for part in ("outflow o", "10 bodies, 10 joints", "held to the world by joint c-0"):
        report.expect(part in told[0], part + " in " + told[0])


def series_of(path):
    return np.genfromtxt(path / "series.csv", delimiter=",", names=True)


def check_result(report, path):
    series = series_of(path)
    with h5py.File(path / "result.h5", "r") as f:
        ids = f["bodies/id"][()]
        report.expect(np.all(np.diff(ids) > 0), "ids ascend, each once")
        seen = set()
        for name in sorted(f["snapshots"]):
            s = f["snapshots"][name]
            here = s["bodies/id"][()]
            seen.update(here.tolist())
            row = np.searchsorted(ids, here)
            report.expect(np.array_equal(ids[row], here), name + ": its bodies are in bodies.h5")
            for column in ("mass", "radius", "size"):
                report.expect(np.array_equal(f["bodies"][column][()][row], s["bodies"][column][()]),
                              name + ": " + column)
            step = int(name)
            if step > 0:
                line = series[step - 1]
                report.expect(len(here) == line["bodies_1"], name + ": bodies of the series")
                report.expect(len(here) == 1 + line["inserted_1"] - line["removed_1"], name + ": balance")
                mass = s["bodies/mass"][()].sum()
                report.expect(abs(mass - (line["inserted_mass_kg"] - line["removed_mass_kg"]))
                              < 1e-12 * line["inserted_mass_kg"], name + ": mass")
        report.expect(seen == set(ids.tolist()), "bodies.h5 holds what the snapshots show")
        gone = set(ids.tolist()) - set(s["bodies/id"][()].tolist())
        report.expect(len(gone) > 20, "%d bodies have left and keep their rows" % len(gone))
        report.expect(f["bodies/name"].asstr()[()][1].startswith("rain-"), "names")
    check_xdmf(report, path)
    with open(path / "log.jsonl") as log:
        lines = [json.loads(line) for line in log]
    warned = [l for l in lines if l["level"] == "warning" and "stuck" in str(l)]
    report.expect(len(warned) == 2, "a warning when it happens and one at the end")
    report.expect("has no room" in str(warned[0]) and "kg" in str(warned[-1]), str(warned))


def check_xdmf(report, path):
    """Every array of result.xdmf is one of a file, with its extents."""
    tree = xml.etree.ElementTree.parse(path / "result.xdmf")
    items = list(tree.iter("DataItem"))
    report.expect(len(items) > 50, "XDMF has items")
    for item in items:
        name, dataset = item.text.strip().split(":")
        with h5py.File(path / name, "r") as f:
            extents = tuple(int(n) for n in item.attrib["Dimensions"].split())
            report.expect(f[dataset].shape == extents, "XDMF: " + item.text)
    grids = [g for g in tree.iter("Grid") if g.attrib["GridType"] == "Uniform"]
    for grid in grids:
        names = [a.attrib["Name"] for a in grid.iter("Attribute")]
        report.expect("radius" in names and "mass" in names, "XDMF: sizes in every grid")


def main():
    catena, mpiexec = sys.argv[1:]
    report = program.Report()
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory)
        (path / "scene.yaml").write_text(SCENE)
        for ranks in (1, 3):
            done = program.run(mpiexec, catena, ranks, ["run", "scene.yaml", "-o", "out%d" % ranks], directory)
            report.expect(done.returncode == 0, "%d ranks" % ranks, done)
            check_result(report, path / ("out%d" % ranks))
        with h5py.File(path / "out1/result.h5") as one, h5py.File(path / "out3/result.h5") as three:
            for group in ("bodies", "snapshots/00000100/bodies"):
                for name in one[group]:
                    report.expect(name == "rank" or
                                  np.array_equal(one[group][name][()], three[group][name][()]),
                                  "the same on 1 and 3 ranks: " + group + "/" + name)
        run = lambda ranks, arguments: program.run(mpiexec, catena, ranks, arguments, directory)
        check_chains(report, run, path)
        check_held(report, run, path)
        # a snapshot with fewer bodies than bodies.h5 is a table all the same
        (path / "again.yaml").write_text(AGAIN)
        done = program.run(mpiexec, catena, 1, ["run", "again.yaml", "--quiet"], directory)
        report.expect(done.returncode == 0, "table of the snapshot", done)
        with h5py.File(path / "again/result.h5") as again, h5py.File(path / "out1/result.h5") as one:
            last = one["snapshots/00000100/bodies"]
            moving = last["mass"][()] > 0.0
            report.expect(np.array_equal(again["bodies/radius"][()], last["radius"][()][moving]),
                          "sizes from the table")
            report.expect(np.allclose(again["snapshots/00000000/bodies/position"][()],
                                      last["position"][()][moving], rtol=0, atol=0), "places")
    print("%d failures" % report.failures)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
