"""Tasks on other machines: what they are sent, and what the process that sends it reads."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark import cloudpickle

from borgtrace.datasets.build import build
from borgtrace.datasets.chosen import ChosenTraces
from borgtrace.datasets.options import DatasetOptions
from borgtrace.datasets.selection import Selection
from borgtrace.datasets.split import Split
from borgtrace.datasets.trace_rows import TraceSpans
from borgtrace.datasets.trace_work import TraceWork
from borgtrace.engine import SparkTasks
from borgtrace.errors import StoreError, UsageError
from borgtrace.storage.paths import as_path
from tests.bucket import Bucket, serving

from .stores import ArrayStore, array_store

N_TRACES = 4000
STATICS = ("cpu_request", "user")


class PickledTasks(SparkTasks):
    """Runs tasks here, each after its item has been pickled as for another machine.

    Attributes
    ----------
    received
        Bytes of their results.
    before
        Called before each task.
    """

    received = 0
    before: Callable[[], None] = staticmethod(lambda: None)

    def map(
        self,
        function: Callable[..., Any],
        items: Iterable[Any],
        *,
        ordered: bool = True,
    ) -> Iterator[Any]:
        received = pickle.loads(cloudpickle.dumps(function))
        for item in items:
            sent = pickle.dumps(item)
            SENT.append(len(sent))
            type(self).before()
            result = cloudpickle.dumps(received(pickle.loads(sent)))
            PickledTasks.received += len(result)
            yield pickle.loads(result)


SENT: list[int] = []


def traces(n: int) -> ArrayStore:
    """Return traces of one to seven windows."""
    return array_store((np.arange(n) % 7 + 1).tolist())


@pytest.fixture
def store() -> ArrayStore:
    return traces(N_TRACES)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("gaps", ["keep", "grid"])
def test_each_is_sent_its_own_traces_and_the_files_are_the_same(
    store: ArrayStore, tmp_path: Path, gaps: str
) -> None:
    options = DatasetOptions(selection=Selection(gaps=gaps), static=STATICS, shards=3)
    build(store, tmp_path / "here", options, threads=1)
    SENT.clear()  # the list outlives a test
    build(store, tmp_path / "there", options, threads=PickledTasks("local[2]"))
    assert files(tmp_path / "there") == files(tmp_path / "here")
    # One block is measured, and three sets have three files each.
    assert len(SENT) == 10
    # As plain arrays they would take 68 bytes a trace: seven whole numbers, a float and the code of a word.
    assert sum(SENT) < 20 * N_TRACES


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with serving(tmp_path / "s3", "sets", monkeypatch) as made:
        yield made


@pytest.mark.parametrize(
    ("options", "n_traces"),
    [
        (DatasetOptions(static=STATICS, shards=3), N_TRACES),
        (
            DatasetOptions(
                selection=Selection(gaps="grid", sample=900),
                static=STATICS,
                split=Split(by="time"),
            ),
            N_TRACES,
        ),
        # Nearly each trace has a file of its own: of all there would be 700, which took 46 s of CPU time.
        (DatasetOptions(selection=Selection(min_length=1), compat="original"), 100),
    ],
)
def test_a_task_chooses_for_a_dataset_in_a_bucket_and_no_trace_passes_here(
    bucket: Bucket, tmp_path: Path, options: DatasetOptions, n_traces: int
) -> None:
    store = traces(n_traces)
    told: list[tuple[str, int, int]] = []
    build(store, tmp_path / "here", options, threads=1)
    SENT.clear()
    PickledTasks.received = 0
    tasks = PickledTasks("local[2]")
    built = build(
        store,
        as_path(f"{bucket.url}/set"),
        options,
        threads=tasks,
        progress=lambda *a: told.append(a),
    )
    assert files(bucket.root / "set") == files(tmp_path / "here")
    assert built.is_new
    # What a task is sent are names, digests and counts; what it returns, too.
    n_files = len(list((tmp_path / "here").glob("*/*")))
    n_words = n_traces // 5 if "user" in options.static else 0
    assert sum(SENT) + PickledTasks.received < 2_000 + 700 * n_files + 10 * n_words
    assert [step for step, _, _ in told[:2]] == ["select", "select"]
    assert told[-1] == ("write", told[-1][2], told[-1][2])
    # Another run finds the very same dataset.
    assert not build(store, as_path(f"{bucket.url}/set"), options, threads=tasks).is_new


def test_nothing_stays_in_the_bucket_where_nothing_matches(
    store: ArrayStore, bucket: Bucket
) -> None:
    options = DatasetOptions(selection=Selection(min_length=50))
    with pytest.raises(UsageError, match=r"^selection: no task matches: expected at least one"):
        build(store, as_path(f"{bucket.url}/set"), options, threads=PickledTasks("local[2]"))
    assert files(bucket.root) == {}


def test_traces_that_were_changed_in_the_bucket_are_refused(
    store: ArrayStore, bucket: Bucket
) -> None:
    def damage() -> None:
        for path in bucket.root.glob("set/chosen.incomplete/file-*"):
            path.write_bytes(b"\0" * path.stat().st_size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PickledTasks, "before", staticmethod(damage))
        with pytest.raises(StoreError, match="file-00000: the file has changed since it was"):
            build(
                store,
                as_path(f"{bucket.url}/set"),
                DatasetOptions(),
                threads=PickledTasks("local[2]"),
            )
    assert files(bucket.root) == {}


def test_what_all_are_sent_holds_no_trace(store: ArrayStore) -> None:
    options = DatasetOptions(static=STATICS[:1])
    work = TraceWork(store, options, ChosenTraces(store, options).names)
    without_store = len(pickle.dumps(work)) - len(pickle.dumps(store))
    assert without_store < 2_000


@pytest.mark.parametrize("n_traces", [0, 1, 5])
def test_what_a_task_is_sent_can_be_written_to(n_traces: int) -> None:
    spans = TraceSpans(*(np.arange(n_traces) + column for column in range(4)))
    received = pickle.loads(pickle.dumps(spans))
    for name in ("first_row", "n_windows", "length", "slot"):
        values = getattr(received, name)
        # Kernels take arrays that can be written to and others for different types.
        assert values.flags.writeable
        assert values.tolist() == getattr(spans, name).tolist()
