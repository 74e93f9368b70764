"""Cases that are stepped from Python, on one rank or, through mpi4py, on many."""
from __future__ import annotations

import logging
import os
import pathlib
import sys
from typing import Any, Callable, Iterable, Mapping, Sequence, TypeVar, Union

import numpy as np

from .body_view import BodyView, Clock
from .case import Case
from .ending import ranks_of
from .errors import CatenaError
from .quantity import Quantity
from .result import Contacts, Result

Callback = Callable[["Simulation"], Any]
SomeCallback = TypeVar("SomeCallback", bound=Callback)
Vector = Union[Sequence[float], np.ndarray]
SomeCase = Union[Case, Mapping[str, Any], str, "os.PathLike[str]"]

TOLERANCE_MISSED = 4  # exit code of docs/cli.md


def _extension() -> Any:
    """The extension module, which is there where Catena was built with it."""
    try:
        from . import _core
    except ImportError as e:
        raise CatenaError(f"is not there ({e})", "catena._core",
                          "build Catena with pybind11 (Debian: pybind11-dev, python3-dev) and have BUILD/python, or what "
                          "`cmake --install` or the wheel put in place, on PYTHONPATH") from e
    return _core


def _mpi() -> Any:
    try:
        from mpi4py import MPI
    except ImportError as e:
        raise CatenaError(f"mpi4py is not there ({e})", "comm",
                          "install python3-mpi4py, or `pip install mpi4py`; comm=None needs none") from e
    return MPI


def _handle(comm: Any, core: Any) -> Union[int, None]:
    """The Fortran handle of a communicator of mpi4py."""
    if comm is None:
        return None
    mpi = _mpi()
    if not isinstance(comm, mpi.Intracomm) or comm == mpi.COMM_NULL:
        raise CatenaError(f"is {comm!r}", "comm", "give an intracommunicator of mpi4py, MPI.COMM_WORLD for example")
    theirs, ours = mpi.Get_library_version().strip("\0 \n"), core.mpi_version().strip("\0 \n")
    if theirs != ours:
        raise CatenaError(f"mpi4py uses {theirs.splitlines()[0]}, Catena {ours.splitlines()[0]}", "comm",
                          "install an mpi4py of the same MPI, for example by `pip install --no-binary mpi4py mpi4py`")
    return int(comm.py2f())


def _source(case: SomeCase) -> tuple[str, Union[str, None]]:
    """Path of a case file and None, or its text and folder."""
    if isinstance(case, Mapping):
        case = case if isinstance(case, Case) else Case(case)
        return case.yaml(), str(case.folder)
    return os.fspath(case), None


def _text(keys: Any, what: str) -> str:
    """The keys of one body or joint as the program reads them."""
    if not isinstance(keys, Mapping):
        raise CatenaError(f"is {keys!r}", what, f"give a dict with the keys of one of the case's {what}s")
    return Case(keys).yaml()


class Report(Mapping[str, float]):
    """What the last step did, the same on every rank: the columns of a result's series (docs/output.md).

    `report.kinetic_energy` or `report["kinetic_energy"]`; `units` maps names to units. `status` is that of the
    solve, "converged", "iteration_limit", "time_limit" or "breakdown", and `reason` tells of it in a sentence.
    """

    def __init__(self, values: Mapping[str, float], units: Mapping[str, str], status: str, reason: str) -> None:
        self._values, self.units, self.status, self.reason = values, units, status, reason

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __getattr__(self, name: str) -> float:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"a report has no {name!r}; it has {', '.join(self)}")
        return self._values[name]

    def __iter__(self):
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self):
        return [*super().__dir__(), *self._values]

    def __repr__(self) -> str:
        return f"<report of step {self.step:g}, t = {self.time:g} s: {self.status}>"


