"""What experiments run and what claims measure: rows in, a number out."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation import Study
from borgtrace.colocation.experiments import (
    _answers,
    _outcomes,
    packing_averages,
    packing_base,
    packing_capacities,
    packing_clairvoyance,
    packing_machines,
    packing_memory,
    packing_online,
    packing_promises,
    packing_rare_events,
    packing_rebalancing,
    packing_replay,
    usage_stationarity,
)
from borgtrace.colocation.experiments._outcomes import to_table
from borgtrace.colocation.grid import Cell
from borgtrace.colocation.online import SlotCounts
from borgtrace.placement import Gpa, Observation, Packing
from borgtrace.recipe import NotApplicable
from tests.colocation.test_claims_by_hand import measured
from tests.colocation.test_figures import outcome
from tests.colocation.test_packing_past import on_clock

PAPER = {
    *("average 1", "average 1.25", "average 2"),
    *("percentile 50", "percentile 70", "percentile 90", "percentile 95", "percentile 99", "percentile 100"),
    *("cantelli 4.4", "cantelli 1.7", "cantelli 1"),
    *("gpa 0.1", "gpa 0.05", "gpa 0.01", "gpa 0.001"),
}
"""Estimators of Janus & Rzadca (SoCC'17)."""


def rows(**columns: list[Any]) -> list[dict[str, Any]]:
    return pa.table(columns).to_pylist()


# --- what is run -------------------------------------------------------------------------------

BOTH, PACKERS = (False, True), ("best-fit", "first-fit")


@pytest.mark.parametrize(
    ("module", "what", "ways"),
    [
        (packing_base, ("packer",), {(p,) for p in PACKERS}),
        (packing_averages, ("data", "fill"), {(d, f) for d in ("inst", "avg") for f in (0.8, 1.0)}),
        (packing_capacities, ("capacity", "is_rebalanced"), {(c, r) for c in (0.5, 0.8, 1.0, 2.0, 5.0) for r in BOTH}),
        (packing_rebalancing, ("packer", "is_rebalanced"), {(p, r) for p in PACKERS for r in BOTH}),
        (packing_clairvoyance, ("clairvoyance",), {(c,) for c in packing_clairvoyance.SEEN}),
    ],
)
def test_every_estimator_of_the_paper_is_run_in_every_way(module: Any, what: tuple[str, ...], ways: set[Any]) -> None:
    cells: list[Cell] = module.cells()
    found = [(cell.estimator.label, tuple(getattr(cell, name) for name in what)) for cell in cells]
    assert len(found) == len(set(found)) == 16 * len(ways)
    assert {label for label, _ in found} == PAPER
    assert {way for _, way in found} == ways
    # All else is as it is by default.
    plain = Cell(Gpa(0.01))
    others = {"packer", "is_rebalanced", "data", "capacity", "clairvoyance", "fill"} - set(what)
    assert all(getattr(cell, name) == getattr(plain, name) for cell in cells for name in others)


def test_pairs_of_a_test_for_cpu_and_one_for_memory() -> None:
    found = [(cpu.label, memory.label) for cpu, memory in packing_memory.tests()]
    assert found == [
        (cpu, memory)
        for cpu in ("gpa 0.001", "convolution 0.001", "average 1.25")
        for memory in ("percentile 100", "gpa 1e-05")
    ]


def test_ways_onto_unequal_machines() -> None:
    assert [way.label for way in packing_machines.ways()] == [
        *("gpa 0.01", "gpa 0.001", "convolution 0.001", "average 1.25", "percentile 100")
    ]


def test_estimators_with_a_target_run_at_it() -> None:
    found = packing_rare_events.candidates(0.02)
    assert {estimator.parameter for estimator in found} == {0.02}
    assert {"gpa", "convolution"} <= {estimator.name for estimator in found}
    assert not {"average", "percentile", "vector-gpa"} & {estimator.name for estimator in found}


# --- rows and numbers of a result ----------------------------------------------------------------


def judged(**overflows: int) -> pa.Table:
    """Return an answer of *packing_replay*: 200 trials of gpa .01 in two instances, half of the overflows in each."""
    return pa.Table.from_pylist(
        [
            {"estimator": "gpa 0.01", "judged_on": kind, "instance": k, "overflows": n, "trials": 100}
            for kind, both in overflows.items()
            for k, n in enumerate((both // 2, both - both // 2))
        ]
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [({"shuffled": 30, "draws": 10}, 3.0), ({"shuffled": 5, "draws": 10}, 0.5), ({"shuffled": 0, "draws": 3}, 0.0)],
)
def test_overflow_over_another_is_of_all_trials_together(found: dict[str, int], expected: float) -> None:
    assert measured(packing_replay, "replay-drift", judged(**found)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ({"shuffled": 1, "draws": 0}, "no overflow to compare with"),
        ({"draws": 3}, "not among the ways of packing that were run"),
        ({"shuffled": 3}, "not among the ways of packing that were run"),
    ],
)
def test_a_ratio_needs_something_to_compare_with(found: dict[str, int], reason: str) -> None:
    with pytest.raises(NotApplicable) as caught:
        measured(packing_replay, "replay-drift", judged(**found))
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("found", "wanted", "is_same"),
    [
        # Up to 1: to a billionth; above: of the number.
        *((1e-9, 0.0, True), (1.1e-9, 0.0, False), (-1e-9, 0.0, True), (-1.1e-9, 0.0, False)),
        *((1e6 + 0.0009, 1e6, True), (1e6 + 0.0011, 1e6, False), (-1e6 - 0.0009, -1e6, True)),
        *((None, 0.5, False), (1, 1.0, True), ("a", "a", True), ("a", "b", False), (True, True, True)),
    ],
)
def test_numbers_match_to_nine_digits(found: Any, wanted: Any, is_same: bool) -> None:
    assert _answers._same(found, wanted) is is_same


def test_rows_by_their_values() -> None:
    table = rows(way=["a", "a", "b"], q=[0.1, 0.2, 0.1], n=[1, 3, 8])
    assert [row["n"] for row in _answers.rows_where(table, way="a")] == [1, 3]
    assert [row["n"] for row in _answers.rows_where(table, way="a", q=0.2)] == [3]
    with pytest.raises(NotApplicable) as caught:
        _answers.rows_where(table, "not here", way="c")
    assert str(caught.value) == "not here"


def test_a_mean_over_another_is_of_all_instances() -> None:
    table = pa.table({"packer": ["dot-product", "dot-product", "first-fit"], "m_abs": [1, 3, 8]})
    assert measured(packing_memory, "memory-dot-product", table) == 0.25


def test_percentiles_of_a_box() -> None:
    found = _answers.spread(np.arange(101.0))
    assert found == {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95}


def test_packings_judged_by_two_kinds_of_usage() -> None:
    together = Packing(np.array([0, 0]), np.ones((1, 1)), np.zeros(1, np.int64))
    apart = Packing(np.array([0, 1]), np.ones((2, 1)), np.arange(2))
    usage = {"high": np.float32([[0.75, 0.5, 0.5], [0.5, 0.5, 0.75]]), "low": np.zeros((2, 4), np.float32)}
    assert list(_answers.replayed([together, apart], usage)) == [
        (0, {"judged_on": "high", "m_abs": 1, "overflows": 2, "trials": 3}),
        (1, {"judged_on": "high", "m_abs": 2, "overflows": 0, "trials": 6}),
        (0, {"judged_on": "low", "m_abs": 1, "overflows": 0, "trials": 4}),
        (1, {"judged_on": "low", "m_abs": 2, "overflows": 0, "trials": 8}),
    ]


def test_rejections_by_spacing_and_length() -> None:
    table = pa.table({"spacing": [12, 12, 24], "length": [12, 11, 24], "rejected": [0.25, 0.5, 0.75]})
    claims = {claim.id: claim.measure(table) for claim in usage_stationarity.EXPERIMENT.claims[:3]}
    assert claims == {"S1-ks-12-12": 0.25, "S1-ks-12-11": 0.5, "S1-ks-24-24": 0.75}


# --- the grid ------------------------------------------------------------------------------------


def base(*outcomes: Any) -> pa.Table:
    return to_table(outcomes, packing_base.EXPERIMENT.result)


def test_a_summary_is_a_mean_over_instances() -> None:
    # 10 machines and 20 over a bound of 10, of 100 draws each.
    table = base(outcome("gpa:0.01", 0, 10, 10), outcome("gpa:0.01", 1, 20, 80))
    (row,) = _outcomes.find(table)
    expected = {"m_abs": 15, "m_abs_median": 15, "machines": 15, "m": 1.5, "m_low": 1, "m_high": 2, "q": 90 / 3000}
    more = {"q_low": 0.01, "q_high": 0.04, "trials": 3_000, "n_unplaceable": 0, "n_tasks": 1_000, "predicted": None}
    assert {name: row[name] for name in [*expected, *more]} == pytest.approx(expected | more)
    assert (row["label"], row["q_error"]) == ("gpa 0.01", pytest.approx(0.015 / math.sqrt(2)))
    with pytest.raises(NotApplicable) as caught:
        _outcomes.find(table, estimator="average")
    assert str(caught.value) == "not among the cells that were run"


def test_without_machines_nothing_overflows() -> None:
    assert _outcomes.find(base(outcome("gpa:0.01", 0, 0, 0)))[0]["q"] == 0.0


def test_an_experiment_of_the_grid_packs_ten_instances_in_its_ways() -> None:
    asked: list[Any] = []

    def outcomes(cells: Any) -> list[Any]:
        asked.extend(cells)
        return [outcome("gpa:0.01", 0, 10, 5)]

    study = cast(Study, SimpleNamespace(grid=lambda options: SimpleNamespace(outcomes=outcomes)))
    experiment = packing_base.EXPERIMENT
    (row,) = experiment.compute(study, cast(Any, None)).to_pylist()
    assert asked == packing_base.cells()
    assert (row["estimator"], row["parameter"], row["m_abs"], row["q"], row["packer"]) == (
        *("gpa", 0.01, 10, 0.005, "best-fit"),
    )
    assert experiment.parameters == {
        "tasks": 100_000,
        "realizations": 10_000,
        "instances": 10,
        "size": 1_000,
        "seed": 0,
    }


def test_numbers_of_a_thousand_tasks_are_not_compared_with_those_of_fewer() -> None:
    table = base(
        outcome("average:1", 0, 30, 1), outcome("average:1", 0, 40, 1, packer="first-fit"), outcome("gpa:0.1", 0, 20, 1)
    )
    assert measured(packing_base, "S1-av-machines", table) == 30
    assert measured(packing_base, "S1-gpa-0.1-machines", table) == 20
    fewer = table.set_column(table.schema.get_field_index("n_tasks"), "n_tasks", pa.array([999] * 3))
    with pytest.raises(NotApplicable) as caught:
        measured(packing_base, "S1-av-machines", fewer)
    assert str(caught.value) == "instances have fewer than 1,000 tasks"


def test_the_largest_difference_between_packers_is_of_one_instance() -> None:
    ways = [
        outcome(text, k, machines, 0, packer=packer)
        for text, k, best, first in (("gpa:0.01", 0, 30, 32), ("gpa:0.01", 1, 50, 47), ("gpa:0.1", 0, 20, 20))
        for packer, machines in (("best-fit", best), ("first-fit", first))
    ]
    assert measured(packing_base, "S1-ff-bf", base(*ways)) == 3


@pytest.mark.parametrize(
    ("found", "best"),
    [
        # Machines and overflows per estimator.
        ({"gpa:0.01": (20, 10), "average:1": (30, 20)}, "gpa 0.01"),
        ({"gpa:0.01": (30, 20), "average:1": (20, 10)}, "average 1"),
        # As many machines, or as many overflows of as many draws, are enough.
        ({"gpa:0.01": (20, 10), "average:1": (20, 20)}, "gpa 0.01"),
        ({"gpa:0.01": (20, 0), "average:1": (30, 0)}, "gpa 0.01"),
        ({"gpa:0.01": (20, 30), "average:1": (30, 10)}, "none"),
    ],
)
def test_an_estimator_that_is_better_in_both(found: dict[str, tuple[int, int]], best: str) -> None:
    ways = [outcome(text, 0, machines, overflows) for text, (machines, overflows) in found.items()]
    # First Fit is not asked.
    ways += [outcome("cantelli:1", 0, 1, 0, packer="first-fit")]
    assert measured(packing_base, "S1-dominance", base(*ways)) == best


def test_log_q_falls_on_a_line_of_m() -> None:
    # m = 1, 2, 3 and q = .1, .01, .001: a line, beside one that never overflowed and First Fit.
    ways = [outcome(f"average:{k}", 0, 10 * k, overflows) for k, overflows in ((1, 100), (2, 20), (3, 3))]
    others = [outcome("percentile:100", 0, 90, 0), outcome("gpa:0.1", 0, 10, 900, packer="first-fit")]
    assert measured(packing_base, "S1-linear", base(*ways, *others)) == pytest.approx(1)
    # Log q of 0, 0 and −ln 10 over 1, 2, 3: a correlation of −√3 ÷ 2.
    bent = [outcome(f"average:{k}", 0, 10 * k, n) for k, n in ((1, 100), (2, 200), (3, 30))]
    assert measured(packing_base, "S1-linear", base(*bent)) == pytest.approx(0.75)
    with pytest.raises(NotApplicable) as caught:
        measured(packing_base, "S1-linear", base(*ways[:2], *others))
    assert str(caught.value) == "fewer than three estimators overflowed"


def averages(*outcomes: Any) -> pa.Table:
    return to_table(outcomes, packing_averages.EXPERIMENT.result)


def test_the_gain_is_a_geometric_mean_of_filled_machines() -> None:
    ways = [
        outcome(f"gpa:{parameter}", 0, 10, n, data=data, fill=fill)
        for parameter, fill, inst, avg in (
            # 8 and 2 times as many; one of both never: left out; machines that are filled to .8 do not count.
            *((0.1, 1.0, 10, 80), (0.01, 1.0, 10, 20), (0.001, 1.0, 0, 5), (0.1, 0.8, 1, 900), (0.01, 0.8, 1, 900)),
        )
        for data, n in (("inst", inst), ("avg", avg))
    ]
    other = [outcome("average:1", 0, 10, n, data=data) for data, n in (("inst", 1), ("avg", 3))]
    table = averages(*ways, *other)
    assert measured(packing_averages, "S1-avg-gpa", table) == pytest.approx(4)
    assert measured(packing_averages, "S1-avg-average", table) == pytest.approx(3)
    never = averages(*(outcome("gpa:0.1", 0, 10, n, data=data) for data, n in (("inst", 5), ("avg", 0))))
    with pytest.raises(NotApplicable) as caught:
        measured(packing_averages, "S1-avg-gpa", never)
    assert str(caught.value) == "no overflow from instantaneous data"


def capacities(*outcomes: Any) -> pa.Table:
    return to_table(outcomes, packing_capacities.EXPERIMENT.result)


def test_q_over_capacities() -> None:
    found = {0.5: 40, 1.0: 20, 5.0: 10}
    ways = [outcome("gpa:0.001", 0, 10, n, capacity=c) for c, n in found.items()]
    ways += [outcome("gpa:0.01", 0, 10, n, capacity=c) for c, n in {0.5: 5, 5.0: 12}.items()]
    ways += [outcome("gpa:0.001", 0, 10, 900, capacity=1.0, is_rebalanced=False)]
    ways += [outcome("average:1.25", 0, 10, n, capacity=c) for c, n in {0.5: 24, 1.0: 20, 5.0: 10}.items()]
    ways += [outcome("average:1", 0, 10, 900, capacity=0.5)]
    table = capacities(*ways)
    assert measured(packing_capacities, "S1-capacity-average", table) == pytest.approx(2.4)
    # .012 ÷ .01; at .001 it is broken fortyfold.
    assert measured(packing_capacities, "S1-capacity-gpa", table) == pytest.approx(1.2)
    assert measured(packing_capacities, "S1-capacity-trend", table) == pytest.approx(4)
    never = capacities(*(outcome("gpa:0.001", 0, 10, n, capacity=c) for c, n in {0.5: 4, 5.0: 0}.items()))
    # .004 over 1e-12 in place of none.
    assert measured(packing_capacities, "S1-capacity-trend", never) == pytest.approx(4e9)
    never = capacities(*(outcome("average:1.25", 0, 10, n, capacity=c) for c, n in {0.5: 4, 5.0: 0}.items()))
    with pytest.raises(NotApplicable) as caught:
        measured(packing_capacities, "S1-capacity-average", never)
    assert str(caught.value) == "no overflow at some capacity"


def test_a_pool_of_bursts_beside_its_twin() -> None:
    known = {"estimator": "convolution", "is_rebalanced": False, "machines": 12.0, "target": 0.01, "q_error": 0.0}
    table = pa.Table.from_pylist(
        [
            known | {"pool": packing_rare_events.AS_IT_IS, "q": 0.02, "predicted": 0.016, "matched_machines": 10.0},
            known | {"pool": packing_rare_events.HEAVY_TAIL, "q": 0.5, "predicted": 0.1, "matched_machines": 6.0},
            known | {"pool": packing_rare_events.AS_IT_IS, "estimator": "gpa", "is_rebalanced": True, "q": 0.03},
            known | {"pool": packing_rare_events.AS_IT_IS, "is_rebalanced": True, "q": 0.04},
        ]
    )
    assert measured(packing_rare_events, "promise-machines-pool", table) == pytest.approx(0.2)
    assert measured(packing_rare_events, "promise-machines-heavier", table) == pytest.approx(1.0)
    assert measured(packing_rare_events, "promise-predicted-pool", table) == pytest.approx(1.25)
    assert measured(packing_rare_events, "promise-plain-pool", table) == pytest.approx(2)
    assert measured(packing_rare_events, "promise-rebalanced-pool", table) == pytest.approx(4)
    assert measured(packing_rare_events, "promise-gpa-pool", table) == pytest.approx(3)


# --- arrivals ------------------------------------------------------------------------------------


def test_totals_of_one_way() -> None:
    table = pa.Table.from_pylist(
        [
            {
                "estimator": name,
                "cold_start": start,
                "hour": hour,
                "machine_hours": m,
                "overflows": n,
                "moments": 12 * m,
            }
            for name, start, hour, m, n in (
                *(("gpa 0.01", "name", 0, 2.0, 1), ("gpa 0.01", "name", 1, 3.0, 2)),
                *(("gpa 0.01", "request", 0, 10.0, 6), ("request 1", "request", 0, 20.0, 0)),
                ("gpa 0.1", "name", 0, 0.0, 0),
            )
        ]
    )
    # 3 of 60 moments, .05 over .01; 5 hours of machines for 20 and for 10 by requests.
    assert measured(packing_online, "online-promise", table) == pytest.approx(5)
    assert measured(packing_online, "online-saving", table) == pytest.approx(0.25)
    assert measured(packing_online, "online-names", table) == pytest.approx(0.5)
    nothing = table.set_column(5, "moments", pa.array([0] * table.num_rows))
    for asked, reason in ((nothing, "no task could be placed"), (table.slice(3), "not among the ways that were run")):
        with pytest.raises(NotApplicable) as caught:
            measured(packing_online, "online-promise", asked)
        assert str(caught.value) == reason


def test_every_way_is_run_where_tasks_come_one_after_the_other() -> None:
    values = np.full((2, 12), 0.25)

    def study(start: list[int]) -> Study:
        return cast(Study, SimpleNamespace(pool=lambda options: on_clock(values, start=start)))

    options = cast(Any, SimpleNamespace(capacity=0.5))
    found = packing_online.compute(study([0, 6]), options).to_pylist()
    # Five ways without requests, 18 slots each.
    assert [(row["estimator"], row["cold_start"], row["hour"]) for row in found] == [
        (way, "name", hour)
        for way in ("gpa 0.01", "gpa 0.001", "convolution 0.001", "average 1.25", "percentile 95")
        for hour in (0, 1)
    ]
    # A task of which nothing is known has a machine of its own, and fits none at 1.25 times that.
    hours = {row["estimator"]: (row["machine_hours"], row["moments"]) for row in found if row["hour"] == 0}
    assert hours.pop("average 1.25") == (0.0, 0)
    assert set(hours.values()) == {(1.5, 18)}
    with pytest.raises(NotApplicable):
        packing_online.compute(study([3, 3]), options)


@pytest.mark.parametrize(("start", "is_refused"), [([4, 4], True), ([4, 5], False), ([4], False), ([5, 4, 4], False)])
def test_arrivals_at_one_moment_tell_nothing(start: list[int], is_refused: bool) -> None:
    pool = on_clock(np.full((len(start), 3), 0.25), start=start)
    if not is_refused:
        packing_online._require_arrivals(pool)
        return
    with pytest.raises(NotApplicable) as caught:
        packing_online._require_arrivals(pool)
    assert str(caught.value) == "all tasks of the pool arrive at the same moment"


def test_hours_of_a_simulation_whose_last_is_shorter() -> None:
    # From slot 5 on: an hour, and six slots.
    machines = np.array([1] * 11 + [2] + [3] * 6)
    tasks = np.array([2] * 12 + [5] * 6)
    cold, unplaceable, overflows = (np.zeros(18, np.int64) for _ in range(3))
    cold[0], cold[12], unplaceable[11], overflows[[3, 17]] = 2, 3, 1, (1, 2)
    day = SlotCounts(5, machines, tasks, overflows, cold, unplaceable)
    # Two tasks through all of it, and one, made again, through the last six slots.
    whole = on_clock(np.repeat([[0.5], [0.25], [0.75]], 18, axis=1), start=[5, 5, 17], retried=np.array([0, 0, 1]))
    kept = np.concatenate([np.arange(36), 36 + np.arange(6)])
    fields = {name: getattr(whole, name)[kept] for name in ("inst", "avg", "start", "seconds")}
    identity = {name: getattr(whole, name) for name in ("collection_id", "instance_index", "retried")}
    pool = type(whole)(offsets=np.array([0, 18, 36, 42]), **fields, **identity)
    first, second = packing_online._hours(day, pool)
    assert first == {
        **{"hour": 0, "machine_hours": 13 / 12, "n_tasks": 2, "n_placed": 2, "n_unplaceable": 1, "overflows": 1},
        **{"moments": 13, "cpu_hours": 0.75, "retried_cpu_hours": 0},
    }
    # Half an hour: 18 machines × 5 minutes, five tasks at a time; .75 ÷ 2 of two, and .75 ÷ 2 of the third.
    assert second == {
        **{"hour": 1, "machine_hours": 1.5, "n_tasks": 5, "n_placed": 3, "n_unplaceable": 0, "overflows": 2},
        **{"moments": 18, "cpu_hours": 0.75, "retried_cpu_hours": 0.375},
    }


# --- memory and promises ---------------------------------------------------------------------------


@pytest.mark.parametrize(("disk", "resources", "n"), [(None, 2, 1), ([0.5, 0.75, 0.5], 3, 2)])
def test_memory_is_limited_by_its_maximum_and_disk_by_the_request(
    disk: list[float] | None, resources: int, n: int
) -> None:
    cpu = np.full((3, 200), 0.125, np.float32)
    memory = np.repeat(np.float32([[0.25], [0.25], [0.25]]), 200, axis=1)
    # The third task needs .5 at one moment in two hundred: .25 + .25 + .5 fit, and .51 would not.
    memory[2, 7] = 0.5
    instance = cast(Any, SimpleNamespace(inst=cpu, seen=Observation(cpu), number=4, draw=lambda column: memory))
    found = packing_memory._rows(instance, None if disk is None else np.array(disk))
    assert len(found) == 7 * 3
    vector = [row for row in found if row["cpu"].startswith("vector-gpa")]
    assert {(row["cpu"], row["memory"], row["resources"], row["m_abs"]) for row in vector} == {
        ("vector-gpa 0.001", "percentile 100", resources, n)
    }
    assert [row["packer"] for row in vector] == ["first-fit", "best-fit", "dot-product"]
    pairs = [row for row in found if row not in vector]
    assert {row["resources"] for row in pairs} == {2}
    assert {(row["cpu"], row["memory"]) for row in pairs} == {
        (cpu.label, memory.label) for cpu, memory in packing_memory.tests()
    }
    # .25 + .25 + .25125 of memory, less than one machine; nothing overflows.
    expected = {"instance": 4, "lower_bound": 1, "q_cpu": 0, "q_memory": 0, "n_unplaceable": 0}
    assert all({name: row[name] for name in expected} == expected for row in found)


def test_each_resource_overflows_on_its_own() -> None:
    # One machine by mean CPU and a maximum of memory of which every moment is known.
    cpu = np.tile(np.float32([0.25, 1.25, 0.25, 0.25]), (2, 50))
    memory = np.full((2, 200), 0.75, np.float32)
    instance = cast(Any, SimpleNamespace(inst=cpu, seen=Observation(cpu), number=0, draw=lambda column: memory))
    found = {(row["cpu"], row["memory"], row["packer"]): row for row in packing_memory._rows(instance, None)}
    row = found["average 1.25", "percentile 100", "first-fit"]
    # Memory parts the two tasks; each exceeds its machine's CPU in one of four moments; 2 · .75 of memory bound it.
    assert (row["m_abs"], row["q_cpu"], row["q_memory"], row["lower_bound"]) == (2, 0.25, 0, 2)
    assert found["gpa 0.001", "percentile 100", "first-fit"]["n_unplaceable"] == 2


def test_a_class_is_judged_beside_the_stricter_ones_on_machines_that_hold_it() -> None:
    classes = cast(Any, SimpleNamespace(names=("lax", "strict"), targets=(0.1, 0.01), rank=np.array([0, 1, 1, 1])))
    packing = Packing(np.array([0, 0, 1, -1]), np.ones((3, 1)), np.arange(3))
    later = np.float32([[0.5, 0.75, 0.5, 0.5], [0.25, 0.5, 0.75, 0.25], [1.5, 0.5, 0.5, 1.5], [9, 9, 9, 9]])
    lax, strict = packing_promises._judged(packing, later, classes)
    # On machine 0 both together exceed 1 in two of four moments, on machine 1 the strict task alone in two.
    bound = math.ceil((2.25 + 1.75 + 4) / 4)
    common = {"m_abs": packing.n_bins, "lower_bound": bound, "n_unplaceable": 1}
    assert lax == common | {"tier": "lax", "target": 0.1, "q": 4 / 8, "n_of_tier": 1}
    assert strict == common | {"tier": "strict", "target": 0.01, "q": 2 / 8, "n_of_tier": 3}
    # A class of one machine, and one without any.
    ranks = cast(Any, SimpleNamespace(names=("none", "one"), targets=(0.1, 0.2), rank=np.array([-1, -1, 1, -1])))
    first, last = packing_promises._judged(packing, later, ranks)
    assert (first["n_of_tier"], last["n_of_tier"], last["q"]) == (0, 1, 2 / 4)
    empty = cast(Any, SimpleNamespace(names=("none",), targets=(0.1,), rank=np.array([-1] * 4)))
    assert packing_promises._judged(packing, later, empty)[0]["q"] == 0.0


class Drawing:
    """Draws that are known: tasks in their order, and who has no past."""

    def __init__(self) -> None:
        self.seeds: list[Any] = []

    def __call__(self, seed: Any) -> Any:
        self.seeds.append(seed)
        return self

    def permutation(self, n: int) -> np.ndarray:
        return np.arange(n)[::-1]

    def random(self, n: int) -> np.ndarray:
        # The first task has a past whatever is drawn; .1 is not below a tenth.
        return np.array([0.0, 0.1, 0.0999, 0.5])[:n]

    def integers(self, most: int, size: int) -> np.ndarray:
        return np.arange(size) % most


@pytest.mark.parametrize(
    ("slots", "learned", "cuts"),
    [
        # Less than two days: half of it, and no hours of the day.
        (400, 200, 1),
        (575, 287, 1),
        # Whole days but the last one.
        (576, 288, 2),
        (720, 288, 2),
        (870, 576, 2),
    ],
)
def test_what_is_learned_and_who_has_no_past(
    monkeypatch: pytest.MonkeyPatch, slots: int, learned: int, cuts: int
) -> None:
    asked: list[Any] = []

    def with_priors(mean: np.ndarray, variance: np.ndarray, unseen: np.ndarray, *kin: Any) -> Any:
        asked.append((mean.shape, unseen.tolist(), len(kin)))
        return mean, variance

    hours: list[np.ndarray] = []
    known = packing_promises._moments

    def moments(values: np.ndarray, of_day: np.ndarray) -> Any:
        hours.append(of_day)
        return known(values, of_day)

    pool = on_clock(np.full((5, slots), 0.25), start=[6] * 5)
    span = packing_promises.longest_busy_span(pool, slots // 12, 2)
    assert (span.first, len(span.tasks)) == (6, 5)
    drawing = Drawing()
    monkeypatch.setattr(packing_promises, "with_priors", with_priors)
    monkeypatch.setattr(packing_promises, "_moments", moments)
    monkeypatch.setattr(packing_promises, "longest_busy_span", lambda *asked: type(span)(6, slots, span.tasks))
    monkeypatch.setattr(np.random, "default_rng", drawing)
    options = SimpleNamespace(promises="production=0.999,free=0.95", seed=3, hours=72, size=4, instances=2)
    study = cast(Study, SimpleNamespace(pool=lambda options: pool))
    found = packing_promises.compute(study, cast(Any, options)).to_pylist()
    # Of random classes, and of each instance.
    assert drawing.seeds == [[3, 7], [3, 0, 11], [3, 1, 11]]
    assert len(asked) == 2 * cuts
    assert {tuple(unseen) for _, unseen, _ in asked} == {(False, False, True, False)}
    assert {kin for *_, kin in asked} == {3}
    assert {len(of_day) for of_day in hours} == {learned}
    assert set(hours[0]) == {0}
    if cuts == 2:
        # The span begins at half past midnight: six slots of hour 0, then whole hours, then the rest of hour 0.
        assert hours[1][:18].tolist() == [0] * 6 + [1] * 12
        assert hours[1][282:288].tolist() == [0] * 6
    rows = {(row["instance"], row["n_unseen"], row["hours"], row["n_tasks"], row["classes"]) for row in found}
    assert rows == {(k, 1, (slots - learned) / 12, 4, "jobs at random") for k in (0, 1)}
    assert {row["way"] for row in found} == set(packing_promises.WAYS[: 2 + cuts])
    assert len(found) == 2 * 2 * (2 + cuts)


def test_moments_of_each_hour_that_occurs() -> None:
    values = np.float32([[0, 1, 0.5, 0.5], [0.25, 0.25, 0, 1]])
    mean, variance = packing_promises._moments(values, np.array([5, 5, 23, 23]))
    assert (mean.tolist(), variance.tolist()) == ([[0.5, 0.5], [0.25, 0.5]], [[0.25, 0], [0, 0.25]])


def promised(*found: tuple[str, str, float, float]) -> pa.Table:
    return pa.Table.from_pylist(
        [{"way": way, "tier": tier, "target": target, "q": q, "hours": 24.0} for way, tier, target, q in found]
    )


def test_the_strictest_promise_for_all_takes_more_machines_than_classes() -> None:
    # .3 and .3 with deviations of .1: .4 is 2.83 deviations of both, which .0023 exceed.
    mean, variance = np.full((2, 1), 0.3), np.full((2, 1), 0.01)
    classes = cast(Any, SimpleNamespace(targets=(0.4, 0.001), rank=np.array([0, 1])))
    seen = Observation(np.full((2, 4), 0.3, np.float32))
    found = list(packing_promises._packings([(mean, variance)], classes, seen))
    # All at .001, a class each on machines of its own, and both together: only the lax one suffers.
    assert [packing.n_bins for packing in found] == [2, 2, 1]


def test_what_is_said_of_promises() -> None:
    classes, by_hour = packing_promises.WAYS[2:]
    table = promised(
        (classes, "free", 0.05, 0.04), (classes, "production", 0.001, 0.002), (classes, "production", 0.001, 0.004)
    )
    assert packing_promises.answer(table) == (
        "Packed as classes, and judged on 24 later hours: free 0.96 of the time (0.95 promised), production 0.997 of"
        " the time (0.999 promised). Moments by the hour of the day need tasks that run for two days, these run for"
        " 48 h."
    )
    with pytest.raises(NotApplicable) as caught:
        measured(packing_promises, "promises-kept", table)
    assert str(caught.value) == "the tasks run for less than two days"
    both = promised((classes, "free", 0.05, 0.5), (by_hour, "free", 0.05, 0.04), (by_hour, "production", 0.001, 0.0005))
    assert packing_promises.answer(both) == (
        "Packed as classes by hour, and judged on 24 later hours: free 0.96 of the time (0.95 promised), production"
        " 0.9995 of the time (0.999 promised)."
    )
    assert measured(packing_promises, "promises-kept", both) == pytest.approx(0.8)


def test_capacity_in_use_on_unequal_machines() -> None:
    usage = np.full((2, 100), 0.3, np.float32)
    instance = cast(Any, SimpleNamespace(inst=usage, seen=Observation(usage), number=2))
    found = packing_machines._rows(instance, np.array([[0.5, 1.0, 1.0]]), 0)
    assert len(found) == 5 * 3 * 2
    rows = [row for row in found if row["estimator"] == "percentile 100"]
    assert [(row["order"], row["packer"]) for row in rows] == [
        (order, packer) for order in packing_machines.ORDERS for packer in ("first-fit", "best-fit")
    ]
    # Two machines of a half for .6: nothing overflows.
    expected = {"instance": 2, "n_machines": 2, "capacity": 1.0, "q": 0.0, "n_unplaceable": 0}
    assert all({name: row[name] for name in expected} == expected for row in rows)
    assert [row["m"] for row in rows] == pytest.approx([1 / 0.6] * 6)
    small = packing_machines._rows(instance, np.array([[0.25, 1.0, 1.0]]), 0)
    assert {(row["n_machines"], row["capacity"], row["m"], row["n_unplaceable"]) for row in small} == {(0, 0, 0, 2)}


def test_twice_as_many_machines_are_drawn_as_there_are_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def machines(table: Any, count: int, seed: int) -> np.ndarray:
        asked.append((table, count, seed))
        return np.array([[0.25, 9.0], [0.5, 1.0], [0.375, 7.0], [0.25, 1.0]])

    known = packing_machines.fit

    def fit(estimator: Any, seen: Observation, limit: float) -> Any:
        asked.append(limit)
        return known(estimator, seen, limit)

    monkeypatch.setattr(packing_machines, "machines", machines)
    monkeypatch.setattr(packing_machines, "fit", fit)
    usage = np.full((2, 100), 0.3, np.float32)
    instance = cast(Any, SimpleNamespace(inst=usage, seen=Observation(usage), number=2))
    found = packing_machines._rows(instance, cast(Any, "table"), 5)
    # Seeded by the instance; the largest of the machines is what estimators look at.
    assert asked == [("table", 4, 7), *[0.5] * 5]
    # .3 fits on those of .5 and of .375.
    rows = [row for row in found if row["estimator"] == "percentile 100"]
    assert {(row["n_machines"], row["capacity"]) for row in rows} == {(2, 0.875)}


def test_a_way_is_matched_by_its_overflow_without_rebalancing(monkeypatch: pytest.MonkeyPatch) -> None:
    cells: list[Cell] = []

    def averages(grid: Any, ways: list[Cell]) -> list[dict[str, Any]]:
        cells.extend(ways)
        return [
            {"estimator": "gpa", "is_rebalanced": cell.is_rebalanced, "q": 0.001 if cell.is_rebalanced else 0.01}
            for cell in ways
        ]

    curve = np.log([0.0001, 0.001, 0.01, 0.1]), np.array([40.0, 30.0, 20.0, 10.0])
    monkeypatch.setattr(packing_rare_events, "candidates", lambda target: [Gpa(target)])
    monkeypatch.setattr(packing_rare_events, "_averages", averages)
    monkeypatch.setattr(packing_rare_events, "_gpa_curve", lambda grid, target: curve)
    learning = cast(Any, SimpleNamespace(prepared=lambda estimator, cell: estimator))
    rows = packing_rare_events._rows("a pool", cast(Any, None), learning, 0.02)
    assert [(cell.estimator.label, cell.is_rebalanced) for cell in cells] == [("gpa 0.02", False), ("gpa 0.02", True)]
    expected = {"estimator": "gpa", "pool": "a pool", "target": 0.02, "matched_machines": 20.0, "used": Gpa(0.02).used}
    assert [{name: row[name] for name in expected} for row in rows] == [expected] * 2
    assert [(row["is_rebalanced"], row["q"]) for row in rows] == [(False, 0.01), (True, 0.001)]
    # To the end of the curve, and no further.
    assert packing_rare_events._matched(0.1, curve) == 10
    assert packing_rare_events._matched(0.101, curve) is None


def test_a_mix_is_taken_where_it_is_given() -> None:
    asked: list[Any] = []
    instances = SimpleNamespace(table=lambda rows: rows(SimpleNamespace()))
    study = cast(Study, SimpleNamespace(instances=lambda options: instances, machines=lambda: "those of the cell"))

    def rows_of(instance: Any, table: Any, seed: int) -> None:
        asked.append((table if isinstance(table, str) else table.tolist(), seed))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing_machines, "_rows", rows_of)
        for mix in ("", "0.5:1:2"):
            packing_machines.compute(study, cast(Any, SimpleNamespace(mix=mix, seed=3)))
    assert asked == [("those of the cell", 3), ([[0.5, 1.0, 2.0]], 3)]
