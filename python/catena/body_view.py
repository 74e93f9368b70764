"""Arrays of this rank's bodies that know when they are out of date."""
from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from .errors import CatenaError
from .quantity import Quantity


class Clock:
    """Counts what makes arrays of a simulation's bodies outdated: steps, callbacks, its end."""

    def __init__(self) -> None:
        self.now = 0

    def tick(self) -> None:
        self.now += 1


class BodyView(np.lib.mixins.NDArrayOperatorsMixin):
    """Numbers of this rank's bodies, a row each, as they are until the next step: to be used as a NumPy array.

    `unit` is theirs. Slices and picked rows are views again; arithmetic, functions of NumPy, `copy()` and
    `np.asarray` give plain arrays of one's own, which stay. Once the simulation has gone on, whose bodies may then be
    other ones in another order, every use of the view raises CatenaError. It cannot be written to.

    >>> clock = Clock()
    >>> z = BodyView(Quantity([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0]], "m"), clock, "positions")[:, 2]
    >>> z.max(), z.unit
    (3.0, 'm')
    >>> clock.tick()
    >>> z + 1
    Traceback (most recent call last):
    ...
    catena.errors.CatenaError: positions: are out of date, the simulation has gone on; take them anew after each step, or keep a copy()
    """

    __slots__ = ("_values", "_clock", "_made", "_what")

    def __init__(self, values: Quantity, clock: Clock, what: str) -> None:
        values.flags.writeable = False
        self._values, self._clock, self._made, self._what = values, clock, clock.now, what

    @property
    def outdated(self) -> bool:
        """Whether the simulation has gone on since."""
        return self._clock.now != self._made

    def _now(self) -> Quantity:
        if self._clock.now != self._made:
            raise CatenaError("are out of date, the simulation has gone on", self._what,
                              "take them anew after each step, or keep a copy()")
        return self._values

    def _view(self, values: Any) -> Any:
        return BodyView(values, self._clock, self._what) if isinstance(values, np.ndarray) else values

    def __array__(self, dtype: Any = None) -> np.ndarray:
        return np.array(self._now(), dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **keys):
        if any(isinstance(x, BodyView) for x in keys.get("out", ())):
            raise self._read_only()
        return getattr(ufunc, method)(*(_numbers(x) for x in inputs), **keys)

    def __array_function__(self, function, types, arguments, keys):
        return function(*_numbers(arguments), **_numbers(keys))

    def __getitem__(self, key: Any) -> Any:
        return self._view(self._now()[_numbers(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self._read_only()

    def _read_only(self) -> CatenaError:
        return CatenaError("cannot be written to", self._what,
                           "set loads, motor targets and velocities of motions by Simulation.body and .joint")

    def __len__(self) -> int:
        return len(self._now())

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._now())

    def __reduce__(self):
        return self._now().copy().__reduce__()  # what travels or is copied stays

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # NumPy asks for many
            raise AttributeError(name)
        return self._view(getattr(self._now(), name))

    def __repr__(self) -> str:
        return f"<{self._what} of an earlier step>" if self.outdated else f"<{self._what}: {self._values!r}>"


def _numbers(given: Any) -> Any:
    """What of it is a view as a plain array."""
    if isinstance(given, BodyView):
        return given._now().view(np.ndarray)
    if isinstance(given, (list, tuple)):
        return type(given)(_numbers(x) for x in given)
    if isinstance(given, dict):
        return {key: _numbers(x) for key, x in given.items()}
    return given
