#!/usr/bin/python3
"""Judges the solution of a contact problem from the two files alone: every error of docs/theory.md
("Errors"), by this file's own implementation.

    scripts/user/check_solution.py PROBLEM.hdf5 SOLUTION.hdf5 [--law coulomb|ccp|box|frictionless|lagged]
                              [--report REPORT.json] [--tolerance 1e-6]

PROBLEM is a local or global problem in FCLIB's layout or a step that a run dumped; SOLUTION what
`catena solve --solution` wrote, or any file with /solution/r (and /solution/l and the rows of
/catena where the problem has them). The law is that of the problem's group /catena, else
coulomb. Velocities are recomputed from the impulses.

With --report the errors are compared with those of `catena solve --report`, and the velocities
with the solution's: exit code 1 if they differ by more than the tolerance (relative) and what
round-off of w explains. Exit code 3: wrong arguments or files. Needs python3-numpy and python3-h5py.
"""
import argparse
import json
import sys

import h5py
import numpy as np

LAWS = ("coulomb", "ccp", "box", "frictionless", "lagged")
UNITS = {"energy": "J", "natural_map": "m/s", "natural_map_rms": "m/s", "fischer_burmeister": "J^0.5",
         "natural_map_angular": "rad/s", "energy_joint": "J", "energy_normal": "J",
         "energy_friction": "J", "energy_limit": "J", "objective": "J", "cone_violation": "N s"}
ORDER = ("energy", "energy_joint", "energy_normal", "energy_friction", "energy_limit", "natural_map",
         "natural_map_rms", "natural_map_angular", "siconos", "fclib_merit", "scaled", "gap",
         "fischer_burmeister", "objective", "cone_violation")
EPS = np.finfo(float).eps
# Rows of a contact: normal, two tangents, two rolling rows, spinning row; a disc each but the first.
DISCS = (slice(1, 3), slice(3, 5), slice(5, 6))
# Bodies of more velocities than these are taken one by one.
SMALL_BODY = 12
# Relative to the terms that w adds up.
ROUND_OFF = 100 * EPS


class BadInput(Exception):
    pass


# --- files ------------------------------------------------------------------------------------

class Sparse:
    """Entries (row, column, value); duplicates add up."""

    def __init__(self, shape, row=(), column=(), value=()):
        self.shape = shape
        self.row, self.column = np.asarray(row, np.int64), np.asarray(column, np.int64)
        self.value = np.asarray(value, float)

    def __matmul__(self, x):
        return np.bincount(self.row, self.value * x[self.column], self.shape[0])

    def transposed(self):
        return Sparse(self.shape[::-1], self.column, self.row, self.value)

    def magnitudes(self):
        return Sparse(self.shape, self.row, self.column, abs(self.value))

    def diagonal(self):
        on = self.row == self.column
        return np.bincount(self.row[on], self.value[on], self.shape[0])


def vector(file, name, default=None):
    if name not in file:
        if default is None:
            raise BadInput(f"{file.filename}: {name} is missing")
        return np.asarray(default, float)
    return np.asarray(file[name][()], float).ravel()


def matrix(file, name):
    """FCLIB's matrix group: triplets (i rows, p columns) or compressed columns or rows."""
    if name not in file:
        raise BadInput(f"{file.filename}: {name} is missing")
    group = file[name]
    m, n, nz = (int(np.ravel(group[key][()])[0]) for key in ("m", "n", "nz"))
    p, i, x = (np.asarray(group[key][()]) for key in ("p", "i", "x"))
    if nz >= 0:
        return Sparse((m, n), i[:nz], p[:nz], x[:nz])
    size = int(p[-1])
    line = np.repeat(np.arange(len(p) - 1), np.diff(p))
    if nz == -1:
        return Sparse((m, n), i[:size], line, x[:size])
    if nz == -2:
        return Sparse((m, n), line, i[:size], x[:size])
    raise BadInput(f"{file.filename}: {name}/nz is {nz}")


# --- mass -------------------------------------------------------------------------------------

def connected_parts(pattern):
    """Number of the connected part of each row of a square matrix."""
    label = np.arange(pattern.shape[0])
    while True:
        least = np.minimum(label[pattern.row], label[pattern.column])
        new = label.copy()
        np.minimum.at(new, pattern.row, least)
        np.minimum.at(new, pattern.column, least)
        new = new[new]
        if np.array_equal(new, label):
            return np.unique(label, return_inverse=True)[1]
        label = new


