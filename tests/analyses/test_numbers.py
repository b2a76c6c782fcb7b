"""Numbers that claims and fronts are made of: trends, ranks, midpoints of bins, slopes; and blocks that do not show."""

from __future__ import annotations

import operator
import random
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from borgtrace.analyses.changes import change_sketch, window_change
from borgtrace.analyses.jobs import jobs_per_owner
from borgtrace.analyses.queue import queue_length
from borgtrace.analyses.reservations import reservation, sampling_period
from borgtrace.analyses.reservations.reservation_policies import (
    LIMITED,
    N_SUMS,
    OVERLOAD,
    RESERVED,
    SECONDS,
    USED,
    VIOLATED,
)
from borgtrace.analyses.shared import window_blocks
from borgtrace.analyses.shared.power_law import continuous_exponent, discrete_exponent
from borgtrace.analyses.shared.trends import rank_correlation, ranks, slope
from borgtrace.analyses.waits import load_and_times, moving_averages
from borgtrace.engine.spark_parts import MEMORY
from borgtrace.errors import UsageError
from borgtrace.question import NotApplicable, window_passes
from borgtrace.schema.time import DAY, WINDOW
from tests.analyses.test_claims import cpi, finding
from tests.analyses.tiny import arrow, at, on, tiny, window


def steps(n: int, **columns: list[float]) -> pa.Table:
    """Steps of half a day, behind two that hold what was there before the trace."""
    times = [WINDOW, 2 * WINDOW, *(3 * WINDOW + k * DAY // 2 for k in range(n))]
    return pa.table(
        {"time": times, **{name: [999.0, 999.0, *values] for name, values in columns.items()}}
    )


def test_a_trend_is_in_tasks_a_day_and_begins_with_the_trace() -> None:
    table = steps(5, pending=[5.0 * k for k in range(5)], running=[float(k) for k in range(5)])
    interval = queue_length.trend_of("pending", "running")(table)
    assert (interval.value, interval.low, interval.high) == pytest.approx((12, 12, 12))
    assert queue_length.trend_of("running")(table).value == pytest.approx(2)


@pytest.mark.parametrize(("n", "long_enough"), [(5, True), (4, False)])
def test_a_trend_takes_two_days(n: int, long_enough: bool) -> None:
    table = steps(n, pending=[float(k) for k in range(n)])
    if long_enough:
        assert queue_length.trend_of("pending")(table).value == pytest.approx(2)
    else:
        with pytest.raises(NotApplicable, match="the trace is shorter than two days"):
            queue_length.trend_of("pending")(table)


def test_three_steps_make_a_trend() -> None:
    def days(n: int) -> pa.Table:
        return pa.table(
            {
                "time": [3 * WINDOW + 2 * k * DAY for k in range(n)],
                "pending": [4.0 * k for k in range(n)],
            }
        )

    assert queue_length.trend_of("pending")(days(3)).value == pytest.approx(2)
    with pytest.raises(NotApplicable, match="the trace is shorter than two days"):
        queue_length.trend_of("pending")(days(2))


def test_values_that_are_alike_widen_the_interval() -> None:
    # y = 2x + e with e = (1, 1, −1, −1), centred x = (−1.5, −.5, .5, 1.5): Σx² = 5, Σxe = −4, so the slope is 2 − .8.
    x = np.arange(4.0)
    y = 2 * x + np.array([1.0, 1, -1, -1])
    scores = np.array([-1.5, -0.5, 0.5, 1.5]) * (
        np.array([1.0, 1, -1, -1]) + 0.8 * np.array([-1.5, -0.5, 0.5, 1.5])
    )
    plain = scores @ scores
    next_ = scores[1:] @ scores[:-1]
    for lags, variance in ((0, plain), (1, plain + 2 * 0.5 * next_)):
        half = 1.959963984540054 * variance**0.5 / 5
        interval = slope(y, x, lags)
        assert (interval.value, interval.low, interval.high) == pytest.approx(
            (1.2, 1.2 - half, 1.2 + half)
        )


def test_ties_share_their_rank() -> None:
    assert ranks(np.array([30.0, 10, 20, 20])).tolist() == [4, 1, 2.5, 2.5]
    # Spearman of (4, 1, 2.5, 2.5) and (1, 2, 3, 4): −1.5 ÷ √(4.5 · 5).
    assert rank_correlation(np.array([30.0, 10, 20, 20]), np.arange(4.0)).value == pytest.approx(
        -1.5 / 22.5**0.5
    )
    constant = rank_correlation(np.ones(9), np.arange(9.0))
    assert np.isnan([constant.value, constant.low, constant.high]).all()


def test_an_interval_of_a_correlation_is_drawn_in_blocks() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=40)
    interval = rank_correlation(x, x + rng.normal(size=40))
    assert -1 <= interval.low < interval.value < interval.high <= 1
    # The same seed, the same interval; fewer draws or another seed, another one.
    assert rank_correlation(x, x**3, seed=1) == rank_correlation(x, x**3, seed=1)
    assert rank_correlation(x, -x).high == pytest.approx(-1)


@pytest.mark.parametrize("n", [1, 3, 99, 100, 101, 102])
def test_every_rank_up_to_a_hundred_is_reported(n: int) -> None:
    assert jobs_per_owner.reported_ranks(n) == list(range(1, n + 1))


def test_later_ranks_are_reported_in_steps_up_to_the_last() -> None:
    ranks = jobs_per_owner.reported_ranks(10_000)
    assert ranks[:100] == list(range(1, 101))
    assert ranks[-1] == 10_000
    assert max(later / rank for rank, later in pairwise(ranks[99:])) < 1.04


def owners(kind: str, *shares: float) -> list[dict[str, Any]]:
    return [
        {
            "kind": kind,
            "rank": rank,
            "share": share,
        }
        for rank, share in enumerate(shares, 1)
    ]


def test_a_top_share_needs_twice_as_many_owners() -> None:
    rows = [*owners("user", 0.15, 1.0), *owners("logical name", 0.5, 0.6, 1.0)]
    assert finding("jobs_per_owner", "JE-top-user", rows).measured == "0.15"
    alone = finding("jobs_per_owner", "JE-top-user", rows[:1] + rows[2:])
    assert alone.reason == "fewer than 2 owners of the kind user"
    ten = owners("user", *(k / 20 for k in range(1, 21)))
    assert finding("jobs_per_owner", "JE-top-ten", ten).measured == "0.5"
    assert (
        finding("jobs_per_owner", "JE-top-ten", ten[:-1]).reason
        == "fewer than 20 owners of the kind user"
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([], "no window has a cpi"),
        (cpi(2.0), "every window was measured under the same condition"),
        (cpi(0.0, 0.0), "every window was measured under the same condition"),
    ],
)
def test_why_a_slope_is_not_known(answer: list[dict[str, Any]], reason: str) -> None:
    rows = answer or [{**cpi(1.0)[0], "metric": "mai"}]
    assert finding("interference", "VERMA-cpi-cpu", rows).reason == reason


