"""Catena from Python: results as arrays with units, cases as dicts, runs, simulations (docs/python.md).

    >>> import catena
    >>> result = catena.Result("pile")                                          # doctest: +SKIP
    >>> result.series.kinetic_energy.unit                                       # doctest: +SKIP
    'J'
"""
from .case import Case
from .errors import CatenaError
from .launch import run
from .quantity import Quantity
from .result import Contacts, ContactsOn, Joint, Result, Snapshot
from .simulation import Simulation

__all__ = ["Case", "CatenaError", "Contacts", "ContactsOn", "Joint", "Quantity", "Result", "Simulation", "Snapshot",
           "run"]