class Mass:
    """M by its diagonal blocks; parts of equal size are inverted together."""

    def __init__(self, mass):
        part = connected_parts(mass)
        count = np.bincount(part, minlength=1)
        order = np.argsort(part, kind="stable")  # velocities, part by part
        start = np.concatenate(([0], np.cumsum(count)))
        self.slot = np.empty(len(part), np.int64)
        self.slot[order] = np.arange(len(part)) - start[part[order]]
        self.part, self.count = part, count
        self.classes = []  # size, parts, their velocities (k, n), their inverses (k, n, n)
        self.place = np.empty(len(count), np.int64)
        for n in np.unique(count):
            parts = np.flatnonzero(count == n)
            self.place[parts] = np.arange(len(parts))
            block = np.zeros((len(parts), n, n))
            mine = count[part[mass.row]] == n
            rows, columns = mass.row[mine], mass.column[mine]
            np.add.at(block, (self.place[part[rows]], self.slot[rows], self.slot[columns]),
                      mass.value[mine])
            dofs = order[start[parts][:, None] + np.arange(n)]
            self.classes.append((n, parts, dofs, np.linalg.inv(block)))

    def solve(self, x):
        out = np.empty(len(x))
        for _, _, dofs, inverse in self.classes:
            out[dofs] = np.einsum("kij,kj->ki", inverse, x[dofs])
        return out

    def solve_magnitudes(self, x):
        """|M^-1| x: what the terms of M^-1 x amount to."""
        out = np.empty(len(x))
        for _, _, dofs, inverse in self.classes:
            out[dofs] = np.einsum("kij,kj->ki", abs(inverse), x[dofs])
        return out

    def diagonal_of(self, h):
        """Diagonal of H^T M^-1 H."""
        out = np.zeros(h.shape[1])
        for n, parts, _, inverse in self.classes:
            mine = self.count[self.part[h.row]] == n
            row, column, value = h.row[mine], h.column[mine], h.value[mine]
            pairs, place = np.unique(column * len(self.count) + self.part[row], return_inverse=True)
            dense = np.zeros((len(pairs), n))
            np.add.at(dense, (place, self.slot[row]), value)
            column, at = pairs // len(self.count), self.place[pairs % len(self.count)]
            if n <= SMALL_BODY:
                squares = np.einsum("ki,kij,kj->k", dense, inverse[at], dense)
            else:
                squares = np.empty(len(pairs))
                for k in range(len(parts)):
                    squares[at == k] = np.sum((dense[at == k] @ inverse[k]) * dense[at == k], axis=1)
            np.add.at(out, column, squares)
        return out


# --- problem and solution ------------------------------------------------------------------------

class Rows:
    """Impulses, w, w at zero impulses, diagonal of N, and the round-off of w, of some rows."""

    def __init__(self, impulse, w, free, diagonal, terms):
        self.impulse, self.w, self.free, self.diagonal = impulse, w, free, diagonal
        self.noise = ROUND_OFF * terms

    def take(self, index):
        rows = Rows(*(x[index] for x in (self.impulse, self.w, self.free, self.diagonal)), 0.0)
        rows.noise = self.noise[index]
        return rows

    def six(self, n):
        """The same, all zero, for n contacts in full."""
        return Rows(*(np.zeros((n, 6)) for _ in range(4)), np.zeros((n, 6)))

    def copy_to(self, other, place, index):
        for name in ("impulse", "w", "free", "diagonal", "noise"):
            getattr(other, name)[place] = getattr(self, name)[index]


class Contacts:
    """All contacts, their rows in full (n, 6); rows that a contact does not have are zero."""

    def __init__(self, rows, friction):
        n = len(friction)
        self.rows = rows.six(n)
        for i in range(3):
            rows.copy_to(self.rows, (slice(None), i), slice(i, None, 3))
        self.present = np.zeros((n, 6), bool)
        self.present[:, :3] = True
        self.bound = np.zeros((n, 3))
        self.bound[:, 0] = friction
        self.cohesion = np.zeros(n)

    def add_couples(self, group, rows, filename):
        begin = np.asarray(group["begin"][()], np.int64)
        rolling, spinning = group["rolling"][()], group["spinning"][()]
        self.cohesion = np.asarray(group["cohesion"][()], float)
        self.present[:, 3:5] = (rolling >= 0.0)[:, None]
        self.present[:, 5] = spinning >= 0.0
        contact, place = np.nonzero(self.present[:, 3:])
        if len(contact) != len(rows.w) or len(begin) != len(rolling) + 1:
            raise BadInput(f"{filename}: catena/couples: rows and coefficients do not fit")
        # a contact's rows stand in the order of their places
        rows.copy_to(self.rows, (contact, place + 3), np.arange(len(contact)))
        self.bound[:, 1], self.bound[:, 2] = np.maximum(rolling, 0.0), np.maximum(spinning, 0.0)

    def keep(self, which):
        self.rows = self.rows.take(which)
        self.present, self.bound = self.present[which], self.bound[which]
        self.cohesion = self.cohesion[which]


