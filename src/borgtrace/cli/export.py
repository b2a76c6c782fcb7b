"""``borgtrace export``: one file per job in folders named by MD5, with an index."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from borgtrace.cli._criteria import takes_criteria
from borgtrace.cli._options import Json, NewFolder, Store, Workers, flag, option


@takes_criteria
def export(
    store: Store,
    out: NewFolder,
    *,
    criteria: dict[str, Any],
    layout: Annotated[str, option("jobs", "How the files are laid out.")] = "jobs",
    output_format: Annotated[str, option("FORMAT", "Format of the files, such as csv or sqlite.", "--format")] = "csv",
    columns: Annotated[
        str, option("A,B", "Columns of instance_usage, in order; 2019 also p0 to p100.")
    ] = "start_time,collection_id,instance_index,average_cpu",
    granularity: Annotated[int, option("N", "Hex digits of the MD5 that name a folder.")] = 2,
    key: Annotated[str, option("job|task", "One file per job, or per task.")] = "job",
    no_header: Annotated[bool, flag("--no-header", "Write index.csv without its header, as in 2017.")] = False,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Write one CSV or SQLite file per job, and an index.

    index.csv has the columns path,user,app,job,task,length,maximum. Files, columns and index are those of
    google-cluster-data and google-cluster-prediction (2017), so that scripts written for them still work.

    Tasks that meet all criteria are exported; --time takes their windows that begin in the range. What is chosen is
    copied beside OUT first, and removed when it is written.

    Example: borgtrace export STORE jobs --layout jobs --format sqlite --tier production
    """
    import borgtrace
    from borgtrace.cli import _datasets
    from borgtrace.cli._console import steps
    from borgtrace.errors import check_names
    from borgtrace.export import JobsLayout, export_jobs
    from borgtrace.ingest.subset import subset
    from borgtrace.schema.ranges import parse_words
    from borgtrace.storage import check_free
    from borgtrace.store.criteria import Criteria

    check_names("--layout", [layout], ["jobs"], "unknown layout")
    free: Any = key
    files = JobsLayout(output_format, parse_words(columns), granularity, free)
    chosen = Criteria(**criteria)
    with ExitStack() as stack:
        if chosen != Criteria(seed=chosen.seed):
            check_free(out)
            out.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(stack.enter_context(TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent)))
            subset(store, beside / "chosen", chosen)
            store = beside / "chosen"
        report = stack.enter_context(steps())
        exported = export_jobs(
            borgtrace.open(store), out, files, has_header=not no_header, workers=workers, progress=report
        )
    _datasets.print_exported(exported, as_json=as_json)
