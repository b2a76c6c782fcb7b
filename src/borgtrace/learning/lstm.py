"""An LSTM over a short past that predicts several changes, and how it is trained on batches of any size."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

from borgtrace.learning.devices import import_torch
from borgtrace.learning.shuffling import shuffled

UNITS = 32
LEARNING_RATE = 3e-3
LONGEST_GRADIENT = 1.0
SHARD = 4096
"""Examples whose gradient one thread of a CPU computes: the same few sums, however many threads there are."""
SMALLEST_BATCH, LARGEST_BATCH = 512, 32_768
STEPS_PER_EPOCH = 2048
"""Batches grow only where there would be more steps than these: few examples need many steps."""


class ExampleBatch(NamedTuple):
    """Examples as tensors on one device.

    Attributes
    ----------
    past
        What the network sees: (n, past).
    changes, weights
        What it is to predict, and how much each counts, 0 where unknown: (n, horizons).
    """

    past: Any
    changes: Any
    weights: Any


class ExampleTable(Protocol):
    """Examples by number, wherever they lie.

    Attributes
    ----------
    place
        The device on which they lie.
    """

    place: Any

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def batch(self, rows: Any) -> ExampleBatch:
        """Return the examples of some numbers, int64 where they lie, on the device of training."""
        ...


def batch_size(n_examples: int) -> int:
    """Return the size of batches for so many examples: a power of two.

    Examples
    --------
    >>> batch_size(50_000), batch_size(4_000_000), batch_size(100_000_000)
    (512, 2048, 32768)
    """
    per_step = n_examples / STEPS_PER_EPOCH
    size = SMALLEST_BATCH
    while size < LARGEST_BATCH and size < per_step:
        size *= 2
    return size


def untrained_layers(horizons: int) -> Any:
    """Return the layers of the network with random parameters."""
    torch = import_torch("the network")
    recurrent = torch.nn.LSTM(1, UNITS, batch_first=True)
    head = torch.nn.Linear(UNITS, horizons)
    return torch.nn.ModuleList([recurrent, head])


def predict(layers: Any, past: Any) -> Any:
    """Return the changes that the network predicts: (n, horizons)."""
    recurrent, head = layers
    outputs, _ = recurrent(past[:, :, None])
    return head(outputs[:, -1])


def train(
    layers: Any,
    table: ExampleTable,
    *,
    generator: Any,
    batch: int,
    epochs: int,
    threads: int | None = None,
) -> None:
    """Minimize the squared error of what is known, with Adam.

    Parameters
    ----------
    layers
        Of :func:`untrained_layers`, on the device of training.
    table
        The examples.
    generator
        Of the order of examples, of the CPU.
    batch
        Examples of a step.
    epochs
        How often each example is learned from.
    threads
        Threads of a CPU that work on a large batch; all cores where None.  They do not change a bit.
    """
    torch = import_torch("the network")
    parameters = list(layers.parameters())
    device = parameters[0].device
    # One kernel for all parameters: a step of small layers is mostly starts of kernels.
    options = {"fused": True} if device.type == "cuda" else {}
    optimizer = torch.optim.Adam(parameters, LEARNING_RATE, **options)
    with thread_pool(threads or os.cpu_count() or 1) as pool:
        for rows in random_rows(table, batch, epochs, generator):
            examples = table.batch(rows)
            optimizer.zero_grad()
            if device.type == "cpu" and len(rows) > SHARD:
                set_gradients(layers, examples, pool)
            else:
                loss_of(layers, examples, known_weight(examples)).backward()
            torch.nn.utils.clip_grad_norm_(parameters, LONGEST_GRADIENT)
            optimizer.step()


def thread_pool(threads: int) -> ThreadPoolExecutor:
    """Return threads in each of which PyTorch uses as many as it does in this one."""
    torch = import_torch("the network")
    # A new thread takes the number over when it is asked for it; before that, MKL would take all cores.
    return ThreadPoolExecutor(threads, initializer=torch.get_num_threads)


def known_weight(examples: ExampleBatch) -> Any:
    """Return what the errors of a batch are divided by."""
    return examples.weights.sum().clamp(min=1)


def loss_of(layers: Any, examples: ExampleBatch, divisor: Any) -> Any:
    """Return the sum of weighted squared errors, divided."""
    errors = predict(layers, examples.past) - examples.changes
    return (errors**2 * examples.weights).sum() / divisor


def set_gradients(layers: Any, examples: ExampleBatch, pool: ThreadPoolExecutor) -> None:
    """Set the gradients of a batch, of which threads work on one shard each.

    Shards, and the order in which their gradients are added, are the same whatever the number of threads, and so is
    the sum to the last digit.
    """
    torch = import_torch("the network")
    parameters = list(layers.parameters())
    divisor = known_weight(examples)

    def gradients(shard: ExampleBatch) -> Sequence[Any]:
        return torch.autograd.grad(loss_of(layers, shard, divisor), parameters)

    shards = (
        ExampleBatch(*parts)
        for parts in zip(*(part.split(SHARD) for part in examples), strict=True)
    )
    for of_shard in pool.map(gradients, shards):
        for parameter, gradient in zip(parameters, of_shard, strict=True):
            parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient


def random_rows(
    table: ExampleTable,
    batch: int,
    epochs: int,
    generator: Any,
) -> Iterator[Any]:
    """Yield the numbers of the examples of each batch, where the examples lie."""
    torch = import_torch("the network")
    keys = torch.randint(1 << 62, (epochs,), generator=generator)
    for key in keys.tolist():
        yield from shuffled(len(table), key, table.place).split(batch)