class Scalars:
    """Scalar rows with bounds; `part` is the part of the energy that they belong to."""

    def __init__(self, part, rows, lower, upper, angular, counts=None):
        n = len(rows.w)
        self.part, self.rows = part, rows
        self.lower, self.upper = np.full(n, 1.0) * lower, np.full(n, 1.0) * upper
        self.angular = np.zeros(n, bool) | (np.asarray(angular) != 0)
        self.counts = np.ones(n, bool) if counts is None else counts
        self.length = np.ones(n)  # what brings angular rows of a contact to m/s


def impulses(solution, name, size):
    found = vector(solution, name, np.zeros(0) if size == 0 else None)
    if len(found) != size:
        raise BadInput(f"{solution.filename}: {name} has {len(found)} entries, the problem {size} rows")
    return found


class Problem:
    """What the two files say: contacts, scalar rows, and how far the velocities that the
    solution states are from those of its impulses, in units of round-off."""

    def __init__(self, file, solution, law):
        self.law = law or (file["catena"].attrs["law"] if "catena" in file else "coulomb")
        if isinstance(self.law, bytes):
            self.law = self.law.decode()
        self.scalars, self.differences = [], {}
        if "fclib_local" in file:
            self.read_local(file, solution)
        elif "fclib_global" in file:
            self.read_global(file, solution)
        else:
            raise BadInput(f"{file.filename}: holds neither fclib_local nor fclib_global")

    def read_local(self, file, solution):
        self.form = "local"
        n, q = matrix(file, "fclib_local/W"), vector(file, "fclib_local/vectors/q")
        r = impulses(solution, "solution/r", len(q))
        rows = Rows(r, n @ r + q, q, n.diagonal(), n.magnitudes() @ abs(r) + abs(q))
        self.contacts = Contacts(rows, vector(file, "fclib_local/vectors/mu"))
        self.compare(solution, "solution/u", rows.w, rows.noise)

    def read_global(self, file, solution):
        """M v = f + H r + G l + what the rows of /catena bring, w = H^T v + constant."""
        self.form = "global"
        f = vector(file, "fclib_global/vectors/f")
        kinds = {"contact": ("fclib_global/H", "fclib_global/vectors/w", "solution/r")}
        if "fclib_global/G" in file:
            kinds["bilateral"] = ("fclib_global/G", "fclib_global/vectors/b", "solution/l")
        if "catena" in file:
            kinds["boxed"] = ("catena/boxed/H", "catena/boxed/w", "catena/boxed/lambda")
        if "catena/couples" in file:
            kinds["couple"] = ("catena/couples/H", "catena/couples/w", "catena/couples/lambda")
        data, momentum, terms = {}, f.copy(), abs(f)
        for kind, (h, constant, name) in kinds.items():
            h, constant = matrix(file, h), vector(file, constant)
            x = impulses(solution, name, len(constant))
            data[kind] = h, constant, x
            momentum += h @ x
            terms += h.magnitudes() @ abs(x)
        mass = Mass(matrix(file, "fclib_global/M"))
        free, v, v_terms = mass.solve(f), mass.solve(momentum), mass.solve_magnitudes(terms)
        self.compare(solution, "solution/v", v, ROUND_OFF * v_terms)
        rows = {}
        for kind, (h, constant, x) in data.items():
            ht = h.transposed()
            rows[kind] = Rows(x, ht @ v + constant, ht @ free + constant, mass.diagonal_of(h),
                              ht.magnitudes() @ v_terms + abs(constant))
        for kind, name in (("contact", "solution/u"), ("boxed", "catena/boxed/u"),
                           ("couple", "catena/couples/u")):
            if kind in rows:
                self.compare(solution, name, rows[kind].w, rows[kind].noise)
        if self.law == "lagged":
            self.shift(file, rows["contact"])
        self.sort_rows(file, rows)

    def shift(self, file, contacts):
        """Law lagged is ccp with the file's shift of each contact on its normal row."""
        if "catena/shift" not in file:
            raise BadInput(f"{file.filename}: law lagged needs catena/shift: give another --law")
        shift = vector(file, "catena/shift")
        contacts.w[::3] += shift
        contacts.free[::3] += shift
        contacts.noise[::3] += ROUND_OFF * shift

    def sort_rows(self, file, rows):
        self.contacts = Contacts(rows["contact"], vector(file, "fclib_global/vectors/mu"))
        group = file.get("catena", {})
        n_joint = len(rows["bilateral"].w) if "bilateral" in rows else 0
        if n_joint:
            angular = group["bilateral_angular"][()] if group else np.zeros(n_joint)
            self.scalars.append(Scalars("joint", rows["bilateral"], -np.inf, np.inf, angular))
        if not group:
            return
        if "couple" in rows:
            self.contacts.add_couples(group["couples"], rows["couple"], file.filename)
        limit = group["unilateral"][()] != 0
        normals = rows["contact"].take(3 * np.flatnonzero(limit))
        self.scalars.append(Scalars("limit", normals, 0.0, np.inf,
                                    group["unilateral_angular"][()][limit]))
        self.contacts.keep(~limit)
        self.scalars.append(Scalars("limit", rows["boxed"], group["boxed/lower"][()],
                                    group["boxed/upper"][()], group["boxed_angular"][()]))

    def compare(self, solution, name, found, noise):
        if name not in solution or len(found) == 0:
            return
        given = vector(solution, name)
        if len(given) != len(found):
            raise BadInput(f"{solution.filename}: {name} has {len(given)} entries, not {len(found)}")
        off = abs(given - found)
        self.differences[name] = np.max(off), bool(np.all(off <= noise))


