#!/usr/bin/python3
"""make_broken_fclib.py DIR: writes broken FCLIB problems and DIR/manifest.txt, whose lines say
`file code object`: the exit code that reading it must give and the name that the message must
hold. Code 0 with object `-` marks damage that HDF5 may or may not notice: reading must end,
with an error or without. Ends with 77 where h5py is missing."""
import os
import shutil
import sys

try:
    import h5py
    import numpy as np
except ImportError:
    print("h5py is missing (Debian: python3-h5py)")
    sys.exit(77)

BAD, IO = 3, 5


def ints(group, name, values):
    if name in group:
        del group[name]
    group.create_dataset(name, data=np.asarray(values, np.int32))


def reals(group, name, values):
    if name in group:
        del group[name]
    group.create_dataset(name, data=np.asarray(values, np.float64))


def triplets(parent, name, dense):
    g = parent.create_group(name)
    i, p = np.nonzero(dense)
    for key, value in (("nzmax", len(i)), ("m", dense.shape[0]), ("n", dense.shape[1]),
                       ("nz", len(i))):
        ints(g, key, [value])
    ints(g, "i", i)
    ints(g, "p", p)
    reals(g, "x", dense[i, p])


def compressed_rows(parent, name, dense):
    g = parent.create_group(name)
    i, j = np.nonzero(dense)
    for key, value in (("nzmax", len(i)), ("m", dense.shape[0]), ("n", dense.shape[1]),
                       ("nz", -2)):
        ints(g, key, [value])
    ints(g, "p", np.r_[0, np.cumsum(np.bincount(i, minlength=dense.shape[0]))])
    ints(g, "i", j)
    reals(g, "x", dense[i, j])


def local_problem(path):
    rng = np.random.default_rng(1)
    a = rng.standard_normal((6, 6))
    with h5py.File(path, "w") as f:
        g = f.create_group("fclib_local")
        ints(g, "spacedim", [3])
        compressed_rows(g, "W", a @ a.T)
        reals(g, "vectors/q", rng.standard_normal(6))
        reals(g, "vectors/mu", [0.3, 0.5])


def global_problem(path):
    rng = np.random.default_rng(2)
    a = rng.standard_normal((6, 6))
    with h5py.File(path, "w") as f:
        g = f.create_group("fclib_global")
        ints(g, "spacedim", [3])
        triplets(g, "M", np.kron(np.eye(2), a @ a.T + np.eye(6)))
        triplets(g, "H", rng.standard_normal((12, 6)))
        reals(g, "vectors/f", rng.standard_normal(12))
        reals(g, "vectors/w", rng.standard_normal(6))
        reals(g, "vectors/mu", [0.3, 0.5])


def set_entry(path, index, value):
    def change(f):
        f[path][index] = value
    return change


def replace(path, values, kind=None):
    def change(f):
        del f[path]
        f[path] = np.asarray(values) if kind is None else np.asarray(values, kind)
    return change


def remove(path):
    def change(f):
        del f[path]
    return change


