"""One learning session, whole: how well can the CPU usage of a task be told one to four steps ahead?

From a store to a table and a chart of the error per horizon, for three forecasters: persistence (the last
value stays), a linear autoregression on the last four values, and a small LSTM.  Without a store it makes a
synthetic one, and says so.

    python examples/forecast/forecast.py OUT [--store STORE] [--epochs 20]
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import borgtrace
from borgtrace import datasets
from borgtrace.datasets import Batch, Dataset, DatasetOptions, Selection, Split

ORDER = 4
HORIZONS = 4
Floats = NDArray[np.float32]


def demo_store(folder: Path, machines: int, hours: float) -> Path:
    """Make a synthetic trace and its store."""
    from borgtrace import synth
    from borgtrace.ingest import ingest

    if not (folder / "store" / "manifest.json").exists():
        synth.generate(folder / "raw", machines=machines, hours=hours, seed=1)
        ingest([folder / "raw"], folder / "store")
    return folder / "store"


def windows(found: Dataset, name: str) -> tuple[Floats, Floats]:
    """Every run of ORDER known values and the HORIZONS values after it, within one trace.

    Returns
    -------
    past, future
        float32 of shape (n, ORDER) and (n, HORIZONS), scaled.
    """
    part = found[name].load()
    trace = np.repeat(np.arange(len(part)), np.diff(part.offsets))
    width = ORDER + HORIZONS
    if len(trace) < width:
        return np.empty((0, ORDER), np.float32), np.empty((0, HORIZONS), np.float32)
    cut = np.lib.stride_tricks.sliding_window_view(part.values[:, 0], width)
    inside = trace[: len(cut)] == trace[width - 1 :]
    whole = cut[inside & ~np.isnan(cut).any(axis=1)]
    return whole[:, :ORDER], whole[:, ORDER:]


def persistence(past: Floats) -> Floats:
    """Repeat the last value."""
    return np.repeat(past[:, -1:], HORIZONS, axis=1)


def autoregression(past: Floats, future: Floats) -> NDArray[np.floating]:
    """Least squares from the last ORDER values and 1 to each horizon: shape (ORDER + 1, HORIZONS)."""
    return np.linalg.lstsq(_with_one(past), future, rcond=None)[0]


def _with_one(past: Floats) -> Floats:
    return np.hstack([past, np.ones((len(past), 1), np.float32)])


class Recurrent(nn.Module):
    """An LSTM that tells all horizons at once from what it has read so far."""

    def __init__(self, units: int = 32) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, units, batch_first=True)
        self.head = nn.Linear(units, HORIZONS)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        """(n, points, 1) → (n, points, HORIZONS): what follows each point, as a change from it."""
        change: torch.Tensor = self.head(self.lstm(series)[0])
        return series + change


def train(found: Dataset, epochs: int, seed: int) -> Recurrent:
    """Train on all points of all training traces at once; missing values count for nothing."""
    torch.manual_seed(seed)
    model = Recurrent()
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    batches = found["training"].torch(batch_size=64, seed=seed)
    for epoch in range(epochs):
        batches.set_epoch(epoch)
        total, count = 0.0, 0
        for batch in torch.utils.data.DataLoader(batches):
            error, known = _errors(model, batch)
            if not known.any():
                continue
            loss = (error[known] ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total, count = total + loss.item() * int(known.sum()), count + int(known.sum())
        print(f"epoch {epoch + 1}: mean squared error {total / max(count, 1):.4f} (scaled)")
    return model


def _errors(model: Recurrent, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Errors of every horizon at every point, and where the truth is known: (n, points, HORIZONS) each."""
    data, mask = batch["data"], batch["mask"][..., 0]
    told = model(data)
    points = data.shape[1]
    error, known = torch.zeros_like(told), torch.zeros(told.shape, dtype=torch.bool)
    for h in range(1, min(HORIZONS, points - 1) + 1):
        error[:, :-h, h - 1] = told[:, :-h, h - 1] - data[:, h:, 0]
        known[:, :-h, h - 1] = mask[:, :-h] & mask[:, h:]
    return error, known


