"""Tasks on other machines: what they are sent, and what the process that sends it reads."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark import cloudpickle

from borgtrace.datasets.build import DatasetBuild, build
from borgtrace.datasets.options import DatasetOptions
from borgtrace.datasets.selection import Selection
from borgtrace.datasets.trace_rows import TraceSpans
from borgtrace.engine import SparkTasks

from .stores import ArrayStore, array_store

N_TRACES = 4000
STATICS = ("cpu_request", "user")


class PickledTasks(SparkTasks):
    """Runs tasks here, each after its item has been pickled as for another machine."""

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
            yield received(pickle.loads(sent))


SENT: list[int] = []


@pytest.fixture
def store() -> ArrayStore:
    return array_store((np.arange(N_TRACES) % 7 + 1).tolist())


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


def test_what_all_are_sent_holds_no_trace(store: ArrayStore) -> None:
    options = DatasetOptions(static=STATICS[:1])
    work = DatasetBuild(store, options, threads=1, progress=lambda *_: None)
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
