"""What would have broken: one planted burst, by hand."""

from __future__ import annotations

import pytest

from borgtrace.advice import AdviceOptions, advise
from borgtrace.interactive import Store
from borgtrace.notation import Notation
from borgtrace.schema.time import TRACE_START, WINDOW
from tests.advice.cluster import BURST_SLOTS
from tests.rows import chosen_columns


def options_of(policy: str) -> AdviceOptions:
    """Promises of one policy for ten minutes, which two nodes can show in six hours."""
    return AdviceOptions(target=0.05, horizon=2 * WINDOW, resources=("cpu",), policies=(policy,))


def test_a_planted_burst_is_found(shop: Store) -> None:
    """Half of the requests is promised on n1, 2 of 4 cores; in the burst its tasks use 2 + .25 + .25."""
    advice = advise(shop, options_of("borg:phi=0.5"))
    # The burst lies in periods 6 and 7, for which half is chosen.
    (row,) = advice.incidents.table.to_pylist()
    names = Notation.of(shop).names
    assert names.machine(row["machine_id"]) == "n1"
    expected = {
        "begin": TRACE_START + BURST_SLOTS[0] * WINDOW,
        "end": TRACE_START + (BURST_SLOTS[-1] + 1) * WINDOW,
        "minutes": 30,
    }
    assert chosen_columns(row, expected) == expected
    cores = {
        name: row[name] * 8 for name in ("excess", "used", "promised", "requested", "capacity")
    }
    assert cores == pytest.approx(
        {"excess": 0.5, "used": 2.5, "promised": 2, "requested": 4, "capacity": 8}
    )
    # Instants 498 to 504 have a slot of the burst within the two after them.
    assert row["windows"] == 7
    first, *_ = row["tasks"].split()
    collection, _, instance = first.rpartition("-")
    assert names.task(int(collection), int(instance)) == "shop/db-1/db"
    (line,) = advice.sentences.incidents
    assert line.startswith(
        "n1 2026-11-02 17:40 UTC: CPU 0.5 cores above the promised 2, 30 min; shop/db-1/db, "
    )


def test_promises_that_hold_are_no_incidents(shop: Store) -> None:
    advice = advise(shop, options_of("borg:phi=0.75"))
    assert advice.incidents.table.num_rows == 0
    assert advice.incidents.not_applicable is None
    assert advice.sentences.incidents == ["No promise was broken on the judged machines."]