class Body:
    """A body of a running simulation, wherever it is: all of this is collective, and the same on every rank.

    What is read is an array of one's own with an attribute `unit`, in the world frame. It raises CatenaError where
    the body has left the run.
    """

    __slots__ = ("_core", "_clock", "id", "name")

    def __init__(self, core: Any, clock: Clock, id: int, name: str) -> None:
        self._core, self._clock, self.id, self.name = core, clock, id, name

    @property
    def position(self) -> Quantity:
        """m, of the centre of mass."""
        return Quantity(self._core.body_position(self.id), "m")

    @property
    def orientation(self) -> Quantity:
        """(w, x, y, z): turns the body's principal axes into the world's."""
        return Quantity(self._core.body_orientation(self.id))

    @property
    def velocity(self) -> Quantity:
        """m/s, of the centre of mass."""
        return Quantity(self._core.body_velocity(self.id), "m/s")

    @property
    def angular_velocity(self) -> Quantity:
        """rad/s."""
        return Quantity(self._core.body_angular_velocity(self.id), "rad/s")

    @property
    def mass(self) -> float:
        """kg; 0 for fixed bodies and those with a motion."""
        return float(self._core.body_mass(self.id))

    @property
    def inertia(self) -> Quantity:
        """kg m^2, principal moments, on the axes of the body."""
        return Quantity(self._core.body_inertia(self.id), "kg m^2")

    def set_load(self, force: Vector, torque: Vector = (0.0, 0.0, 0.0)) -> None:
        """A force (N) through the centre of mass and a torque (N m), world frame, on a dynamic body in all steps from
        the next one on, in place of what was set before; zeros end it."""
        self._core.set_load(self.id, force, torque)

    def set_velocity(self, velocity: Vector, angular_velocity: Vector = (0.0, 0.0, 0.0)) -> None:
        """Velocity (m/s) and angular velocity (rad/s), world frame, of a body whose case gives it a `motion`.
        Outdates the arrays of bodies."""
        self._core.set_velocity(self.id, velocity, angular_velocity)
        self._clock.tick()

    def set_material(self, material: str) -> None:
        """Another of the case's materials for its contacts; its mass stays."""
        self._core.set_material(self.id, material)

    def __repr__(self) -> str:
        return f"<body {self.name}, id {self.id}>"


class Joint:
    """A joint of a running simulation, wherever it is: all of this is collective, and the same on every rank."""

    __slots__ = ("_core", "id", "name")

    def __init__(self, core: Any, id: int, name: str) -> None:
        self._core, self.id, self.name = core, id, name

    @property
    def coordinate(self) -> np.ndarray:
        """Three, m or rad, NaN where the joint has fewer, in the order of theory.md; angles count turns."""
        return self._core.joint_place(self.id)["coordinate"]

    @property
    def rate(self) -> np.ndarray:
        """Of the coordinates, m/s or rad/s; of a spherical joint the angular velocity of b relative to a."""
        return self._core.joint_place(self.id)["rate"]

    @property
    def force(self) -> Quantity:
        """N on body b, world frame, mean over the last step; CatenaError before the first one."""
        return Quantity(self._core.joint_forces(self.id)["force"], "N")

    @property
    def torque(self) -> Quantity:
        """N m on body b about the joint's point, world frame, mean over the last step."""
        return Quantity(self._core.joint_forces(self.id)["torque"], "N m")

    @property
    def drive(self) -> np.ndarray:
        """2 x 3, N or N m, mean over the last step: of limit, motor and friction along both axes."""
        return self._core.joint_forces(self.id)["drive"]

    def set_motor_target(self, target: float, axis: int = 0) -> None:
        """Velocity (m/s, rad/s), position (m, rad) or force (N, N m) of the motor along an axis, as its case has it,
        from the next step on. A motor that follows a table is refused."""
        self._core.set_motor_target(self.id, target, axis)

    def __repr__(self) -> str:
        return f"<joint {self.name}, id {self.id}>"


