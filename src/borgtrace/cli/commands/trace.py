"""``borgtrace trace``: one task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_columns
from borgtrace.cli.options import JsonOption, StoreArgument
from borgtrace.schema.bounds import ID

if TYPE_CHECKING:
    from borgtrace.store import Store

JobArgument = Annotated[
    str,
    Argument(
        metavar="JOB", help="Name of the job, its beginning, or its id; NAME:INDEX names one task."
    ),
]
IndexArgument = Annotated[
    int | None,
    ID,
    Argument(metavar="INDEX", help="Index of the task in its job; 0 by default."),
]
WindowsFormatOption = Annotated[
    Literal["table", "csv", "json"], Option("--format", help="How to print it.")
]
UsageColumnsOption = Annotated[
    str,
    Option(
        "--columns",
        metavar="A,B",
        help="Usage columns, in order; 2019: percentiles such as p50,p99, or a distribution.",
        autocompletion=complete_columns,
    ),
]
PlotOption = Annotated[
    Path | None,
    Option("--plot", metavar="FILE.html", help="Write a page that shows its events and its usage."),
]


@command(on_interrupt="the store is as it was", writes_here=["plot"])
def trace(
    store: StoreArgument,
    name: JobArgument,
    instance: IndexArgument = None,
    shape: WindowsFormatOption = "table",
    columns: UsageColumnsOption = "average_cpu,sampled_cpu,average_memory",
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the measurements of one task, or draw its life.

    Example: borgtrace trace cell-2011 3418309 0 --plot life.html
    """
    import borgtrace
    from borgtrace.cli.printing import print_columns
    from borgtrace.cli.trace_text import print_windows
    from borgtrace.notation import find_job, find_task
    from borgtrace.schema.ranges import parse_words

    opened = borgtrace.open(store)
    if instance is None:
        collection, index = find_task(opened, name, "JOB")
    else:
        collection, index = find_job(opened, name, "JOB"), instance
    names = ("start_time", "duration", *parse_words(columns))
    # Before the page too: an unknown task is refused in the same words.
    usage = opened.traces([(collection, index)], names)
    if plot is not None:
        _write_page(opened, collection, index, plot, as_json=as_json)
    elif shape == "table" and not as_json:
        print_windows(opened, collection, index, usage.columns)
    else:
        print_columns(usage.columns, "json" if as_json else shape)


def _write_page(
    store: Store,
    collection: int,
    instance: int,
    plot: Path,
    *,
    as_json: bool,
) -> None:
    from borgtrace.cli.printing import print_json
    from borgtrace.report import task_page

    task_page.write(store, collection, instance, plot)
    if as_json:
        print_json({"page": str(plot)})
    else:
        print(plot)
