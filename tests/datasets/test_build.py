"""Datasets: what is in them, what names them, what is refused, what never happens."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from borgtrace import datasets
from borgtrace.datasets import DatasetOptions, Selection, Split, build
from borgtrace.datasets.formats import FORMATS
from borgtrace.errors import StoreError, UsageError

from .stores import ArrayStore, array_store


def digest(folder: Path) -> str:
    """One number for all names and bytes under a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    text = [
        f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in files
    ]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()


def test_a_dataset_holds_the_scaled_values_of_the_chosen_tasks(
    small: ArrayStore, tmp_path: Path
) -> None:
    bounds = Selection(min_length=5, max_length=50)
    build(
        small,
        tmp_path / "d",
        DatasetOptions(
            selection=bounds,
            split=Split(by="task"),
            static=("cpu_request", "user"),
        ),
    )
    found = datasets.open(tmp_path / "d")
    lengths = small.tasks.column("n_windows").to_numpy()
    matched = int(np.count_nonzero((lengths >= 5) & (lengths <= 50)))
    assert [len(found[name]) for name in found] == [int(f * matched) for f in (0.7, 0.1, 0.2)]
    (scaling,) = found.metadata.scalings
    training = []
    seen = set()
    first = dict(zip(_ids(small), small.tasks.column("first_row").to_pylist(), strict=True))
    users = dict(zip(_ids(small), small.tasks.column("user").to_pylist(), strict=True))
    for name in found:
        part = found[name].load()
        for i, (job, task, length, time) in enumerate(part.identity.tolist()):
            row = first[job, task]
            raw = small.arrays["average_cpu"][row : row + length]
            training += raw.tolist() if name == "training" else []
            expected = ((raw.astype(np.float64) - scaling.offset) / scaling.divisor).astype(
                np.float32
            )
            np.testing.assert_array_equal(
                part.values[part.offsets[i] : part.offsets[i + 1], 0], expected
            )
            assert part.numbers[i, 0] == 0.25
            assert found.metadata.names.words["user"][part.codes[i, 0]] == users[job, task]
            assert (
                time == small.tasks.column("first_time").to_pylist()[_ids(small).index((job, task))]
            )
            seen.add((job, task))
    assert len(seen) == sum(map(len, found.values()))
    assert scaling.offset == pytest.approx(np.mean(training), rel=1e-12)
    assert scaling.divisor == pytest.approx(np.std(training, ddof=1), rel=1e-12)


def test_the_way_back_needs_nothing_but_the_files(small: ArrayStore, tmp_path: Path) -> None:
    features = ("average_cpu", "average_memory", "elapsed")
    build(small, tmp_path / "d", DatasetOptions(features=features))
    found = datasets.open(tmp_path / "d")
    part = found["testing"].load()
    back = found.inverse_transform(part.values)
    first = dict(zip(_ids(small), small.tasks.column("first_row").to_pylist(), strict=True))
    job, task, length, _ = part.identity[0].tolist()
    rows = slice(first[job, task], first[job, task] + length)
    np.testing.assert_allclose(
        back[:length, 0],
        small.arrays["average_cpu"][rows],
        rtol=1e-5,
        atol=1e-7,
    )
    np.testing.assert_allclose(
        back[:length, 1],
        small.arrays["average_memory"][rows],
        rtol=1e-5,
        atol=1e-7,
    )
    np.testing.assert_allclose(
        back[:length, 2],
        300 * np.arange(length),
        atol=1e-2,
    )


@pytest.mark.parametrize("gaps", ["keep", "grid"])
def test_a_store_of_too_many_tasks_to_keep_gives_the_same_bytes(
    small: ArrayStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gaps: str
) -> None:
    selection = Selection(where="instance_index > 0", sample=20, gaps=gaps)
    options = DatasetOptions(selection=selection, static=("priority", "user"))
    build(small, tmp_path / "kept", options)
    monkeypatch.setattr("borgtrace.datasets.trace_index.KEPT_TASKS", 0)
    build(small, tmp_path / "streamed", options)
    assert digest(tmp_path / "streamed") == digest(tmp_path / "kept")


