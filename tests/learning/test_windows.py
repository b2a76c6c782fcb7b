"""Windows of flat series: which there are, and what a network sees of them, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.learning import examples
from borgtrace.learning.examples import ExampleArrays, WindowTable, window_starts

torch = pytest.importorskip("torch")
NAN = float("nan")
CPU = torch.device("cpu")


def table_of(
    values: list[float], offsets: list[int], past: int = 2, horizons: int = 1
) -> WindowTable:
    flat = np.array(values, np.float32)
    return WindowTable(flat, np.array(offsets), past=past, horizons=horizons, device=CPU)


def test_no_window_crosses_the_end_of_a_series() -> None:
    lengths = [0, 5, 2, 3, 4]
    offsets = np.cumsum([0, *lengths])
    starts = [
        start
        for first, length in zip(offsets, lengths, strict=False)
        for start in range(first, first + length - 2)
    ]
    assert window_starts(offsets, 3).tolist() == starts == [0, 1, 2, 7, 10, 11]


def test_a_window_is_relative_to_its_newest_value_and_its_deviation() -> None:
    # Mean 2, deviation 1, newest 3: the past is −2 and 0, the change 5 − 3.
    batch = table_of([1, 3, 5], [0, 3]).batch(torch.tensor([0]))
    scale = 1 + 1e-4
    assert batch.past.numpy() == pytest.approx(np.array([[-2 / scale, 0]]))
    assert batch.changes.numpy() == pytest.approx(np.array([[2 / scale]]))
    assert batch.weights.tolist() == [[1]]


def test_windows_come_by_number_from_their_own_series() -> None:
    table = table_of([0, 0, 1, 0, 0, 2, 0, 0, 3], [0, 3, 6, 9])
    assert len(table) == 3
    changes = table.batch(torch.tensor([2, 0])).changes
    assert changes.numpy() == pytest.approx(np.array([[3e4], [1e4]]), rel=1e-3)


def test_a_missing_past_value_is_the_mean_and_a_missing_target_counts_nothing() -> None:
    batch = table_of([2, NAN, 4, NAN, 4, 7], [0, 6], past=3, horizons=3).batch(torch.tensor([0]))
    # The past is 2, 3, 4: its mean is 3.
    scale = (2 / 3) ** 0.5 + 1e-4
    assert batch.past.numpy() == pytest.approx(np.array([[-2, -1, 0]]) / scale)
    assert batch.changes.numpy() == pytest.approx(np.array([[0, 0, 3]]) / scale)
    assert batch.weights.tolist() == [[0, 1, 1]]


def test_a_past_without_a_value_is_no_example_that_spoils_others() -> None:
    batch = table_of([NAN, NAN, 1], [0, 3]).batch(torch.tensor([0]))
    for part in batch:
        assert bool(part.isfinite().all())


def test_what_does_not_fit_is_brought_batch_by_batch_and_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    past, changes = rng.random((50, 12)), rng.random((50, 12))
    values, offsets = rng.random(200).astype(np.float32), np.array([0, 90, 200])
    rows = torch.arange(20)
    batches = []
    for is_resident in (True, False):
        monkeypatch.setattr(examples, "fits", lambda *_, answer=is_resident: answer)
        arrays = ExampleArrays(past, changes, changes > 0.5, CPU)
        windows = WindowTable(values, offsets, past=12, horizons=12, device=CPU)
        assert arrays.is_resident == windows.is_resident == is_resident
        batches.append([*arrays.batch(rows), *windows.batch(rows)])
    assert all(map(torch.equal, *batches))