def recurrent_errors(model: Recurrent, found: Dataset) -> Floats:
    """Squared errors of the LSTM at the points that :func:`windows` has: shape (n, HORIZONS)."""
    kept = []
    with torch.no_grad():
        for batch in found["testing"].torch(batch_size=64):
            error, known = _errors(model, batch)
            mask = batch["mask"][..., 0]
            past = torch.zeros_like(mask)
            if mask.shape[1] >= ORDER:
                past[:, ORDER - 1 :] = mask.unfold(1, ORDER, 1).all(dim=-1)
            kept.append(error[known.all(dim=-1) & past] ** 2)
    return torch.cat(kept).numpy() if kept else np.empty((0, HORIZONS), np.float32)


def evaluate(found: Dataset, epochs: int, seed: int) -> Iterator[dict[str, object]]:
    """Yield one row per forecaster and horizon."""
    past, future = windows(found, "training")
    weights = autoregression(past, future)
    past, future = windows(found, "testing")
    squares = {
        "persistence": (persistence(past) - future) ** 2,
        "linear AR(4)": (_with_one(past) @ weights - future) ** 2,
        "LSTM": recurrent_errors(train(found, epochs, seed), found),
    }
    unit = found.metadata.scalings[0].divisor
    for name, square in squares.items():
        assert len(square) == len(future), "all forecasters are judged on the same points"
        for h in range(HORIZONS):
            mean = float(np.mean(square[:, h], dtype=np.float64))
            yield {
                "forecaster": name,
                "steps ahead": h + 1,
                "points": len(square),
                "MSE (scaled)": mean,
                "RMSE (machines)": unit * mean**0.5,
            }


def write_table(rows: list[dict[str, object]], path: Path) -> None:
    """Write the table as CSV, and show it."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    print(f"{'forecaster':<14}" + "".join(f"{f'{h} ahead':>12}" for h in range(1, HORIZONS + 1)))
    for name in dict.fromkeys(row["forecaster"] for row in rows):
        errors = [row["RMSE (machines)"] for row in rows if row["forecaster"] == name]
        print(f"{name:<14}" + "".join(f"{error:>12.5f}" for error in errors))
    print("root mean squared error, as a fraction of the largest machine")


def write_chart(rows: list[dict[str, object]], path: Path, title: str) -> None:
    """Draw the error per horizon."""
    import altair as alt

    chart = (
        alt.Chart(alt.Data(values=rows), title=title, width=420, height=260)
        .mark_line(point=True)
        .encode(
            alt.X("steps ahead:O", title="steps ahead (300 s each)", axis=alt.Axis(labelAngle=0)),
            alt.Y("RMSE (machines):Q", title="root mean squared error (largest machine = 1)"),
            alt.Color("forecaster:N"),
        )
    )
    chart.save(path)


def main(arguments: list[str] | None = None) -> None:
    """Run the session."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder for the dataset, the table and the chart")
    parser.add_argument("--store", type=Path, help="a store; a synthetic one is made if not given")
    parser.add_argument("--machines", type=int, default=100, help="size of the synthetic cell")
    parser.add_argument("--hours", type=float, default=24.0, help="length of the synthetic trace")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    store = borgtrace.open(
        options.store or demo_store(options.out, options.machines, options.hours)
    )
    selection = Selection(min_length=ORDER + HORIZONS, max_length=50)
    built = datasets.build(
        store,
        options.out / "dataset",
        DatasetOptions(selection=selection, split=Split(by="job"), format="npz", seed=options.seed),
    )
    print(f"{built.counts} of {built.n_matched} traces; by job, so that no job is in two sets:")
    print("\n".join(line for line in built.leakage if " jobs are in " in line))
    rows = list(evaluate(datasets.open(built.path), options.epochs, options.seed))
    write_table(rows, options.out / "errors.csv")
    made = (
        "synthetic trace" if store.manifest.synthetic else f"trace of {store.manifest.generation}"
    )
    write_chart(rows, options.out / "errors.svg", f"Forecasts of a task's CPU usage ({made})")
    print(f"chart: {options.out / 'errors.svg'}")


if __name__ == "__main__":
    main()
