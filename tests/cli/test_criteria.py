"""The options that choose tasks: numbers are read without a store, names and dates are those of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.cli.criteria import parse_criteria
from borgtrace.errors import UsageError
from borgtrace.schema.time import AFTER_TRACE, HOUR, TRACE_START
from borgtrace.store.criteria import Criteria
from tests.ingest.own_data import hashed
from tests.notation.cluster import named_cluster

NO_STORE = "there-is-none"
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
        "scheduling_class": "0-1",
        "end_type": "KILL",
    }
    assert parse_criteria(
        NO_STORE,
        **texts,
        fraction=0.5,
        seed=6,
    ) == Criteria(
        jobs=(5, 7, 8),
        machines=(),
        time=(TRACE_START + 1_000_000, TRACE_START + 2_000_000),
        tiers=("free", "other"),
        priorities=(9,),
        scheduling_classes=(0, 1),
        users=(),
        end_types=("KILL",),
        where=None,
        fraction=0.5,
        seed=6,
    )


def test_without_options_all_tasks_are_chosen() -> None:
    assert (
        parse_criteria(
            NO_STORE,
            **NONE,
            fraction=None,
            seed=0,
        )
        == Criteria()
    )


def test_names_and_dates_are_those_of_the_store(tmp_path: Path) -> None:
    store = named_cluster(tmp_path).path
    texts = NONE | {
        "jobs": "db,7-8",
        "machines": "node-02,node-01",
        "time": "2026-11-01T01:00..",
        "user": "al,bob",
    }
    criteria = parse_criteria(store, **texts, fraction=None, seed=0)
    assert criteria.jobs == (7, 8, hashed("shop/db/main"))
    assert set(criteria.machines) == {hashed("node-01"), hashed("node-02")}
    assert criteria.time == (TRACE_START + HOUR, AFTER_TRACE)
    assert criteria.users == ("alice", "bob")
    with pytest.raises(UsageError, match=r"^--machines: nothing has this name: .*, got node-9$"):
        parse_criteria(store, **NONE | {"machines": "node-9"}, fraction=None, seed=0)
