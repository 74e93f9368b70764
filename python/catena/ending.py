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
            (_first or ranks).asked_status = 0 if status is None else status if isinstance(status, int) else 1
        leave(status)

    def end() -> None:
        if os.getpid() != process:  # a fork's
            return
        asked = (_first or ranks).asked_status
        if asked:
            abort(asked, f"sys.exit with status {asked}")
        if _first:
            try:
                _first.leave()
            except Exception:  # noqa: BLE001
                pass  # the others say of it, and end this rank with them

    sys.excepthook, sys.exit = excepthook, exit
    atexit.register(end)
