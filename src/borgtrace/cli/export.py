"""``borgtrace export``: one file per job with an index, or the files that simulators and other tools read."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from borgtrace.cli._criteria import takes_criteria


@takes_criteria
def export(
    store: Path,
    out: Path,
    *,
    criteria: dict[str, Any],
    layout: str = "jobs",
    output_format: str = "csv",
    columns: str = "start_time,collection_id,instance_index,average_cpu",
    granularity: int = 2,
    key: str = "job",
    no_header: bool = False,
    capacity: str = "",
    workers: int | None = None,
    as_json: bool = False,
) -> None:
    """Write one CSV or SQLite file per job and an index, or files that simulators read.

    Layout opendc is a workload for OpenDC (tasks and fragments, Parquet), swf a log in the Standard Workload Format,
    cloudsim the files of 2011 as CloudSim Plus reads them, omega distributions of jobs for Google's
    cluster-scheduler-simulator, raw the files of the store's own trace (2011 or 2019).

    Of layout jobs, index.csv has the columns path,user,app,job,task,length,maximum. Files, columns and index are those
    of google-cluster-data and google-cluster-prediction (2017), so that scripts written for them still work.

    Tasks that meet all criteria are exported; --time takes their windows that begin in the range. What is chosen is
    copied beside OUT first, and removed when it is written.

    Example: borgtrace export STORE jobs --layout jobs --format sqlite --tier production
    """
    import borgtrace
    from borgtrace.cli import _datasets
    from borgtrace.cli._console import steps
    from borgtrace.errors import check_names
    from borgtrace.export import LAYOUTS, JobsLayout, export_files, export_jobs
    from borgtrace.ingest.convert.capacity import parse_capacity
    from borgtrace.ingest.subset import subset
    from borgtrace.schema.ranges import parse_words
    from borgtrace.storage import RemotePath, check_free
    from borgtrace.store.criteria import Criteria

    check_names("--layout", [layout], ["jobs", *LAYOUTS], "unknown layout")
    free: Any = key
    files = JobsLayout(output_format, parse_words(columns), granularity, free)
    chosen = Criteria(**criteria)
    with ExitStack() as stack:
        if chosen != Criteria(seed=chosen.seed):
            check_free(out)
            out.parent.mkdir(parents=True, exist_ok=True)
            near = None if isinstance(out, RemotePath) else out.parent
            beside = Path(stack.enter_context(TemporaryDirectory(prefix=f".{out.name}.", dir=near)))
            subset(store, beside / "chosen", chosen)
            store = beside / "chosen"
        report = stack.enter_context(steps())
        if layout != "jobs":
            made = export_files(borgtrace.open(store), out, layout, parse_capacity(capacity))
            _datasets.print_exported(made, as_json=as_json)
            return
        exported = export_jobs(
            borgtrace.open(store),
            out,
            files,
            has_header=not no_header,
            workers=workers,
            progress=report,
        )
    _datasets.print_exported(exported, as_json=as_json)
