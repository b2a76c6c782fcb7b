"""Training: a seed decides it, threads change no bit, and a network learns what is there to learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from borgtrace.learning import lstm
from borgtrace.learning.devices import reproducible
from borgtrace.learning.examples import ExampleArrays, WindowTable

torch = pytest.importorskip("torch")
CPU = torch.device("cpu")


def examples_of(n: int) -> ExampleArrays:
    """Pasts of random numbers, whose last but one is the change; a tenth is unknown."""
    rng = np.random.default_rng(n)
    past = rng.standard_normal((n, 4))
    return ExampleArrays(past, past[:, 2:3], rng.random((n, 1)) < 0.9, CPU)


def learned(
    table: Any, batch: int, epochs: int = 1, threads: int | None = None, seed: int = 0
) -> Any:
    with reproducible(seed) as generator:
        layers = lstm.untrained_layers(1)
        lstm.train(layers, table, generator=generator, batch=batch, epochs=epochs, threads=threads)
    return layers


def is_equal(one: Any, other: Any) -> bool:
    return all(map(torch.equal, one.parameters(), other.parameters()))


@pytest.mark.wide
def test_threads_change_no_bit() -> None:
    table = examples_of(3 * lstm.SHARD + 100)
    layers = [learned(table, len(table), threads=threads) for threads in (1, 2, 5)]
    assert is_equal(layers[0], layers[1])
    assert is_equal(layers[0], layers[2])


def test_the_gradient_of_shards_is_that_of_the_whole_batch() -> None:
    table = examples_of(2 * lstm.SHARD + 1)
    batch = table.batch(torch.arange(len(table)))
    torch.manual_seed(0)
    layers = lstm.untrained_layers(1)
    lstm.loss_of(layers, batch, lstm.known_weight(batch)).backward()
    whole = [parameter.grad.clone() for parameter in layers.parameters()]
    layers.zero_grad()
    with lstm.thread_pool(2) as pool:
        lstm.set_gradients(layers, batch, pool)
    for parameter, expected in zip(layers.parameters(), whole, strict=True):
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-4, atol=1e-6)


def test_a_seed_decides_layers_and_order() -> None:
    table = examples_of(3000)
    assert is_equal(learned(table, 512, epochs=2), learned(table, 512, epochs=2))
    assert not is_equal(learned(table, 512), learned(table, 512, seed=1))


def test_each_epoch_has_each_example_once_in_another_order() -> None:
    table = examples_of(1000)
    rows = list(lstm.random_rows(table, 300, 2, torch.Generator().manual_seed(0)))
    assert [len(part) for part in rows] == [300, 300, 300, 100] * 2
    first, second = torch.cat(rows[:4]), torch.cat(rows[4:])
    assert first.sort().values.tolist() == second.sort().values.tolist() == list(range(1000))
    assert not torch.equal(first, second)


def test_a_network_learns_what_the_past_tells() -> None:
    table = examples_of(4000)
    layers = learned(table, 100, epochs=15)
    batch = table.batch(torch.arange(1000))
    with torch.no_grad():
        errors = lstm.predict(layers, batch.past) - batch.changes
    # The changes have variance 1: whoever knows nothing errs by 1.
    assert float((errors**2).mean()) < 0.1


def test_batches_grow_with_the_examples_and_not_before() -> None:
    sizes = [lstm.batch_size(n) for n in (1, 50_000, 512 * 2048, 512 * 2048 + 1, 10**9)]
    assert sizes == [512, 512, 512, 1024, 32_768]


@pytest.fixture
def cuda() -> Any:
    """The first GPU of CUDA."""
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU of CUDA on this machine")
    return torch.device("cuda:0")


def windows_on(device: Any) -> WindowTable:
    values = np.random.default_rng(0).random(30_000).astype(np.float32)
    offsets = np.arange(0, 30_001, 100)
    return WindowTable(values, offsets, past=12, horizons=1, device=device)


def learned_on(device: Any) -> Any:
    """Predictions for the first thousand windows, once all were learned on a device."""
    table = windows_on(device)
    with reproducible(7) as generator:
        layers = lstm.untrained_layers(1).to(device)
        lstm.train(layers, table, generator=generator, batch=2048, epochs=3)
    with torch.no_grad():
        return lstm.predict(layers, table.batch(torch.arange(1000, device=device)).past).cpu()


@pytest.mark.gpu
def test_a_gpu_repeats_itself_to_the_bit_and_agrees_with_the_cpu(cuda: Any) -> None:
    first, second = learned_on(cuda), learned_on(cuda)
    assert torch.equal(first, second)
    # A thousandth of a deviation: what the docs promise.
    torch.testing.assert_close(first, learned_on(CPU), rtol=0, atol=1e-3)
