"""Learning sets without traps: what is kept and left out, features made of others, traces by number, resuming."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from borgtrace import datasets
from borgtrace.datasets import Dataset, DatasetOptions, Selection, Split, build
from borgtrace.errors import UsageError

from .stores import ArrayStore, array_store


def _built(store: ArrayStore, path: Path, **options: object) -> Dataset:
    options = {
        "split": Split((1.0,)),
        "scale": "none",
        "format": "npz",
        **options,
    }
    build(store, path, DatasetOptions(**options))  # type: ignore[arg-type]
    return datasets.open(path)


def test_by_default_every_trace_is_kept_and_no_job_is_shared(
    small: ArrayStore, tmp_path: Path
) -> None:
    built = build(small, tmp_path / "d")
    windows = sum(small.tasks.column("n_windows").to_pylist())
    assert sum(built.counts.values()) == 200
    assert built.windows == windows
    assert built.removed == {"all": (200, windows)}
    assert [
        line for line in built.leakage if " jobs are in " in line and ": 0 of " not in line
    ] == []


def test_what_is_left_out_is_counted_in_traces_and_windows(tmp_path: Path) -> None:
    store = array_store([2, 10, 60, 100], priority=np.array([0, 0, 9, 0], np.int32))
    selection = Selection(
        min_length=5,
        max_length=50,
        priorities=(0,),
        sample=1,
    )
    built = build(store, tmp_path / "d", DatasetOptions(selection=selection))
    # Lengths alone leave out 2, 60 and 100; the priority leaves out 60: each is counted for itself.
    assert built.removed == {
        "all": (4, 172),
        "--min-length": (1, 2),
        "--max-length": (2, 160),
        "--priority": (1, 60),
    }
    assert (built.counts["training"], built.windows) == (1, 10)
    told = json.loads((tmp_path / "d" / "meta.json").read_text())
    assert told["windows"] == 10
    assert told["removed"]["--max-length"] == [2, 160]
    card = (tmp_path / "d" / "README.md").read_text()
    assert "| kept | 1 of 4 (25.0 %) | 10 of 172 (5.8 %) |\n" in card
    assert "| left out by --max-length | 2 of 4 (50.0 %) | 160 of 172 (93.0 %) |\n" in card
    # Only options that were given or have a value are listed.
    assert "| selection.min_length | 5 |\n" in card
    assert "| scale | standard |\n" in card
    assert "| selection.where |" not in card
    assert "| None |" not in card
    assert "The trace is synthetic" in card
    assert "license CC-BY 4.0" in card
    # A set without a job shares none.
    assert "are in training too" not in card
    # The same once more, where the folder is its own proof.
    assert (
        build(store, tmp_path / "d", DatasetOptions(selection=selection)).removed == built.removed
    )


def test_a_sample_and_a_split_leave_out_too(tmp_path: Path) -> None:
    options = DatasetOptions(selection=Selection(sample=4), split=Split((0.5, 0.25), "task"))
    built = build(array_store([3] * 10), tmp_path / "d", options)
    assert built.removed == {
        "all": (10, 30),
        "--sample": (6, 18),
        "--split": (1, 3),
    }


def test_another_dataset_is_replaced_where_that_is_asked_for(tmp_path: Path) -> None:
    store = array_store([5, 6])
    build(store, tmp_path / "d", DatasetOptions(format="npz"))
    assert len(datasets.open(tmp_path / "d")) == 3
    assert build(store, tmp_path / "d", DatasetOptions(format="parquet"), replace=True).is_new
    assert datasets.open(tmp_path / "d").metadata.format == "parquet"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds something else"):
        build(store, tmp_path / "mine", replace=True)
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"


def test_sets_have_the_names_that_they_are_given(tmp_path: Path) -> None:
    found = _built(
        array_store([5] * 30),
        tmp_path / "d",
        split=Split((0.5, 0.5), "task", ("train", "test")),
    )
    assert {name: len(found[name]) for name in found} == {"train": 15, "test": 15}
    with pytest.raises(UsageError) as caught:
        found["training"]
    assert (
        str(caught.value)
        == f"{tmp_path / 'd'}: no such set: expected train or test, got training; did you mean train?"
    )
    assert "training" not in found
    assert found.get("training") is None
    with pytest.raises(UsageError) as caught:
        Split((0.5, 0.5), "job", ("a/b", "c"))
    assert str(caught.value) == (
        "--split: not names of sets: expected different words of letters, digits, - and _, got a/b,c"
    )


def test_hours_and_lags_are_made_of_what_is_stored(tmp_path: Path) -> None:
    store = array_store([3, 2])
    # 600 s of 2011 are 19:00 where the cell is.  Five hours later it is midnight.
    store.arrays["start_time"][:] = [600, 900, 600 + 5 * 3600, 4200, 600 + 29 * 3600]
    store.arrays["average_cpu"][:] = [1, 2, 3, 4, 5]
    found = _built(
        store,
        tmp_path / "d",
        features=("hour_of_day", "average_cpu.lag1", "average_cpu", "elapsed"),
    )
    part = found["training"].load()
    rows = dict(
        zip(
            part.identity[:, 2].tolist(),
            np.split(part.values, part.offsets[1:-1]),
            strict=True,
        )
    )
    nan = np.nan
    np.testing.assert_allclose(
        rows[3],
        [
            [19, nan, 1, 0],
            [19 + 1 / 12, 1, 2, 300],
            [0, 2, 3, 18_000],
        ],
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        rows[2],
        [[20, nan, 4, 0], [0, 4, 5, 100_800]],
        rtol=1e-6,
    )


def test_hours_go_on_over_a_hole_on_a_grid(tmp_path: Path) -> None:
    store = array_store([2])
    store.arrays["start_time"][:] = [600, 1500]
    found = _built(
        store,
        tmp_path / "d",
        features=("hour_of_day", "elapsed"),
        selection=Selection(gaps="grid"),
    )
    hours = [
        [19, 0],
        [19 + 1 / 12, 300],
        [19 + 1 / 6, 600],
        [19.25, 900],
    ]
    np.testing.assert_allclose(found["training"].load().values, hours, rtol=1e-6)


def test_traces_are_had_by_number(tmp_path: Path) -> None:
    store = array_store([2, 4, 3])
    store.arrays["average_cpu"][:] = [
        1,
        np.nan,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
    ]
    training = _built(store, tmp_path / "d", static=("priority", "user"))["training"]
    by_length = np.argsort(training.load().identity[:, 2])  # 2, 3, 4 points
    batch = training[by_length]
    assert batch.lengths.tolist() == [2, 3, 4]
    assert batch.data[:, :, 0].tolist() == [
        [1, 0, 0, 0],
        [7, 8, 9, 0],
        [3, 4, 5, 6],
    ]
    assert batch["mask"][:, :, 0].tolist() == [
        [True, False, False, False],
        [True] * 3 + [False],
        [True] * 4,
    ]
    assert training[int(by_length[2])].data[0, :, 0].tolist() == [3, 4, 5, 6]
    assert training[-1].lengths.tolist() == [training.to_numpy().lengths[-1]]
    assert training.to_numpy(fill=-1).data[by_length[0], :, 0].tolist() == [1, -1, -1, -1]
    assert set(dict(batch)) == {
        "data",
        "mask",
        "lengths",
        "collection_id",
        "instance_index",
        "first_time",
        "numbers",
        "codes",
    }
    with pytest.raises(IndexError):
        training[3]
    frame = training.to_pandas().sort_values(["length", "step"])
    assert frame["step"].tolist() == [0, 1, 0, 1, 2, 0, 1, 2, 3]
    assert frame["average_cpu"].fillna(-1).tolist() == [1, -1, 7, 8, 9, 3, 4, 5, 6]
    assert frame["priority"].tolist() == [0] * 2 + [2] * 3 + [1] * 4
    assert set(frame["user"]) == {"user0"}


@pytest.mark.parametrize("has_own_function", [True, False])
def test_torch_has_the_batches_of_numpy_by_number(
    small: ArrayStore, tmp_path: Path, has_own_function: bool
) -> None:
    torch = pytest.importorskip("torch")
    training = _built(small, tmp_path / "d")["training"]
    traces = training.torch_map()
    options = {"collate_fn": traces.collate} if has_own_function else {}
    loader = torch.utils.data.DataLoader(traces, 64, **options)
    batches = list(loader)
    assert [len(batch) for batch in batches] == [64, 64, 64, 8]
    for first, batch in zip(range(0, 200, 64), batches, strict=True):
        expected = training[first : first + 64]
        for name in expected.keys():  # noqa: SIM118 - a batch is iterated over by nobody
            np.testing.assert_array_equal(batch[name].numpy(), expected[name])
    assert traces[5].to(torch.float64).data.dtype == torch.float64


@pytest.mark.parametrize(
    ("workers", "shards"),
    [
        (0, 4),
        (2, 3),
        (2, 1),
    ],
)
def test_a_loader_goes_on_where_it_was_left(
    small: ArrayStore,
    tmp_path: Path,
    workers: int,
    shards: int,
) -> None:
    torch = pytest.importorskip("torch")
    training = _built(small, tmp_path / "d", shards=shards)["training"]

    def told(traces: object) -> list[list[tuple[int, int]]]:
        context = "fork" if workers else None
        loader = torch.utils.data.DataLoader(
            traces,
            batch_size=None,
            num_workers=workers,
            multiprocessing_context=context,
        )
        return [
            list(zip(b.collection_id.tolist(), b.instance_index.tolist(), strict=True))
            for b in loader
        ]

    def made() -> object:
        return training.torch(
            batch_size=9,
            seed=3,
            buffer=40,
        )

    traces = made()
    traces.set_epoch(2)
    whole = told(traces)
    assert sorted(pair for batch in whole for pair in batch) == sorted(
        map(tuple, training.load().identity[:, :2].tolist())
    )
    for had in (1, 7, len(whole) - 2, len(whole)):
        following = made()
        following.load_state_dict(traces.state_dict(had))
        assert told(following) == whole[had:]


def test_with_a_file_for_each_worker_each_reads_its_own(small: ArrayStore, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    training = _built(small, tmp_path / "d", shards=2)["training"]
    loader = torch.utils.data.DataLoader(
        training.torch(batch_size=200),
        batch_size=None,
        num_workers=2,
        multiprocessing_context="fork",
    )
    files = [sorted(training.arrays(path).identity[:, 0].tolist()) for path in training.paths]
    assert [sorted(batch.collection_id.tolist()) for batch in loader] == files


def test_a_batch_has_a_trace(small: ArrayStore, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    training = _built(small, tmp_path / "d")["training"]
    with pytest.raises(UsageError) as error:
        training.batches(0)
    assert str(error.value) == "size: not a batch size: expected at least 1, got 0"
    with pytest.raises(UsageError) as error:
        training.torch(batch_size=-2)
    assert str(error.value) == "batch_size: not a batch size: expected at least 1, got -2"


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        # Two buffers of 2 and 1 batches beside one of 1 and nothing: they give in turns until they have no more.
        (0, ([0, 0, 0], 0)),
        (1, ([1, 0, 0], 1)),
        (2, ([1, 1, 0], 2)),
        (3, ([2, 1, 0], 1)),
        (4, ([3, 1, 0], 1)),
        # There are no more than four.
        (9, ([3, 1, 0], 1)),
    ],
)
def test_workers_take_turns(done: int, expected: tuple[list[int], int]) -> None:
    pytest.importorskip("torch")
    from borgtrace.datasets.pytorch import count_dealt

    assert (
        count_dealt(
            [
                [2, 1],
                [1],
                [],
            ],
            done,
        )
        == expected
    )
