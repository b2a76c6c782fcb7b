"""How the things of a store are written for people: names, amounts, times and numbers, the same everywhere.

``Notation.of(store)`` has all of it for one store. Without a store, its parts serve alone: numbers need nothing,
amounts and times a manifest. What a user types is read by :mod:`borgtrace.notation.lookup` and :meth:`WallClock.parse`.
Stored columns and files keep their units: this is about what is read.
"""

from borgtrace.notation.amounts import ResourceAmounts, with_stored_sizes
from borgtrace.notation.clock import WallClock, moment_option, parse_moment, span_option
from borgtrace.notation.lookup import find_job, find_machine, find_task, find_user
from borgtrace.notation.names import Names, is_hash, line_of_name, short_name
from borgtrace.notation.notation import Notation
from borgtrace.notation.numbers import NOTHING, integer, number, percent, value_text

__all__ = [
    "NOTHING",
    "ResourceAmounts",
    "WallClock",
    "Names",
    "Notation",
    "find_job",
    "find_machine",
    "find_task",
    "find_user",
    "integer",
    "is_hash",
    "line_of_name",
    "moment_option",
    "number",
    "parse_moment",
    "percent",
    "short_name",
    "span_option",
    "value_text",
    "with_stored_sizes",
]
