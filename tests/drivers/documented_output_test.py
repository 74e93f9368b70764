#!/usr/bin/python3
"""docs/output.md against the files of a run that has something of everything: each dataset and column is
there with its type, shape and unit, and nothing is described that does not exist. The document's Python
examples run.

    documented_output_test.py CATENA OUTPUT_MD
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import h5py
except ImportError:
    print("h5py is missing (Debian: python3-h5py)")
    sys.exit(77)

CASE = """catena: 1
name: everything
materials: {m: {density: 1000, friction: 0.5, rolling_friction: 1 mm, cohesion: 1}}
bodies:
  - {name: floor, material: m, shape: {plane: {}}}
  - {name: rock, material: m, position: [1, 0, 0.1],
     shape: {hull: {vertices: [[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2]]}}}
  - {name: clump, material: m, shapes: [{sphere: {radius: 0.1}}, {sphere: {radius: 0.1}, at: [0.15, 0, 0]}],
     position: [2, 0, 0.1]}
  - {name: slab, material: m, fixed: true, shape: {mesh: {file: slab.obj, unit: m, open: true}}, position: [0, 0, -1]}
  - {name: soil, material: m, fixed: true, shape: {heightfield: {file: soil.csv, unit: m, spacing: [1, 1]}},
     position: [0, 0, -2]}
  - {name: arm, mass: 1, inertia: [0.1, 0.1, 0.1], position: [5, 0, 3]}
generators:
  - insertion: {name: grains, material: m, shape: {sphere: {radius: 5 cm}}, number_rate: 200, count: 4,
                region: {lower: [-1, -1, 0.5], upper: [1, 1, 1]}}
joints:
  - {name: hinge, type: revolute, between: [world, arm], at: [5, 0, 4], axis: [0, 1, 0], limits: [0 deg, 90 deg],
     motor: {velocity: 1 rad/s, max_force: 10}, compliance: 1e-6, damping_time: 4 ms,
     break_force: 1e9}
forces:
  - {name: suspension, type: spring, between: [world, arm], at: [[5, 0, 5], [5, 0, 3]], stiffness: 100, damping: 1}
time: {step: 2 ms, end: 60 ms}
output: {snapshot_interval: 20 ms, dump_interval: 30 ms}
"""
SURFACES = {"slab.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "soil.csv": "0,0,0\n0,0.1,0\n"}
FLOW = "outflow:\n  - {name: below, lower: [-.inf, -.inf, -.inf], upper: [.inf, .inf, -3]}\n"


class Document:
    """The tables of output.md: per section, rows of the dataset's pattern, type, shape and unit."""

    def __init__(self, text):
        self.sections = {}
        columns = []
        rows = None
        for line in text.splitlines():
            if line.startswith("## "):
                rows = self.sections.setdefault(line[3:].split(" (")[0], [])
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if not cells or set(cells[0]) == {"-"}:
                continue
            if not cells[0].startswith("`"):
                columns = cells
            elif columns and columns[0] in ("dataset", "column"):
                row = dict(zip(columns, cells))
                row["name"] = cells[0].strip("`")
                row["used"] = False
                row["pattern"] = re.compile(self.pattern(row["name"]))
                rows.append(row)

    @staticmethod
    def pattern(name):
        """`/a/<number>/b` and `/a/<x, y or z>` as regular expressions."""
        out = ""
        for part in re.split(r"(<[^>]*>)", name):
            if not part.startswith("<"):
                out += re.escape(part)
                continue
            words = re.split(r",\s*|\s+or\s+", part[1:-1])
            out += "[^/]+" if len(words) == 1 else "(?:%s)" % "|".join(words)
        return out + r"\Z"

    def find(self, section, name):
        for row in self.sections[section]:
            if row["pattern"].match(name):
                row["used"] = True
                return row
        return None

    def never_found(self, section):
        return [row["name"] for row in self.sections[section] if not row["used"]]


def datasets(group, name=""):
    for key in group:
        item = group[key]
        if isinstance(item, h5py.Dataset):
            yield name + "/" + key, item
        else:
            yield from datasets(item, name + "/" + key)


