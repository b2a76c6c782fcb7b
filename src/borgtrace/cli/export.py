"""``borgtrace export``: one file per job in folders named by MD5, with an index."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def export(
    store: Annotated[Path, typer.Argument(help="The store.", metavar="STORE")],
    out: Annotated[Path, typer.Argument(help="Folder to create.", metavar="OUT")],
    layout: Annotated[str, typer.Option(help="How files are laid out.", metavar="jobs")] = "jobs",
    output_format: Annotated[str, typer.Option("--format", help="Format of the files.", metavar="csv|sqlite")] = "csv",
    columns: Annotated[
        str, typer.Option(help="Columns of instance_usage, in order.", metavar="A,B")
    ] = "start_time,collection_id,instance_index,average_cpu",
    granularity: Annotated[int, typer.Option(help="Hex digits of the MD5 that name a folder.", metavar="N")] = 2,
    key: Annotated[str, typer.Option(help="A file for each job, or for each task.", metavar="job|task")] = "job",
    no_header: Annotated[
        bool, typer.Option("--no-header", help="Leave the first line of index.csv out, as in 2017.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes; all cores if not given.", min=1, metavar="N")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Write one CSV or SQLite file per job, and index.csv: path,user,app,job,task,length,maximum.

    Files, columns and index are those of google-cluster-data and google-cluster-prediction (2017), so that
    scripts written for them go on working.

    Example: borgtrace export STORE jobs --layout jobs --format sqlite
    """
    import borgtrace
    from borgtrace.cli import _datasets as line
    from borgtrace.datasets.jobs import JobsLayout, export_jobs
    from borgtrace.errors import UsageError
    from borgtrace.schema.ranges import parse_words

    if layout != "jobs":
        raise UsageError("--layout", "unknown layout", expected="jobs", got=layout)
    free: Any = {"format": output_format, "key": key}
    files = JobsLayout(free["format"], parse_words(columns), granularity, free["key"])
    talk = line.talking()
    with line.progress(talk) as report:
        exported = export_jobs(
            borgtrace.open(store), out, files, has_header=not no_header, workers=jobs, progress=report
        )
    line.say_exported(exported, talk, as_json=as_json)
