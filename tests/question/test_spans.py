"""Each claim asks for the span at which its verdict settles on nested prefixes of synthetic cells."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from scripts.measure_spans import (
    HOURS,
    MONTH,
    MOST_CHANGES,
    SEEDS,
    Judgement,
    first_settled,
    generate_store,
    judge_prefixes,
    measure,
    settle,
    settle_all,
    share_of_changes,
)

from borgtrace.catalog import find, questions
from borgtrace.question import Claim, Scope, sql
from borgtrace.question.criteria import above
from borgtrace.schema.time import DAY, HOUR

MEASURED = Path(__file__).parents[2] / "docs" / "measured" / "spans.csv"
EVENTS = ("job_events", "task_events", "machine_events")
ASKED = ("transitions", "resubmission_gaps", "jobs_per_owner", "job_interarrivals")
"""Questions about events with claims that a day can settle, each of which takes a fraction of a second."""


def judgements(cell: str, *verdicts: str) -> list[Judgement]:
    """Return verdicts on prefixes of one day, two days …, each of which adds a thousand tasks."""
    made = []
    for days, verdict in enumerate(verdicts, 1):
        made.append(Judgement("X-1", "x", cell, days * DAY, days * 1000, "1", verdict))
    return made


def claim(scope: Scope) -> Claim:
    return Claim(
        "X-1",
        statement="many",
        scope=scope,
        measure=sql("select n from answer"),
        criterion=above(0),
    )


@pytest.mark.parametrize(
    ("verdicts", "days"),
    [
        (("holds", "holds", "holds"), 1),
        (("does not hold", "holds", "holds"), 2),
        # What was the same before it changed does not count.
        (("holds", "does not hold", "holds"), 3),
        (("holds", "holds", "does not hold"), 3),
    ],
)
def test_a_verdict_settles_where_it_changes_for_the_last_time(
    verdicts: tuple[str, ...], days: int
) -> None:
    assert first_settled(judgements("a", *verdicts)).span == days * DAY


def test_the_slowest_cell_decides_and_what_is_not_judged_does_not() -> None:
    cells = {
        "a": judgements("a", "does not hold", "holds", "holds", "holds"),
        "b": judgements("b", "not applicable", "does not hold", "does not hold", "holds"),
        "c": judgements("c", "not applicable", "not applicable", "not judged", "not applicable"),
    }
    settled = settle(claim(Scope(span=0, tasks=0)), cells)
    assert (settled.span, settled.tasks) == (4 * DAY, 4000)
    assert (settled.changes, settled.cells) == (2, 2)
    assert settled.asks_for_too_little
    # A scope of two days and two thousand tasks allows three verdicts in a cell: only those of `b` change.
    settled = settle(claim(Scope(span=2 * DAY, tasks=2000)), cells)
    assert (settled.changes, settled.cells) == (1, 2)
    # One of four days allows one alone, which nothing overturns.
    settled = settle(claim(Scope().needing(days=4)), cells)
    assert (settled.changes, settled.cells) == (0, 0)
    assert not settled.asks_for_too_little


def test_the_share_of_changes_counts_pairs_of_claim_and_cell() -> None:
    changing = settle(
        claim(Scope(span=0, tasks=0)), {"a": judgements("a", "holds", "does not hold")}
    )
    staying = settle(
        claim(Scope(span=0, tasks=0)),
        {cell: judgements(cell, "holds", "holds") for cell in ("a", "b", "c")},
    )
    assert share_of_changes([changing, staying]) == 0.25
    assert share_of_changes([]) == 0.0


def test_every_claim_asks_for_the_span_at_which_it_was_measured_to_settle() -> None:
    scopes = {each.id: each.scope for one in questions().values() for each in one.claims}
    too_short = []
    n_compared = 0
    with MEASURED.open(newline="") as file:
        for row in csv.DictReader(file):
            scope = scopes.get(row["claim"])
            # Numbers of the published cell are judged on no synthetic one.
            if scope is None or scope.is_of_this_cell:
                continue
            n_compared += 1
            if scope.span < min(int(row["hours"]) * HOUR, MONTH):
                too_short.append((row["claim"], row["hours"]))
    assert too_short == []
    assert n_compared > 100


@pytest.mark.wide
def test_verdicts_stay_on_a_small_cell(tmp_path: Path) -> None:
    """A sample of the measurement: two days of a small cell, and some claims about events."""
    store = generate_store(tmp_path, 60, 48, 12, tables=EVENTS)
    asked = [find(name) for name in ASKED]
    settled = settle_all(judge_prefixes("small", store, (24, 48), asked))
    assert sum(one.cells for one in settled) >= 6
    assert share_of_changes(settled) == 0.0


@pytest.mark.scale
def test_verdicts_stay_on_months_of_three_cells(tmp_path: Path) -> None:
    settled = settle_all(measure(tmp_path, 60, SEEDS, HOURS, packs=False))
    assert share_of_changes(settled) < MOST_CHANGES
