"""On which pools the claims about colocation are judged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from borgtrace.catalog import experiments
from borgtrace.colocation import Study, TaskPool
from borgtrace.colocation.experiments.usage import usage_deviation
from borgtrace.schema.dialects import dialect
from borgtrace.store.coverage import Coverage, whole_trace


def pool(tasks: int, generation: str = "2011") -> TaskPool:
    """Return tasks of two windows: seconds vary, averages do not."""
    return TaskPool(
        offsets=np.arange(tasks + 1) * 2,
        inst=np.tile(np.float32([0.1, 0.3]), tasks),
        avg=np.full(2 * tasks, 0.2, np.float32),
        collection_id=np.arange(tasks),
        instance_index=np.zeros(tasks, np.int64),
        generation=generation,
    )


def outcomes(study: Study, **options: int) -> set[str]:
    return {finding.outcome for finding in usage_deviation.QUESTION.run(study, **options).findings}


def test_a_pool_that_is_given_is_whole_and_needs_enough_tasks() -> None:
    assert outcomes(Study(pool(9_999))) == {"not judged: needs 10,000 tasks or more, has 9,999"}
    # The averages have no deviation, so that no ratio of the medians can be taken.
    assert outcomes(Study(pool(10_000))) == {"holds", "not applicable: nothing to measure it on"}


def test_sizes_may_be_larger_than_their_defaults_and_not_smaller() -> None:
    few = {"not judged: needs tasks of 100,000 or more, got 99,999"}
    assert outcomes(Study(pool(10_000)), tasks=99_999) == few
    assert "holds" in outcomes(Study(pool(10_000)), tasks=100_001)


def test_a_shape_is_welcome_on_another_trace() -> None:
    assert "holds (published of 2011, measured on 2019)" in outcomes(Study(pool(10_000, "2019")))


def test_a_pool_made_from_a_part_of_a_store_is_a_part() -> None:
    part = Coverage(
        5,
        parts=(0,),
        of=500,
        span=1_000_000,
    )
    store = replace(
        whole_trace(dialect("2011")), tables={"instance_usage": part, "instance_events": part}
    )
    reason = "not judged: needs all 500 parts of instance_events, has 1 (1 s)"
    assert outcomes(Study(replace(pool(10_000), part=store))) == {reason}


def test_every_claim_says_who_vouches_for_it() -> None:
    for experiment in experiments().values():
        for claim in experiment.claims:
            is_of_the_paper = claim.source.startswith("Janus & Rzadca")
            assert (claim.kind == "criterion") != is_of_the_paper, claim.id
            assert claim.scope.traces == (("2011",) if is_of_the_paper else ()), claim.id
            # A number of the paper is of the tasks of 2011; arithmetic on one is not printed there.
            assert claim.kind != "derived" or claim.source.endswith(
                "(arithmetic on its numbers)"
            ), claim.id
