"""Results of runs: series, bodies, snapshots, contacts, joints and probes as arrays with units."""
from __future__ import annotations

import functools
import json
import os
import pathlib
import re
from typing import Any, Iterator, Union

import h5py
import numpy as np

from .errors import CatenaError
from .files import Columns, csv_columns, dataset, opened
from .geometry import read_geometry
from .quantity import Quantity

WORLD = -1  # id that stands for the world in pairs of bodies


def rows_of(what: str, names: np.ndarray, name: str) -> np.ndarray:
    """Rows of the one called `name`, or of all that the generator of that name made (`name-0`, `name-1`, ...)."""
    found = np.flatnonzero(names == name)
    if len(found) == 0:
        pattern = re.compile(re.escape(name) + r"-\d+(-|$)")
        found = np.array([k for k, n in enumerate(names) if pattern.match(n)], int)
    if len(found) == 0:
        some = ", ".join(dict.fromkeys(re.sub(r"-\d+$", "", n) for n in names[:1000]))
        raise CatenaError(f"no such {what}", name, f"there are {some}" if some else "there are none")
    return found


class Table:
    """Columns of a group of bodies.h5, as attributes; one row per body or joint, ordered by id."""

    def __init__(self, what: str, columns: dict[str, Quantity]) -> None:
        self._what, self._columns = what, columns

    def __getattr__(self, name: str) -> Quantity:
        try:
            return self.__dict__["_columns"][name]
        except KeyError:
            raise AttributeError(f"bodies.h5 holds no {name!r} of {self.__dict__.get('_what', '')}s") from None

    def __dir__(self):
        return [*super().__dir__(), *self._columns]

    def __len__(self) -> int:
        return len(self._columns["id"])

    def rows(self, name: str) -> np.ndarray:
        """Rows of the one of this name, or of all that the generator of this name made."""
        return rows_of(self._what, np.asarray(self.name), name)

    def row_of(self, ids) -> np.ndarray:
        """Rows of the given ids."""
        return np.searchsorted(np.asarray(self.id), ids)

    @functools.cached_property
    def generator(self) -> Quantity:
        """Name without the number that a generator added; the name itself for single bodies."""
        return Quantity(np.array([re.sub(r"-\d+$", "", n) for n in self.name], object))

    def __repr__(self) -> str:
        return f"<{len(self)} {self._what}s: {', '.join(self._columns)}>"


class Contacts:
    """Contacts of the step that led to a snapshot.

    bodies     m x 2   ids, the smaller one first
    point      m x 3   m, midway between the surfaces
    normal     m x 3   from the first body to the second
    gap        m       m, negative where the bodies overlap
    impulse    m x 3   N s, on the second body, over the step
    force      m x 3   N, on the second body, mean over the step
    couple     m x 3   N m s, on the second body; zeros where no pair of materials has rolling friction
    feature, part      numbers of the point and of the pair of parts
    """

    _columns = {"bodies": (2, ""), "point": (3, "m"), "normal": (3, ""), "gap": (0, "m"), "impulse": (3, "N s"),
                "couple": (3, "N m s"), "feature": (0, ""), "part": (0, "")}

    def __init__(self, result: "Result", columns: dict[str, Quantity]) -> None:
        self._result, self._columns_read = result, columns

    def __getattr__(self, name: str) -> Quantity:
        if name not in Contacts._columns:
            raise AttributeError(f"contacts have no {name!r}")
        columns = self.__dict__["_columns_read"]
        if name not in columns:
            width, unit = Contacts._columns[name]
            shape = (len(self), width) if width else (len(self),)
            columns[name] = Quantity(np.zeros(shape, int if name in ("bodies", "feature", "part") else float), unit)
        return columns[name]

    def __len__(self) -> int:
        return len(self._columns_read["gap"]) if self._columns_read else 0

    @property
    def force(self) -> Quantity:
        """N, on the second body, mean over the step."""
        return Quantity(np.asarray(self.impulse) / self._result.step_length, "N")

    @property
    def normal_force(self) -> Quantity:
        """N, the part along the normal: > 0 where the bodies press each other."""
        return Quantity(np.sum(np.asarray(self.force) * np.asarray(self.normal), axis=1), "N")

    def take(self, rows) -> "Contacts":
        return Contacts(self._result, {name: values[rows] for name, values in self._columns_read.items()})

    def __repr__(self) -> str:
        return f"<{len(self)} contacts>"


