"""Every packing experiment: small, whole, drawn, and without a NaN; and its claims on results made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from borgtrace.catalog import experiments
from borgtrace.colocation import synthetic_pool
from borgtrace.colocation.experiments.packing import packing_base, packing_rebalancing
from borgtrace.colocation.experiments.shared.outcomes import find, to_table
from borgtrace.colocation.packing.grid import GridCell, PackingOutcome
from borgtrace.colocation.study import Study
from borgtrace.errors import UsageError
from borgtrace.placement.estimators.registry import parse_estimator
from borgtrace.question import NotApplicable
from tests.colocation.test_characterization import MODULES as CHARACTERIZATION
from tests.rows import chosen_columns

EXPERIMENTS = [name for name in experiments() if name not in CHARACTERIZATION]
SMALL = {
    "realizations": 200,
    "instances": 2,
    "size": 60,
    "hours": 4,
}


@pytest.fixture(scope="module")
def tables() -> Study:
    pool = synthetic_pool(200, seed=3)
    rng = np.random.default_rng(0)
    shift = rng.integers(0, 12, len(pool)) * 300
    known = replace(
        pool,
        start=pool.start + np.repeat(shift, pool.n_windows),
        cpu_request=(pool.mean() * rng.uniform(1.5, 4, len(pool))).astype(np.float32),
        memory=np.repeat(
            rng.uniform(0.005, 0.05, len(pool)),
            pool.n_windows,
        ).astype(np.float32),
        priority=rng.integers(0, 12, len(pool)),
        logical_name=rng.integers(0, 20, len(pool)),
        collection_id=np.arange(len(pool)) // 4,
        instance_index=np.arange(len(pool)) % 4,
    )
    return Study(known)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_it_runs_draws_and_holds_no_nan(name, tables):
    experiment = experiments()[name]
    options = {key: v for key, v in SMALL.items() if key in experiment.parameters}
    if name == "packing_online":
        options = {"tasks": 60}
    result = experiment.run(tables, **options)
    assert result.not_applicable is None
    assert result.table.num_rows
    for column, field in zip(result.table.columns, result.table.schema, strict=True):
        if pa.types.is_floating(field.type):
            assert not pc.any(pc.is_nan(column)).as_py(), field.name
    assert result.plot().to_dict()
    assert experiment.title.endswith("?")
    for finding in result.findings:
        assert finding.verdict in ("holds", "does not hold", "not judged", "not applicable")
        is_judged = finding.verdict in ("holds", "does not hold")
        assert not is_judged or finding.measured != "–"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_it_is_deterministic(name, tables):
    experiment = experiments()[name]
    options = {key: v for key, v in SMALL.items() if key in experiment.parameters}
    if name == "packing_online":
        options = {"tasks": 40}
    again = Study(tables.source.whole)
    assert experiment.run(tables, **options).table.equals(experiment.run(again, **options).table)


@pytest.mark.parametrize(
    "name", ["packing_memory", "packing_online", "packing_replay", "task_correlation"]
)
def test_it_says_what_a_bare_pool_cannot_answer(name):
    bare = replace(
        synthetic_pool(30, seed=1),
        start=None,
        seconds=None,
        memory=None,
    )
    result = experiments()[name].run(Study(bare))
    assert result.not_applicable in ("no memory was observed", "the pool has no time stamps")
    assert all(finding.verdict == "not applicable" for finding in result.findings)


def test_too_few_realizations(tables):
    with pytest.raises(UsageError) as caught:
        packing_base.QUESTION.run(tables, realizations=99)
    assert str(caught.value) == "realizations: out of range: expected 100 to 1,000,000, got 99"
    with pytest.raises(UsageError) as caught:
        experiments()["packing_advice"].run(tables, target=1.0)
    assert str(caught.value) == "target: out of range: expected above 0 and below 1, got 1"


def test_the_promise_names_the_target_that_was_told(tables):
    options = {
        "realizations": 200,
        "instances": 2,
        "size": 60,
        "target": 0.01,
    }
    result = experiments()["packing_rare_events"].run(tables, **options).table
    used = {(row["estimator"], row["pool"]): row["used"] for row in result.to_pylist()}
    calibrated = [target for (name, _), target in used.items() if name == "gpa-calibrated"]
    # Two pools are two calibrations, each of a target found between 1e-13 and 2 times the one to be kept.
    assert len(set(calibrated)) == 2
    assert all(1e-15 < target <= 0.02 for target in calibrated)
    assert {target for (name, _), target in used.items() if name != "gpa-calibrated"} == {0.01}


def outcome(text: str, instance: int, m_abs: int, overflows: int, **cell) -> PackingOutcome:
    return PackingOutcome(
        GridCell(parse_estimator(text), **cell),
        instance,
        m_abs,
        10,
        overflows,
        m_abs * 100,
        1_000,
        0,
        0,
    )


def test_summaries_weigh_machines_and_average_instances():
    result = to_table(
        [
            outcome("gpa:0.1", 0, 12, 12),
            outcome("gpa:0.1", 1, 18, 9),
            outcome("average:1", 0, 10, 400),
        ],
        packing_base.QUESTION.answer,
    )
    (way,) = find(result, estimator="gpa", parameter=0.1)
    expected = {
        "m": 1.5,
        "q": 21 / 3_000,
        "m_abs_median": 15,
    }
    assert chosen_columns(way, expected) == expected
    with pytest.raises(NotApplicable):
        find(result, estimator="cantelli")


def test_claims_on_known_results():
    rows = [
        outcome("average:1", 0, 28, 1_000, packer="best-fit"),
        outcome("average:1", 0, 30, 1_000, packer="first-fit"),
        outcome("gpa:0.1", 0, 35, 350),
        outcome("gpa:0.1", 0, 35, 350, packer="first-fit"),
        outcome("gpa:0.001", 0, 47, 5),
        outcome("gpa:0.001", 0, 47, 5, packer="first-fit"),
    ]
    result = to_table(rows, packing_base.QUESTION.answer)
    claims = {claim.id: claim for claim in packing_base.QUESTION.claims}
    assert claims["S1-ff-bf"].measure(result) == 2
    assert claims["S1-dominance"].measure(result) == "none"
    # log q at m = 2.8, 3.5, 4.7: ln(.3571), ln(.1), ln(.00106)
    m = np.array([2.8, 3.5, 4.7])
    q = np.log([1_000 / 2_800, 0.1, 5 / 4_700])
    assert claims["S1-linear"].measure(result) == pytest.approx(np.corrcoef(m, q)[0, 1] ** 2)
    best = to_table(
        [outcome("gpa:0.1", 0, 10, 1), outcome("average:2", 0, 11, 2)],
        packing_base.QUESTION.answer,
    )
    assert claims["S1-dominance"].measure(best) == "gpa 0.1"


def test_the_fall_by_rebalancing():
    rows = [
        outcome("gpa:0.1", 0, 10, 100, is_rebalanced=False),
        outcome("gpa:0.1", 0, 10, 90),
        outcome("gpa:0.1", 1, 10, 0, is_rebalanced=False),
        outcome("gpa:0.1", 1, 10, 0),
        outcome("average:1", 0, 10, 200, is_rebalanced=False),
        outcome("average:1", 0, 10, 190),
    ]
    result = to_table(rows, packing_rebalancing.QUESTION.answer)
    (claim,) = packing_rebalancing.QUESTION.claims
    assert claim.measure(result) == pytest.approx((0.1 + 0.05) / 2)