# --- errors -----------------------------------------------------------------------------------------

def project(x, bound):
    """Nearest points of the cones |x_i| <= bound_i n, one disc each (n, 6). The normal is the root
    of x_n - n + sum bound_i max(0, |x_i| - bound_i n), convex and falling, so that Newton's method
    from n = 0 ends after as many steps as it has pieces."""
    length = np.stack([np.linalg.norm(x[:, disc], axis=1) for disc in DISCS], axis=1)
    normal = np.zeros(len(x))
    for _ in range(len(DISCS) + 1):
        slides = length > bound * normal[:, None]
        pull = x[:, 0] + np.sum(np.where(slides, bound * length, 0.0), axis=1)
        normal = np.maximum(pull / (1.0 + np.sum(np.where(slides, bound ** 2, 0.0), axis=1)), 0.0)
    out = x.copy()
    out[:, 0] = normal
    for i, disc in enumerate(DISCS):
        radius = bound[:, i] * normal
        out[:, disc] *= np.where(length[:, i] > radius, over(radius, length[:, i]), 1.0)[:, None]
    return out


def fischer_cone(x, y):
    """|x + y - (x^2 + y^2)^(1/2)|^2 per row (n, t, t) in the algebra of the cone |t| <= n: that of
    the symmetric matrices [[n + t1, t2], [t2, n - t1]], where the root of X^2 + Y^2 follows from
    the singular values of X over Y without forming the squares."""
    def matrices(v):
        return np.stack([np.stack([v[:, 0] + v[:, 1], v[:, 2]], 1),
                         np.stack([v[:, 2], v[:, 0] - v[:, 1]], 1)], 1)
    a, b = matrices(x), matrices(y)
    _, s, vt = np.linalg.svd(np.concatenate([a, b], axis=1), full_matrices=False)
    phi = a + b - np.einsum("kji,kj,kjl->kil", vt, s, vt)
    return 0.5 * np.sum(phi ** 2, axis=(1, 2))


def fischer(x, y):
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(x), y, x + y - np.hypot(x, y))


def over(x, y):
    """x/y where y > 0, else 0."""
    x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    return np.divide(x, y, out=np.zeros(x.shape), where=y > 0.0)


