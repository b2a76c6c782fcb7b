"""``borgtrace trace``: one task."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from borgtrace.cli._options import Json, Store, argument, option

ON_INTERRUPT = "the store is as it was"


def trace(
    store: Store,
    name: Annotated[str, argument("COLLECTION", "Job (collection) id, or its name.")],
    instance: Annotated[int, argument("INSTANCE", "Task (instance) index.")] = 0,
    shape: Annotated[Literal["table", "csv", "json"], Option("--format", help="How to print it.")] = "table",
    columns: Annotated[
        str, option("A,B", "Usage columns, in order; 2019: percentiles such as p50,p99, or a distribution.")
    ] = "average_cpu,sampled_cpu,average_memory",
    plot: Annotated[Path | None, option("FILE.html", "Write a page that shows its events and its usage.")] = None,
    as_json: Json = False,
) -> None:
    """Print the measurements of one task, or draw its life.

    Example: borgtrace trace cell-2011 3418309 0 --plot life.html
    """
    import borgtrace
    from borgtrace.cli._printing import print_columns, print_json
    from borgtrace.schema.ranges import parse_words
    from borgtrace.store.names import id_of

    opened = borgtrace.open(store)
    collection = id_of(opened, "collection", name)
    names = ("start_time", "duration", *parse_words(columns))
    # Before the page too: an unknown task is refused in the same words.
    found = opened.traces([(collection, instance)], names)
    if plot is not None:
        from borgtrace.report import task_page

        task_page.write(opened, collection, instance, plot)
        print_json({"page": str(plot)}) if as_json else print(plot)
        return
    print_columns(found.columns, "json" if as_json else shape)
