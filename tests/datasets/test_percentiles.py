"""The percentiles of a window's CPU, published since 2019: as series, as a distribution, as features of a dataset."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace import datasets
from borgtrace.datasets import DatasetOptions, Split, build
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema import DISTRIBUTIONS, PERCENTILES
from borgtrace.store import Store
from borgtrace.store.verify import verify

NAMES = [
    *(f"p{percent}" for percent in range(0, 101, 10)),
    *(f"p{percent}" for percent in range(91, 100)),
]
TASKS = 50
WINDOWS = 200
Records = dict[tuple[int, int], dict[str, Any]]


@pytest.fixture(scope="module")
def records() -> Records:
    """Ten thousand windows by task and start; one in ten has no list, one in ten an empty one."""
    rng = np.random.default_rng(11)
    made: Records = {}
    for number in range(TASKS * WINDOWS):
        # Doubles of all digits: what is stored is the nearest float32.
        deciles, tail = (np.sort(rng.gamma(0.5, 0.05, size)).tolist() for size in (11, 9))
        lists = {"cpu_usage_distribution": deciles, "tail_cpu_usage_distribution": tail}
        kind = (number + number // TASKS) % 10
        made[number % TASKS, number // TASKS] = (
            {} if kind == 3 else {k: [] for k in lists} if kind == 7 else lists
        )
    return made


@pytest.fixture(scope="module")
def store(records: Records, tmp_path_factory: pytest.TempPathFactory) -> Store:
    root = tmp_path_factory.mktemp("percentiles")
    with gzip.open(root / "instance_usage-000000000000.json.gz", "wt") as file:
        # Shards are in no order.
        for (task, window), lists in reversed(records.items()):
            times = {
                "start_time": str(10**6 * 300 * (window + 2)),
                "end_time": str(10**6 * 300 * (window + 3)),
            }
            key = {
                "collection_id": "7",
                "instance_index": str(task),
                "collection_type": "0",
            }
            print(json.dumps(times | key | {"average_usage": {"cpus": 0.25}} | lists), file=file)
    ingest([root / "instance_usage-000000000000.json.gz"], root / "store", IngestOptions(jobs=1))
    return borgtrace.open(root / "store")


def _expected(records: Records) -> np.ndarray:
    """The windows of all tasks, one after the other, in float32 of shape (10,000, 20)."""
    rows = []
    for task in range(TASKS):
        for window in range(WINDOWS):
            lists = list(records[task, window].values())
            if lists and lists[0]:
                deciles, tail = lists
                rows.append([*deciles, *tail])
            else:
                rows.append([np.nan] * 20)
    return np.array(rows).astype(np.float32)


@pytest.mark.wide
def test_the_series_are_the_raw_numbers_bit_by_bit(store: Store, records: Records) -> None:
    assert list(PERCENTILES) == NAMES
    found = store.traces(None, NAMES)
    series = np.stack([found.columns[name] for name in NAMES], axis=1)
    expected = _expected(records)
    assert np.isnan(expected).all(axis=1).sum() == 2_000
    np.testing.assert_array_equal(series.view(np.uint32), expected.view(np.uint32))
    assert [check.found for check in verify(store.path) if not check.holds] == []


def test_a_distribution_stands_for_its_percentiles(store: Store) -> None:
    found = store.traces([(7, 3)], ["start_time", *reversed(DISTRIBUTIONS)])
    assert list(found.columns) == ["start_time", *NAMES[11:], *NAMES[:11]]
    assert {len(column) for column in found.columns.values()} == {WINDOWS}


def test_one_task_has_them_beside_the_columns_of_all(store: Store) -> None:
    found = borgtrace.open(store.path).trace(7, 3, ["cpu_usage_distribution", "p99"])
    assert list(found)[:5] == [
        "start_time",
        "duration",
        "average_cpu",
        "sampled_cpu",
        "average_memory",
    ]
    assert list(found)[5:] == [*NAMES[:11], "p99"]
    expected = store.traces([(7, 3)], ["p99", "start_time"]).columns
    np.testing.assert_array_equal(found.p99, expected["p99"])
    np.testing.assert_array_equal(found.start_time, expected["start_time"])
    assert found.units["p99"] == "fraction"
    with pytest.raises(UsageError, match="p98"):
        store.trace(7, 3, ["p980"])


@pytest.mark.wide
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ImportWarning"
)
def test_twenty_features_are_read_by_all_libraries(
    store: Store, records: Records, tmp_path: Path
) -> None:
    chosen = DatasetOptions(
        features=tuple(DISTRIBUTIONS),
        scale="none",
        split=Split((1.0,), "task"),
        shards=2,
    )
    assert chosen.features == tuple(NAMES)
    values = _expected(records).reshape(TASKS, WINDOWS, 20)
    build(
        store,
        tmp_path / "parquet",
        DatasetOptions(**{name: getattr(chosen, name) for name in _FIELDS}, format="parquet"),
    )
    training = datasets.open(tmp_path / "parquet")["training"]
    rows = [row for path in training.paths for row in pq.read_table(path).to_pylist()]
    assert len(rows) == TASKS
    for row in rows:
        series = np.stack([np.array(row[name], np.float32) for name in NAMES], axis=1)
        np.testing.assert_array_equal(series, values[row["instance_index"]])
    torch = pytest.importorskip("torch")
    for batch in torch.utils.data.DataLoader(training.torch(batch_size=8), batch_size=None):
        for at, task in enumerate(batch["instance_index"].tolist()):
            expected = np.nan_to_num(values[task])
            np.testing.assert_array_equal(np.nan_to_num(batch["data"][at].numpy()), expected)
    build(store, tmp_path / "tfrecord", chosen)
    pytest.importorskip("tensorflow")
    read = {
        int(e["instance_index"]): e["data"].numpy()
        for e in datasets.open(tmp_path / "tfrecord")["training"].tensorflow()
    }
    np.testing.assert_array_equal(np.stack([read[task] for task in range(TASKS)]), values)


_FIELDS = ("features", "scale", "split", "shards")