class Sums:
    """What blocks add up to, and beside it how far round-off of w can move it."""

    def __init__(self):
        self.energy = dict.fromkeys(("joint", "normal", "friction", "limit"), 0.0)
        self.energy_noise = dict.fromkeys(self.energy, 0.0)  # squared norms
        self.squares = dict.fromkeys(("impulse", "slip", "free", "scaled_slip", "scaled_free", "natural",
                                      "unscaled", "scaled", "fischer"), 0.0)
        self.noise = dict.fromkeys(("natural", "angular", "unscaled", "scaled", "work"), 0.0)
        self.count = 0
        self.largest = {"natural": 0.0, "angular": 0.0}
        self.work = self.free_work = self.quadratic = 0.0
        self.outside = self.impulse_size = 0.0

    def add(self, name, values):
        self.squares[name] += float(np.sum(np.square(values)))

    def add_energy(self, part, half_squares, noise):
        self.energy[part] += float(np.sum(half_squares))
        self.energy_noise[part] += float(np.sum(np.square(noise)))

    def peak(self, name, values, noise):
        if np.size(values):
            self.largest[name] = max(self.largest[name], float(np.max(values)))
            self.noise[name] = max(self.noise[name], float(np.max(noise)))

    def add_distances(self, outside, size):
        """Takes distances of impulses from their cones or bounds; `size`: of impulses and cohesions."""
        if np.size(outside):
            self.outside = max(self.outside, float(np.max(outside)))
            self.impulse_size = max(self.impulse_size, float(np.max(size)))


def linear_units(contacts):
    """Means of N's diagonal (n discs; three linear rows), the lengths that bring rolling and spinning
    rows to N s and m/s, and the bounds there. A length is 0 where nothing turns."""
    diagonal = contacts.rows.diagonal
    means = np.stack([np.mean(diagonal[:, disc], axis=1) for disc in DISCS], axis=1)
    a = np.mean(diagonal[:, :3], axis=1)
    moves = (means > 0.0) & (a > 0.0)[:, None]
    length = np.where(moves, np.sqrt(over(a[:, None], means)), 0.0)
    length[:, 0] = 1.0
    return means, a, length, over(contacts.bound, length)


def add_cones(law, contacts, sums):
    """Contacts under coulomb and ccp."""
    rows = contacts.rows
    means, a, length, bound_here = linear_units(contacts)
    full = np.ones_like(rows.w)
    counted = full.copy()  # w of a disc with bound 0 is left out
    for i, disc in enumerate(DISCS[1:], 1):
        full[:, disc] = length[:, i][:, None]
        counted[:, disc] = (length[:, i] * (contacts.bound[:, i] > 0.0))[:, None]
    push = np.zeros_like(rows.w)
    push[:, 0] = contacts.cohesion
    raw = over(rows.impulse, full)
    impulse, w = over(rows.impulse + push, full), rows.w * counted
    w_hat, noise = w.copy(), rows.noise * counted
    if law == "coulomb":
        w_hat[:, 0] += slide(w, bound_here)
        noise[:, 0] += slide(noise, bound_here)
    sums.add("impulse", raw)
    sums.add("slip", w)
    sums.add("free", rows.free * counted)
    sums.free_work += float(np.sum(rows.free * rows.impulse))
    sums.quadratic += float(np.sum(rows.impulse * (rows.w - rows.free)))
    sums.work += float(np.sum(impulse * w))
    sums.noise["work"] += float(np.sum(abs(impulse) * noise))
    sums.add("unscaled", impulse - project(impulse - w_hat, bound_here))
    sums.noise["unscaled"] += float(np.sum((noise + ROUND_OFF * abs(impulse)) ** 2))

    at = a > 0.0
    off = impulse - project(impulse - over(w_hat, a[:, None]), bound_here)
    off_noise = over(noise, a[:, None]) + ROUND_OFF * abs(impulse)
    sums.add("scaled", off[at])
    sums.noise["scaled"] += float(np.sum(off_noise[at] ** 2))
    sums.add("scaled_slip", over(w, a[:, None])[at])
    sums.add("scaled_free", over(rows.free * counted, a[:, None])[at])
    sums.count += int(np.sum(at))
    natural = a[:, None] * off
    sums.add("natural", natural[at, :3])
    sums.peak("natural", np.linalg.norm(natural[at, :3], axis=1),
              a[at] * np.linalg.norm(off_noise[at], axis=1))
    turning = over(natural[:, 3:], full[:, 3:])
    if contacts.present[:, 3:].any():
        sums.peak("angular", np.linalg.norm(turning[at], axis=1),
                  np.linalg.norm(over(a[:, None] * off_noise[:, 3:], full[:, 3:])[at], axis=1))
    add_cone_energies(law, contacts, means, rows.impulse + push, sums)


