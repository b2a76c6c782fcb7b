"""``borgtrace trace``: one task."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Shape(StrEnum):
    """How a trace is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def trace(
    store: Annotated[Path, typer.Argument(help="The store.", metavar="STORE")],
    collection: Annotated[int, typer.Argument(help="Job (collection) id.", metavar="COLLECTION")],
    instance: Annotated[int, typer.Argument(help="Task (instance) index.", metavar="INSTANCE")],
    shape: Annotated[Shape, typer.Option("--format", help="How to print it.")] = Shape.TABLE,
    columns: Annotated[
        str, typer.Option(help="Usage columns with commas between.", metavar="A,B")
    ] = "average_cpu,sampled_cpu,average_memory",
    plot: Annotated[
        Path | None, typer.Option(help="Draw its life, events and usage, into one page.", metavar="FILE.html")
    ] = None,
) -> None:
    """Show one task: its windows in time order, or its whole life in one page.

    Example: borgtrace trace cell-2011 3418309 0 --plot life.html
    """
    import borgtrace
    from borgtrace.cli import _printing
    from borgtrace.schema.ranges import parse_words

    opened = borgtrace.open(store)
    names = ("start_time", "duration", *parse_words(columns))
    found = opened.traces([(collection, instance)], names)
    if plot is not None:
        from borgtrace.report import task_page

        task_page.write(opened, collection, instance, plot)
        print(plot)
        return
    _printing.print_columns({name: found.columns[name] for name in names}, shape.value)
