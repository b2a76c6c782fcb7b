"""Tables of splits, leakage and shards: rows in, sets out, at each threshold and just beside it."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from borgtrace.datasets import DatasetOptions, Selection, Split
from borgtrace.datasets.leakage import Leakage, Overlap, running_on, shared_groups
from borgtrace.datasets.shards import default_shards, shard_name, shard_numbers, shard_prefixes
from borgtrace.datasets.trace_index import select_traces
from borgtrace.errors import UsageError

from .stores import array_store


@pytest.mark.parametrize(
    ("fractions", "n", "expected"),
    [
        ((0.5, 0.25), 8, [[0, 1, 2, 3], [4, 5]]),  # what remains is dropped
        (
            (0.5, 0.25, 0.25),
            7,
            [
                [0, 1, 2],
                [3],
                [4],
            ],
        ),  # each share is cut to whole traces
        ((1.0,), 2, [[0, 1]]),
        (
            (0.7, 0.1, 0.2),
            1,
            [
                [],
                [],
                [],
            ],
        ),
        ((1.0, 0.0), 2, [[0, 1], []]),
    ],
)
def test_traces_are_dealt_in_the_order_given(
    fractions: tuple[float, ...], n: int, expected: list[list[int]]
) -> None:
    found = Split(fractions).divide(n, None, np.zeros(n, np.int64))
    assert [index.tolist() for index in found] == expected


def test_a_split_by_trace_knows_no_groups_and_no_time() -> None:
    found = Split((0.5, 0.5), "task").divide(
        4,
        np.array([0, 0, 0, 0]),
        np.array([9, 8, 7, 6]),
    )
    assert [index.tolist() for index in found] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (
            [0, 1, 2, 3],
            [
                [0, 1],
                [2],
                [3],
            ],
        ),  # limits at 2 and 3: each group begins at its own place
        (
            [0, 0, 1, 1],
            [
                [0, 1],
                [2, 3],
                [],
            ],
        ),  # begins at 2, at the limit: the next set
        (
            [0, 1, 1, 2],
            [
                [0, 1, 2],
                [],
                [3],
            ],
        ),  # begins at 1, below the limit, and stays whole; then 3, at the limit
        (
            [2, 0, 0, 1],
            [
                [0, 1, 2],
                [],
                [3],
            ],
        ),  # the order is that of first traces, not of numbers
        (
            [-1, 0, -1, 1],
            [
                [0, 2],
                [1],
                [3],
            ],
        ),  # those whose user is unknown stay together: two, so that 0 begins at 2
    ],
)
def test_a_group_goes_where_it_begins(groups: list[int], expected: list[list[int]]) -> None:
    for by in ("job", "user"):
        found = Split((0.5, 0.25, 0.25), by).divide(
            4,
            np.array(groups),
            np.zeros(4, np.int64),
        )
        assert [sorted(index.tolist()) for index in found] == [sorted(index) for index in expected]


@pytest.mark.parametrize(
    ("fractions", "is_allowed"),
    [
        ((1.0,), True),
        ((0.5, 0.5), True),
        ((0.1,) * 3, True),
        ((0.1,) * 4, False),
        ((), False),
        ((0.0, 1.0), False),  # nothing to learn from
        ((1e-6, 0.0), True),
        ((0.7, -0.1), False),
        ((1.1,), False),
        ((0.7, 0.1, 0.2), True),  # whose sum in floating point is not 1
        ((0.7, 0.2, 0.1 + 1e-6), False),
    ],
)
def test_which_fractions_are_allowed(fractions: tuple[float, ...], is_allowed: bool) -> None:
    if is_allowed:
        assert Split(fractions).names == ("training", "validation", "testing")[: len(fractions)]
    else:
        with pytest.raises(UsageError, match=r"^--split: "):
            Split(fractions)


@pytest.mark.parametrize(
    ("training", "testing", "codes", "expected"),
    [
        ([0, 1], [2, 3], [0, 1, 2, 3], (0, 2, 0, 2)),
        ([0, 1], [2, 3], [0, 0, 0, 1], (1, 2, 1, 2)),
        ([0, 1], [2, 3, 4], [0, 1, 1, 0, 0], (2, 2, 3, 3)),  # groups are counted once, traces each
        ([0, 1], [2, 3], [-1, 0, -1, -1], (0, 0, 0, 2)),  # an unknown owner is nobody's
        ([0], [], [5], (0, 0, 0, 0)),
        ([], [0], [0], (0, 1, 0, 1)),
        ([0, 1], [2], [0, 3, 3], (1, 1, 1, 1)),  # the largest number is a group like the others
    ],
)
def test_what_two_sets_share(
    training: list[int],
    testing: list[int],
    codes: list[int],
    expected: tuple[int, int, int, int],
) -> None:
    sets = {"training": np.array(training, np.int64), "testing": np.array(testing, np.int64)}
    (found,) = shared_groups(sets, {"job": np.array(codes)})
    assert found == Overlap("job", "training", "testing", *expected)


def test_each_pair_is_told_once_the_earlier_set_as_the_one_seen() -> None:
    sets = {name: np.array([k]) for k, name in enumerate(("training", "validation", "testing"))}
    found = shared_groups(sets, {kind: np.arange(3) for kind in ("job", "user")})
    pairs = [
        ("training", "validation"),
        ("training", "testing"),
        ("validation", "testing"),
    ]
    assert [(entry.kind, entry.seen, entry.of) for entry in found] == [
        (kind, *pair) for kind in ("job", "user") for pair in pairs
    ]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([20, 20], 0),  # ends when the next set begins
        ([21, 20], 1),
        ([21, 99], 2),
    ],
)
def test_a_trace_that_ends_after_the_next_set_begins_runs_on(
    ends: list[int], expected: int
) -> None:
    sets = {
        "training": np.array([0, 1]),
        "validation": np.array([], np.int64),
        "testing": np.array([2, 3]),
    }
    found = running_on(
        sets,
        np.array([0, 5, 30, 20]),
        np.array([*ends, 40, 40]),
    )
    assert found == {"training → testing": expected}  # a set without traces neither begins nor ends
    assert Leakage((), found).lines() == (
        f"training → testing: {expected} traces still run when the first of the next set begins",
    )


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (0, 1),
        (1, 1),
        (4096, 1),
        (4097, 2),
        (8192, 2),
        (8193, 4),
        (2**20, 256),
        (2**20 + 1, 256),
        (10**7, 256),
    ],
)
def test_files_of_a_set_by_its_size(n: int, expected: int) -> None:
    # 4,096 traces a file, a power of two, at most 256: (n − 1) // 4096 has so many bits.
    assert default_shards(n) == expected


@pytest.mark.parametrize(
    ("prefix", "shards", "expected"),
    [
        (0, 3, 0),
        (0x55555555, 3, 0),
        (0x55555556, 3, 1),
        (0xFFFFFFFF, 3, 2),
        (0x0C000000, 256, 12),
        (0, 1, 0),
    ],
)
def test_prefixes_are_spread_evenly(prefix: int, shards: int, expected: int) -> None:
    assert shard_numbers(np.array([prefix], np.uint32), shards).tolist() == [expected]


def test_names_of_files_tell_number_and_count() -> None:
    assert shard_name(3, 16, ".npz") == "00003-of-00016.npz"
    assert shard_name(3, 256, ".tfrecord", is_original=True) == "03.tfrecords"


def test_prefixes_of_2017_are_those_of_md5() -> None:
    jobs = [9, 12, 10**18, 2**63 - 1]
    tasks = [0, 10, 2**31 - 1, 7]
    store = array_store(
        [5, 6, 7, 8],
        collection_id=np.array(jobs),
        instance_index=np.array(tasks, np.int32),
    )
    traces = select_traces(store, Selection(), {}, 0)
    found = shard_prefixes(traces, is_original=True).tolist()
    for job, task, prefix in zip(
        traces.collection_id.tolist(), traces.instance_index.tolist(), found, strict=True
    ):
        folder = hashlib.md5(str(job).encode()).hexdigest()[:2]
        text = f"{folder}/{job}.sqlite3,{job},{task}"
        assert f"{prefix:08x}" == hashlib.md5(text.encode()).hexdigest()[:8]


def test_prefixes_are_even_and_the_same_for_a_task_wherever_it_stands() -> None:
    n = 20_000
    files = 16
    store = array_store(
        [5] * n,
        collection_id=np.arange(n) // 40,
        instance_index=np.arange(n, dtype=np.int32) % 40,
    )
    by_seed = [select_traces(store, Selection(), {}, seed) for seed in (0, 1)]
    first, second = (
        shard_prefixes(traces)[np.lexsort((traces.instance_index, traces.collection_id))]
        for traces in by_seed
    )
    assert first.tolist() == second.tolist()
    counts = np.bincount(shard_numbers(shard_prefixes(by_seed[0]), files), minlength=files)
    # Binomial, n / 16 = 1,250 a file with a deviation of 34: five of them on either side.
    assert np.abs(counts - n / files).max() < 171


def test_groups_are_numbered_by_first_appearance_and_unknown_ones_are_nobody() -> None:
    store = array_store(
        [5, 6, 7],
        user=["b", None, "b"],
        collection_logical_name=[None, "x", "y"],
    )
    traces = select_traces(store, Selection(), {}, 0)
    by_length = np.argsort(traces.length)
    user, name = (traces.groups(kind)[by_length].tolist() for kind in ("user", "logical name"))
    assert user[1] == -1
    assert user[0] == user[2] >= 0
    assert name[0] == -1
    assert min(name[1:]) >= 0
    assert name[1] != name[2]
    assert len(set(traces.groups("job").tolist())) == 1  # three tasks of one job


@pytest.mark.parametrize(
    ("options", "is_allowed"),
    [
        ({"seed": 0}, True),
        ({"seed": 2**32 - 1}, True),
        ({"seed": 2**32}, False),
        ({"shards": 1}, True),
        ({"shards": 65_536}, True),
        ({"shards": 65_537}, False),
        ({"compat": "original"}, True),
        ({"compat": "original", "shards": 256}, True),
        ({"compat": "original", "shards": 255}, False),
        ({"compat": "original", "scale": "minmax"}, False),
        ({"compat": "original", "gzip": True}, False),
        ({"compat": "original", "split": Split((0.7, 0.3))}, False),
        ({"compat": "original", "split": Split(by="job")}, False),
        ({"compat": "original", "selection": Selection(gaps="drop")}, False),
    ],
)
def test_which_options_go_together(options: dict[str, object], is_allowed: bool) -> None:
    if is_allowed:
        DatasetOptions(**options)  # type: ignore[arg-type]
    else:
        with pytest.raises(UsageError):
            DatasetOptions(**options)  # type: ignore[arg-type]