def add_cone_distances(law, contacts, sums):
    """How far the contacts' impulses (N s) are from their cones; frictionless: from the half-lines.
    Law box has bounds for each row: add_scalars."""
    _, _, length, bound = linear_units(contacts)
    impulse = contacts.rows.impulse.copy()
    for i, disc in enumerate(DISCS):
        impulse[:, disc] = over(impulse[:, disc], length[:, i][:, None])
    impulse[:, 0] += contacts.cohesion
    if law == "frictionless":
        bound = np.zeros_like(bound)
    outside = np.linalg.norm(impulse - project(impulse, bound), axis=1)
    sums.add_distances(outside, np.maximum(np.linalg.norm(impulse, axis=1), contacts.cohesion))


def slide(w, bound):
    return sum(bound[:, i] * np.linalg.norm(w[:, disc], axis=1) for i, disc in enumerate(DISCS))


def add_cone_energies(law, contacts, means, impulse, sums):
    """Energy and Fischer-Burmeister: y = D^1/2 lambda, z = D^-1/2 what."""
    rows = contacts.rows
    at = rows.diagonal[:, 0] > 0.0
    weight = np.zeros_like(rows.w)
    weight[:, 0] = rows.diagonal[:, 0]
    for i, disc in enumerate(DISCS):
        weight[:, disc] = means[:, i][:, None]
    weight, impulse, w, bound = weight[at], impulse[at], rows.w[at], contacts.bound[at]
    noise = rows.noise[at].copy()
    noise[:, 0] += slide(noise, bound)
    root = np.sqrt(weight)
    mu = np.stack([bound[:, i] * over(root[:, disc.start], root[:, 0]) for i, disc in enumerate(DISCS)], 1)
    shifts = [bound[:, i] * np.linalg.norm(w[:, disc], axis=1) for i, disc in enumerate(DISCS)]
    w_hat = w.copy()
    if law == "coulomb":
        w_hat[:, 0] += sum(shifts)
    y, z = root * impulse, over(w_hat, root)
    d = y - project(y - z, mu)
    d_noise = over(noise, root) + ROUND_OFF * abs(y)
    sums.add_energy("normal", 0.5 * d[:, 0] ** 2, d_noise)
    sums.add_energy("friction", 0.5 * np.sum(d[:, 1:] ** 2, axis=1), d_noise)

    normal = w[:, 0] + (shifts[0] if law == "coulomb" else -(shifts[1] + shifts[2]))
    z = over(w, root)
    z[:, 0] = over(normal, root[:, 0])
    for i, disc in enumerate(DISCS):
        t, slip = y[:, disc], z[:, disc]
        t, slip = (np.pad(v, ((0, 0), (0, 2 - v.shape[1]))) for v in (t, slip))
        if i == 0:
            first = np.stack([mu[:, 0] * y[:, 0], over(z[:, 0], mu[:, 0])], 1)
            frictionless = fischer(y[:, 0], z[:, 0]) ** 2 + np.sum(t ** 2, axis=1)
        else:
            first = np.stack([mu[:, i] * y[:, 0], np.linalg.norm(slip, axis=1)], 1)
            frictionless = np.sum(t ** 2, axis=1)
        cone = fischer_cone(np.column_stack([first[:, 0], t]), np.column_stack([first[:, 1], slip]))
        sums.squares["fischer"] += float(np.sum(np.where(mu[:, i] > 0.0, cone, frictionless)))


