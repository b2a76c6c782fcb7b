"""Learning on a device: batches of traces gathered there, and the LSTM of 32 units trained on all windows.

Needs PyTorch and NumPy alone, and makes its own data: series of 5-minute windows whose lengths are drawn as in 2011.

    python benchmarks/learning.py [--device cuda] [--traces 1000000] [--windows 100000000] [--epochs 1]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))
from borgtrace.learning.devices import device_of, import_torch, reproducible
from borgtrace.learning.examples import WindowTable
from borgtrace.learning.lstm import LARGEST_BATCH, predict, train, untrained_layers
from borgtrace.learning.resident_traces import ResidentTraces
from borgtrace.learning.shuffling import shuffled

PAST = HORIZONS = 12
GATHERED = 4096
TOLERANCE = 1e-3
"""Largest difference between predictions learned on two devices, as a fraction of a deviation."""


def make_series(
    n_series: int, shortest: int, longest: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return usage that wanders around a level of each series, float32, and where each begins."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(shortest, longest + 1, n_series)
    offsets = np.append(0, np.cumsum(lengths))
    noise = rng.standard_normal(int(offsets[-1]), dtype=np.float32)
    # A running mean of four: the next value can be foretold in part.
    values = noise.copy()
    for lag in (1, 2, 3):
        values[lag:] += noise[:-lag]
    return np.abs(values) * np.float32(0.02), offsets


def seconds(device: Any, function: Callable[[], object]) -> float:
    """Return how long a function takes, with all that it started on the device."""
    torch = import_torch("the benchmark")
    begin = time.perf_counter()
    function()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - begin


def gather_rates(device: Any, n_traces: int) -> list[str]:
    """Measure batches of 4,096 of traces of 5 to 50 points: gathered alone, and in whole shuffled epochs."""
    torch = import_torch("the benchmark")
    values, offsets = make_series(n_traces, 5, 50, seed=0)
    traces = ResidentTraces(values[:, None], offsets, device)
    lengths = np.diff(offsets)
    by_length = np.argsort(lengths, kind="stable")
    parts = []
    for low in range(0, n_traces, GATHERED):
        rows = by_length[low : low + GATHERED]
        parts.append((torch.as_tensor(rows).to(device), int(lengths[rows].max())))

    def gather_all() -> None:
        for rows, longest in parts:
            traces.gather(rows, longest)

    def epoch(number: int) -> None:
        n_seen = sum(len(batch.rows) for batch in traces.batches(GATHERED, seed=0, epoch=number))
        assert n_seen == n_traces

    gather_all()
    gathered = min(seconds(device, gather_all) for _ in range(5))
    epoch(0)
    whole = min(seconds(device, lambda n=n: epoch(n)) for n in range(1, 4))
    return [
        f"gathered, batches of {GATHERED:,} | {n_traces / gathered / 1e6:.2f} M traces/s | – |",
        f"whole shuffled epochs | {n_traces / whole / 1e6:.2f} M traces/s | – |",
    ]


def learn(
    device: Any, table: WindowTable, batch: int, epochs: int, threads: int | None = None
) -> Any:
    """Return layers that learned all windows of a table."""
    with reproducible(seed=0) as generator:
        layers = untrained_layers(HORIZONS).to(device)
        train(layers, table, generator=generator, batch=batch, epochs=epochs, threads=threads)
    return layers


def training_rates(device: Any, n_windows: int, epochs: int) -> list[str]:
    """Measure training on all windows, and of it what making batches takes."""
    torch = import_torch("the benchmark")
    longest = 2 * n_windows // (n_windows // 200 + 1)
    values, offsets = make_series(n_windows // 200 + 1, PAST + HORIZONS, longest + 46, seed=1)
    table = WindowTable(values, offsets, past=PAST, horizons=HORIZONS, device=device)
    # Machine code and the memory of a step are not counted.
    warm = WindowTable(
        values[: offsets[20]], offsets[:21], past=PAST, horizons=HORIZONS, device=device
    )
    learn(device, warm, LARGEST_BATCH, 2)
    taken = seconds(device, lambda: learn(device, table, LARGEST_BATCH, epochs))
    rows = torch.randperm(min(len(table), 64 * LARGEST_BATCH)).split(LARGEST_BATCH)

    def make_batches() -> None:
        for part in rows:
            table.batch(part.to(table.place))

    make_batches()
    n_made = sum(map(len, rows))
    making = min(seconds(device, make_batches) for _ in range(3)) / n_made
    learned = len(table) * epochs
    order = seconds(device, lambda: shuffled(len(table), 0, table.place))
    memory = f"{table.n_bytes / 1e9:.2f} GB, {'on the device' if table.is_resident else 'streamed'}"
    if device.type == "cuda":
        memory += f"; peak of the device {torch.cuda.max_memory_allocated(device) / 1e9:.2f} GB"
    rate = learned / taken / 1e6
    size = len(table) / 1e6
    bars = ("≥ 4", "≤ 10 %", "≤ 180 s for 100 M") if device.type != "cpu" else ("–",) * 3
    return [
        f"training, batches of {LARGEST_BATCH:,} | {rate:.3f} M examples/s | {bars[0]} |",
        f"making batches, share of it | {100 * making * learned / taken:.1f} % | {bars[1]} |",
        f"{size:.1f} M windows × {epochs} epochs | {taken:.1f} s | {bars[2]} |",
        f"of it the order of an epoch | {order:.2f} s | – |",
        f"values and beginnings of windows | {memory} | – |",
    ]


def agreement(device: Any) -> list[str]:
    """Compare what the CPU and the device learned from the same seed, and what the device learned twice."""
    torch = import_torch("the benchmark")
    values, offsets = make_series(300, 100, 300, seed=2)
    predictions = []
    for place in (torch.device("cpu"), device, device):
        table = WindowTable(values, offsets, past=PAST, horizons=HORIZONS, device=place)
        layers = learn(place, table, 4096, 3)
        examples = table.batch(torch.arange(4096, device=table.place))
        with torch.no_grad():
            predictions.append(predict(layers, examples.past).cpu())
    cpu, first, second = predictions
    apart = float((cpu - first).abs().max())
    spread = float(cpu.std())
    is_same = torch.equal(first, second)
    return [
        f"largest difference from the CPU, deviations | {apart:.1e} (they vary by {spread:.2f}) | ≤ {TOLERANCE:.0e} |",
        f"the same seed twice | {'the same bits' if is_same else 'DIFFERENT'} | the same bits |",
    ]


def thread_gain(n_windows: int) -> list[str]:
    """Measure what all cores of a CPU gain over one, the best of three in turn, and that they change no bit."""
    torch = import_torch("the benchmark")
    device = torch.device("cpu")
    values, offsets = make_series(n_windows // 200 + 1, 100, 346, seed=1)
    table = WindowTable(values, offsets, past=PAST, horizons=HORIZONS, device=device)
    n_cores = os.cpu_count() or 1
    taken = {1: float("inf"), n_cores: float("inf")}
    learned = {}
    for _ in range(3):
        for n, before in taken.items():
            begin = time.perf_counter()
            learned[n] = list(learn(device, table, LARGEST_BATCH, 1, threads=n).parameters())
            taken[n] = min(before, time.perf_counter() - begin)
    is_same = all(map(torch.equal, learned[1], learned[n_cores]))
    bar = "≥ 1.7 × on two" if n_cores == 2 else "–"
    single = len(table) / taken[1] / 1e6
    return [
        f"{n_cores} threads ÷ one | {taken[1] / taken[n_cores]:.2f} × of {single:.3f} M examples/s | {bar} |",
        f"the same bits as with one thread | {'yes' if is_same else 'NO'} | yes |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--traces", type=int, default=1_000_000)
    parser.add_argument("--windows", type=int, help="100 million on a GPU, half a million on a CPU")
    parser.add_argument("--epochs", type=int, default=1)
    options = parser.parse_args()
    torch = import_torch("the benchmark")
    device = device_of(options.device)
    n_windows = options.windows or (500_000 if device.type == "cpu" else 100_000_000)
    name = (
        torch.cuda.get_device_name(device) if device.type == "cuda" else f"{os.cpu_count()} cores"
    )
    print(f"{device}: {name}, PyTorch {torch.__version__}, NumPy {np.__version__}\n")
    print("| what | measured | bar |\n|---|--:|--:|")
    for line in agreement(device):
        print("| " + line, flush=True)
    for line in gather_rates(device, options.traces):
        print("| " + line, flush=True)
    for line in training_rates(device, n_windows, options.epochs):
        print("| " + line, flush=True)
    if device.type == "cpu":
        for line in thread_gain(n_windows):
            print("| " + line, flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"| peak memory of the process | {peak:.2f} GB | – |")


if __name__ == "__main__":
    main()
