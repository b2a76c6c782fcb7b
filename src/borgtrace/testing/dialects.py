"""The contract of a trace format: it fits the tables of a store, and made-up rows of it are read as they were meant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

from borgtrace.errors import UsageError
from borgtrace.schema import Dialect
from borgtrace.schema.dialects import RawField, RawTable
from borgtrace.schema.dialects.contract import faults_of
from borgtrace.schema.dialects.dialect_data import data_of, dialect_from
from borgtrace.schema.records import USAGE_ROWS, row_of
from borgtrace.testing.made_up_rows import faults_of_reading
from borgtrace.testing.trial import Trials

_UNITS_OF_TIME = (0.001, 0.1, 1, 1e3, 1e6, 6e7, 3.6e9, 8.64e10)
"""µs in a nanosecond, in 100 ns, and so on up to a day."""
_PLAUSIBLE = {
    # From nanocores to whole ones.
    "cores": (1e-9, 100.0),
    # From percent of a machine of bytes to tebibytes.
    "bytes": (0.01, 1024.0**4),
    "fraction": (1e-9, 1.0),
}
"""The least and the most that one unit of a file is of a unit of the store."""


def check_dialect(dialect: Dialect) -> None:
    """Check that a trace format keeps its contract; this ingests a few rows, which takes about a second.

    It is data alone, its fields fill columns that there are, in units that there are, its codes have no holes, its
    clock is known, and rows that are made up after it are stored rather than refused.

    Parameters
    ----------
    dialect
        The format.

    Raises
    ------
    ContractError
        An AssertionError with every failure at once, one sentence each.

    Examples
    --------
    >>> from borgtrace.schema.dialects import dialect
    >>> check_dialect(dialect("openb"))
    """
    trials = Trials()
    name = dialect.name if isinstance(dialect.name, str) else repr(dialect.name)
    written = _as_a_store_keeps_it(trials, dialect)
    if written is None:
        trials.raise_all(name)
        return
    for fault in faults_of(written):
        trials.add(fault)
    # The checks below take tables for what they should be.
    trials.raise_all(name)
    for fault in (
        *_faults_of_units(written),
        *_faults_of_clock(written),
        *_faults_of_codes(written),
    ):
        trials.add(fault)
    trials.raise_all(name)
    for fault in faults_of_reading(written):
        trials.add(fault)
    trials.raise_all(name)


def _as_a_store_keeps_it(trials: Trials, dialect: Dialect) -> Dialect | None:
    """Return the format made again of its data; None where it is no data."""
    if type(dialect) is not Dialect:
        trials.add(
            f"it is an object of the class {type(dialect).__name__}: a store keeps data, not methods; "
            "make it with borgtrace.Dialect(…)"
        )
        return None
    try:
        data = json.dumps(data_of(dialect))
        written = dialect_from(json.loads(data), "DIALECT")
    except UsageError as error:
        trials.add(str(error))
        return None
    if json.dumps(data_of(dialect)) != data:
        trials.add(
            "it says something else each time it is read: write plain dictionaries and tuples"
        )
    return written


def _filled(dialect: Dialect) -> Iterator[tuple[RawTable, RawField, str]]:
    """Yield each field that fills a column, with its table and the unit of the column."""
    for raw in dialect.tables.values():
        for field in raw.fields:
            if field.column:
                yield raw, field, row_of(raw.table).column(field.column).unit


def _faults_of_units(dialect: Dialect) -> Iterator[str]:
    for raw, field, unit in _filled(dialect):
        where = f"{raw.name}.{field.name} fills {field.column}"
        is_text = field.zone or field.date_form
        if unit == "us" and not is_text and field.scale not in _UNITS_OF_TIME:
            yield (
                f"{where}, a time in µs, with scale={field.scale:g}, which is no unit of time: "
                "1e6 for seconds, 1e3 for ms"
            )
        least, most = _PLAUSIBLE.get(unit, (None, None))
        if least is not None and most is not None and not least <= field.scale <= most:
            name = "shares of the largest machine" if unit == "fraction" else unit
            yield f"{where}, in {name}, with scale={field.scale:g}: is that upside down?"


def _faults_of_clock(dialect: Dialect) -> Iterator[str]:
    conversion = dialect.conversion
    if conversion is None:
        return
    # Series of samples tell their own step.
    needs_step = not (conversion.step or conversion.is_scattered)
    for raw, field, unit in _filled(dialect):
        if unit == "us" and (field.zone or field.date_form) and conversion.clock == "relative":
            yield f'{raw.name}.{field.name} is a date: write Conversion(clock="epoch")'
    for raw in dialect.tables.values():
        columns = {field.column for field in raw.fields}
        has_end = columns & {"end", "length", "instance_name"} or raw.task_file
        if raw.table == USAGE_ROWS.name and not has_end and needs_step:
            yield f"no field of {raw.name} says when a measurement ends: write Conversion(step=…)"


def _faults_of_codes(dialect: Dialect) -> Iterator[str]:
    for enum, codes in dialect.codes.items():
        numbers = sorted(code for code in codes if isinstance(code, int))
        known = {*numbers, *dialect.null_codes.get(enum, ())}
        gaps = {
            code
            for first, second in pairwise(numbers)
            for code in range(first + 1, second)
            if code not in known
        }
        # A few codes far apart are meant so.
        if gaps and len(gaps) < len(numbers):
            listed = ", ".join(str(code) for code in sorted(gaps))
            yield f"codes of {enum} leave out {listed}: rows with it are refused; name it or add null_codes"
