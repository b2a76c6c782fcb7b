"""CPU and memory without a named unit that may be shares of the size beside them, or percentages."""

import re
from collections.abc import Mapping
from typing import Any

from borgtrace.ingest.find.column_amounts import read_amounts, unit_in_name
from borgtrace.ingest.find.column_roles import Roles, is_count_name
from borgtrace.ingest.find.draft import Draft
from borgtrace.ingest.find.sniffed_table import SniffedTable

_MEANS = r"(^|_)(avg|average|mean)(_|$)"
"""What monitoring of virtual machines calls its percentages, without saying so."""
_USAGE = r"(^|_)(usage|used|load)(_|$)"
"""What both percentages and cores are called; those of pods are cores, as all tools of Kubernetes write them."""
_OF_KUBERNETES = r"(^|_)(pod|namespace)(_|$)"
_SIZES = ("capacity of cpu", "limit of cpu", "request of cpu")


def ask_about_shares(resource: str, table: SniffedTable, roles: Roles, draft: Draft) -> None:
    """Ask whether amounts up to 1 are shares, where the size of what they may be shares of stands beside them.

    Parameters
    ----------
    resource
        ``"cpu"`` or ``"memory"``.
    table, roles
        The first rows, and what its columns are.
    draft
        Gets what is asked.
    """
    column = table.column(roles.usage[resource])
    if column.words != resource or max(_numbers(table, column.name), default=2.0) > 1:
        return
    for name, aside in roles.asides.items():
        is_size = aside == f"capacity of {resource}"
        if is_size and max(_numbers(table, name), default=0.0) > 1:
            draft.ask(
                f"usage.{resource}",
                column.name,
                f"is it a share of {name}, or an amount of its own",
                'unit = "fraction_of_machine" or unit = "cores"',
            )
            return


def ask_about_percentages(
    table: SniffedTable,
    roles: Roles,
    entry: Mapping[str, Any],
    draft: Draft,
) -> None:
    """Ask whether amounts of CPU that were taken for cores by their size alone are percentages.

    Parameters
    ----------
    table, roles
        The first rows, and what its columns are.
    entry
        What was guessed of the usage of CPU.
    draft
        Gets what is asked.
    """
    column = table.column(entry["column"])
    is_by_size = entry.get("unit") == "cores" and unit_in_name("cpu", column.words) is None
    if not is_by_size or is_count_name(column.words):
        return
    numbers = _numbers(table, column.name)
    largest = max(numbers, default=0.0)
    if largest <= 1 or not _may_be_percentages(column.words, roles):
        return
    if _is_within_sizes(table, roles, column.name):
        return
    draft.ask(
        "usage.cpu",
        column.name,
        f"are its numbers, up to {largest:g}, cores or percentages",
        'unit = "cores" or unit = "percent_of_core" or unit = "percent_of_machine"',
    )


def _may_be_percentages(words: str, roles: Roles) -> bool:
    if re.search(_MEANS, words):
        return True
    is_of_kubernetes = any(re.search(_OF_KUBERNETES, name.lower()) for name in roles.identity)
    return bool(re.search(_USAGE, words)) and not is_of_kubernetes


def _is_within_sizes(table: SniffedTable, roles: Roles, name: str) -> bool:
    """Return whether no row uses more than a size beside it, in cores: percentages soon would."""
    used = read_amounts(table.column(name)).numbers
    for other, aside in roles.asides.items():
        if aside not in _SIZES:
            continue
        sizes = read_amounts(table.column(other)).numbers
        pairs = [
            (amount, size)
            for amount, size in zip(used, sizes, strict=True)
            if amount is not None and size is not None
        ]
        if pairs and all(amount <= size for amount, size in pairs):
            return True
    return False


def _numbers(table: SniffedTable, name: str) -> list[float]:
    return [number for number in read_amounts(table.column(name)).numbers if number is not None]
