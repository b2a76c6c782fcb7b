"""How tables change between versions: numbers and names of columns, and what can no longer be read."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from borgtrace.schema import Column, Table, evolution
from borgtrace.schema.evolution import column_number, incompatible_columns, names_in_files

PAIR = Table(
    "pair",
    "pair",
    ("a",),
    (
        Column("a", "int64", "id", "A.", nullable=False),
        Column("b", "enum", "enum", "B.", enum="event_type"),
    ),
)


def test_the_number_of_a_column_is_64_bits_of_a_hash_of_its_first_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # printf tasks.user | b2sum -l 64
    assert column_number("tasks", "user") == 0x26C0E59D1D803B5B
    monkeypatch.setattr(evolution, "RENAMED", {"tasks": {"owner": ("user", "who")}})
    assert column_number("tasks", "owner") == 0x26C0E59D1D803B5B


def test_files_hold_a_column_under_its_last_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evolution, "RENAMED", {"pair": {"b": ("first", "second")}})
    assert names_in_files(PAIR, {"first"}) == {"a": None, "b": "first"}
    assert names_in_files(PAIR, {"second", "first"}) == {"a": None, "b": "second"}
    assert names_in_files(PAIR, {"b", "first"}) == {"a": None, "b": "b"}
    assert names_in_files(PAIR, set()) == {"a": None, "b": None}


@pytest.mark.parametrize(
    ("stored", "faults"),
    [
        ({"a": "int64", "b": "string"}, []),
        # Lacking, but not of the key: NULL.
        ({"a": "int64"}, []),
        ({"b": "string"}, ["pair.a is missing"]),
        (
            {"a": "int32", "b": "int64"},
            ["pair.a is int32, not int64", "pair.b is int64, not string"],
        ),
        ({"a": "int64", "c": "bool"}, ["pair.c is no longer a column"]),
    ],
)
def test_what_keeps_a_table_from_being_read(stored: dict[str, str], faults: list[str]) -> None:
    assert incompatible_columns(PAIR, MappingProxyType(stored)) == faults
    # A later version may have columns that are unknown here.
    of_newer = [fault for fault in faults if "no longer" not in fault]
    assert incompatible_columns(PAIR, stored, is_newer=True) == of_newer
