"""``borgtrace export``: one file per job with an index, or the files that simulators and other tools read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_columns
from borgtrace.cli.option_effects import NoEffectWithout
from borgtrace.cli.options import (
    CreatorOption,
    EndTypeOption,
    FractionOption,
    JobsOption,
    JsonOption,
    MachinesOption,
    MemoryOption,
    PriorityOption,
    PublisherOption,
    SchedulingClassOption,
    SeedOption,
    StoreArgument,
    TierOption,
    TimeOption,
    UserOption,
    WhereOption,
)
from borgtrace.schema.bounds import MD5_DIGITS, PROCESSES

if TYPE_CHECKING:
    from borgtrace.store.criteria import Criteria

NewFolderArgument = Annotated[Path, Argument(metavar="OUT", help="The folder to create.")]
LayoutOption = Annotated[
    str,
    Option(
        "--layout",
        metavar="LAYOUT",
        help="How the files are laid out: jobs, opendc, swf, cloudsim, omega, planetlab, batsim, alea, kwok or raw.",
    ),
]
FileFormatOption = Annotated[
    str,
    Option("--format", metavar="FORMAT", help="Format of the files, such as csv or sqlite."),
]
UsageColumnsOption = Annotated[
    str,
    Option(
        "--columns",
        metavar="A,B",
        help="Columns of instance_usage, in order; 2019 also p0 to p100.",
        autocompletion=complete_columns,
    ),
]
GranularityOption = Annotated[
    int,
    MD5_DIGITS,
    Option("--granularity", metavar="N", help="Hex digits of the MD5 that name a folder."),
]
FilePerOption = Annotated[
    str, Option("--key", metavar="job|task", help="One file per job, or per task.")
]
NoHeaderOption = Annotated[
    bool, Option("--no-header", help="Write index.csv without its header, as in 2017.")
]
SizeOfTraceOption = Annotated[
    str,
    Option(
        "--capacity",
        metavar="SIZE",
        help="opendc, swf, omega, batsim, alea, kwok: the largest machine, such as 64cores,256GiB.",
    ),
]
WorkersOption = Annotated[
    int | None,
    PROCESSES,
    Option("--workers", metavar="N", help="Parallel workers; one per core by default."),
]


@command(
    effects=[
        NoEffectWithout(
            ["layout"],
            ["output_format", "columns", "granularity", "key", "no_header", "workers"],
            ["jobs"],
        ),
        NoEffectWithout(
            ["layout"], ["capacity"], ["opendc", "swf", "omega", "batsim", "alea", "kwok"]
        ),
        NoEffectWithout(["fraction"], ["seed"]),
        NoEffectWithout(["creators"], ["publisher"]),
    ]
)
def export(
    *,
    store: StoreArgument,
    out: NewFolderArgument,
    layout: LayoutOption = "jobs",
    output_format: FileFormatOption = "csv",
    columns: UsageColumnsOption = "start_time,collection_id,instance_index,average_cpu",
    granularity: GranularityOption = 2,
    key: FilePerOption = "job",
    no_header: NoHeaderOption = False,
    capacity: SizeOfTraceOption = "",
    creators: CreatorOption = None,
    publisher: PublisherOption = "",
    workers: WorkersOption = None,
    memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
    jobs: JobsOption = "",
    machines: MachinesOption = "",
    time: TimeOption = "",
    tier: TierOption = "",
    priority: PriorityOption = "",
    scheduling_class: SchedulingClassOption = "",
    user: UserOption = "",
    end_type: EndTypeOption = "",
    where: WhereOption = "",
    fraction: FractionOption = None,
    seed: SeedOption = 0,
) -> None:
    """Write a file for each job, or files for simulators.

    The layout jobs has one CSV or SQLite file per job, and an index. opendc is a workload for OpenDC (tasks and
    fragments, Parquet). swf is a log in the Standard Workload Format. cloudsim has the files of 2011 as CloudSim Plus
    reads them. omega has distributions of jobs for Google's cluster-scheduler-simulator. planetlab has a file for each
    task and day with 288 percentages of its request, as CloudSim reads them. batsim has jobs and a platform for Batsim.
    alea has jobs, machines and failures for Alea. kwok has priority classes, nodes and pods for KWOK and
    kube-scheduler-simulator. raw has the files of the store's own trace (2011 or 2019).

    The layout jobs is that of google-cluster-data and google-cluster-prediction (2017), so that scripts written for
    them still work. The columns of its index.csv are path,user,app,job,task,length,maximum.

    Tasks that meet all criteria are exported; with --time, only their windows that begin in the range. They are first
    copied to a folder beside OUT, which is removed at the end.

    Example: borgtrace export STORE jobs --layout jobs --format sqlite --tier production
    """
    from functools import partial

    import borgtrace
    from borgtrace.cli.citation import check_creators, write_citation
    from borgtrace.cli.console import steps
    from borgtrace.cli.criteria import parse_criteria
    from borgtrace.cli.datasets import print_exported
    from borgtrace.errors import check_names
    from borgtrace.export import LAYOUTS, JobsLayout, datacite, export_files, export_jobs
    from borgtrace.ingest.convert.capacity import parse_capacity
    from borgtrace.schema.ranges import parse_words

    check_creators(creators or ())
    check_names("--layout", [layout], ["jobs", *LAYOUTS], "unknown layout")
    free: Any = key
    files = JobsLayout(output_format, parse_words(columns), granularity, free)
    criteria = parse_criteria(
        store,
        jobs=jobs,
        machines=machines,
        time=time,
        tier=tier,
        priority=priority,
        scheduling_class=scheduling_class,
        user=user,
        end_type=end_type,
        where=where,
        fraction=fraction,
        seed=seed,
    )
    with part_of_store(store, out, criteria, memory) as chosen, steps() as report:
        opened = borgtrace.open(chosen, memory=memory)
        if layout == "jobs":
            exported = export_jobs(
                opened,
                out,
                files,
                has_header=not no_header,
                workers=workers,
                progress=report,
            )
        else:
            size = parse_capacity(capacity)
            exported = export_files(opened, out, layout, (size.cores, size.bytes))
        if creators:
            write_citation(out, partial(datacite, opened, layout, exported), creators, publisher)
    print_exported(exported, as_json=as_json)


@contextmanager
def part_of_store(
    store: Path,
    out: Path,
    criteria: Criteria,
    memory: str,
) -> Iterator[Path]:
    """Copy what is chosen of a store beside `out` while the block runs; the store itself where nothing is chosen."""
    from borgtrace.ingest.subset import subset
    from borgtrace.storage import RemotePath, check_free
    from borgtrace.store.criteria import Criteria

    if criteria == Criteria(seed=criteria.seed):
        yield store
        return
    # Before anything is copied.
    check_free(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    near = None if isinstance(out, RemotePath) else out.parent
    with TemporaryDirectory(prefix=f".{out.name}.", dir=near) as folder:
        part = Path(folder) / "chosen"
        subset(store, part, criteria, memory=memory)
        yield part
