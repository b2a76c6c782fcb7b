"""``borgtrace export``: one file per job in folders named by MD5, with an index."""

from typing import Annotated, Any

from borgtrace.cli._options import Json, NewFolder, Store, Workers, flag, option


def export(
    store: Store,
    out: NewFolder,
    layout: Annotated[str, option("jobs", "How the files are laid out.")] = "jobs",
    output_format: Annotated[str, option("FORMAT", "Format of the files, such as csv or sqlite.", "--format")] = "csv",
    columns: Annotated[
        str, option("A,B", "Columns of instance_usage, in order.")
    ] = "start_time,collection_id,instance_index,average_cpu",
    granularity: Annotated[int, option("N", "Hex digits of the MD5 that name a folder.")] = 2,
    key: Annotated[str, option("job|task", "One file per job, or per task.")] = "job",
    no_header: Annotated[bool, flag("--no-header", "Write index.csv without its header, as in 2017.")] = False,
    jobs: Workers = None,
    as_json: Json = False,
) -> None:
    """Write one CSV or SQLite file per job, and an index.

    index.csv has the columns path,user,app,job,task,length,maximum. Files, columns and index are those of
    google-cluster-data and google-cluster-prediction (2017), so that scripts written for them still work.

    Example: borgtrace export STORE jobs --layout jobs --format sqlite
    """
    import borgtrace
    from borgtrace.cli import _datasets
    from borgtrace.cli._console import steps
    from borgtrace.errors import check_names
    from borgtrace.export import JobsLayout, export_jobs
    from borgtrace.schema.ranges import parse_words

    check_names("--layout", [layout], ["jobs"], "unknown layout")
    free: Any = key
    files = JobsLayout(output_format, parse_words(columns), granularity, free)
    with steps() as report:
        exported = export_jobs(
            borgtrace.open(store), out, files, has_header=not no_header, workers=jobs, progress=report
        )
    _datasets.print_exported(exported, as_json=as_json)
