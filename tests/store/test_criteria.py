"""Criteria by which a store is cut: what each means, and those that make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from borgtrace.errors import UsageError
from borgtrace.schema import dialect
from borgtrace.store.criteria import Criteria, in_fraction


def test_each_criterion_is_one_condition() -> None:
    every = Criteria(
        jobs=(7, 8),
        machines=(5,),
        time=(1, 2),
        tiers=("production", "free"),
        priorities=(9,),
        scheduling_classes=(3,),
        users=("o'neill",),
        end_types=("EVICT",),
        fraction=0.5,
        seed=3,
        where="n_windows > 1 -- long",
    )
    terms = every.terms(dialect("2011"))
    on_machine = terms.pop("--machines").split()
    assert " ".join(on_machine) == (
        "(collection_id, instance_index) in ( "
        'select collection_id, instance_index from instance_events where "machine_id" in (5) union '
        'select collection_id, instance_index from instance_usage where "machine_id" in (5) )'
    )
    assert terms == {
        "--jobs": '"collection_id" in (7, 8)',
        "--tier": "(priority between 9 and 11 or priority between 0 and 1)",
        "--priority": '"priority" in (9)',
        "--class": '"scheduling_class" in (3)',
        "--user": "\"user\" in ('o''neill')",
        "--end-type": "\"end_type\" in ('EVICT')",
        "--fraction": "md5_number_lower('3:' || collection_id) / 18446744073709551616.0 < 0.5",
        "--where": "(n_windows > 1 -- long\n)",
    }
    assert in_fraction(0.5, 3) == terms["--fraction"]
    assert Criteria().terms(dialect("2011")) == {}
    with pytest.raises(UsageError, match="--tier"):
        Criteria(tiers=("beb",)).terms(dialect("2011"))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"fraction": 0.0}, "--fraction: out of range: expected above 0 and at most 1, got 0"),
        (
            {"fraction": 1.001},
            "--fraction: out of range: expected above 0 and at most 1, got 1.001",
        ),
        (
            {"time": (5, 5)},
            "--time: the end is not after the start: expected A..B with A < B, got 5..5",
        ),
        (
            {"end_types": ("SUBMIT",)},
            "--end-type: unknown name: expected EVICT or FAIL or FINISH or KILL or LOST, got SUBMIT",
        ),
    ],
)
def test_criteria_that_make_no_sense(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Criteria(**facts)
    assert str(caught.value) == message
    assert (
        Criteria(
            fraction=1.0,
            time=(5, 6),
            end_types=("LOST",),
        ).fraction
        == 1.0
    )
    assert Criteria(fraction=1e-9).fraction == 1e-9
