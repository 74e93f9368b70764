"""A script that ends on one rank ends on all: the others would wait for it for ever."""
from __future__ import annotations

import atexit
import os
import sys
import threading
from types import TracebackType
from typing import Any, Union

_first: Any = None  # Ranks of the first simulation that all ranks of the program share
_hooked = False


class _Exit(SystemExit):
    """What sys.exit raises. `ended` is the status of the one that nothing caught, 0: there is none."""

    ended = 0

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        # asked for by no frame: by the interpreter, which ends with it
        if name == "code" and sys._getframe().f_back is None:
            _Exit.ended = 0 if value is None else value if isinstance(value, int) else 1
        return value


def ranks_of(extension: Any, handle: Union[int, None]) -> Any:
    """Collective. Ranks for a simulation on the communicator of this Fortran handle, None: on all.

    From then on an exception or a sys.exit with a status other than 0 that ends the script of one rank ends all with
    it. A rank that leaves otherwise, with 0 or by a SystemExit of its own making, while others call on is an error
    there: they cannot know its status.
    """
    global _first
    ranks = extension.Ranks(handle, _first)
    if ranks.size > 1:
        _hook(ranks)
        if _first is None and ranks.all_of_program:
            _first = ranks
    return ranks


def _hook(ranks: Any) -> None:
    global _hooked
    if _hooked:
        return
    _hooked = True
    show, leave, process = sys.excepthook, sys.exit, os.getpid()

    def abort(status: int, why: str) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        ranks.abort(status, f"rank {ranks.rank} was ended by {why}")

    def excepthook(kind: type[BaseException], value: BaseException, trace: Union[TracebackType, None]) -> None:
        show(kind, value, trace)
        abort(_first.exit_status or 1 if _first else 1, kind.__name__)

    def exit(status: Any = None) -> None:
        if threading.current_thread() is threading.main_thread():
            raise _Exit(status)
        leave(status)

    def end() -> None:
        if os.getpid() != process:  # a fork's
            return
        if _Exit.ended:
            abort(_Exit.ended, f"sys.exit with status {_Exit.ended}")
        if _first:
            try:
                _first.leave()
            except Exception:  # noqa: BLE001
                pass  # the others say of it, and end this rank with them

    sys.excepthook, sys.exit = excepthook, exit
    atexit.register(end)