class ContactsOn:
    """Contacts of a named body, or of all bodies of a generator with others, seen from it.

    `force` (N, k x 3) acts on the named one, `other` are the ids of the bodies it touches, `point` (m, k x 3)
    where; `total_force` (N) is the sum and `torque_about(x)` (N m) its moment. `contacts` are these as stored.
    """

    def __init__(self, contacts: Contacts, ids: np.ndarray) -> None:
        pairs = np.asarray(contacts.bodies)
        mine = np.isin(pairs, ids)
        rows = np.flatnonzero(mine[:, 0] != mine[:, 1])
        second = mine[rows, 1]
        self.contacts = contacts.take(rows)
        self.other = Quantity(np.where(second, pairs[rows, 0], pairs[rows, 1]))
        sign = np.where(second, 1.0, -1.0)[:, None]
        self.force = Quantity(sign * np.asarray(self.contacts.force), "N")
        self._couple = sign * np.asarray(self.contacts.couple) / contacts._result.step_length

    @property
    def point(self) -> Quantity:
        return self.contacts.point

    @property
    def total_force(self) -> Quantity:
        return Quantity(np.asarray(self.force).sum(axis=0), "N")

    def torque_about(self, x) -> Quantity:
        arms = np.asarray(self.point) - np.asarray(x, float)
        return Quantity((np.cross(arms, np.asarray(self.force)) + self._couple).sum(axis=0), "N m")

    def __len__(self) -> int:
        return len(self.contacts)

    def __repr__(self) -> str:
        return f"<{len(self)} contacts, total force {np.asarray(self.total_force)} N>"


class Snapshot:
    """The state after a step: `time` (s), `step`, one row per body, ordered by id.

    id; position (m, n x 3), the centre of mass; orientation (w, x, y, z); velocity (m/s); angular_velocity
    (rad/s, world frame); rank; and what bodies.h5 holds of them: name, kind, shape, material, mass (kg), radius (m),
    size (m), geometry, ... (`docs/output.md`). Datasets are read when they are asked for.
    """

    def __init__(self, result: "Result", path: pathlib.Path) -> None:
        self._result, self._path = result, path
        self._held: dict[str, Any] = {}
        with opened(path, "catena-snapshot") as file:
            self.time, self.step = float(file.attrs["time"]), int(file.attrs["step"])
            self._stored = set(file["bodies"])

    def _read(self, group: str, name: str) -> Quantity:
        with opened(self._path, "catena-snapshot") as file:
            return dataset(file[group], name)

    def __getattr__(self, name: str) -> Quantity:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._held:
            if name in self._stored and name != "row":
                self._held[name] = self._read("bodies", name)
            else:
                self._held[name] = getattr(self._result.bodies, name)[self.row]
        return self._held[name]

    def __len__(self) -> int:
        return len(self.id)

    @functools.cached_property
    def row(self) -> np.ndarray:
        """Rows of `Result.bodies` of this snapshot's bodies."""
        return self._result.bodies.row_of(np.asarray(self.id))

    def rows(self, name: str) -> np.ndarray:
        """This snapshot's rows of the named body or of a generator's bodies; none of them may be left."""
        ids = np.asarray(self._result.bodies.id)[self._result.bodies.rows(name)]
        return np.flatnonzero(np.isin(np.asarray(self.id), ids))

    @functools.cached_property
    def contacts(self) -> Contacts:
        with opened(self._path, "catena-snapshot") as file:
            group = file["contacts"] if "contacts" in file else {}
            columns = {name: dataset(group, name) for name in group}
        return Contacts(self._result, columns)

    def contacts_on(self, name: str) -> ContactsOn:
        """Contacts of the named body or generator with other bodies, forces as they act on it."""
        ids = np.asarray(self._result.bodies.id)[self._result.bodies.rows(name)]
        return ContactsOn(self.contacts, ids)

    @functools.cached_property
    def joints(self) -> dict[str, Quantity]:
        """Datasets of the group /joints: id, impulse, reaction, drive, coordinate; empty without joints."""
        with opened(self._path, "catena-snapshot") as file:
            return {name: dataset(file["joints"], name) for name in file["joints"]} if "joints" in file else {}

    @functools.cached_property
    def broken(self) -> dict[str, Quantity]:
        """Joints that have broken: id, step, time, and force, torque, energy of that step; empty where none can."""
        with opened(self._path, "catena-snapshot") as file:
            return {name: dataset(file["broken"], name) for name in file["broken"]} if "broken" in file else {}

    def __repr__(self) -> str:
        return f"<snapshot of step {self.step}, t = {self.time:g} s, {len(self)} bodies>"