def fits(shape, extents):
    """`n x 3` against (100, 3): as many dimensions, and numbers are themselves."""
    wanted = shape.split(" x ") if shape else []
    return len(wanted) == len(extents) and all(not w.isdigit() or int(w) == e for w, e in zip(wanted, extents))


def compare(document, section, path, wrong):
    kinds = {"i": "int", "f": "float", "S": "text", "O": "text"}
    with h5py.File(path, "r") as f:
        for name, data in datasets(f):
            row = document.find(section, name)
            what = "%s: %s" % (os.path.basename(path), name)
            if row is None:
                wrong.append(what + " is not described")
                continue
            if kinds[data.dtype.kind] != row["type"]:
                wrong.append("%s is %s, not %s" % (what, data.dtype, row["type"]))
            if not fits(row["shape"], data.shape):
                wrong.append("%s has the extents %s, not %s" % (what, data.shape, row["shape"]))
            if "unit" in row and data.attrs.get("unit", "no unit") != row["unit"]:
                wrong.append("%s has the unit '%s', not '%s'" % (what, data.attrs.get("unit"), row["unit"]))


def compare_series(document, path, wrong):
    with h5py.File(path, "r") as f:
        for name, data in f["series"].items():
            row = document.find("series.csv", name)
            if row is None:
                wrong.append("series column %s is not described" % name)
            elif data.attrs["unit"] != row["unit"] or data.ndim != 1:
                wrong.append("series column %s: '%s'" % (name, data.attrs["unit"]))


def run_examples(text, directory, wrong):
    """The Python of the document, but for ParaView's; returns how many there were."""
    ran = 0
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        if "paraview" in code:
            continue
        done = subprocess.run([sys.executable, "-c", code.replace('"DIR/', '"everything/'), "everything", "out.xyz"],
                              cwd=directory, capture_output=True, text=True, timeout=300)
        ran += 1
        if done.returncode != 0:
            wrong.append("an example fails:\n" + code + done.stderr)
    return ran


def look_at_xyz(path, wrong):
    """Extended XYZ: per frame a count, a line of properties, and a row of as many columns per particle."""
    lines = path.read_text().splitlines()
    frames = 0
    while lines:
        n = int(lines[0])
        properties = re.search(r"Properties=(\S+)", lines[1]).group(1).split(":")
        width = sum(int(w) for w in properties[2::3])
        rows = [line.split() for line in lines[2:2 + n]]
        if len(rows) != n or any(len(row) != width for row in rows):
            wrong.append("%s: frame %d is not extended XYZ" % (path, frames))
        lines = lines[2 + n:]
        frames += 1
    if frames != 4:
        wrong.append("%s: %d frames" % (path, frames))


def main():
    catena, text = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text()
    document = Document(text)
    wrong = []
    compared = 0
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory)
        for name, content in SURFACES.items():
            (path / name).write_text(content)
        lagged = CASE + "contact: {law: lagged}\n"
        for name, case in {"plain": CASE, "everything": CASE + FLOW, "lagged": lagged}.items():
            (path / "case.yaml").write_text(case)
            subprocess.run([catena, "run", "case.yaml", "--quiet", "-o", name], cwd=path, check=True, timeout=300,
                           stderr=subprocess.DEVNULL)
            places = {"bodies.h5": ["bodies.h5"],
                      "snapshots/<8 digits>.h5": sorted(os.listdir(path / name / "snapshots")),
                      "Contact problems": [f for f in os.listdir(path / name) if f.startswith("step-")]}
            for section, files in places.items():
                folder = path / name / "snapshots" if section.startswith("snapshots") else path / name
                for f in files:
                    compare(document, section, folder / f, wrong)
                    compared += 1
            compare_series(document, path / name / "result.h5", wrong)
        examples = run_examples(text, directory, wrong)
        look_at_xyz(path / "out.xyz", wrong)
    for section in ("bodies.h5", "snapshots/<8 digits>.h5", "series.csv", "Contact problems"):
        wrong += ["%s: %s is described, but no file has it" % (section, n) for n in document.never_found(section)]
    print("%d files, %d examples" % (compared, examples))
    print("\n".join(wrong))
    return 1 if wrong or compared < 14 or examples < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
