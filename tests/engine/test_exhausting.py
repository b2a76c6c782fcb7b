"""Statements that exhaust time or memory: the command ends in time, within memory, and says why.

``python -m tests.engine.test_exhausting STORE [NAME…]`` prints what each of them takes.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engine.exhausting import LISTS, PLANS, ROWS, STATEMENTS, TEXTS, Measured, measure
from tests.explore.conftest import cell_store  # noqa: F401 - the cell, as a fixture

pytestmark = pytest.mark.wide

SECONDS = 5
GRACE_SECONDS = 3
"""To start, and to end a process that holds a gigabyte."""
MEMORY = "1GB"
MOST_BYTES = 1_500_000_000
LIMITS = ("--timeout", f"{SECONDS}s", "--memory", MEMORY)
SAMPLE_LIMITS = ("--timeout", "500ms", "--memory", "200MB")
SAMPLE_BYTES = 350_000_000 + 500_000_000
"""What the query may take, and the two processes without it."""


def sample() -> list[str]:
    """Names of a statement that exhausts time and of one that exhausts memory, mostly."""
    chosen = random.Random(37)
    return [chosen.choice(sorted(kind)) for kind in (ROWS | PLANS, TEXTS | LISTS)]


def fault(result: Measured, seconds: float, most_bytes: int) -> str:
    """Say what is wrong with the end of a statement; nothing where nothing is."""
    if result.exit_code not in (0, 2, 7) or "Traceback" in result.message:
        return f"exit code {result.exit_code}: {result.message}"
    if result.seconds > seconds:
        return f"{result.seconds:.1f} s"
    if result.peak_bytes > most_bytes:
        return f"{result.peak_bytes / 1e9:.2f} GB"
    return ""


def test_there_are_as_many_as_were_asked_for() -> None:
    assert len(STATEMENTS) == 72
    assert len(ROWS) + len(TEXTS) + len(LISTS) + len(PLANS) == 72


def test_a_sample_ends_in_time_and_within_memory(
    cell_store: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    words = words_of(cell_store, SAMPLE_LIMITS)
    for name in sample():
        result = measure(words, STATEMENTS[name], tmp_path)
        # Without limits each takes minutes, or many gigabytes; a busy machine may be slow.
        assert (name, fault(result, 60, SAMPLE_BYTES)) == (name, "")


@pytest.mark.scale
@pytest.mark.parametrize("name", STATEMENTS)
def test_every_statement_ends_in_time_and_within_memory(
    cell_store: Path,  # noqa: F811
    tmp_path: Path,
    name: str,
) -> None:
    result = measure(words_of(cell_store), STATEMENTS[name], tmp_path)
    assert fault(result, SECONDS + GRACE_SECONDS, MOST_BYTES) == ""


def words_of(store: Path, limits: Sequence[str] = LIMITS) -> list[str]:
    return [sys.executable, "-m", "borgtrace", "sql", str(store), "-", *limits]


def main(store: Path, names: Sequence[str]) -> None:
    """Print what statements take, and how many did not end as they should."""
    n_faults = 0
    # On a busy machine, what a command takes to start is part of every time.
    statements = {"(a constant)": "SELECT 1"} | STATEMENTS
    with tempfile.TemporaryDirectory() as folder:
        for name in names or statements:
            result = measure(words_of(store), statements[name], Path(folder))
            why_not = fault(result, SECONDS + GRACE_SECONDS, MOST_BYTES)
            n_faults += bool(why_not)
            end = result.message.rpartition("\n")[2][:100]
            size = f"{result.peak_bytes / 1e6:6,.0f} MB"
            print(f"{name:32} {result.seconds:5.1f} s {size} {result.exit_code} {end}", flush=True)
    print(f"{n_faults} of {len(names or statements)} exceed a limit")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