@pytest.mark.parametrize("output_format", list(FORMATS))
def test_same_options_same_bytes_whatever_the_threads(
    small: ArrayStore, tmp_path: Path, output_format: str
) -> None:
    options = DatasetOptions(
        format=output_format,
        shards=4,
        static=("tier",),
    )
    for name, threads in (("a", 1), ("b", 3)):
        build(small, tmp_path / name, options, threads=threads)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    build(
        small,
        tmp_path / "c",
        DatasetOptions(
            format=output_format,
            shards=4,
            static=("tier",),
            seed=1,
        ),
    )
    assert digest(tmp_path / "c") != digest(tmp_path / "a")


def test_a_new_seed_gives_a_new_split(small: ArrayStore, tmp_path: Path) -> None:
    sets = []
    for seed in (0, 1):
        build(small, tmp_path / str(seed), DatasetOptions(seed=seed))
        sets.append(
            {
                tuple(row)
                for row in datasets.open(tmp_path / str(seed))["training"].load().identity.tolist()
            }
        )
    assert sets[0] != sets[1]


def test_the_same_again_is_left_alone_and_another_is_refused(
    small: ArrayStore, tmp_path: Path
) -> None:
    out = tmp_path / "d"
    assert build(small, out).is_new
    before = digest(out)
    again = build(small, out)
    assert not again.is_new
    assert again.counts == build(small, tmp_path / "e").counts
    with pytest.raises(UsageError) as caught:
        build(small, out, DatasetOptions(seed=1))
    assert str(caught.value) == (
        f"{out}: holds another dataset: expected a new folder, got a dataset of other options or of another store; "
        "name another folder, or replace it: --replace"
    )
    assert digest(out) == before


def test_another_store_is_another_dataset(small: ArrayStore) -> None:
    assert DatasetOptions().identity("a") != DatasetOptions().identity("b")


def test_a_dataset_of_alloc_instances_counts_only_them_and_says_so(tmp_path: Path) -> None:
    """Four alloc instances of 5 to 8 windows among six; of tasks there are 3 + 4 windows."""
    types = ["JOB", "ALLOC_SET", "ALLOC_SET", "JOB", "ALLOC_SET", "ALLOC_SET"]
    store = array_store([3, 5, 6, 4, 7, 8], collection_type=types)
    options = DatasetOptions(selection=Selection(instances="allocs", min_length=6))
    built = build(store, tmp_path / "d", options)
    assert (built.n_matched, built.windows) == (3, 21)
    assert built.removed == {"all": (4, 26), "--min-length": (1, 5)}
    card = (tmp_path / "d" / "README.md").read_text()
    assert card.partition("\n---\n")[2].startswith(
        "# Traces of alloc instances for learning\n\nUsage of alloc instances over time"
    )


def test_identities_of_datasets_of_tasks_stay_as_they_were() -> None:
    assert "instances" not in DatasetOptions().recorded()["selection"]
    allocs = DatasetOptions(selection=Selection(instances="allocs"))
    assert allocs.recorded()["selection"]["instances"] == "allocs"
    assert allocs.identity("a") != DatasetOptions().identity("a")


def test_shards_are_even_and_named(tmp_path: Path) -> None:
    build(
        array_store([5] * 3000),
        tmp_path / "d",
        DatasetOptions(shards=8, split=Split((1.0,))),
    )
    files = datasets.open(tmp_path / "d")["training"].files
    assert [file.name for file in files][:2] == [
        "00000-of-00008.tfrecord",
        "00001-of-00008.tfrecord",
    ]
    assert all(300 < file.records < 450 for file in files)  # 375 ± 4 σ


def test_a_trace_is_in_the_same_file_whatever_the_seed(small: ArrayStore, tmp_path: Path) -> None:
    file_of: list[dict[tuple[int, ...], str]] = []
    for seed in (0, 1):
        build(
            small,
            tmp_path / f"{seed}",
            DatasetOptions(
                shards=16,
                seed=seed,
                format="npz",
                split=Split((1.0,)),
            ),
        )
        training = datasets.open(tmp_path / f"{seed}")["training"]
        file_of.append(
            {
                tuple(row[:2]): path.name
                for path in training.paths
                for row in training.arrays(path).identity.tolist()
            }
        )
    assert file_of[0] == file_of[1]
    assert len(set(file_of[0].values())) > 8


