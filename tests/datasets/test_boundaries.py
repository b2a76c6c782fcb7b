"""Values exactly at a border, computed by hand: where a group falls, what counts as seen, files without a trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from borgtrace import datasets
from borgtrace.datasets import DatasetOptions, Selection, Split, build
from borgtrace.datasets.formats import FORMATS

from .stores import ArrayStore, array_store


def _jobs(found: datasets.Dataset) -> dict[str, list[tuple[int, int]]]:
    return {
        name: sorted((row[0], row[1]) for row in found[name].load().identity.tolist())
        for name in found
    }


@pytest.mark.parametrize(
    ("fractions", "groups", "expected"),
    [
        # Half of four traces is two: the second job begins exactly there, and belongs to the next set.
        ((0.5, 0.5), [0, 0, 1, 1], [[0, 1], [2, 3]]),
        (
            (0.25, 0.25, 0.5),
            [0, 1, 2, 2],
            [
                [0],
                [1],
                [2, 3],
            ],
        ),
        # A job that begins before the border stays whole in its set.
        ((0.5, 0.5), [0, 1, 1, 1], [[0, 1, 2, 3], []]),
        # What begins where the last set ends is dropped.
        ((0.5, 0.25), [0, 0, 1, 2], [[0, 1], [2]]),
        # Jobs come in order of their first trace, not of their number.
        ((0.5, 0.5), [1, 0, 1, 0], [[0, 2], [1, 3]]),
    ],
)
def test_a_job_that_begins_at_the_border_belongs_to_the_next_set(
    fractions: tuple[float, ...], groups: list[int], expected: list[list[int]]
) -> None:
    found = Split(fractions, "job").divide(
        len(groups),
        np.array(groups),
        np.zeros(len(groups), np.int64),
    )
    assert [index.tolist() for index in found] == expected


def test_a_split_by_time_is_by_the_start_and_ties_keep_their_order() -> None:
    found = Split((0.5, 0.5), "time").divide(
        4,
        None,
        np.array([9, 5, 9, 5]),
    )
    assert [index.tolist() for index in found] == [[1, 3], [0, 2]]


@pytest.mark.parametrize(
    ("fractions", "sizes"),
    [
        ((0.7, 0.1, 0.2), (7, 1, 2)),
        ((1.0,), (10,)),
        ((0.35,), (3,)),
    ],
)
def test_sizes_are_cut_to_whole_traces(
    fractions: tuple[float, ...], sizes: tuple[int, ...]
) -> None:
    assert Split(fractions).sizes(10) == sizes


def _by_time(tmp_path: Path, end: int) -> list[str]:
    """Two traces, one after the other; the first ends at `end` s, the second begins at 2000 s."""
    store = array_store(
        [5, 5],
        first_time=np.array([600, 2000]) * 10**6,
        last_time=np.array([end, 9000]) * 10**6,
    )
    build(
        store,
        tmp_path / str(end),
        DatasetOptions(split=Split((0.5, 0.5), "time"), format="npz"),
    )
    return [
        line for line in datasets.open(tmp_path / str(end)).metadata.leakage if "still run" in line
    ]


def test_a_trace_that_ends_when_the_next_set_begins_runs_on_into_nothing(tmp_path: Path) -> None:
    (clean,) = _by_time(tmp_path, 2000)
    (leaking,) = _by_time(tmp_path, 2001)
    assert ": 0 traces" in clean
    assert ": 1 traces" in leaking


@pytest.mark.wide
@pytest.mark.parametrize("output_format", list(FORMATS))
def test_files_without_a_trace_are_read_as_nothing(tmp_path: Path, output_format: str) -> None:
    """Three traces in sixteen files: thirteen are empty or more."""
    build(
        array_store([5, 6, 7]),
        tmp_path / "d",
        DatasetOptions(
            shards=16,
            format=output_format,
            split=Split((1.0,)),
        ),
    )
    found = datasets.open(tmp_path / "d")
    training = found["training"]
    assert len(training.files) == 16
    assert sum(file.records for file in training.files) == 3
    assert sum(file.records == 0 for file in training.files) >= 13
    assert len(training.paths) == sum(file.records > 0 for file in training.files), (
        "empty files are not opened"
    )
    assert sorted(training.load().identity[:, 2].tolist()) == [5, 6, 7]
    assert sorted(length for batch in training.batches(9) for length in batch.lengths.tolist()) == [
        5,
        6,
        7,
    ]


def _chosen(store: ArrayStore, folder: Path, **selection: object) -> list[int]:
    options = DatasetOptions(
        selection=Selection(**selection),
        split=Split((1.0,)),
        format="npz",
    )  # type: ignore[arg-type]
    build(store, folder, options)
    return sorted(row[2] for row in datasets.open(folder)["training"].load().identity.tolist())


def test_bounds_of_lengths_are_both_inclusive(tmp_path: Path) -> None:
    assert _chosen(
        array_store([4, 5, 6, 7]),
        tmp_path / "d",
        min_length=5,
        max_length=6,
    ) == [5, 6]


def test_a_time_range_holds_what_begins_at_its_start_and_ends_at_its_end(tmp_path: Path) -> None:
    times = np.array([999, 1000, 1000, 1001]) * 10**6
    ends = np.array([1500, 2000, 2001, 1500]) * 10**6
    store = array_store([5, 6, 7, 8], first_time=times, last_time=ends)
    assert _chosen(
        store,
        tmp_path / "d",
        time=(1000 * 10**6, 2000 * 10**6),
    ) == [6, 8]


def test_the_least_mean_is_enough(tmp_path: Path) -> None:
    store = array_store([5, 6], mean_average_cpu=np.array([0.25, 0.2499]))
    assert _chosen(store, tmp_path / "d", min_mean=0.25) == [5]


def test_tiers_of_2011_end_where_the_papers_say(tmp_path: Path) -> None:
    store = array_store([5, 6, 7, 8], priority=pa.array([1, 2, 8, 9], pa.int32()))
    assert _chosen(store, tmp_path / "free", tiers=("free",)) == [5]
    assert _chosen(store, tmp_path / "other", tiers=("other",)) == [6, 7]
    assert _chosen(store, tmp_path / "production", tiers=("production",)) == [8]