def content_cases():
    """(base, change, code, object)"""
    loc, glo = "/fclib_local", "/fclib_global"
    cases = []
    for name in ("spacedim", "W", "W/m", "W/n", "W/nz", "W/nzmax", "W/p", "W/i", "W/x",
                 "vectors/q", "vectors/mu", "vectors"):
        # without the group, the first dataset wanted from it is what is missing
        named = "vectors/q" if name == "vectors" else name
        cases.append(("local", remove(loc + "/" + name), IO, loc + "/" + named))
    for name in ("M/x", "M/i", "H/p", "H/nz", "vectors/f", "vectors/w", "vectors/mu", "spacedim"):
        cases.append(("global", remove(glo + "/" + name), IO, glo + "/" + name))
    cases.append(("local", remove(loc), BAD, "fclib_local"))
    cases.append(("global", remove(glo), BAD, "fclib_global"))
    # types
    cases += [
        ("local", replace(loc + "/W/x", np.ones(36, np.int32)), IO, loc + "/W/x"),
        ("local", replace(loc + "/W/i", np.ones(36)), IO, loc + "/W/i"),
        ("local", replace(loc + "/vectors/q", np.array([b"a"] * 6)), IO, loc + "/vectors/q"),
        ("local", replace(loc + "/spacedim", np.bytes_(b"three")), IO, loc + "/spacedim"),
        ("local", replace(loc + "/spacedim", [3.0]), IO, loc + "/spacedim"),
        ("global", replace(glo + "/vectors/mu", np.array([1, 1])), IO, glo + "/vectors/mu"),
        ("global", replace(glo + "/M/nz", [1.5]), IO, glo + "/M/nz"),
    ]

    def group_for_dataset(f):
        del f[loc + "/vectors/q"]
        f.create_group(loc + "/vectors/q")

    def dataset_for_group(f):
        del f[loc + "/W"]
        f[loc + "/W"] = np.ones((6, 6))

    cases += [("local", group_for_dataset, IO, loc + "/vectors/q"),
              ("local", dataset_for_group, IO, loc + "/W")]
    # sizes
    cases += [
        ("local", replace(loc + "/spacedim", [2], np.int32), BAD, loc + "/spacedim"),
        ("local", replace(loc + "/spacedim", [3, 3], np.int32), BAD, loc + "/spacedim"),
        ("global", replace(glo + "/spacedim", [5], np.int32), BAD, glo + "/spacedim"),
        ("local", replace(loc + "/vectors/q", np.ones(5)), BAD, loc + "/vectors/q"),
        ("local", replace(loc + "/vectors/q", np.ones(9)), BAD, loc + "/vectors/mu"),
        ("local", replace(loc + "/vectors/mu", np.ones(3)), BAD, loc + "/vectors/mu"),
        ("local", replace(loc + "/vectors/mu", np.zeros(0)), BAD, loc + "/vectors/mu"),
        ("local", set_entry(loc + "/W/m", 0, 7), BAD, loc + "/W/m"),
        ("local", set_entry(loc + "/W/n", 0, 3), BAD, loc + "/W/n"),
        ("local", set_entry(loc + "/W/m", 0, -6), BAD, loc + "/W/m"),
        ("local", replace(loc + "/W/p", np.arange(6), np.int32), BAD, loc + "/W/p"),
        ("local", replace(loc + "/W/i", np.zeros(20), np.int32), BAD, loc + "/W/i"),
        ("local", replace(loc + "/W/x", np.zeros(20)), BAD, loc + "/W/x"),
        ("local", set_entry(loc + "/W/nzmax", 0, -1), BAD, loc + "/W/nzmax"),
        ("local", set_entry(loc + "/W/nzmax", 0, 10), BAD, loc + "/W/nzmax"),
        ("global", set_entry(glo + "/M/n", 0, 11), BAD, glo + "/M/n"),
        ("global", set_entry(glo + "/H/m", 0, 6), BAD, glo + "/H/m"),
        ("global", set_entry(glo + "/H/n", 0, 12), BAD, glo + "/H/n"),
        ("global", replace(glo + "/vectors/f", np.ones(11)), BAD, glo + "/M/m"),
        ("global", replace(glo + "/vectors/w", np.ones(8)), BAD, glo + "/vectors/w"),
        ("global", replace(glo + "/H/x", np.ones(71)), BAD, glo + "/H/x"),
        ("global", set_entry(glo + "/H/nz", 0, 100), BAD, glo + "/H/nz"),
    ]
    # values
    cases += [
        ("local", set_entry(loc + "/W/nz", 0, -3), BAD, loc + "/W/nz"),
        ("local", set_entry(loc + "/W/nz", 0, 2 ** 31 - 1), BAD, loc + "/W/nz"),
        ("local", set_entry(loc + "/W/nz", 0, 36), BAD, loc + "/W/p"),
        ("local", set_entry(loc + "/W/p", 0, 1), BAD, loc + "/W/p"),
        ("local", set_entry(loc + "/W/p", 3, 2), BAD, loc + "/W/p"),
        ("local", set_entry(loc + "/W/p", 6, 99), BAD, loc + "/W/i"),
        ("local", set_entry(loc + "/W/p", 2, -5), BAD, loc + "/W/p"),
        ("local", set_entry(loc + "/W/i", 7, 6), BAD, loc + "/W/i"),
        ("local", set_entry(loc + "/W/i", 7, -1), BAD, loc + "/W/i"),
        ("local", set_entry(loc + "/W/x", 7, np.nan), BAD, loc + "/W/x"),
        ("local", set_entry(loc + "/vectors/q", 1, np.inf), BAD, loc + "/vectors/q"),
        ("local", set_entry(loc + "/vectors/mu", 1, -0.1), BAD, loc + "/vectors/mu"),
        ("local", set_entry(loc + "/vectors/mu", 1, np.nan), BAD, loc + "/vectors/mu"),
        ("global", set_entry(glo + "/vectors/mu", 0, -1.0), BAD, glo + "/vectors/mu"),
        ("global", set_entry(glo + "/vectors/f", 0, np.nan), BAD, glo + "/vectors/f"),
        ("global", set_entry(glo + "/vectors/w", 0, -np.inf), BAD, glo + "/vectors/w"),
        ("global", set_entry(glo + "/H/i", 0, 12), BAD, glo + "/H/i"),
        ("global", set_entry(glo + "/H/p", 0, 6), BAD, glo + "/H/p"),
        ("global", set_entry(glo + "/M/p", 0, -2), BAD, glo + "/M/p"),
        ("global", set_entry(glo + "/H/x", 3, np.nan), BAD, glo + "/H/x"),
    ]

    def mass(change):
        def act(f):
            dense = np.zeros((12, 12))
            m = f[glo + "/M"]
            dense[m["i"][()], m["p"][()]] = m["x"][()]
            change(dense)
            del f[glo + "/M"]
            triplets(f[glo], "M", dense)
        return act

    def singular(m):
        m[:6, :6] = np.ones((6, 6))

    def negative(m):
        m[2, 2] = -1.0

    def empty_row(m):
        m[8, :] = m[:, 8] = 0.0

    def zero(m):
        m[:] = 0.0

    for change in (singular, negative, empty_row, zero):
        cases.append(("global", mass(change), BAD, glo + "/M"))
    # parts that are not supported
    cases.append(("local", lambda f: f.create_group(loc + "/V"), BAD, loc + "/V"))
    cases.append(("local", lambda f: f.create_group(loc + "/R"), BAD, loc + "/R"))
    cases.append(("global", lambda f: f.move(glo, "/fclib_global_rolling"), BAD,
                  "fclib_global_rolling"))
    # bilateral rows and Catena's own group, half there
    cases.append(("global", lambda f: f.create_group(glo + "/G"), IO, glo + "/vectors/b"))

    def short_g(f):
        reals(f[glo], "vectors/b", [0.0])
        triplets(f[glo], "G", np.ones((11, 1)))

    cases.append(("global", short_g, BAD, glo + "/G/m"))
    cases.append(("global", lambda f: f.create_group("/catena"), IO, "/catena/body_begin"))

    def wrong_bodies(f):
        ints(f.create_group("catena"), "body_begin", [0, 6, 11])

    cases.append(("global", wrong_bodies, BAD, "/catena/body_begin"))

    def split_bodies(f):
        g = f.create_group("catena")
        g.attrs["law"] = "coulomb"
        ints(g, "body_begin", [0, 3, 12])
        ints(g, "body_id", [0, 1])
        for name, n in (("bilateral_begin", 1), ("bilateral_angular", 0), ("unilateral", 2),
                        ("unilateral_angular", 2), ("boxed_begin", 1), ("boxed_angular", 0)):
            ints(g, name, np.zeros(n))
        for name in ("w", "lower", "upper"):
            reals(g, "boxed/" + name, np.zeros(0))
        triplets(g["boxed"], "H", np.zeros((12, 0)))

    cases.append(("global", split_bodies, BAD, "/catena/body_begin"))
    return cases


