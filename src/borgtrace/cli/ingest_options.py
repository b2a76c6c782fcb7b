"""Options that only ``borgtrace ingest`` has; the default stands on the command."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.cli.completion import complete_formats
from borgtrace.schema.bounds import PROCESSES

RawSourcesArgument = Annotated[
    list[Path],
    Argument(
        metavar="SRC…",
        help="Raw files, or folders of them; URLs such as s3://bucket/folder, or of a Prometheus server, too.",
    ),
]
StoreToBuildOption = Annotated[
    Path,
    Option(
        "--store",
        metavar="STORE",
        help="The store to create or to add to; a new one may be a URL such as s3://bucket/store.",
    ),
]
WorkersOption = Annotated[
    int | None,
    PROCESSES,
    Option("--jobs", metavar="N", help="Parallel workers; one per core by default."),
]
CellToTakeOption = Annotated[
    str,
    Option(
        "--cell",
        metavar="CELL",
        help="Cell to take: a … h of 2019, or 1 … 8 of the flattened sample.",
    ),
]
StrictOption = Annotated[bool, Option("--strict", help="Fail if any row is rejected.")]
ReplaceSourcesOption = Annotated[
    bool, Option("--replace", help="Accept sources whose content has changed.")
]
StageOnlyOption = Annotated[
    bool, Option("--stage-only", help="Check and stage only; a later ingest sorts.")
]
RebuildOption = Annotated[
    bool, Option("--rebuild", help="Delete a store of another format version first.")
]
WholeTraceOption = Annotated[
    bool,
    Option(
        "--whole",
        help="Declare that these are all files of the trace (those of 2019 do not say it).",
    ),
]
TraceFormatOption = Annotated[
    str,
    Option(
        "--dialect",
        metavar="NAME|FILE.toml|FILE.py",
        help="Trace format: name, file (Python is run) or URL; by default recognized from the files.",
        autocompletion=complete_formats,
    ),
]
LargestMachineOption = Annotated[
    str,
    Option(
        "--capacity",
        metavar="SIZE",
        help="Own data: size of the largest machine, such as 8cores,32GiB.",
    ),
]
TimeZoneOption = Annotated[
    str,
    Option(
        "--time-zone",
        metavar="ZONE",
        help="Job logs, own data: zone of times that name none, such as Europe/Berlin; UTC by default.",
    ),
]
AcceptGuessesOption = Annotated[
    bool,
    Option("--yes", help="Own data: accept the guesses about its columns without asking."),
]
ShowPlanOption = Annotated[
    bool, Option("--dry-run", help="Show tables, columns, disk and time; write nothing.")
]