def add_scalars(s, sums):
    """Rows with bounds: [E] (5), its signs mended."""
    rows, lower, upper = s.rows, s.lower, s.upper
    x, w, a, noise = rows.impulse, rows.w, rows.diagonal, rows.noise
    sums.add("impulse", x)
    sums.add("slip", w)
    sums.add("free", rows.free)
    sums.free_work += float(np.sum(rows.free * x))
    sums.quadratic += float(np.sum(x * (w - rows.free)))
    with np.errstate(invalid="ignore"):
        pull = np.where(w > 0.0, np.where(np.isinf(lower), x, x - lower) * w,
                        np.where(w < 0.0, np.where(np.isinf(upper), x, x - upper) * w, 0.0))
    sums.work += float(np.sum(pull))
    sums.noise["work"] += float(np.sum(abs(x) * noise))
    sums.add("unscaled", x - np.clip(x - w, lower, upper))
    sums.noise["unscaled"] += float(np.sum((noise + ROUND_OFF * abs(x)) ** 2))

    sums.add_distances(np.maximum(0.0, np.maximum(lower - x, x - upper)), abs(x))

    at = a > 0.0
    x, w, a, noise, lower, upper, angular, counts, free, length = (
        v[at] for v in (x, w, a, noise, lower, upper, s.angular, s.counts, rows.free, s.length))
    off = x - np.clip(x - w / a, lower, upper)
    off_noise = noise / a + ROUND_OFF * abs(x)
    sums.add("scaled", off)
    sums.noise["scaled"] += float(np.sum(off_noise ** 2))
    sums.add("scaled_slip", (w / a)[counts])
    sums.add("scaled_free", (free / a)[counts])
    sums.count += int(np.sum(counts & ~angular))
    natural, natural_noise = abs(a * off) / length, a * off_noise / length
    sums.add("natural", natural[~angular])
    sums.peak("natural", natural[~angular], natural_noise[~angular])
    sums.peak("angular", natural[angular], natural_noise[angular])

    x0 = np.clip(x, lower, upper)
    above, below = np.maximum(x - upper, 0.0), np.maximum(lower - x, 0.0)
    to_lower, to_upper = x0 + above - lower, upper - (x0 - below)
    energy = np.maximum.reduce([
        0.5 * a * (above ** 2 + below ** 2),
        np.minimum(np.maximum(w, 0.0) ** 2 / (2.0 * a), 0.5 * a * to_lower ** 2),
        np.minimum(np.maximum(-w, 0.0) ** 2 / (2.0 * a), 0.5 * a * to_upper ** 2)])
    sums.add_energy(s.part, energy, np.sqrt(a) * off_noise)
    root = np.sqrt(a)
    sums.add("fischer", fischer(root * (x - lower), -fischer(root * (upper - x), -w / root)))


def scalars_of(law, contacts):
    """Contacts under box and frictionless: the rows that they have, those of couples in N s and m/s."""
    rows = contacts.rows
    _, _, length, bound = linear_units(contacts)
    normal = rows.impulse[:, 0] + contacts.cohesion
    yield Scalars("normal", Rows(normal, rows.w[:, 0], rows.free[:, 0], rows.diagonal[:, 0],
                                 rows.noise[:, 0] / ROUND_OFF), 0.0, np.inf, False)
    for row in range(1, 6):
        disc = (row - 1) // 2
        has = contacts.present[:, row] & (length[:, disc] > 0.0)
        by, friction = length[has, disc], bound[has, disc]
        counted = by * ((disc == 0) | (friction > 0.0))
        limit = friction * np.maximum(normal[has], 0.0) if law == "box" else np.zeros(len(by))
        taken = Rows(rows.impulse[has, row] / by, rows.w[has, row] * counted, rows.free[has, row] * counted,
                     rows.diagonal[has, row] * by ** 2, rows.noise[has, row] * counted / ROUND_OFF)
        s = Scalars("friction", taken, -limit, limit, disc > 0, (law == "box") & (counted > 0.0))
        s.length = by
        yield s


def finish(sums):
    """Errors and how far round-off of w can move each."""
    size = {name: np.sqrt(value) for name, value in sums.squares.items()}
    e, noise = {}, {}
    for part, value in sums.energy.items():
        eta = np.sqrt(sums.energy_noise[part])
        e["energy_" + part], noise["energy_" + part] = value, eta * np.sqrt(2.0 * value) + eta ** 2
    eta = np.sqrt(sum(sums.energy_noise.values()))
    e["energy"] = sum(sums.energy.values())
    noise["energy"] = eta * np.sqrt(2.0 * e["energy"]) + eta ** 2
    e["natural_map"], noise["natural_map"] = sums.largest["natural"], sums.noise["natural"]
    e["natural_map_rms"] = size["natural"] / np.sqrt(max(sums.count, 1))
    noise["natural_map_rms"] = sums.noise["natural"]
    e["natural_map_angular"], noise["natural_map_angular"] = sums.largest["angular"], sums.noise["angular"]
    largest = max(size["free"], size["impulse"], size["slip"])
    scale = {"siconos": largest if largest > EPS else 1.0, "fclib_merit": 1.0 + np.sqrt(size["free"])}
    for name, by in scale.items():
        e[name], noise[name] = size["unscaled"] / by, np.sqrt(sums.noise["unscaled"]) / by
    by = max(size["impulse"], size["scaled_free"], size["scaled_slip"]) or 1.0
    e["scaled"], noise["scaled"] = size["scaled"] / by, np.sqrt(sums.noise["scaled"]) / by
    works = max(abs(sums.quadratic), abs(sums.free_work))
    e["gap"] = abs(sums.work) / works if works > 0.0 else float(e["energy"] > 0.0)
    noise["gap"] = sums.noise["work"] / works if works > 0.0 else 0.0
    e["fischer_burmeister"], noise["fischer_burmeister"] = size["fischer"], 3.0 * eta
    e["objective"] = 0.5 * sums.quadratic + sums.free_work
    noise["objective"] = sums.noise["work"]
    e["cone_violation"], noise["cone_violation"] = sums.outside, ROUND_OFF * sums.impulse_size
    return e, noise