def damaged(path, data):
    with open(path, "wb") as out:
        out.write(data)


def main():
    folder = sys.argv[1]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    base = {"local": os.path.join(folder, "local.hdf5"),
            "global": os.path.join(folder, "global.hdf5")}
    local_problem(base["local"])
    global_problem(base["global"])
    manifest = []
    for k, (kind, change, code, named) in enumerate(content_cases()):
        name = "content-%03d.hdf5" % k
        path = os.path.join(folder, name)
        shutil.copyfile(base[kind], path)
        with h5py.File(path, "r+") as f:
            change(f)
        manifest.append((name, code, named))

    whole = open(base["global"], "rb").read()
    for k, size in enumerate((0, 1, 8, 96, 512, 2048, len(whole) // 2, len(whole) - 1)):
        name = "cut-%d.hdf5" % k
        damaged(os.path.join(folder, name), whole[:size])
        manifest.append((name, IO, name))
    damaged(os.path.join(folder, "text.hdf5"), b"this is not HDF5\n" * 400)
    manifest.append(("text.hdf5", IO, "text.hdf5"))
    damaged(os.path.join(folder, "zeros.hdf5"), bytes(8192))
    manifest.append(("zeros.hdf5", IO, "zeros.hdf5"))
    damaged(os.path.join(folder, "root.hdf5"), whole[:96] + bytes(len(whole) - 96))
    manifest.append(("root.hdf5", IO, "root.hdf5"))
    manifest.append(("absent.hdf5", IO, "absent.hdf5"))
    os.makedirs(os.path.join(folder, "folder.hdf5"))
    manifest.append(("folder.hdf5", IO, "folder.hdf5"))
    rng = np.random.default_rng(3)
    for k in range(20):
        data = bytearray(whole)
        at = int(rng.integers(96, len(data) - 16))
        data[at:at + 8] = rng.bytes(8)
        name = "damaged-%02d.hdf5" % k
        damaged(os.path.join(folder, name), bytes(data))
        manifest.append((name, 0, "-"))
    with open(os.path.join(folder, "manifest.txt"), "w") as out:
        out.writelines("%s %d %s\n" % entry for entry in manifest)
    print("%d files" % len(manifest))


if __name__ == "__main__":
    main()
