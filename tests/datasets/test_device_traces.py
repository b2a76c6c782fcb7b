"""``torch(device=…)``: the same traces as the files hold, on the device or streamed to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from borgtrace import datasets
from borgtrace.datasets import Batch, DatasetOptions, Split, TraceSet, build
from borgtrace.errors import UsageError

from .stores import array_store

torch = pytest.importorskip("torch")
N = 120


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> TraceSet:
    """A hundred and twenty traces of two series, some values missing, with a static number and a static word."""
    rng = np.random.default_rng(0)
    store = array_store([int(k) for k in rng.integers(1, 40, N)])
    store.arrays["average_cpu"][rng.random(len(store.arrays["average_cpu"])) < 0.1] = np.nan
    path = tmp_path_factory.mktemp("device") / "traces"
    options = DatasetOptions(
        features=("average_cpu", "average_memory"),
        static=("tier", "cpu_request"),
        shards=3,
        split=Split((1.0,)),
    )
    build(store, path, options)
    return next(iter(datasets.open(path).values()))


def by_task(batches: Any) -> dict[tuple[int, int], tuple[Any, ...]]:
    """All that batches hold of each trace, without padding, by job and task."""
    traces = {}
    for batch in batches:
        for k, length in enumerate(batch.lengths.tolist()):
            data, mask = batch.data[k].tolist(), batch.mask[k].tolist()
            # Beyond its length a trace is padding.
            assert not any(map(any, mask[length:]))
            traces[int(batch.collection_id[k]), int(batch.instance_index[k])] = (
                data[:length],
                mask[:length],
                batch.identity[k].tolist(),
                str(batch.numbers[k].tolist()),
                batch.codes[k].tolist(),
            )
    return traces


@pytest.mark.parametrize("is_resident", [True, False])
def test_traces_on_a_device_are_those_of_the_files(
    training: TraceSet, monkeypatch: pytest.MonkeyPatch, is_resident: bool
) -> None:
    from borgtrace.datasets import device_traces

    monkeypatch.setattr(device_traces, "fits", lambda *_: is_resident)
    batches = training.torch(device="cpu", batch_size=16, seed=4)
    assert batches.is_resident == is_resident
    loaded = list(batches)
    assert all(isinstance(batch, Batch) for batch in loaded)
    assert by_task(loaded) == by_task(training.batches(16))
    assert sum(map(len, loaded)) == N


def test_what_turns_out_not_to_fit_is_streamed(
    training: TraceSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The estimate before reading fits, what was read does not."""
    from borgtrace.datasets import device_traces

    answers = iter([True, False])
    monkeypatch.setattr(device_traces, "fits", lambda *_: next(answers))
    batches = training.torch(device="cpu", batch_size=16)
    assert sum(map(len, batches)) == N
    assert not batches.is_resident


@pytest.mark.parametrize("is_resident", [True, False])
def test_an_epoch_has_its_own_order(
    training: TraceSet, monkeypatch: pytest.MonkeyPatch, is_resident: bool
) -> None:
    from borgtrace.datasets import device_traces

    monkeypatch.setattr(device_traces, "fits", lambda *_: is_resident)
    batches = training.torch(device="cpu", batch_size=16, seed=1)
    orders = []
    for epoch in (0, 0, 1):
        batches.set_epoch(epoch)
        orders.append([number for batch in batches for number in batch.identity.flatten().tolist()])
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]


def test_the_expected_size_is_that_of_the_series(training: TraceSet) -> None:
    from borgtrace.datasets.device_traces import expected_bytes

    arrays = training.load()
    assert expected_bytes(training) == arrays.values.nbytes + 16 * N


def test_a_device_that_is_not_there_is_refused_before_anything_is_read(
    training: TraceSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UsageError) as caught:
        training.torch(device="cuda")
    assert str(caught.value) == (
        "device: PyTorch finds no such device: expected cpu, got cuda; auto takes the fastest that there is"
    )


@pytest.mark.gpu
def test_traces_live_on_a_gpu(training: TraceSet) -> None:
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU of CUDA on this machine")
    batches = training.torch(device="cuda", batch_size=16, seed=4)
    loaded = list(batches)
    assert batches.is_resident
    assert {batch.data.device.type for batch in loaded} == {"cuda"}
    assert by_task(loaded) == by_task(training.batches(16))
