"""Arguments and options that several commands have; the default stands on each command."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

JsonOption = Annotated[bool, Option("--json", help="Print JSON instead of text.")]
StoreArgument = Annotated[
    Path, Argument(metavar="STORE", help="The store: a folder, or a URL such as s3://bucket/store.")
]
SeedOption = Annotated[
    int, Option("--seed", metavar="N", help="Random seed; the same seed gives the same result.")
]
MemoryOption = Annotated[
    str, Option("--memory", metavar="SIZE", help="Memory budget; larger work spills to disk.")
]
OutOption = Annotated[
    Path | None,
    Option(
        "--out",
        metavar="DIR",
        help="Folder or URL for NAME.parquet, .csv, .svg, .vl.json and claims.csv.",
    ),
]
PngOption = Annotated[bool, Option("--png", help="With --out: also write NAME.png.")]
RawOption = Annotated[
    bool,
    Option(
        "--raw",
        help="CSV: keep texts that a spreadsheet takes for formulas; by default an apostrophe goes before them.",
    ),
]
CellOption = Annotated[str, Option("--cell", metavar="CELL", help="Cell of 2019: a … h.")]
TablesOption = Annotated[
    str, Option("--tables", metavar="A,B", help="Tables, separated by commas; all by default.")
]
TimeoutOption = Annotated[
    str, Option("--timeout", metavar="TIME", help="Stop what takes longer, such as 30s or 5m.")
]
NamesArgument = Annotated[
    list[str] | None, Argument(metavar="[NAME…]", help="Questions; all of them by default.")
]
EngineOption = Annotated[
    str, Option("--engine", metavar="ENGINE", help="duckdb, local[N] or spark://HOST:PORT.")
]
ListOption = Annotated[bool, Option("--list", help="List the names and stop.")]
WhereOption = Annotated[
    str, Option("--where", metavar="SQL", help="SQL predicate that selects tasks.")
]
JobsOption = Annotated[str, Option("--jobs", metavar="N,N-M", help="Job ids and ranges of them.")]
MachinesOption = Annotated[
    str, Option("--machines", metavar="N,N-M", help="Machines a task ever was on: ids, ranges.")
]
TimeOption = Annotated[
    str, Option("--time", metavar="A..B", help="Time range, such as 600s..24h, 1h30m.. or ..2d.")
]
TierOption = Annotated[
    str,
    Option(
        "--tier",
        metavar="A,B",
        help="Tiers: production,beb; of 2011 also monitoring (10, 11), which papers count as production (9 to 11).",
    ),
]
PriorityOption = Annotated[
    str, Option("--priority", metavar="N,N-M", help="Priorities, such as 0,9-11.")
]
SchedulingClassOption = Annotated[
    str, Option("--class", metavar="N,N-M", help="Scheduling classes, 0 to 3.")
]
UserOption = Annotated[str, Option("--user", metavar="A,B", help="Users (hashes).")]
EndTypeOption = Annotated[
    str, Option("--end-type", metavar="A,B", help="How tasks ended, such as FINISH,KILL.")
]
FractionOption = Annotated[
    float | None,
    Option("--fraction", metavar="F", help="Share of the collections, chosen by hash."),
]


def seconds_of(timeout: str) -> float | None:
    """Return a time limit in seconds; None where there is none."""
    if not timeout:
        return None
    from borgtrace.schema.time import SECOND, parse_time

    return parse_time(timeout, "--timeout") / SECOND