def errors_of(problem):
    sums = Sums()
    blocks = list(problem.scalars)
    if problem.law != "box":
        add_cone_distances(problem.law, problem.contacts, sums)
    if problem.law in ("coulomb", "ccp", "lagged"):
        add_cones(problem.law, problem.contacts, sums)
    else:
        blocks += scalars_of(problem.law, problem.contacts)
    for block in blocks:
        add_scalars(block, sums)
    e, noise = finish(sums)
    if not np.isfinite(sum(sums.squares.values())):
        e = dict.fromkeys(e, np.nan)
    return e, noise


# --- comparison -------------------------------------------------------------------------------------

def agree(ours, theirs, noise, tolerance):
    if theirs is None:  # reports have null for what is not finite
        return not np.isfinite(ours)
    return bool(abs(ours - theirs) <= tolerance * max(abs(ours), abs(theirs)) + noise)


def print_table(problem, errors, noise, report, tolerance):
    """Returns whether all figures agree with the report's."""
    good = True
    theirs = dict(report["errors"], objective=report["objective"]) if report else {}
    print(f"{problem.form} problem, {len(problem.contacts.bound)} contacts, law {problem.law}")
    for name in ORDER:
        line = f"  {name:20} {errors[name]:13.6e} {UNITS.get(name, ''):6}"
        if report:
            same = name in theirs and agree(errors[name], theirs[name], noise[name], tolerance)
            good = good and same
            value = theirs.get(name)
            line += f" report {'null' if value is None else format(value, '13.6e'):>13}"
            line += "" if same else "   DIFFERS"
        print(line.rstrip())
    for name, (off, same) in problem.differences.items():
        print(f"  {name} is within {off:.2g} of what the impulses give" + ("" if same else "   DIFFERS"))
        good = good and same
    return good


def opened(path):
    try:
        return h5py.File(path, "r")
    except OSError as e:
        raise BadInput(f"{path}: {e}") from e


def read_report(path):
    try:
        with open(path) as file:
            report = json.load(file)
    except (OSError, ValueError) as e:
        raise BadInput(f"{path}: {e}") from e
    for key in ("law", "errors", "objective"):
        if key not in report:
            raise BadInput(f"{path}: is no report of catena solve: {key} is missing")
    return report


def judge(problem_file, solution_file, law=None):
    """The problem with its solution, its errors, and how far round-off can move each."""
    with opened(problem_file) as file, opened(solution_file) as solution:
        problem = Problem(file, solution, law)
    if problem.law not in LAWS:
        raise BadInput(f"{problem_file}: catena: unknown law {problem.law}")
    return problem, *errors_of(problem)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem")
    parser.add_argument("solution")
    parser.add_argument("--law", choices=LAWS, help="default: that of the file, else coulomb")
    parser.add_argument("--report", metavar="FILE", help="JSON of catena solve to compare with")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="of the comparison, relative")
    try:
        args = parser.parse_args()
    except SystemExit as e:
        return 3 if e.code else 0
    try:
        report = read_report(args.report) if args.report else None
        law = args.law or (report["law"] if report else None)
        problem, errors, noise = judge(args.problem, args.solution, law)
    except BadInput as e:
        print(f"check_solution.py: {e}", file=sys.stderr)
        return 3
    except (IndexError, ValueError) as e:  # sizes or indices that do not fit each other
        print(f"check_solution.py: {args.problem}, {args.solution}: inconsistent: {e}", file=sys.stderr)
        return 3
    good = print_table(problem, errors, noise, report, args.tolerance)
    return 0 if good or not report else 1


if __name__ == "__main__":
    sys.exit(main())
