"""Files of a result: how they are opened and which versions are read."""
from __future__ import annotations

import pathlib
from typing import Mapping

import h5py
import numpy as np

from .errors import CatenaError
from .quantity import Quantity

READS_VERSION = 1  # of catena-result, catena-bodies and catena-snapshot


def opened(path: pathlib.Path, format_name: str) -> h5py.File:
    """The HDF5 file, or CatenaError where it is missing, damaged, of another kind or of a newer version."""
    if not path.exists():
        raise CatenaError("there is no such file", path, "is this the directory of a result?")
    try:
        file = h5py.File(path, "r")
    except OSError as e:
        raise CatenaError(f"truncated, or no HDF5 file ({e})", path,
                          "`catena info --rebuild DIR` makes result.h5 anew from the files that are whole") from e
    found, version = file.attrs.get("format", ""), int(file.attrs.get("format_version", 0))
    if found != format_name:
        file.close()
        raise CatenaError(f"its format is {found or 'unknown'!r}, expected {format_name!r}", path)
    if version > READS_VERSION:
        file.close()
        raise CatenaError(f"written by a newer Catena, format {version}; this package reads up to {READS_VERSION}",
                          path, "take the package of the Catena that wrote it (`catena info` names it)")
    return file


def dataset(group: h5py.Group, name: str) -> Quantity:
    """A dataset with its unit; text as str."""
    try:
        data = group[name]
        values = data.asstr()[()] if data.dtype.kind in "SO" else data[()]
    except (OSError, RuntimeError) as e:
        raise CatenaError(f"{group.name}/{name} cannot be read ({e})", group.file.filename,
                          "`catena info FILE` verifies checksums") from e
    return Quantity(values, str(data.attrs.get("unit", "")))


class Columns(Mapping[str, Quantity]):
    """Columns of equal length by name, as attributes too: `series.time`, `series["kinetic_energy"]`.

    `units` maps names to units. Columns made of `read` are read when they are first asked for.
    """

    def __init__(self, what: str, names, read) -> None:
        self._what, self._names, self._read = what, list(names), read
        self._held: dict[str, Quantity] = {}

    def __getitem__(self, name: str) -> Quantity:
        if name not in self._names:
            raise CatenaError(f"has no column {name!r}", self._what, "it has " + ", ".join(self._names))
        if name not in self._held:
            self._held[name] = self._read(name)
        return self._held[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getattr__(self, name: str) -> Quantity:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"{self._what} has no column {name!r}")
        return self[name]

    def __iter__(self):
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __dir__(self):
        return [*super().__dir__(), *self._names]

    @property
    def units(self) -> dict[str, str]:
        return {name: self[name].unit for name in self}

    def __repr__(self) -> str:
        rows = len(self[self._names[0]]) if self._names else 0
        return f"<{self._what}: {rows} rows of {', '.join(self._names)}>"


def csv_columns(path: pathlib.Path) -> Columns:
    """A table with `name [unit]` in its header, also one that is being written: a row cut in half is left out."""
    with open(path, encoding="utf-8") as file:
        header, *lines = file.read().split("\n")
    fields = [field.strip() for field in header.split(",")]
    names = [field.split(" [")[0] for field in fields]
    units = [field.split(" [")[1].rstrip("]") if " [" in field else "" for field in fields]
    rows = [line for line in lines[:-1] if line.count(",") == len(names) - 1]
    values = np.array([row.split(",") for row in rows], float).reshape(-1, len(names))
    held = {name: Quantity(values[:, k], "" if unit == "1" else unit)
            for k, (name, unit) in enumerate(zip(names, units))}
    return Columns(path.name, names, held.__getitem__)
