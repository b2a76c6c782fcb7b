"""Passes over usage windows: one scan feeds the kernels of all questions that are asked together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared import window_blocks as blocks
from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.joins import lookup
from borgtrace.question import Tables
from borgtrace.question.window_passes import WindowPass


def result_of_pass(tables: Tables, asked: WindowPass) -> Any:
    """Return the result of a pass: what is kept of it, or that of a scan now, which planned passes join.

    Parameters
    ----------
    tables
        The store's tables.
    asked
        The pass.
    """
    passes = tables.passes
    if asked in passes.results:
        return passes.results[asked]
    for before in asked.after:
        # Kept for this pass also where nobody planned it.
        passes.results[before] = result_of_pass(tables, before)
    if tables.engine == "duckdb":
        # The asked one first: in a plan its columns alone are read, and its stage bears its name.
        together = [asked, *(ready for ready in passes.ready() if ready != asked)]
        results = scan(tables, together)
    else:
        together = [asked]
        results = [sum_on_workers(tables, asked)]
    passes.results |= {
        one: result for one, result in zip(together, results, strict=True) if one in passes.planned
    }
    return results[0]


def scan(tables: Tables, together: Sequence[WindowPass]) -> list[Any]:
    """Read all windows once, and return the result of each pass.

    Parameters
    ----------
    tables
        The store's tables.
    together
        Passes whose inputs are known.
    """
    kernels = [kernel_of_pass(tables, one) for one in together]

    def run_kernels(block: pa.Table) -> list[Any]:
        return [kernel(block) for kernel in kernels]

    gatherers = [one.gather() for one in together]
    usage, tasks = windows_of_passes(tables, together)
    for parts in blocks.map_blocks(tables, usage, tasks, run_kernels, together[0].stage):
        for gatherer, part in zip(gatherers, parts, strict=True):
            gatherer.add(part)
    return [gatherer.result() for gatherer in gatherers]


def sum_on_workers(tables: Tables, asked: WindowPass) -> Any:
    """Return the result of a pass, an array that Spark's workers add up."""
    return blocks.sum_in_workers(
        tables,
        rows_of_pass(tables, asked),
        kernel_of_pass(tables, asked),
    )


def rows_on_workers(tables: Tables, asked: WindowPass) -> pa.Table | None:
    """Return the rows that Spark's workers make in a pass; None where windows do not lie in ranges that each has whole.

    Parameters
    ----------
    tables
        The store's tables.
    asked
        The pass, which needs no result of another.
    """
    return blocks.rows_in_workers(rows_of_pass(tables, asked), kernel_of_pass(tables, asked))


def rows_of_pass(tables: Tables, asked: WindowPass) -> ir.Table:
    """Return the windows of a pass with the columns of their tasks."""
    usage, tasks = windows_of_passes(tables, [asked])
    return usage if tasks is None else lookup(usage, tasks, TASK)


def kernel_of_pass(tables: Tables, one: WindowPass) -> Callable[[pa.Table], Any]:
    """Return the kernel of a pass with what it needs of those before."""
    return one.kernel(tables, *(tables.passes.results[before] for before in one.after))


def windows_of_passes(
    tables: Tables, passes: Sequence[WindowPass]
) -> tuple[ir.Table, ir.Table | None]:
    """Return the windows with all columns that some passes read, and their tasks where one of them reads these.

    Parameters
    ----------
    tables
        The store's tables.
    passes
        What runs in one scan.
    """
    columns: list[str] = []
    index: dict[str, ir.Value] = {}
    for one in passes:
        columns += one.columns
        if one.of_tasks is not None:
            index |= one.of_tasks(tables)
    usage, tasks = blocks.task_windows(tables, *dict.fromkeys(columns), **index)
    reads_tasks = any(one.of_tasks is not None for one in passes)
    return usage, tasks if reads_tasks else None