def test_a_slope_is_weighted_by_time() -> None:
    rows = cpi(2.0, 2.2, 9.0)
    # The third bin has no time.
    rows[2]["seconds"] = 0
    assert float(finding("interference", "VERMA-cpi-cpu", rows).measured) == pytest.approx(
        0.2 / 2.1, rel=1e-3
    )


def test_a_mean_peak_is_that_of_the_midpoints() -> None:
    peaks = [
        {
            "resource": "cpu",
            "bin": number,
            "n_within": n,
        }
        for number, n in (
            (0, 0),
            (1, 3),
            (3, 1),
        )
    ]
    # (3 · 7.5 % + 17.5 %) ÷ 4.
    assert finding("peak_to_request", "KOR-mean-cpu", peaks).measured == "0.1"
    assert finding("peak_to_request", "KOR-first-bin-cpu", peaks).measured == "0"
    nothing = "no task has a cpu peak within its request"
    assert finding("peak_to_request", "KOR-mean-cpu", peaks[:1]).reason == nothing


def days(n: int, waits: list[float], pending: list[float]) -> pa.Table:
    columns = {
        "mean_wait": waits[:n],
        "mean_run": [1.0] * n,
        "mean_pending": pending[:n],
    }
    return pa.table({"day": list(range(n)), **columns})


def test_waits_and_load_are_compared_over_a_week() -> None:
    rising = [float(k) for k in range(7)]
    assert load_and_times.correlation_with_queue("mean_wait")(
        days(7, rising, rising)
    ).value == pytest.approx(1)
    with pytest.raises(NotApplicable, match="the trace is shorter than a week"):
        load_and_times.correlation_with_queue("mean_wait")(days(6, rising, rising))
    with pytest.raises(NotApplicable, match="one of the two series is constant"):
        load_and_times.correlation_with_queue("mean_run")(days(7, rising, rising))


