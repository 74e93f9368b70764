"""What the tests of the importer share: imports, runs, and an independent reading of the models.

Poses are products of 4 x 4 matrices here, rotations are quaternions; the importer's are pairs of a point and a
matrix by Rodrigues' formula. Nothing of the importer is used but its command line.
"""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
import xml.etree.ElementTree as ElementTree

try:
    import h5py
    import numpy as np
    import yaml
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

CATENA, ROOT = sys.argv[1], sys.argv[2]
sys.path.append(os.path.join(ROOT, "python"))
import catena.importers.__main__ as importer  # noqa: E402

DATA = os.path.join(ROOT, "tests", "data", "import")
WORK = tempfile.mkdtemp(prefix="catena-import-")
atexit.register(shutil.rmtree, WORK, ignore_errors=True)


def program(model, out, *options):
    return subprocess.run(["/usr/bin/python3", "-m", "catena.importers", model, "-o", out, *options],
                          env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")}, capture_output=True,
                          text=True, cwd=os.path.dirname(model) or ".")


def command(model, out, *options):
    """The same in a process that is forked: a hundred starts would read numpy a hundred times."""
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.dup2(said.fileno(), 1)
                os.dup2(complained.fileno(), 2)
                os.chdir(os.path.dirname(model) or ".")
                status = importer.main([model, "-o", out, *options])
            except BaseException:  # the parent's code must not go on here
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for file in (said, complained):
            file.seek(0)
        return subprocess.CompletedProcess([model, *options], status, said.read(), complained.read())


def imported(model, *options, name="case.yaml"):
    """(case, report) of a model of tests/data/import, or of a path."""
    out = os.path.join(WORK, name)
    done = program(os.path.join(DATA, model), out, "--force", *options)
    assert done.returncode == 0, done.stderr
    with open(out, encoding="utf-8") as file:
        return yaml.safe_load(file), done.stdout


def written(text, name):
    path = os.path.join(WORK, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def run(case, name):
    """Runs a case; returns (names, first snapshot, last snapshot, series as columns by name)."""
    path, out = written(yaml.safe_dump(case), f"{name}.yaml"), os.path.join(WORK, name)
    done = subprocess.run([CATENA, "run", path, "-o", out, "--force", "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with h5py.File(os.path.join(out, "result.h5")) as file:
        names = [n.decode() for n in file["bodies/name"][:]]
        shots = [{key: file["snapshots"][k][f"bodies/{key}"][:]
                  for key in ("position", "orientation", "velocity", "angular_velocity")}
                 for k in sorted(file["snapshots"])]
    with open(os.path.join(out, "series.csv"), encoding="utf-8") as file:
        head = [word.split(" [")[0].strip() for word in file.readline().split(",")]
        rows = np.array([[float(x) for x in line.split(",")] for line in file])
    return names, shots[0], shots[-1], {key: rows[:, i] for i, key in enumerate(head)}


def turn(q):
    """Rotation matrix of a quaternion (w, x, y, z), by q v q*."""
    w, v = q[0], np.asarray(q[1:], float)
    columns = []
    for e in np.eye(3):
        t = 2 * np.cross(v, e)
        columns.append(e + w * t + np.cross(v, t))
    return np.array(columns).T


def by_axis(axis, angle):
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return turn([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def matrix(p=(0, 0, 0), rotation=None):
    m = np.eye(4)
    m[:3, 3] = p
    if rotation is not None:
        m[:3, :3] = rotation
    return m


def numbers(element, key, default):
    text = element.get(key) if element is not None else None
    return np.array([float(x) for x in text.split()]) if text is not None else np.array(default, float)


def rpy_matrix(element):
    origin = element.find("origin")
    r, p, y = numbers(origin, "rpy", (0, 0, 0))
    return matrix(numbers(origin, "xyz", (0, 0, 0)),
                  by_axis((0, 0, 1), y) @ by_axis((0, 1, 0), p) @ by_axis((1, 0, 0), r))


def urdf_links(model, values):
    """World matrix of each link, by products from the root, and the XML."""
    root = ElementTree.parse(os.path.join(DATA, model)).getroot()
    found, rest = {}, list(root.findall("joint"))
    children = {j.find("child").get("link") for j in rest}
    for link in root.findall("link"):
        if link.get("name") not in children:
            found[link.get("name")] = np.eye(4)
    while rest:
        for joint in list(rest):
            parent = joint.find("parent").get("link")
            if parent not in found:
                continue
            q, axis = values.get(joint.get("name"), 0.0), numbers(joint.find("axis"), "xyz", (1, 0, 0))
            axis = axis / np.linalg.norm(axis)
            motion = np.eye(4)
            if joint.get("type") in ("revolute", "continuous"):
                motion = matrix(rotation=by_axis(axis, q))
            elif joint.get("type") == "prismatic":
                motion = matrix(q * axis)
            found[joint.find("child").get("link")] = found[parent] @ rpy_matrix(joint) @ motion
            rest.remove(joint)
    return found, root


def urdf_mass(root, world, links):
    """(mass, centre, inertia about it on the world's axes) of rigidly joined links: first and second moments
    about the world's origin are summed, then moved to the centre."""
    mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for link in root.findall("link"):
        inertial = link.find("inertial")
        if link.get("name") not in links or inertial is None:
            continue
        m = float(inertial.find("mass").get("value"))
        i = {k: float(inertial.find("inertia").get(k, 0)) for k in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")}
        tensor = np.array([[i["ixx"], i["ixy"], i["ixz"]], [i["ixy"], i["iyy"], i["iyz"]],
                           [i["ixz"], i["iyz"], i["izz"]]])
        place = world[link.get("name")] @ rpy_matrix(inertial)
        c, r = place[:3, 3], place[:3, :3]
        own = r @ (0.5 * np.trace(tensor) * np.eye(3) - tensor) @ r.T  # integral of x x^T
        mass, first, second = mass + m, first + m * c, second + own + m * np.outer(c, c)
    centre = first / mass
    second = second - mass * np.outer(centre, centre)
    return mass, centre, np.trace(second) * np.eye(3) - second


def body(case, name):
    return next(b for b in case["bodies"] if b["name"] == name)


def tensor_of(item):
    """Inertia on the world's axes of a body of a case."""
    r = turn(item.get("orientation", {}).get("quaternion", [1, 0, 0, 0]))
    return r @ np.diag(item["inertia"]) @ r.T


def near(found, expected, tolerance, what=""):
    error = np.abs(np.asarray(found, float) - np.asarray(expected, float)).max()
    assert error <= tolerance, f"{what}: {found} instead of {expected}, off by {error:g}"
