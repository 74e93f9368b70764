"""Catena from Python: results as arrays with units, cases as dicts, runs (docs/python.md).

    >>> import catena
    >>> result = catena.Result("pile")                                          # doctest: +SKIP
    >>> result.series.kinetic_energy.unit                                       # doctest: +SKIP
    'J'
"""
from .errors import CatenaError
from .quantity import Quantity
from .result import Contacts, ContactsOn, Joint, Result, Snapshot

__all__ = ["CatenaError", "Contacts", "ContactsOn", "Joint", "Quantity", "Result", "Snapshot"]
