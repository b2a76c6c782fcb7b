"""The options that choose tasks, read before a store is opened."""

from __future__ import annotations

from borgtrace.cli.criteria import parse_criteria
from borgtrace.store.criteria import Criteria

NONE = {
    "jobs": "",
    "machines": "",
    "time": "",
    "tier": "",
    "priority": "",
    "scheduling_class": "",
    "user": "",
    "end_type": "",
    "where": "",
}


def test_criteria_are_lists_ranges_and_spans() -> None:
    texts = NONE | {
        "jobs": "5,7-8",
        "time": "1s..2s",
        "tier": "free,other",
        "priority": "9",
        "user": "u",
        "scheduling_class": "0-1",
        "end_type": "KILL",
    }
    assert parse_criteria(
        **texts,
        fraction=0.5,
        seed=6,
    ) == Criteria(
        jobs=(5, 7, 8),
        machines=(),
        time=(1_000_000, 2_000_000),
        tiers=("free", "other"),
        priorities=(9,),
        scheduling_classes=(0, 1),
        users=("u",),
        end_types=("KILL",),
        where=None,
        fraction=0.5,
        seed=6,
    )


def test_without_options_all_tasks_are_chosen() -> None:
    assert (
        parse_criteria(
            **NONE,
            fraction=None,
            seed=0,
        )
        == Criteria()
    )