class Simulation:
    """A case, taken through time step by step (docs/python.md).

    `case` is a file, a Case or a dict; `comm` a communicator of mpi4py, whose ranks all make the simulation together;
    None: all ranks that mpirun has started, or one without it. `checkpoint`: a file that the case goes on from.
    A case that is refused, and whatever else goes wrong, raises CatenaError with `path`, `found` and `remedy`.

    Everything is *collective*, called by all ranks in the same order with the same arguments, except what is said to
    be local. A rank that calls something else, or whose callback raises, is an error on all ranks.

    >>> ball = {"name": "ball", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 5]}
    >>> case = {"catena": 1, "name": "fall", "bodies": [ball], "time": {"step": "1 ms", "end": "1 s"}}
    >>> with Simulation(case) as sim:
    ...     sim.run(until="100 ms")
    ...     print(round(sim.time, 6), round(sim.body("ball").velocity[2], 6))
    0.1 -0.981
    """

    def __init__(self, case: SomeCase, comm: Any = None, *,
                 checkpoint: Union[str, "os.PathLike[str]", None] = None) -> None:
        extension = _extension()
        self._ranks = ranks_of(extension, _handle(comm, extension))
        text, folder = self._ranks.together("Simulation", lambda: _source(case))
        start = "" if checkpoint is None else os.fspath(checkpoint)
        self._folder = pathlib.Path(text).parent if folder is None else pathlib.Path(folder)
        if folder is None:
            self._core = extension.Simulation.of_file(self._ranks, text, start)
        else:
            self._core = extension.Simulation.of_text(self._ranks, text, folder, start)
        self._clock = Clock()
        self._views: dict[str, BodyView] = {}
        self._before: list[Callback] = []
        self._after: list[Callback] = []
        if self.rank == 0:
            for warning in self._core.warnings:
                logging.getLogger("catena").warning("%s: %s", self.name, warning)

    # -- time

    @property
    def name(self) -> str:
        """Local. Of the case."""
        return str(self._core.name)

    @property
    def time(self) -> float:
        """Local. s."""
        return float(self._core.time)

    @property
    def step_count(self) -> int:
        """Local. Steps since the start of the case."""
        return int(self._core.step_count)

    @property
    def step_length(self) -> float:
        """Local. s, of the time steps."""
        return float(self._core.step_length)

    def step(self) -> None:
        """One time step; outdates the arrays of bodies. What a callback raises, it raises.

        CatenaError with exit_code 6 where a body's state would not be finite: the state is then that of the start.
        """
        self._clock.tick()
        self._core.step(self._calls(self._before), self._calls(self._after))

    def run(self, until: Union[float, str, None] = None) -> None:
        """Steps until a time (s, or text with a unit: "20 ms"), by default the case's end, or until its `stop_when`
        holds (`stop_reason`). Writes nothing: `run_into` does."""
        end = self._core.n_steps
        if until is not None:
            seconds = _extension().seconds(until) if isinstance(until, str) else float(until)
            if not np.isfinite(seconds):
                raise CatenaError(f"is {seconds}", "until", "give a time in s")
            end = round(seconds / self.step_length)
        stops = self._core.stops_on_missed_tolerance
        while self.step_count < end:
            self.step()
            if stops and self._core.solve_status()[0] in ("iteration_limit", "time_limit"):
                raise CatenaError(f"step {self.step_count} missed its tolerance", "solver.on_missed_tolerance",
                                  "", TOLERANCE_MISSED)
            if self.stop_reason:
                return

    def run_into(self, out: Union[str, "os.PathLike[str]", None] = None, *, force: bool = False,
                 progress: bool = True) -> Result:
        """All steps that are left, with output into the directory `out` (by default ./NAME of the case), as `catena
        run` does it, and its result. `force` replaces Catena's files there; `progress`: messages go to stderr.
        Ctrl-C, and the signals of docs/cli.md, end it early with a checkpoint."""
        directory = os.fspath(out if out is not None else pathlib.Path(self.name))
        self._clock.tick()
        code = self._core.run(directory, force, not progress, " ".join(sys.argv), self._calls(self._before),
                              self._calls(self._after))
        self._clock.tick()
        if code == TOLERANCE_MISSED:
            raise CatenaError(f"step {self.step_count} missed its tolerance", "solver.on_missed_tolerance", "", code)
        return Result(directory)

    @property
    def stop_reason(self) -> str:
        """Local. Why the case's `stop_when` ends the run after the last step; empty: it does not."""
        return str(self._core.stop_reason)

    def before_each_step(self, callback: SomeCallback) -> SomeCallback:
        """callback(simulation) comes first in each step, also as a decorator. It may read and set; what it remembers
        itself is in no checkpoint. Local, but to be done on all ranks."""
        self._before.append(callback)
        return callback

    def after_each_step(self, callback: SomeCallback) -> SomeCallback:
        """The same when the step is done and measured."""
        self._after.append(callback)
        return callback

    def remove_callback(self, callback: Callback) -> None:
        """Is not called any more. Local, but to be done on all ranks."""
        for callbacks in (self._before, self._after):
            callbacks[:] = [c for c in callbacks if c != callback]

    def _calls(self, callbacks: Iterable[Callback]) -> Union[Callable[[], None], None]:
        now = tuple(callbacks)
        if not now:
            return None

        def call() -> None:
            for callback in now:
                callback(self)
            self._clock.tick()

        return call

    # -- bodies

    @property
    def ids(self) -> BodyView:
        """Local. Of this rank's bodies: the rows of `positions` and the others, n. Planes have none."""
        return self._own("ids", "")

    @property
    def positions(self) -> BodyView:
        """Local. m, n x 3, centres of mass of this rank's bodies, world frame."""
        return self._own("positions", "m")

    @property
    def orientations(self) -> BodyView:
        """Local. n x 4, (w, x, y, z), the bodies' principal axes to the world's."""
        return self._own("orientations", "")

    @property
    def velocities(self) -> BodyView:
        """Local. m/s, n x 3, of the centres of mass, world frame."""
        return self._own("velocities", "m/s")

    @property
    def angular_velocities(self) -> BodyView:
        """Local. rad/s, n x 3, world frame."""
        return self._own("angular_velocities", "rad/s")

    def _own(self, what: str, unit: str) -> BodyView:
        view = self._views.get(what)
        if view is None or view.outdated:
            view = BodyView(Quantity(getattr(self._core, what)(), unit), self._clock, what)
            self._views[what] = view
        return view

    def body(self, name: str) -> Body:
        """Local. The body of this name; CatenaError, with a near one, where the case has none."""
        return Body(self._core, self._clock, self._core.body(name), name)

    def ids_of(self, name: str) -> np.ndarray:
        """Local. Ids of the bodies that the generator of this name made, or of the one body."""
        first, count = self._core.ids_of(name)
        if count == 0:
            raise CatenaError("no such body or generator", name)
        return np.arange(first, first + count)

    def name_of(self, id: int) -> str:
        """Local. Name of the body of this id."""
        return str(self._core.name_of(int(id)))

    def set_loads(self, ids: Sequence[int], forces: Any, torques: Any = None) -> None:
        """Body.set_load of many at once, n x 3 each, the same on every rank; no body twice."""
        forces = np.asarray(forces, float)
        self._core.set_loads(np.asarray(ids, np.int64), forces,
                             np.zeros_like(forces) if torques is None else np.asarray(torques, float))

    def joint(self, name: str) -> Joint:
        """Local. The joint of this name; CatenaError, with a near one, where the case has none."""
        return Joint(self._core, self._core.joint(name), name)

    # -- what comes and goes

    def add_body(self, body: Mapping[str, Any]) -> Body:
        """A body with the keys of one of the case's `bodies`, where there is room; it may touch others, which a
        callback before a step or the program between steps adds. It is in results, counts as inserted, and
        checkpoints know it.

        What only a case has is refused: planes, motions, surface velocities, other groups, and hulls, meshes and
        clumps that no body of the case has. A name is not free again when its body has left. Outdates the arrays of
        bodies; what the last step did can be read again after the next one.
        """
        text, folder = self._ranks.together("Simulation.add_body", lambda: (_text(body, "body"), str(self._folder)))
        id = self._core.add_body(text, folder)
        self._clock.tick()
        return self.body(self.name_of(id))

    def remove_body(self, body: Union[Body, str, int]) -> None:
        """Takes a body out of the run, by name, id or as `body` gives it. Planes stay, and so does one that a joint
        holds: remove that first."""
        self._core.remove_body(self._id(body, self._core.body))
        self._clock.tick()

    def add_joint(self, joint: Mapping[str, Any]) -> Joint:
        """A joint with the keys of one of the case's `joints`, between bodies where they are now: `at` and `axis` are
        those of now, in the world frame. It holds from the next step on.

        What only a case has is refused: belts, bushings, cams, curves, tendons, tables, and limits of breaking.
        """
        text = self._ranks.together("Simulation.add_joint", lambda: _text(joint, "joint"))
        id = self._core.add_joint(text)
        return Joint(self._core, id, str(joint["name"]))

    def remove_joint(self, joint: Union[Joint, str, int]) -> None:
        """Takes a joint out, by name, id or as `joint` gives it."""
        self._core.remove_joint(self._id(joint, self._core.joint))

    @staticmethod
    def _id(of: Any, find: Callable[[str], int]) -> int:
        return find(of) if isinstance(of, str) else int(getattr(of, "id", of))

    # -- what the last step did

    def contacts(self) -> Contacts:
        """Local. This rank's contacts of the last step, ids of bodies in `bodies`; none before the first step.

        Each contact is on one rank; planes have ids, too. Arrays of one's own.
        """
        units = {"point": "m", "gap": "m", "impulse": "N s", "couple": "N m s"}
        columns = self._core.contacts()
        return Contacts(self, {name: Quantity(values, units.get(name, "")) for name, values in columns.items()})

    @property
    def report(self) -> Report:
        """Numbers of the last step: energies, residuals, contacts, momenta; CatenaError before the first one."""
        values = self._core.report()
        columns = _extension().series_columns()
        names = [name for name, _ in columns]
        units = {name: "" if unit == "1" else unit for name, unit in columns}
        return Report(dict(zip(names, values)), units, *self._core.solve_status())

    def measure(self, path: str) -> float:
        """Local. What a probe of the case measured in the last step, "plate.force_z", or in its last whole interval,
        "plate.force_z_mean"; SI, NaN before."""
        return float(self._core.measure(path))

    def checkpoint(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the state, from which `Simulation(case, checkpoint=path)` and `catena run --resume=path` go on."""
        self._core.checkpoint(os.fspath(path))

    # -- ranks and the end

    @property
    def rank(self) -> int:
        """Local."""
        return int(self._ranks.rank)

    @property
    def size(self) -> int:
        """Local. Number of ranks."""
        return int(self._ranks.size)

    @property
    def comm(self) -> Any:
        """Local. The simulation's own communicator, a duplicate of the one given, for mpi4py."""
        return _mpi().Comm.f2py(self._ranks.fortran_handle)

    def close(self) -> None:
        """Local. Frees the memory now; what is called afterwards raises CatenaError. Also at the end of `with`."""
        self._core.close()
        self._clock.tick()

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._core.closed:
            return "<simulation, closed>"
        return f"<simulation {self.name}: step {self.step_count}, t = {self.time:g} s, rank {self.rank} of {self.size}>"
