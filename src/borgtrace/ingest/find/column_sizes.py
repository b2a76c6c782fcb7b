"""Guess the unit of requests and of machine sizes from the names and values of their columns."""

from borgtrace.ingest.find.column_amounts import (
    CLOCK,
    NO_UNIT,
    Amounts,
    may_be_quantities,
    read_amounts,
    unit_in_name,
)
from borgtrace.ingest.find.column_roles import is_count_name
from borgtrace.ingest.find.draft import Draft
from borgtrace.ingest.find.sniffed_table import SniffedColumn
from borgtrace.schema.dialects.units import QUANTITY

MOST_CORES_OF_TASKS = 16.0
"""More than these may be millicores, unless the name says cores: few tasks ask for so many."""
MOST_CORES_OF_MACHINES = 1024.0
PARTS_OF_CORES = ("millicores", "microcores", "nanocores")
_LEAST_BYTES = 1e6
"""A median above is one of bytes: nothing has a megabyte of MiB."""


def guess_size(
    entry: str,
    resource: str,
    column: SniffedColumn,
    draft: Draft,
    most_cores: float,
    usage_unit: str = "",
) -> dict[str, str]:
    """Guess the unit of a column of requests or sizes, and tell the draft.

    Parameters
    ----------
    entry
        Its entry in the declaration, such as ``usage.cpu_request``.
    resource
        ``"cpu"`` or ``"memory"``.
    column
        The column.
    draft
        Gets the remarks and what is asked.
    most_cores
        Above them a number without a unit may be one of millicores.
    usage_unit
        The unit of usage of the same resource beside it; empty where there is none.
    """
    amounts = read_amounts(column)
    draft.declaration.update(amounts.marks)
    role = entry.partition(".")[2]
    unit, asked = _unit(resource, column, amounts, most_cores)
    if not asked and usage_unit in PARTS_OF_CORES and unit == "cores":
        is_named = unit_in_name(resource, column.words) is not None
        asked = "" if is_named else f"is it in {usage_unit} like the usage, or in cores"
    if amounts.has_two_readings:
        draft.ask(
            entry,
            column.name,
            "its commas may stand before a fraction or between thousands",
            'decimal = "," or thousands = "," above the first section',
        )
    elif asked:
        usual = "millicores" if resource == "cpu" else "MiB"
        draft.ask(
            entry,
            column.name,
            asked,
            f'{role} = {{ column = "{column.name}", unit = "{usual}" }}, or what it is',
        )
    else:
        kind = role.rpartition("_")[2]
        what = f"the {kind}" if kind in ("request", "limit") else "the size"
        named = "amounts that name their unit" if unit == QUANTITY else unit
        draft.remarks[entry] = f"column {column.name}: guessed to be {what} in {named}"
    declared = {"column": column.name}
    return {**declared, "unit": unit} if unit else declared


def _unit(
    resource: str,
    column: SniffedColumn,
    amounts: Amounts,
    most_cores: float,
) -> tuple[str, str]:
    """Return the unit of a column, and what has to be asked about it."""
    if amounts.suffixes - {""}:
        if may_be_quantities(resource, amounts):
            return QUANTITY, ""
        return "", f"what is {min(amounts.suffixes - {''})!r} behind a number"
    named = unit_in_name(resource, column.words)
    if named == CLOCK:
        return "", "a clock rate says no cores by itself"
    if named not in (None, NO_UNIT):
        return str(named), ""
    return _unit_by_size(resource, column, amounts, most_cores)


def _unit_by_size(
    resource: str,
    column: SniffedColumn,
    amounts: Amounts,
    most_cores: float,
) -> tuple[str, str]:
    numbers = sorted(number for number in amounts.numbers if number is not None)
    if resource == "memory":
        is_bytes = bool(numbers) and numbers[len(numbers) // 2] >= _LEAST_BYTES
        return ("bytes", "") if is_bytes else ("", "in which unit")
    largest = numbers[-1] if numbers else 0.0
    if largest > most_cores and not is_count_name(column.words):
        return "", f"are its numbers, up to {largest:g}, cores or millicores"
    return "cores", ""
