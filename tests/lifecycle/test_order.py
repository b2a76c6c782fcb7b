from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.lifecycle.lives import life, rows, tables


def sequence(events: list[dict[str, Any]], generation: str) -> list[tuple[str | None, str]]:
    rows_of_table = rows(tables(events, generation=generation).instance_transitions, "step_time")
    return sorted(
        (row["from_type"] or "", row["to_type"]) for row in rows_of_table for _ in range(row["n"])
    )


def pairs(text: str) -> list[tuple[str, str]]:
    types = text.split()
    return sorted(zip(["", *types], types, strict=False))


def test_2011_follows_the_file_where_times_are_equal() -> None:
    assert sequence(life("SUBMIT 5 SCHEDULE 5"), "2011") == pairs("SUBMIT SCHEDULE")
    assert sequence(life("SCHEDULE 5 SUBMIT 5"), "2011") == pairs("SCHEDULE SUBMIT")


@pytest.mark.parametrize(
    ("before", "tied", "expected"),
    [
        ("", "SCHEDULE SUBMIT", "SUBMIT SCHEDULE"),
        ("", "FINISH SCHEDULE SUBMIT", "SUBMIT SCHEDULE FINISH"),
        ("", "ENABLE SCHEDULE QUEUE SUBMIT", "SUBMIT QUEUE ENABLE SCHEDULE"),
        ("SUBMIT SCHEDULE", "SUBMIT EVICT", "EVICT SUBMIT"),
        ("SUBMIT SCHEDULE", "SCHEDULE SUBMIT EVICT", "EVICT SUBMIT SCHEDULE"),
        ("SUBMIT SCHEDULE", "KILL UPDATE_RUNNING", "UPDATE_RUNNING KILL"),
        ("SUBMIT SCHEDULE", "SUBMIT EVICT SUBMIT FAIL", "EVICT SUBMIT FAIL SUBMIT"),
        ("SUBMIT", "SUBMIT KILL SCHEDULE", "SCHEDULE KILL SUBMIT"),
        ("SUBMIT QUEUE", "SCHEDULE ENABLE", "ENABLE SCHEDULE"),
    ],
)
def test_2019_follows_the_life_cycle_in_whatever_order_rows_come(
    before: str,
    tied: str,
    expected: str,
) -> None:
    past = " ".join(f"{type_} {time}" for time, type_ in enumerate(before.split(), 1))
    for order in itertools.islice(itertools.permutations(tied.split()), 6):
        events = life(" ".join(f"{type_} 9" for type_ in order) + " " + past)
        assert sequence(events, "2019") == pairs(f"{before} {expected}")


def test_2019_settles_a_tie_before_the_tie_after_it() -> None:
    events = life("SUBMIT 1 SCHEDULE 2 SUBMIT 5 EVICT 5 KILL 6 SCHEDULE 6")
    assert sequence(events, "2019") == pairs("SUBMIT SCHEDULE EVICT SUBMIT SCHEDULE KILL")