class Joint:
    """A joint over the snapshots that hold it: `time` (s), and per snapshot

    coordinate   n x 3, m or rad in the order of theory.md, NaN where it has fewer
    force        n x 3, N, on body b, mean over the step before the snapshot
    torque       n x 3, N m, on body b about the joint's point
    drive        n x 6, N or N m: limit, motor, friction of the first coordinate, then of the second

    `type` and `bodies` (names; "world") say what it is.
    """

    def __init__(self, result: "Result", name: str) -> None:
        table = result.joints
        rows = np.flatnonzero(np.asarray(table.name) == name) if len(table) else []
        if len(rows) == 0:
            some = ", ".join(list(table.name)[:10]) if len(table) else ""
            dots = ", ..." if len(table) > 10 else ""
            raise CatenaError(f"no joint {name}; there are {len(table)}" + (f": {some}{dots}" if some else ""),
                              result.path, exit_code=3)
        row = rows[0]
        self.name, self.type = name, str(table.type[row])
        pair = np.asarray(table.bodies)[row]
        self.bodies = tuple("world" if k == WORLD else str(result.bodies.name[result.bodies.row_of(k)]) for k in pair)
        times, found = [], []
        for snapshot in result:
            held = snapshot.joints
            here = np.flatnonzero(np.asarray(held["id"]) == table.id[row]) if held else []
            if len(here):  # not before the first step, nor after it left through an outflow
                times.append(snapshot.time)
                found.append([np.asarray(held[k])[here[0]] for k in ("coordinate", "reaction", "drive")])
        n = len(times)
        coordinate, reaction, drive = (np.array([f[k] for f in found]).reshape(n, w) for k, w in enumerate((3, 6, 6)))
        h = result.step_length
        self.time, self.coordinate = Quantity(times, "s"), Quantity(coordinate, "m or rad")
        self.force, self.torque = Quantity(reaction[:, :3] / h, "N"), Quantity(reaction[:, 3:] / h, "N m")
        self.drive = Quantity(drive / h, "N or N m")

    def __repr__(self) -> str:
        return f"<joint {self.name}, {self.type} between {' and '.join(self.bodies)}, {len(self.time)} snapshots>"