def test_the_front_holds_what_nothing_else_beats() -> None:
    n = len(reservation.SETTINGS)
    sums = np.zeros((n, N_SUMS), np.int64)
    sums[:, LIMITED], sums[:, SECONDS], sums[:, USED] = 100, 100, 50
    # All others reclaim nothing and are violated half of the time.
    sums[:, RESERVED], sums[:, VIOLATED] = 100, 50
    for place, reserved, violated in (
        (0, 100, 0),
        (1, 60, 10),
        (2, 60, 10),
        (3, 60, 20),
        (4, 70, 10),
        (5, 40, 30),
    ):
        sums[place, [RESERVED, VIOLATED]] = reserved, violated
    sums[5, OVERLOAD] = 5
    rows = reservation.rows_of_settings(sums, np.array([np.nan, *[0.25] * (n - 1)]))
    # The third is violated more often, the fourth reclaims less than the first two; these two are equal.
    assert [row["is_on_front"] for row in rows][:6] == [True, True, True, False, False, True]
    assert not any(row["is_on_front"] for row in rows[6:])
    value_by_key = {
        name: rows[5][name] for name in ("reclaimed", "violated", "overload", "seconds", "margin")
    }
    assert value_by_key == {
        "reclaimed": 0.6,
        "violated": 0.3,
        "overload": 0.1,
        "seconds": 100,
        "margin": 0.25,
    }
    assert rows[0]["margin"] is None
    sums[:, USED] = 0
    assert reservation.rows_of_settings(sums, np.zeros(n))[5]["overload"] is None


USAGE = [
    window(task, 300 * k, cpu, cpu / 2, sampled_cpu=cpu)
    for task, series in (
        (1, (0.5, 0.625, 0.5)),
        (2, (0.25, 0.25, 0.5)),
        (3, (0.125, 0.25)),
    )
    for k, cpu in enumerate(series)
]
TASKS = [
    {
        "collection_id": task,
        "priority": 9,
        "cpu_request": 1.0,
        "memory_request": 0.5,
        "seconds": 900.0,
    }
    for task in (1, 2, 3)
]


