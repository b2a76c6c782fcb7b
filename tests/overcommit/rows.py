"""Assertions on rows of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def assert_row(row: Mapping[str, Any], **expected: Any) -> None:
    """Assert that a row has some values; other columns may have any."""
    assert {name: row[name] for name in expected} == expected
