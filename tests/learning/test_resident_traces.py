"""Traces on a device: each comes once an epoch, padded to the longest of its batch, with its own values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from borgtrace.learning.resident_traces import PaddedTraces, ResidentTraces

torch = pytest.importorskip("torch")
LENGTHS = np.random.default_rng(1).integers(0, 30, 500)
OFFSETS = np.append(0, np.cumsum(LENGTHS))


def traces_on(device: str, fill: float = 0.0) -> ResidentTraces:
    # The value of a point is its number, so that each says where it is from; every seventh is missing.
    values = np.arange(OFFSETS[-1], dtype=np.float32)
    values[::7] = np.nan
    return ResidentTraces(np.stack([values, -values], 1), OFFSETS, torch.device(device), fill)


def check(batch: PaddedTraces, fill: float) -> None:
    """Compare a batch with what its traces are, one by one."""
    assert batch.data.shape[1] == int(batch.lengths.max())
    for k, row in enumerate(batch.rows.tolist()):
        points = np.arange(OFFSETS[row], OFFSETS[row + 1])
        is_known = points % 7 != 0
        expected = np.where(is_known, points, fill)
        data, mask = batch.data[k].cpu().numpy(), batch.mask[k].cpu().numpy()
        length = len(points)
        assert int(batch.lengths[k]) == length
        assert data[:length, 0].tolist() == expected.tolist()
        assert data[:length, 1].tolist() == np.where(is_known, -points, fill).tolist()
        assert (data[length:] == fill).all()
        assert mask[:length].all(axis=1).tolist() == is_known.tolist()
        assert not mask[length:].any()


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("fill", [0.0, -1.5])
def test_each_trace_comes_once_with_its_own_values(seed: int | None, fill: float) -> None:
    batches = list(traces_on("cpu", fill).batches(64, seed=seed, buffer=200))
    for batch in batches:
        check(batch, fill)
    rows = torch.cat([batch.rows for batch in batches])
    assert rows.sort().values.tolist() == list(range(500))
    # Three buffers of 200, 200 and 100 traces, cut at 64.
    assert sorted(len(batch.rows) for batch in batches) == [8, 8, 36, *[64] * 7]


def orders(seed: int | None, epoch: int) -> list[int]:
    batches = traces_on("cpu").batches(64, seed=seed, epoch=epoch)
    return [row for batch in batches for row in batch.rows.tolist()]


def test_an_epoch_has_its_own_order_that_the_seed_decides() -> None:
    assert orders(1, 0) == orders(1, 0)
    assert orders(1, 0) != orders(1, 1)
    assert orders(1, 0) != orders(2, 0)
    assert orders(None, 0) == orders(None, 1)


def test_traces_of_a_batch_are_of_similar_length() -> None:
    spans = [
        int(batch.lengths.max() - batch.lengths.min()) for batch in traces_on("cpu").batches(50)
    ]
    # Ten batches share 29 lengths: no batch spans more than 3 of them and its neighbours'.
    assert max(spans) <= 4


def test_a_set_without_traces_has_no_batches() -> None:
    empty = ResidentTraces(np.empty((0, 1), np.float32), np.zeros(1), torch.device("cpu"))
    assert list(empty.batches(8, seed=0)) == []


@pytest.mark.gpu
def test_a_gpu_gives_the_same_batches() -> None:
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU of CUDA on this machine")
    pairs: Any = zip(
        traces_on("cpu").batches(64, seed=5), traces_on("cuda").batches(64, seed=5), strict=True
    )
    for on_cpu, on_gpu in pairs:
        assert all(torch.equal(a, b.cpu()) for a, b in zip(on_cpu, on_gpu, strict=True))
