"""What ``borgtrace colocate`` says of tasks by their moments, and where it would place each of them."""

import csv
import io
import sys
from pathlib import Path

import numpy as np

from borgtrace.cli._console import counted
from borgtrace.cli._printing import print_json
from borgtrace.colocation.from_moments import Moments
from borgtrace.placement import (
    Average,
    Estimator,
    Gpa,
    Packing,
    Percentile,
    Request,
    parse_estimator,
)
from borgtrace.storage import write_file


def run(
    tasks: Moments,
    capacity: float,
    target: float,
    estimator: str,
    packer: str,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print how many machines each way of packing needs, the advice on stderr; write the placement.

    Parameters
    ----------
    tasks
        With their moments.
    capacity
        Of each machine.
    target
        Tolerated probability of overflow.
    estimator, packer
        The way that places tasks; GPA at the target where no estimator is named.
    out
        File of the placement: a line per task with its machine, empty where it fits none.
    as_json
        Print JSON instead of CSV.
    """
    chosen = parse_estimator(estimator) if estimator else Gpa(target)
    ways: list[Estimator] = [Gpa(target), Average(1.0)]
    ways += [Percentile(100)] if tasks.maximum is not None else []
    ways += [Request(1.0)] if tasks.request is not None else []
    if chosen.label not in {way.label for way in ways}:
        ways.insert(0, chosen)
    packings = {way.label: tasks.packed(way, packer, capacity) for way in ways}
    rows = [_row(tasks, label, packing, capacity) for label, packing in packings.items()]
    if as_json:
        print_json(rows, indent=1)
    else:
        print(_csv([list(rows[0]), *(list(row.values()) for row in rows)]), end="")
    if out is not None:
        bins = packings[chosen.label].bins.tolist()
        machines = ["" if machine < 0 else machine for machine in bins]
        write_file(
            out, _csv([["task", "machine"], *map(list, zip(tasks.task, machines, strict=True))])
        )
    print(_advice(tasks, packings[chosen.label], chosen, capacity), file=sys.stderr)


def _row(tasks: Moments, label: str, packing: Packing, capacity: float) -> dict[str, object]:
    overflow = tasks.overflow(packing, capacity)
    machines = packing.n_bins
    return {
        "estimator": label,
        "machines": machines,
        "unplaceable": len(packing.unplaceable),
        "mean_load": float(
            f"{tasks.mean[packing.bins >= 0].sum() / (machines * capacity or np.inf):.6g}"
        ),
        "mean_overflow": float(f"{overflow.mean() if overflow.size else 0:.6g}"),
        "largest_overflow": float(f"{overflow.max(initial=0):.6g}"),
    }


def _csv(rows: list[list[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _advice(tasks: Moments, packing: Packing, estimator: Estimator, capacity: float) -> str:
    machines, placed = packing.n_bins, packing.bins >= 0
    says = f"{counted(int(placed.sum()), 'task')} need {counted(machines, 'machine')} of capacity {capacity:g}"
    factor = ""
    if tasks.request is not None and machines:
        value = tasks.request[placed].sum() / (machines * capacity)
        factor = f" That is an overcommit of {value:.2f} on their requests."
    return (
        f"By {estimator.label}, {says}.{factor} From means and deviations alone: the tasks are taken as independent "
        "and their sum as Gaussian; tasks that peak together overflow more often."
    )
