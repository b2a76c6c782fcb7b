"""``borgtrace trace``: one task."""

from pathlib import Path
from typing import Literal


def trace(
    store: Path,
    name: str,
    instance: int = 0,
    shape: Literal["table", "csv", "json"] = "table",
    columns: str = "average_cpu,sampled_cpu,average_memory",
    plot: Path | None = None,
    as_json: bool = False,
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