def test_missing_stays_missing(tmp_path: Path) -> None:
    store = array_store([5, 6])
    store.arrays["average_cpu"][:] = [
        1,
        np.nan,
        3,
        np.nan,
        5,
        1,
        2,
        3,
        4,
        5,
        6,
    ]
    build(store, tmp_path / "d", DatasetOptions(split=Split((1.0,)), scale="none"))
    training = datasets.open(tmp_path / "d")["training"]
    (batch,) = training.batches(2, fill=-9.0)
    assert batch.lengths.tolist() == [5, 6]
    assert batch.data[0, :, 0].tolist() == [1, -9, 3, -9, 5, -9]
    assert batch.mask[0, :, 0].tolist() == [True, False, True, False, True, False]
    assert datasets.open(tmp_path / "d").metadata.scalings[0].count == 9


def test_a_grid_has_a_slot_for_every_five_minutes(tmp_path: Path) -> None:
    store = array_store([3, 2])
    store.arrays["start_time"][:] = [600, 1200, 1800, 600, 900]
    store.arrays["average_cpu"][:] = [1, 2, 3, 4, 5]
    options = DatasetOptions(
        selection=Selection(min_length=2, gaps="grid"),
        split=Split((1.0,)),
        scale="none",
        features=("average_cpu", "elapsed"),
    )
    build(store, tmp_path / "d", options)
    part = datasets.open(tmp_path / "d")["training"].load()
    longest = int(np.argmax(np.diff(part.offsets)))
    rows = slice(part.offsets[longest], part.offsets[longest + 1])
    np.testing.assert_array_equal(
        part.values[rows, 0],
        np.float32(
            [
                1,
                np.nan,
                2,
                np.nan,
                3,
            ]
        ),
    )
    assert part.mask[rows, 0].tolist() == [1, 0, 1, 0, 1]
    assert part.values[rows, 1].tolist() == [0, 300, 600, 900, 1200]


@pytest.mark.parametrize("by", ["job", "user"])
def test_a_split_by_owner_leaks_nothing_of_it(small: ArrayStore, tmp_path: Path, by: str) -> None:
    built = build(small, tmp_path / "d", DatasetOptions(split=Split(by=by)))
    about = [line for line in built.leakage if f" {by}s are in " in line]
    assert len(about) == 3
    assert all(": 0 of " in line for line in about)
    told = json.loads((tmp_path / "d" / "meta.json").read_text())["leakage"]["shared"]
    assert {entry["groups"] for entry in told if entry["kind"] == by} == {0}


def test_leakage_is_never_silent(small: ArrayStore, tmp_path: Path) -> None:
    built = build(small, tmp_path / "d", DatasetOptions(split=Split(by="task")))
    assert len(built.leakage) == 9
    assert any(
        "jobs are in training too" in line and not line.startswith("testing: 0")
        for line in built.leakage
    )


