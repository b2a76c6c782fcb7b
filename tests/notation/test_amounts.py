"""Amounts in cores and GiB where the size of the largest machine is known, as shares of it elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from borgtrace.notation import ResourceAmounts, integer, number, percent
from borgtrace.notation.amounts import resource_of
from borgtrace.schema import TABLES
from borgtrace.store import Store
from tests.store.typed import EMPTY

OF_LARGEST = "of the largest machine"


def test_a_store_with_a_list_of_machines_knows_the_largest(cluster: Store) -> None:
    amounts = ResourceAmounts.of(cluster.manifest)
    assert amounts == ResourceAmounts(cores=16.0, gib=64.0)
    assert amounts.describe() == "16 cores, 64 GiB"
    # A core is a sixteenth of node-01, and two GiB a thirty-second.
    assert amounts.text(1 / 16, "cpu") == "1 core"
    assert amounts.text(1 / 32, "memory") == "2 GiB"
    assert amounts.heading("memory", "memory") == "memory (GiB)"
    assert amounts.number(None, "cpu") == amounts.text(None, "cpu") == "–"


@pytest.mark.parametrize(
    ("basis", "stated", "expected"),
    [
        ({}, (0.0, 0.0), ResourceAmounts(None, None)),
        ({"cores": 8.0, "bytes": 2.0**35}, (0.0, 0.0), ResourceAmounts(8.0, 32.0)),
        # The largest row is no machine.
        (
            {"cores": 8.0, "bytes": 2.0**35, "unknown_sizes": ["cpu"]},
            (0.0, 0.0),
            ResourceAmounts(None, 32.0),
        ),
        ({"cores": 8.0, "unknown_sizes": ["memory"]}, (0.0, 0.0), ResourceAmounts(8.0, None)),
        # What the user states goes first.
        ({"cores": 8.0}, (64.0, 256.0), ResourceAmounts(64.0, 256.0)),
    ],
)
def test_what_is_known_of_the_largest_machine(
    basis: dict[str, Any], stated: tuple[float, float], expected: ResourceAmounts
) -> None:
    assert ResourceAmounts.of(replace(EMPTY, basis=basis), *stated) == expected


def test_without_a_size_amounts_are_shares() -> None:
    amounts = ResourceAmounts()
    assert amounts.text(0.0375, "cpu") == f"0.0375 {OF_LARGEST}"
    assert amounts.heading("CPU", "cpu") == f"CPU ({OF_LARGEST})"
    assert amounts.describe() == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (9.99996, "10"),
        (0.00099996, "0.001"),
        (1234.4, "1,234"),
        (-1234567.8, "-1,234,568"),
        (0.000001, "0.000001"),
        (float("nan"), "–"),
        (float("inf"), "∞"),
        (float("-inf"), "-∞"),
    ],
)
def test_numbers_have_four_digits_and_one_separator(value: float, text: str) -> None:
    assert number(value) == text


def test_whole_numbers_and_shares() -> None:
    assert integer(1000) == "1,000"
    assert percent(0.00086) == "0.086 %"
    assert percent(12.346) == "1,235 %"
    assert percent(float("nan")) == "–"


def test_every_amount_of_the_schema_has_its_resource() -> None:
    amounts = set()
    for table in TABLES.values():
        for column in table.columns:
            if column.unit == "fraction" and ("cpu" in column.name or "memory" in column.name):
                amounts.add(column.name)
    assert {"cpu_request", "average_memory", "max_average_cpu", "page_cache_memory"} <= amounts
    for name in amounts:
        assert resource_of(name) == ("cpu" if "cpu" in name else "memory")
    for name in ("memory_accesses_per_instruction", "disk_request", "cycles_per_instruction"):
        assert resource_of(name) is None