@pytest.mark.parametrize(
    "question", [reservation, sampling_period], ids=["reservation", "sampling_period"]
)
def test_the_number_of_blocks_does_not_show(question: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = question.QUESTION.run(tiny(instance_usage=USAGE, tasks=TASKS))
    n_additions: list[int] = []
    add = operator.add

    def counted_add(first: Any, second: Any) -> Any:
        n_additions.append(1)
        return add(first, second)

    monkeypatch.setattr(window_passes, "add", counted_add)
    # Eight windows, three to a block: three blocks, added twice.
    monkeypatch.setattr(window_blocks, "ROWS_PER_RANGE", 3)
    parts = question.QUESTION.run(tiny(instance_usage=USAGE, tasks=TASKS))
    assert parts.table.num_rows
    assert parts.table.equals(whole.table)
    # A reservation is learned from first, and then replayed.
    assert len(n_additions) == (4 if question is reservation else 2)


@pytest.mark.parametrize(
    "question",
    [reservation, sampling_period, window_change, change_sketch],
    ids=["reservation", "sampling_period", "window_change", "change_sketch"],
)
@pytest.mark.parametrize("rows_per_block", [1, 3, 1000])
def test_neither_the_order_of_rows_nor_small_blocks_show(
    question: Any, rows_per_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = question.QUESTION.run(tiny(instance_usage=USAGE, tasks=TASKS)).table
    monkeypatch.setattr(window_blocks, "ROWS_PER_BLOCK", rows_per_block)
    assert whole.num_rows
    for seed in range(4):
        usage, tasks = list(USAGE), list(TASKS)
        # The first is the order of a store, which streams; the others are sorted first.
        if seed:
            random.Random(seed).shuffle(usage)
            random.Random(seed).shuffle(tasks)
        assert question.QUESTION.run(tiny(instance_usage=usage, tasks=tasks)).table.equals(whole)


def test_a_block_holds_whole_collections_of_one_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_blocks, "ROWS_PER_RANGE", 4)
    # Two of two windows fill a block; one of five is not cut, and takes the next one along.
    sizes = {
        7: 2,
        9: 2,
        11: 5,
        20: 1,
    }
    usage = [window(task, 300 * k, 0.5, 0.5) for task, n in sizes.items() for k in range(n)]
    tables = tiny(instance_usage=usage)
    assert list(window_blocks.collection_ranges(tables)) == [(7, 9), (11, 20)]


@pytest.mark.parametrize(
    "question", [window_change, change_sketch], ids=["window_change", "change_sketch"]
)
def test_blocks_give_the_changes_that_sql_gives(
    question: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two windows in a slot, gaps, nothing before something, and values that are not known."""
    rng = random.Random(3)
    values = (None, 0.0, 0.1, 0.2, 0.3, 0.7)
    usage = [
        window(task, 150 * k, rng.choice(values), rng.choice(values), length=rng.choice((75, 150)))
        for task in range(12)
        for k in range(30)
        if rng.random() < 0.8
    ]
    monkeypatch.setattr(window_blocks, "ROWS_PER_RANGE", 50)
    compiled = tiny(instance_usage=usage)
    sql = tiny(instance_usage=usage)
    sql.has_blocks = False
    table = question.QUESTION.run(compiled).table
    assert table.num_rows > 20
    assert table.equals(question.QUESTION.run(sql).table)


def test_columns_of_a_task_stand_beside_each_of_its_windows() -> None:
    usage = arrow(
        "instance_usage",
        [
            window(task, start, 0.5)
            for task, start in (
                (8, 300),
                (7, 0),
                (8, 0),
            )
        ],
    )
    tasks = pa.table(
        {
            "collection_id": [8, 9],
            "instance_index": [0, 0],
            "tier": [2, 1],
        }
    )
    block = window_blocks.with_task_columns(window_blocks.in_order(usage), tasks)
    assert block["collection_id"].to_pylist() == [7, 8, 8]
    assert block["start_time"].to_pylist() == [
        at(0),
        at(0),
        at(300),
    ]
    # No event names task 7.
    assert block["tier"].to_pylist() == [None, 2, 2]


def lag(n: int, usual: int, tenth: int, last: int) -> list[dict[str, Any]]:
    """Steps in which schedulings trail by `usual`, in the last tenth by `tenth`, and at the end by `last`.

    Before the trace nothing is submitted.  Half of what trails waits; the other half ended while pending.
    """
    behind = [0, *[usual] * (n * 9 // 10), *[tenth] * (n - n * 9 // 10)]
    behind[-1] = last
    return [
        {"submitted": 2000 + lag_of_step, "scheduled": 2000, "pending": lag_of_step // 2}
        for lag_of_step in behind
    ]


@pytest.mark.parametrize(
    ("rows", "measured"),
    [
        (lag(288, 10, 1000, 30), "3"),
        (lag(300, 20, 5, 10), "0.5"),
        (lag(287, 10, 1000, 30), "the trace is shorter than a day"),
        (lag(288, 0, 1000, 30), "scheduling never lags behind submission"),
    ],
)
def test_how_far_scheduling_trails_at_the_end(rows: list[dict[str, Any]], measured: str) -> None:
    judged = finding("submissions", "S4-obs6", rows)
    assert (judged.reason or judged.measured) == measured


@pytest.mark.parametrize(
    ("waiting", "verdict", "measured"),
    [(2, "does not hold", "0.2"), (30, "holds", "3"), (10, "does not hold", "1")],
)
def test_the_gap_may_grow_while_the_queue_is_short(
    waiting: int, verdict: str, measured: str
) -> None:
    """Tasks that were killed while they waited keep the gap at 30 for ever; the queue forgets them."""
    rows = [row | {"pending": 10} for row in lag(300, 20, 25, 30)]
    rows[-1] |= {"pending": waiting}
    gap = finding("submissions", "S4-obs6", rows)
    queue = finding("submissions", "S4-obs6-queue", rows)
    assert (gap.verdict, gap.measured) == ("holds", "1.5")
    assert (queue.verdict, queue.measured) == (verdict, measured)


def resubmitted(*days: int) -> list[dict[str, Any]]:
    """Days of two hours that have rows, the first and the last."""
    return [
        {
            "hour": 24 * day + hour,
            "n_new": 4,
            "n_again": n // 2,
        }
        for day, n in enumerate(days)
        for hour in (0, 23)
    ]


@pytest.mark.parametrize(
    ("days_", "measured"),
    [
        # Twice the median of 10 is not more than it.
        ((10, 10, 50, 50, 20, 10, 22, 10, 10), "2"),
        ((50, 10, 10, 10, 10, 10, 50), "2"),
        ((10, 10, 10, 10, 10, 10, 10), "0"),
        ((10, 10, 50, 50, 20, 22), "the trace is shorter than a week"),
        ((0, 0, 50, 0, 0, 0, 0), "no task is resubmitted on most days"),
    ],
)
def test_lumps_are_days_of_more_than_twice_the_median(days_: tuple[int], measured: str) -> None:
    judged = finding("resubmissions", "S4-obs3", resubmitted(*days_))
    assert (judged.reason or judged.measured) == measured


def test_without_new_tasks_there_is_no_ratio() -> None:
    rows = [{**row, "n_new": 0} for row in resubmitted(10, 10)]
    assert (
        finding("resubmissions", "TIR-resubmitted-2011", rows).reason
        == "no new task arrives in most hours"
    )


def test_a_trailing_average_is_over_the_last_steps() -> None:
    sums = pa.table(
        {
            "period": [2, 4],
            "total": [10_000_000, 6_000_000],
            "n": [2, 1],
        }
    )
    averages = moving_averages.trailing_averages(
        sums,
        first=1,
        last=5,
        width=2,
    )
    assert averages.n.tolist() == [0, 2, 2, 1, 1]
    assert averages.mean.tolist() == pytest.approx([np.nan, 5, 5, 6, 6], nan_ok=True)
    of_one_step = moving_averages.trailing_averages(
        sums,
        first=2,
        last=4,
        width=1,
    )
    assert of_one_step.n.tolist() == [2, 0, 1]
    of_three_steps = moving_averages.trailing_averages(
        sums,
        first=2,
        last=4,
        width=3,
    )
    assert of_three_steps.mean.tolist() == [5, 5, 16 / 3]


@pytest.mark.parametrize(
    ("trailing", "step"),
    [
        (299, 300),
        (450, 300),
    ],
)
def test_an_average_trails_by_whole_steps(trailing: int, step: int) -> None:
    with pytest.raises(UsageError) as caught:
        moving_averages.compute(tiny(), trailing=trailing, step=step)
    assert (
        str(caught.value)
        == f"trailing: not a multiple of step: expected a multiple of {step}us, got {trailing}us"
    )


def test_a_tail_begins_above_its_start_or_with_it() -> None:
    values = np.array([1.0, np.e, np.e**2])
    once = np.array([5, 1, 1])
    # Hill: 1 is not above 1; logarithms of 1 and 2.
    assert continuous_exponent(values, once, 1.0) == pytest.approx(2 / 3)
    assert np.isnan(continuous_exponent(values, once, np.e**2))
    # The zeta law counts the start in, and needs a second value.
    assert discrete_exponent(np.array([1, 2]), np.array([1, 1]), 1) < 10
    assert np.isnan(discrete_exponent(np.array([1, 2]), np.array([1, 1]), 2))


class Frame:
    """Stands for Spark: groups rows by a column and runs a function on each group, in whatever order."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows, self.by = rows, ""

    def groupBy(self, by: str) -> Frame:
        self.by = by
        return self

    def applyInArrow(self, work: Any, schema: str) -> list[pa.Table]:
        assert schema == "position long, value long"
        rows = self.rows[self.by].unique().to_pylist()
        return [
            work(self.rows.filter(pc.equal(self.rows[self.by], block))) for block in reversed(rows)
        ]


def test_workers_add_up_to_the_same_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    from borgtrace.engine import spark

    # In files: what is in memory goes to tasks with the query.
    tables = on("duckdb", "2011", instance_usage=USAGE, tasks=TASKS)
    blocks = []

    def session(backend: Any) -> Any:
        def sql(query: str) -> Frame:
            frame = Frame(backend.con.sql(query).to_arrow_table())
            blocks.append(len(frame.rows["block"].unique()))
            return frame

        context = SimpleNamespace(master="local[2]", defaultParallelism=2)
        return SimpleNamespace(sql=sql, conf={MEMORY: 2**30}, sparkContext=context)

    monkeypatch.setattr(spark, "spark_session", session)
    monkeypatch.setattr(spark, "frame_to_arrow", pa.concat_tables)
    expected = reservation.QUESTION.run(tiny(instance_usage=USAGE, tasks=TASKS)).table
    tables.engine = "local[2]"
    assert reservation.QUESTION.run(tables).table.equals(expected)
    # Three jobs are dealt to three workers, however small the store is.
    assert set(blocks) == {3}
