"""Arrays that know their unit."""
from __future__ import annotations

import numpy as np


class Quantity(np.ndarray):
    """A NumPy array with an attribute `unit`, such as "m/s"; empty for pure numbers and text.

    Slices, picked rows, copies and transposes keep the unit. What arithmetic makes of it is a plain array:
    no unit is guessed.

    >>> height = Quantity([0.1, 0.2, 0.4], "m")
    >>> height[1:].unit
    'm'
    >>> type(2 * height).__name__
    'ndarray'
    >>> height
    Quantity([0.1, 0.2, 0.4], unit='m')
    """

    unit: str

    def __new__(cls, values, unit: str = "") -> "Quantity":
        made = np.asarray(values).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, source) -> None:
        self.unit = getattr(source, "unit", "")

    def __array_ufunc__(self, ufunc, method, *inputs, **keys):
        def plain(x):
            return x.view(np.ndarray) if isinstance(x, Quantity) else x

        if "out" in keys:
            keys["out"] = tuple(plain(x) for x in keys["out"])
        return getattr(ufunc, method)(*(plain(x) for x in inputs), **keys)

    def __reduce__(self):
        return Quantity, (self.view(np.ndarray), self.unit)

    def __repr__(self) -> str:
        text = np.array2string(self.view(np.ndarray), separator=", ", prefix="Quantity(", threshold=20)
        return f"Quantity({text}, unit={self.unit!r})"
