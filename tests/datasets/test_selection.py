"""Selection, order, split and leakage: what is chosen, in which order, and what is refused."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from borgtrace.datasets import DatasetOptions, Selection, Split
from borgtrace.datasets.formats import FORMATS
from borgtrace.datasets.leakage import running_on, shared_groups
from borgtrace.datasets.trace_index import select_traces, shuffled
from borgtrace.errors import UsageError
from borgtrace.schema import dialect

from .stores import ArrayStore, array_store


def _chosen(store: object, **options: object) -> list[int]:
    """First rows of what is chosen: lengths are distinct powers, so they name the task."""
    return sorted(select_traces(store, Selection(**options), {}, 0).n_windows.tolist())  # type: ignore[arg-type]


def test_bounds_are_inclusive() -> None:
    assert _chosen(
        array_store([4, 5, 6, 49, 50, 51]),
        min_length=5,
        max_length=50,
    ) == [
        5,
        6,
        49,
        50,
    ]
    assert _chosen(array_store([1, 4000]), min_length=1, max_length=None) == [1, 4000]


@pytest.mark.parametrize(
    ("column", "values", "options"),
    [
        ("priority", np.array([0, 1, 9, 10], np.int32), {"tiers": ("production",)}),
        ("priority", np.array([0, 1, 9, 10], np.int32), {"priorities": (9, 10)}),
        ("scheduling_class", np.array([0, 1, 2, 3], np.int32), {"scheduling_classes": (2, 3)}),
        ("user", ["a", "b", "it's", "it's"], {"users": ("it's",)}),
        ("end_type", ["FINISH", None, "KILL", "EVICT"], {"end_types": ("KILL", "EVICT")}),
        ("mean_average_cpu", np.array([0.1, 0.2, 0.3, 0.4]), {"min_mean": 0.3}),
        ("first_time", np.array([1, 2, 3, 4]), {"time": (3, 2**62)}),
        ("n_gaps", np.array([1, 2, 0, 0], np.int32), {"gaps": "drop"}),
        (
            "priority",
            np.array([0, 1, 9, 10], np.int32),
            {"where": "priority > 8 or priority is null"},
        ),
    ],
)
def test_each_option_keeps_the_last_two_of_four(
    column: str, values: object, options: dict[str, object]
) -> None:
    assert _chosen(array_store([5, 6, 7, 8], **{column: values}), **options) == [7, 8]


def test_alloc_instances_are_no_tasks() -> None:
    store = array_store([5, 6], collection_type=["JOB", "ALLOC_SET"])
    assert _chosen(store) == [5]
    assert _chosen(store, instances="allocs") == [6]


def test_a_trace_without_alloc_sets_has_no_traces_of_them() -> None:
    with pytest.raises(UsageError) as caught:
        _chosen(array_store([5]), instances="allocs")
    assert str(caught.value) == (
        "selection: no alloc instance matches: expected at least one, "
        "got 0 where collection_type = 'ALLOC_SET' and n_windows > 0; see borgtrace dataset STORE --histogram"
    )


def test_other_instances_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        Selection(instances="machines")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "--instances: unknown name: expected tasks or allocs, got machines"
    )


def test_on_a_grid_the_bounds_are_on_slots() -> None:
    store = array_store([2, 3, 4])
    store.arrays["start_time"][:] = [600, 2100, 600, 900, 1200, 600, 900, 1200, 1500]
    assert _chosen(
        store,
        gaps="grid",
        min_length=4,
        max_length=6,
    ) == [2, 4]  # spans 6, 3, 4


def test_a_subset_is_drawn_by_the_seed() -> None:
    store = array_store([5] * 100)
    first = select_traces(store, Selection(sample=10), {}, 0).first_row
    assert select_traces(store, Selection(sample=10), {}, 0).first_row.tolist() == first.tolist()
    assert select_traces(store, Selection(sample=10), {}, 1).first_row.tolist() != first.tolist()
    assert len(set(first.tolist())) == 10
    assert select_traces(store, Selection(sample=10), {}, 0).n_matched == 100


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Selection(min_length=0),
            "--min-length: out of range: expected 1 to 1,000,000,000, got 0",
        ),
        (
            lambda: Selection(min_length=9, max_length=8),
            "--max-length: below --min-length: expected at least 9, got 8",
        ),
        (
            lambda: Selection(sample=0),
            "--sample: out of range: expected 1 to 1,000,000,000, got 0",
        ),
        (
            lambda: Selection(time=(5, 5)),
            "--time: the end is not after the start: expected A..B with A < B, got 5..5",
        ),
        (
            lambda: Selection(gaps="fill"),
            "--gaps: unknown name: expected keep or grid or drop, got fill",
        ),
        (
            lambda: Selection(end_types=("DONE",)),
            "--end-type: unknown name: expected EVICT or FAIL or FINISH or KILL or LOST, got DONE",
        ),
        (
            lambda: Selection(tiers=("beb",)).condition(dialect("2011")),
            "--tier: unknown name: expected free or other or production or monitoring, got beb",
        ),
        (
            lambda: Split((0.9, 0.2)),
            "--split: fractions exceed 1: expected a sum of at most 1, got 0.9,0.2; try 0.7,0.1,0.2",
        ),
        (
            lambda: Split((0.5, -0.1)),
            "--split: not a fraction: expected numbers from 0 to 1, the first above 0, got 0.5,-0.1",
        ),
        (
            lambda: Split((0.1,) * 4),
            "--split: wrong number of fractions: expected 1 to 3, got 0.1,0.1,0.1,0.1",
        ),
        (
            lambda: Split(by="week"),
            "--split-by: unknown way to split: expected task or job or user or time, got week",
        ),
        (
            lambda: DatasetOptions(format="csv"),
            f"--format: unknown name: expected {' or '.join(FORMATS)}, got csv",
        ),
        (
            lambda: DatasetOptions(seed=-1),
            "--seed: out of range: expected 0 to 4,294,967,295, got -1",
        ),
        (
            lambda: DatasetOptions(shards=0),
            "--shards: out of range: expected 1 to 65,536, got 0",
        ),
        (
            lambda: DatasetOptions(compat="original", format="npz"),
            "--format: conflicts with --compat original: expected tfrecord, got npz",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "options",
    [
        {"min_length": 1, "max_length": 1},
        {"min_length": 5, "max_length": 5},
        {"sample": 1},
        {"time": (5, 6)},
    ],
    ids=str,
)
def test_the_least_that_makes_sense_is_allowed(options: dict[str, object]) -> None:
    Selection(**options)  # type: ignore[arg-type]


def test_a_bad_predicate_is_named() -> None:
    with pytest.raises(
        UsageError, match=r"^--where: not a predicate over tasks: got .*nope.*info STORE --schema$"
    ):
        select_traces(array_store([5]), Selection(where="nope > 1"), {}, 0)


def test_the_order_of_2017_is_that_of_sorted_paths() -> None:
    def path(job: int) -> str:
        digest = hashlib.md5(str(job).encode()).hexdigest()
        return f"{digest[:2]}/{job}.sqlite3"

    # Jobs of one digit and of nineteen, and 12 before 120; tasks in order of number: 2 before 10.
    job_ids = (9, 12, 120, 121, 10**18, 2**63 - 1)
    tasks = [(job, task) for job in job_ids for task in (10, 2)]
    jobs, numbers = (np.array(column) for column in zip(*tasks, strict=True))
    lengths = list(range(5, 5 + len(tasks)))
    store = array_store(lengths, collection_id=jobs, instance_index=numbers.astype(np.int32))
    drawn = select_traces(
        store,
        Selection(),
        {},
        0,
        is_original=True,
    )

    def order(k: int) -> tuple[str, int]:
        job, task = tasks[k]
        return path(job), task

    expected = sorted(range(len(tasks)), key=order)
    np.random.RandomState(0).shuffle(expected)
    assert drawn.length.tolist() == [lengths[k] for k in expected]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(0, 50))
def test_the_shuffle_is_that_of_a_list(seed: int, n: int) -> None:
    items = list(range(n))
    np.random.RandomState(seed).shuffle(items)
    assert shuffled(np.arange(n), seed).tolist() == items


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=60),
    st.sampled_from(
        [
            (0.7, 0.1, 0.2),
            (0.5, 0.25),
            (1.0,),
        ]
    ),
)
def test_groups_stay_whole_and_sets_are_disjoint(
    groups: list[int], fractions: tuple[float, ...]
) -> None:
    sets = Split(fractions, "job").divide(
        len(groups),
        np.array(groups),
        np.zeros(len(groups)),
    )
    owners = [{groups[i] for i in index} for index in sets]
    assert all(not a & b for k, a in enumerate(owners) for b in owners[:k])
    assert len(np.concatenate(sets)) == len(set(np.concatenate(sets).tolist()))
    if sum(fractions) == 1:
        assert sum(map(len, sets)) == len(groups)


def test_a_split_by_time_puts_the_past_first() -> None:
    start = np.array([30, 10, 20, 40])
    training, testing = Split((0.5, 0.5), "time").divide(4, None, start)
    assert training.tolist() == [1, 2]
    assert testing.tolist() == [0, 3]
    assert running_on(
        {"training": training, "testing": testing}, start, np.array([99, 15, 31, 99])
    ) == {"training → testing": 1}


def test_leakage_counts_groups_and_traces() -> None:
    sets = {
        "training": np.array([0, 1, 2]),
        "validation": np.array([], np.int64),
        "testing": np.array([3, 4, 5]),
    }
    found = shared_groups(sets, {"user": np.array([0, 1, -1, 1, 1, -1])})
    assert [str(entry) for entry in found] == [
        "validation: 0 of 0 users are in training too (0 of 0 traces, 0.0 %)",
        "testing: 1 of 1 users are in training too (2 of 3 traces, 66.7 %)",
        "testing: 0 of 1 users are in validation too (0 of 3 traces, 0.0 %)",
    ]


def test_the_order_in_which_the_engine_answers_does_not_matter() -> None:
    class Backwards(ArrayStore):
        def sql(self, query: str) -> pa.Table:
            table = super().sql(query)
            return table.take(list(range(table.num_rows))[::-1])

    store = array_store([5, 6, 7, 8, 9])
    forwards = select_traces(store, Selection(), {}, 0)
    backwards = select_traces(Backwards(store.tasks, store.arrays), Selection(), {}, 0)
    for name in ("first_row", "n_windows", "collection_id", "instance_index", "first_time"):
        assert getattr(forwards, name).tolist() == getattr(backwards, name).tolist()


def test_monitoring_of_2011_is_asked_for_by_name_and_stays_production() -> None:
    """The format document has priorities 10 and 11 as monitoring, the papers 9 to 11 as production."""
    assert Selection(tiers=("monitoring",)).terms(dialect("2011")) == {
        "--tier": "(priority between 10 and 11)"
    }
    assert Selection(tiers=("production",)).terms(dialect("2011")) == {
        "--tier": "(priority between 9 and 11)"
    }
    assert dialect("2011").tier_of(10) == "production"
    assert Selection(tiers=("monitoring",)).terms(dialect("2019")) == {
        "--tier": f"(priority between 360 and {2**31 - 1})"
    }
