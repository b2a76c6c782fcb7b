"""What ``borgtrace colocate place`` prints: the moments of tasks, and the machine that each would go to."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from borgtrace.cli.console import counted, print_prose
from borgtrace.cli.grid import TextColumn, print_grid
from borgtrace.cli.printing import print_csv, print_json
from borgtrace.colocation.packing.from_moments import NamedTasks
from borgtrace.engine.csv_text import csv_text
from borgtrace.notation import value_text
from borgtrace.placement import (
    Average,
    Estimator,
    Gpa,
    Packing,
    Percentile,
    Request,
    parse_estimator,
)
from borgtrace.question.promises import keeps
from borgtrace.storage import write_file


def place_by_moments(
    tasks: NamedTasks,
    *,
    capacity: float,
    target: float,
    estimator: str,
    packer: str,
    out: Path | None,
    as_json: bool,
    rebalancing: bool = False,
    raw: bool = False,
) -> None:
    """Print how many machines each estimator needs, the advice on stderr; write the placement.

    Parameters
    ----------
    tasks
        The tasks with their moments.
    capacity
        Capacity of each machine.
    target
        Tolerated probability of overflow.
    estimator, packer
        How tasks are placed; GPA at the target where no estimator is named.
    out
        File of the placement: a line per task with its machine, empty where it fits none.
    as_json
        Print JSON instead of CSV.
    rebalancing
        Whether the last machine is filled up afterward, by every estimator.
    raw
        As for :func:`borgtrace.engine.csv_text.csv_text`.
    """
    chosen = parse_estimator(estimator, "--estimator") if estimator else Gpa(target)
    packings = {}
    for compared in estimators_to_compare(tasks, chosen, target):
        packings[compared.label] = tasks.packed(
            compared,
            packer,
            capacity,
            rebalancing=rebalancing,
        )
    rows = [describe_packing(tasks, label, packings[label], capacity) for label in packings]
    if as_json:
        print_json(rows, indent=1)
    else:
        print_packings(rows)
    placement = packings[chosen.label]
    if out is not None:
        write_file(out, placement_csv(tasks, placement, raw=raw))
    print_prose(advice(tasks, placement, chosen, capacity, target))


def print_packings(rows: Sequence[Mapping[str, object]]) -> None:
    """Print how many machines each estimator needs: a table on a terminal, CSV in a pipe.

    Parameters
    ----------
    rows
        From :func:`describe_packing`.
    """
    if not sys.stdout.isatty():
        lines: list[list[object]] = [list(rows[0])]
        lines += [list(row.values()) for row in rows]
        print_csv(csv_text(lines))
        return
    columns = []
    for name in rows[0]:
        cells = [value_text(row[name]) for row in rows]
        columns.append(TextColumn(name, cells, is_number=name != "estimator"))
    print_grid(columns)


def estimators_to_compare(tasks: NamedTasks, chosen: Estimator, target: float) -> list[Estimator]:
    """Return the chosen estimator first, and those whose moments are known beside it."""
    compared: list[Estimator] = [Gpa(target), Average(1.0)]
    if tasks.maximum is not None:
        compared.append(Percentile(100))
    if tasks.request is not None:
        compared.append(Request(1.0))
    if chosen.label not in {estimator.label for estimator in compared}:
        compared.insert(0, chosen)
    return compared


def describe_packing(
    tasks: NamedTasks,
    label: str,
    packing: Packing,
    capacity: float,
) -> dict[str, object]:
    """Return how many machines a packing needs, how full they are, and how often they overflow."""
    overflow = tasks.overflow(packing, capacity)
    placed_mean = tasks.mean[packing.bins >= 0].sum()
    total_capacity = packing.n_bins * capacity
    mean_load = placed_mean / (total_capacity or np.inf)
    mean_overflow = overflow.mean() if overflow.size else 0
    return {
        "estimator": label,
        "machines": packing.n_bins,
        "unplaceable": len(packing.unplaceable),
        "mean_load": six_digits(mean_load),
        "mean_overflow": six_digits(mean_overflow),
        "largest_overflow": six_digits(overflow.max(initial=0)),
    }


def six_digits(value: float) -> float:
    """Round to six significant digits."""
    return float(f"{value:.6g}")


def placement_csv(tasks: NamedTasks, packing: Packing, *, raw: bool = False) -> str:
    """Return a line per task with its machine; `raw` as for `csv_text`."""
    rows: list[list[object]] = [["task", "machine"]]
    for task, machine in zip(tasks.task, packing.bins.tolist(), strict=True):
        rows.append([task, machine if machine >= 0 else ""])
    return csv_text(rows, raw=raw)


def advice(
    tasks: NamedTasks,
    packing: Packing,
    estimator: Estimator,
    capacity: float,
    target: float,
) -> str:
    """Say how many machines the tasks need, with which overcommit, if they keep the target, and what is assumed."""
    is_placed = packing.bins >= 0
    n_placed = int(is_placed.sum())
    n_tasks = counted(n_placed, "task")
    verb = "needs" if n_placed == 1 else "need"
    n_machines = counted(packing.n_bins, "machine")
    overcommit = ""
    if tasks.request is not None and packing.n_bins:
        requested = tasks.request[is_placed].sum()
        value = requested / (packing.n_bins * capacity)
        overcommit = f" That is an overcommit of {value:.2f} on their requests."
    moved = ""
    if packing.moved:
        moved = f" Rebalancing moved {counted(packing.moved, 'task')} to the last machine."
    excess = ""
    largest_overflow = float(tasks.overflow(packing, capacity).max(initial=0))
    if not keeps(largest_overflow, target):
        excess = (
            f" That does not keep the target of {target:g}: "
            f"the fullest overflows {largest_overflow:.2g} of the time."
        )
    return (
        f"By {estimator.label}, {n_tasks} {verb} {n_machines} of capacity {capacity:g}."
        f"{overcommit}{moved}{excess} "
        "From means and deviations alone, not tested on usage: the tasks are taken as independent "
        "and their sum as Gaussian; tasks that peak together overflow more often."
    )