def test_meta_says_what_was_trained_on(small: ArrayStore, tmp_path: Path) -> None:
    build(small, tmp_path / "d", DatasetOptions(seed=5))
    told = json.loads((tmp_path / "d" / "meta.json").read_text())
    assert told["store"] == {
        "digest": "d" * 64,
        "generation": "2011",
        "cell": "",
        "synthetic": {"seed": 0},
    }
    assert told["options"]["seed"] == 5
    assert told["options"]["selection"]["max_length"] == 0
    assert told["options"]["split"]["by"] == "job"
    assert told["features"] == ["average_cpu"]
    assert told["sets"]["training"]["traces"] == sum(
        f["records"] for f in told["sets"]["training"]["files"]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            DatasetOptions(selection=Selection(min_length=900, max_length=901)),
            "selection: no task matches: expected at least "
            "one, got 0 where collection_type = 'JOB' and n_windows > 0 and n_windows >= 900 and n_windows <= 901; see "
            "borgtrace dataset STORE --histogram",
        ),
        (DatasetOptions(features=("speed",)), None),
        (DatasetOptions(features=("sample_rate",)), None),
        (
            DatasetOptions(features=("average_cpu", "average_cpu")),
            "--features: a feature is missing or given twice: expected one or more names, got average_cpu,average_cpu",
        ),
        (DatasetOptions(static=("colour",)), None),
        (
            DatasetOptions(selection=Selection(sample=1), split=Split(by="task")),
            "--split: the training set is empty: expected at least one trace, got 0.7 of 1; select more traces",
        ),
    ],
)
def test_refusals_write_nothing(
    small: ArrayStore,
    tmp_path: Path,
    options: DatasetOptions,
    message: str | None,
) -> None:
    with pytest.raises(UsageError) as caught:
        build(small, tmp_path / "d", options)
    assert message is None or str(caught.value) == message
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_store_without_usage_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        build(array_store([]), tmp_path / "d")
    assert str(caught.value) == (
        "STORE: the store has no usage: expected rows in instance_usage, got none; ingest task_usage or "
        "instance_usage files first"
    )
    assert list(tmp_path.iterdir()) == []


def test_two_builds_into_one_folder_the_second_refuses(small: ArrayStore, tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / ".d.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.write(descriptor, b"4711")
    os.lseek(descriptor, 0, os.SEEK_SET)
    with pytest.raises(StoreError) as caught:
        build(small, tmp_path / "d")
    os.close(descriptor)
    assert str(caught.value) == (
        f"{tmp_path / 'd'}: another process is writing here: expected one writer, got process 4711; "
        "wait until it has finished"
    )
    assert build(small, tmp_path / "d").is_new
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d"]


def test_a_half_built_folder_is_never_reused(small: ArrayStore, tmp_path: Path) -> None:
    build(small, tmp_path / "whole")
    left = tmp_path / "d.123.incomplete" / "training"
    left.mkdir(parents=True)
    (left / "00000-of-00001.tfrecord").write_bytes(b"half")
    build(small, tmp_path / "d")
    assert digest(tmp_path / "d") == digest(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "whole"]


def test_an_error_while_writing_leaves_nothing(
    small: ArrayStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("borgtrace.datasets.formats.tfrecord.write", fail)
    with pytest.raises(OSError, match="the disk is full"):
        build(small, tmp_path / "d")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "missing", "meta", "half", "version"])
def test_a_damaged_dataset_is_not_opened(small: ArrayStore, tmp_path: Path, damage: str) -> None:
    out = tmp_path / "d"
    build(small, out)
    file = out / "training" / "00000-of-00001.tfrecord"
    if damage == "cut":
        os.truncate(file, 10)
    elif damage == "missing":
        file.unlink()
    elif damage == "meta":
        (out / "meta.json").unlink()
    elif damage == "half":
        os.truncate(out / "meta.json", 100)
    else:
        (out / "meta.json").write_text('{"format_version": "9.0"}')
    with pytest.raises(StoreError):
        datasets.open(out)


def _ids(store: ArrayStore) -> list[tuple[int, int]]:
    return list(
        zip(
            store.tasks.column("collection_id").to_pylist(),
            store.tasks.column("instance_index").to_pylist(),
            strict=True,
        )
    )


def test_a_dataset_of_another_format_version_is_another_dataset(
    small: ArrayStore, tmp_path: Path
) -> None:
    options = DatasetOptions(format="npz")
    build(small, tmp_path / "d", options)
    about = tmp_path / "d" / "meta.json"
    about.write_text(
        about.read_text().replace('"format_version": "1.0"', '"format_version": "2.0"')
    )
    with pytest.raises(UsageError, match="holds another dataset"):
        build(small, tmp_path / "d", options)
    with pytest.raises(StoreError, match=r"another format version: expected 1\.0, got 2\.0"):
        datasets.open(tmp_path / "d")
