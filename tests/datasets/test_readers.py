"""The libraries themselves read what is exported: TensorFlow, PyTorch, pyarrow, polars, pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from borgtrace import datasets
from borgtrace.datasets import Dataset, DatasetOptions, Split, build
from borgtrace.errors import UsageError

from .stores import ArrayStore, array_store

pytestmark = pytest.mark.wide

STATICS = ("tier", "cpu_request")


@pytest.fixture(scope="module")
def traces() -> ArrayStore:
    """Sixty tasks of 5 to 50 windows, one value in ten missing, some priorities unknown."""
    rng = np.random.default_rng(0)
    store = array_store([int(k) for k in rng.integers(5, 51, 60)])
    store.arrays["average_cpu"][rng.random(len(store.arrays["average_cpu"])) < 0.1] = np.nan
    priority = store.tasks.column("priority").to_pylist()
    tasks = store.tasks.set_column(
        store.tasks.column_names.index("priority"),
        "priority",
        [[None if k % 7 == 0 else p for k, p in enumerate(priority)]],
    )
    return ArrayStore(tasks, store.arrays)


def _built(store: ArrayStore, path: Path, **options: Any) -> Dataset:
    features = ("average_cpu", "average_memory")
    build(
        store,
        path,
        DatasetOptions(
            features=features,
            static=STATICS,
            shards=4,
            split=Split((0.8, 0.2)),
            **options,
        ),
    )
    return datasets.open(path)


def _expected(found: Dataset, name: str) -> dict[tuple[int, int], tuple[np.ndarray, float, str]]:
    """Values, request and tier of each trace, from the NPZ of the same options."""
    part = found[name].load()
    tiers = (*found.metadata.names.words["tier"], "")
    return {
        (int(job), int(task)): (
            part.values[part.offsets[i] : part.offsets[i + 1]],
            float(part.numbers[i, 0]),
            tiers[part.codes[i, 0]],
        )
        for i, (job, task) in enumerate(part.identity[:, :2])
    }


@pytest.fixture(scope="module")
def expected(
    traces: ArrayStore, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[int, int], tuple[np.ndarray, float, str]]:
    folder = tmp_path_factory.mktemp("readers")
    return _expected(_built(traces, folder / "npz", format="npz"), "training")


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ImportWarning"
)
@pytest.mark.parametrize("is_compressed", [False, True])
def test_tensorflow_reads_the_records_itself(
    traces: ArrayStore,
    tmp_path: Path,
    expected: dict[Any, Any],
    is_compressed: bool,
) -> None:
    tf = pytest.importorskip("tensorflow")
    found = _built(traces, tmp_path / "d", gzip=is_compressed)
    paths = [str(path) for path in found["training"].paths]
    read = {}
    for record in tf.data.TFRecordDataset(paths, "GZIP" if is_compressed else ""):
        example = tf.io.parse_single_example(
            record,
            {
                "data": tf.io.VarLenFeature(tf.float32),
                "mask": tf.io.VarLenFeature(tf.int64),
                "collection_id": tf.io.FixedLenFeature([], tf.int64),
                "instance_index": tf.io.FixedLenFeature([], tf.int64),
                "length": tf.io.FixedLenFeature([], tf.int64),
                "first_time": tf.io.FixedLenFeature([], tf.int64),
                "cpu_request": tf.io.FixedLenFeature([], tf.float32),
                "tier": tf.io.FixedLenFeature([], tf.string, ""),
            },
        )
        key = (int(example["collection_id"]), int(example["instance_index"]))
        values = example["data"].values.numpy().reshape(-1, 2)
        assert int(example["length"]) == len(values)
        np.testing.assert_array_equal(
            example["mask"].values.numpy().reshape(-1, 2) == 1, ~np.isnan(values)
        )
        read[key] = (values, float(example["cpu_request"]), example["tier"].numpy().decode())
    _same(read, expected)


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ImportWarning"
)
@pytest.mark.parametrize("output_format", ["tfrecord", "npz"])
def test_one_line_gives_a_tf_dataset(
    traces: ArrayStore,
    tmp_path: Path,
    expected: dict[Any, Any],
    output_format: str,
) -> None:
    pytest.importorskip("tensorflow")
    found = _built(traces, tmp_path / "d", format=output_format)
    dataset = found["training"].tensorflow(seed=1)
    orders = [
        [int(element["collection_id"]) * 3 + int(element["instance_index"]) for element in dataset]
        for _ in "ab"
    ]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])
    _same(
        {
            (int(element["collection_id"]), int(element["instance_index"])): (
                element["data"].numpy(),
                float(element["cpu_request"]),
                element["tier"].numpy().decode(),
            )
            for element in found["training"].tensorflow()
        },
        expected,
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("shards", [4, 1])
def test_a_torch_loader_with_two_workers_sees_each_trace_once(
    traces: ArrayStore, tmp_path: Path, shards: int
) -> None:
    torch = pytest.importorskip("torch")
    build(traces, tmp_path / "d", DatasetOptions(shards=shards, split=Split((1.0,))))
    training = datasets.open(tmp_path / "d")["training"]
    expected = sorted(map(tuple, training.load().identity[:, :2].tolist()))
    loader = torch.utils.data.DataLoader(
        training.torch(batch_size=8, seed=3),
        num_workers=2,
        multiprocessing_context="fork",
    )
    orders = []
    for epoch in range(2):
        loader.dataset.set_epoch(epoch)
        seen = [
            (int(job), int(task))
            for batch in loader
            for job, task in zip(batch["collection_id"], batch["instance_index"], strict=True)
        ]
        assert sorted(seen) == expected
        orders.append(seen)
    assert orders[0] != orders[1]


def test_a_torch_loader_takes_batches_with_and_without_its_own_batch_size(
    traces: ArrayStore, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    build(traces, tmp_path / "d", DatasetOptions(split=Split((1.0,))))
    dataset = datasets.open(tmp_path / "d")["training"].torch(batch_size=2)
    expected = [batch["data"].tolist() for batch in dataset]
    for options in ({}, {"batch_size": None}, {"batch_size": 1}):
        loader = torch.utils.data.DataLoader(dataset, **options)
        assert [batch["data"].tolist() for batch in loader] == expected
    with pytest.raises(UsageError) as caught:
        next(iter(torch.utils.data.DataLoader(dataset, batch_size=2)))
    assert str(caught.value) == (
        "DataLoader batch_size: counts whole batches of the dataset: expected none, got 2; "
        "set it on the dataset: .torch(batch_size=2)"
    )


def test_torch_batches_carry_values_and_masks(
    traces: ArrayStore, tmp_path: Path, expected: dict[Any, Any]
) -> None:
    torch = pytest.importorskip("torch")
    found = _built(traces, tmp_path / "d", format="parquet")
    tiers = (*found.metadata.names.words["tier"], "")
    read = {}
    for batch in found["training"].torch(batch_size=7):
        assert batch["data"].dtype == torch.float32
        for i, length in enumerate(batch["lengths"].tolist()):
            values = batch["data"][i, :length].numpy().copy()
            values[~batch["mask"][i, :length].numpy()] = np.nan
            assert not batch["mask"][i, length:].any()
            key = (int(batch["collection_id"][i]), int(batch["instance_index"][i]))
            number = float(batch["numbers"][i, 0])
            tier = tiers[int(batch["codes"][i, 0])]
            read[key] = (values, number, tier)
    _same(read, expected)


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("reader", ["pyarrow", "polars", "pandas"])
def test_parquet_is_read_by_everybody(
    traces: ArrayStore,
    tmp_path: Path,
    expected: dict[Any, Any],
    reader: str,
    is_compressed: bool,
) -> None:
    found = _built(traces, tmp_path / "d", format="parquet", gzip=is_compressed)
    paths = [str(path) for path in found["training"].paths]
    if reader == "pyarrow":
        rows = pytest.importorskip("pyarrow.dataset").dataset(paths).to_table().to_pylist()
    elif reader == "polars":
        rows = pytest.importorskip("polars").read_parquet(paths).to_dicts()
    else:
        pandas = pytest.importorskip("pandas")
        frame = pandas.concat([pandas.read_parquet(path) for path in paths])
        rows = frame.astype({"tier": object}).to_dict("records")
    _same(
        {
            (row["collection_id"], row["instance_index"]): (
                np.stack([np.array(row[name], np.float32) for name in found.features], axis=1),
                row["cpu_request"],
                row["tier"] if isinstance(row["tier"], str) else "",
            )
            for row in rows
        },
        expected,
    )


def test_batches_hold_every_trace_once_and_differ_by_epoch(
    traces: ArrayStore, tmp_path: Path
) -> None:
    found = _built(traces, tmp_path / "d")
    orders = []
    for epoch in range(2):
        batches = list(found["training"].batches(8, seed=0, epoch=epoch))
        assert all(batch.lengths.max() == batch.data.shape[1] for batch in batches)
        orders.append(
            [
                int(job) * 3 + int(task)
                for b in batches
                for job, task in zip(b.collection_id, b.instance_index, strict=True)
            ]
        )
    assert sorted(orders[0]) == sorted(orders[1])
    assert len(set(orders[0])) == len(orders[0]) == len(found["training"])
    assert orders[0] != orders[1]


def test_batches_do_not_depend_on_who_reads_how_many_files_at_a_time(
    traces: ArrayStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(traces, tmp_path / "d", DatasetOptions(shards=8))
    training = datasets.open(tmp_path / "d")["training"]
    orders = []
    for run_bytes, threads in ((1, 0), (1, 2), (3_000, 2), (1 << 30, 2)):
        monkeypatch.setattr("borgtrace.datasets.dataset.RUN_BYTES", run_bytes)
        batches = training.batches(2, seed=0, threads=threads)
        orders.append([batch.identity.tolist() for batch in batches])
    assert sum(map(len, orders[0])) == len(training)
    assert orders == [orders[0]] * 4


def _same(read: dict[Any, Any], expected: dict[Any, Any]) -> None:
    assert read.keys() == expected.keys()
    for key, (values, request, tier) in expected.items():
        np.testing.assert_array_equal(read[key][0], values)
        assert read[key][1:] == (request, tier)