class Result:
    """What a run left in its directory (or is leaving: an unfinished or killed run can be read, too).

    series          columns with a row per step: `series.time`, `series["kinetic_energy"]`
    bodies, joints  constant data, one row each, ordered by id: `bodies.mass`, `bodies.rows("grains")`
    times, steps    of the snapshots; `len(result)`, `result[-1]` and iteration go over them
    snapshot(t)     the one nearest to a time in s; `snapshot(step=12)`
    contacts(t)     its contacts; `contacts(t, on="block")`: with forces as they act on that body
    joint(name)     coordinates, forces and torques of a joint over the snapshots
    probe(name)     what a probe measured; `probes` are their names
    provenance, config, profile   how it was made, the resolved case, where the time went

    All arrays are NumPy arrays with an attribute `unit`. Nothing is read before it is asked for, and snapshots
    are not kept: hold on to the ones that you need.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        given = pathlib.Path(path)
        self.path = given.parent if given.suffix == ".h5" else given
        if not self.path.is_dir():
            raise CatenaError("there is no such directory", self.path, "give the directory that a run left")
        # an index of a newer version may lead to files that look old
        if self._index.exists():
            opened(self._index, "catena-result").close()
        opened(self.path / "bodies.h5", "catena-bodies").close()

    @property
    def _index(self) -> pathlib.Path:
        return self.path / "result.h5"

    def _table(self, what: str, group: str) -> Table:
        with opened(self.path / "bodies.h5", "catena-bodies") as file:
            found = file[group] if group in file else {}
            columns = {name: dataset(found, name) for name in found}
        return Table(what, columns or {"id": Quantity(np.empty(0, int))})

    @functools.cached_property
    def bodies(self) -> Table:
        return self._table("body", "bodies")

    @functools.cached_property
    def joints(self) -> Table:
        return self._table("joint", "joints")

    @functools.cached_property
    def geometries(self) -> list[dict[str, Any]]:
        """Surfaces of hulls, meshes and heightfields, and the parts of clumps, by `bodies.geometry`."""
        with opened(self.path / "bodies.h5", "catena-bodies") as file:
            groups = file["geometries"] if "geometries" in file else {}
            return [read_geometry(groups[str(k)]) for k in range(len(groups))]

    @functools.cached_property
    def provenance(self) -> dict[str, Any]:
        with opened(self.path / "bodies.h5", "catena-bodies") as file:
            return {name: value for name, value in file["provenance"].attrs.items()}

    @property
    def config(self) -> str:
        """The resolved case, YAML that runs again."""
        return str(self.provenance["config"])

    @functools.cached_property
    def step_length(self) -> float:
        """s, of the time steps."""
        block = re.search(r"^time:\n((?:[ ]+.*\n?)*)", self.config, re.MULTILINE)
        found = re.search(r"^ +step: ([^ #\n]+)", block.group(1) if block else "", re.MULTILINE)
        if not found:
            raise CatenaError("the resolved case names no time.step", self.path / "bodies.h5")
        return float(found.group(1))

    @functools.cached_property
    def profile(self) -> dict[str, Any]:
        """profile.json, which a run writes when it ends."""
        path = self.path / "profile.json"
        if not path.exists():
            raise CatenaError("there is no such file", path, "it is written when the run ends")
        return json.loads(path.read_text())

    def _columns(self, what: str, group: str, table: pathlib.Path) -> Columns:
        """Columns of the index, or of the table where the index is missing or older."""
        if self._index.exists() and (not table.exists() or
                                     table.stat().st_mtime_ns <= self._index.stat().st_mtime_ns):
            with opened(self._index, "catena-result") as file:
                if group in file:
                    return Columns(what, [n for n in file[group] if isinstance(file[group][n], h5py.Dataset)],
                                   lambda name: self._index_column(group, name))
        if not table.exists():
            raise CatenaError("no series there", table, "is this a result directory?")
        return csv_columns(table)

    def _index_column(self, group: str, name: str) -> Quantity:
        with opened(self._index, "catena-result") as file:
            values = dataset(file[group], name)
        values.unit = "" if values.unit == "1" else values.unit
        return values

    @functools.cached_property
    def series(self) -> Columns:
        return self._columns("series", "series", self.path / "series.csv")

    @functools.cached_property
    def probes(self) -> list[str]:
        """Names of the probes."""
        names = {p.stem for p in (self.path / "probes").glob("*.csv")}
        if self._index.exists():
            with opened(self._index, "catena-result") as file:
                names |= set(file["probes"]) if "probes" in file else set()
        return sorted(names)

    def probe(self, name: str) -> Columns:
        """Columns of a probe, `time` and `step` among them."""
        if name not in self.probes:
            raise CatenaError("no such probe", name,
                              "there are " + ", ".join(self.probes) if self.probes else "the case has none",
                              exit_code=3)
        return self._columns(f"probe {name}", f"probes/{name}", self.path / "probes" / f"{name}.csv")

    @functools.cached_property
    def _files(self) -> list[pathlib.Path]:
        return sorted((self.path / "snapshots").glob("*.h5"), key=lambda p: int(p.stem))

    @functools.cached_property
    def steps(self) -> Quantity:
        """Steps of the snapshots."""
        return Quantity(np.array([int(p.stem) for p in self._files], int))

    @functools.cached_property
    def times(self) -> Quantity:
        """s, of the snapshots."""
        def time_of(path):
            with opened(path, "catena-snapshot") as file:
                return float(file.attrs["time"])

        return Quantity(np.array([time_of(p) for p in self._files], float), "s")

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, k: int) -> Snapshot:
        """The k-th snapshot; negative: from the end."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"{self.path}: snapshot {k}: there are {len(self)} snapshots")
        return Snapshot(self, self._files[k])

    def __iter__(self) -> Iterator[Snapshot]:
        return (self[k] for k in range(len(self)))

    def snapshot(self, t: float | None = None, *, step: int | None = None) -> Snapshot:
        """The snapshot nearest to the time t in s, or that of a step; the last one without either."""
        if len(self) == 0:
            raise CatenaError("holds no snapshots", self.path / "snapshots")
        if step is not None:
            rows = np.flatnonzero(np.asarray(self.steps) == step)
            if len(rows) == 0:
                raise CatenaError(f"no snapshot of step {step}", self.path, "`steps` lists those that there are")
            return self[int(rows[0])]
        if t is None:
            return self[-1]
        times = np.asarray(self.times)
        slack = 1e-9 * max(abs(times[0]), abs(times[-1])) + self.step_length
        if not times[0] - slack <= t <= times[-1] + slack:
            raise CatenaError(f"no snapshot near {t} s", self.path, f"they go from {times[0]} to {times[-1]} s")
        return self[int(np.argmin(np.abs(times - t)))]

    def contacts(self, t: float | None = None, *, on: str | None = None) -> Union[Contacts, ContactsOn]:
        """Contacts of the snapshot nearest to t; with `on` those of a body or generator, forces as they act on it."""
        snapshot = self.snapshot(t)
        return snapshot.contacts_on(on) if on is not None else snapshot.contacts

    def joint(self, name: str) -> Joint:
        return Joint(self, name)

    def picture(self, t: float | None = None, path: Union[str, "os.PathLike[str]", None] = None, **options) -> bytes:
        """A picture of the snapshot nearest to t, as the bytes of a PNG, also written to `path`.

        `options` are those of scripts/user/render.py, with _ for -: color="force", background="white".
        """
        from .draw.picture import picture_of
        return picture_of(self, self.snapshot(t).step, path, **options)

    def _repr_png_(self):
        """Jupyter's picture of the last state; without VTK there is only the text."""
        try:
            return self.picture(size="640x480") if len(self) else None
        except (ImportError, CatenaError):
            return None

    def __repr__(self) -> str:
        return f"<result {self.path}: {len(self.bodies)} bodies, {len(self)} snapshots>"
