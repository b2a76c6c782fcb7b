"""Arguments and options that several commands have; the default stands on each command."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.cli.checked_command import CheckedText
from borgtrace.cli.completion import complete_questions, complete_tables
from borgtrace.errors import UsageError
from borgtrace.schema.bounds import POSITIVE_SHARE, PROCESSES, SEED, Bounds, check_number
from borgtrace.schema.time import DAY, SECOND, parse_time


def read_memory(text: str, where: str) -> int:
    """Return the bytes of a memory budget.

    Raises
    ------
    UsageError
        It is no amount of memory.
    """
    # Inside: importing the engine takes as long as a short command.
    from borgtrace.engine.memory import parse_memory

    return parse_memory(text)


MOMENTS = "such as 12h or 2d3h after the start of the trace, or 2026-11-01T12:00"
"""What every option that takes a moment accepts; printed moments have this form."""
OUTPUT_PANEL = "Output"
RUN_PANEL = "How it runs"
USAGE_PANEL = "Usage and machines"
SELECTION_PANEL = "Which tasks"
"""Headings of the help of commands with many options, for those that are not about the question itself."""

JsonOption = Annotated[
    bool, Option("--json", help="Print JSON instead of text.", rich_help_panel=OUTPUT_PANEL)
]
StoreArgument = Annotated[
    Path, Argument(metavar="STORE", help="The store: a folder, or a URL such as s3://bucket/store.")
]
StoreOrListArgument = Annotated[
    Path | None,
    Argument(
        metavar="STORE",
        help="The store: a folder, or a URL such as s3://bucket/store; none with --list.",
    ),
]
SeedOption = Annotated[
    int,
    SEED,
    Option(
        "--seed",
        metavar="N",
        help="Random seed; the same seed gives the same result.",
        rich_help_panel=RUN_PANEL,
    ),
]
JitterSeedOption = Annotated[
    int,
    SEED,
    Option("--seed", metavar="N", help="Seed of the jitter in waiting times."),
]
MemoryOption = Annotated[
    str,
    CheckedText(read_memory),
    Option(
        "--memory",
        metavar="SIZE",
        help="Memory budget; larger work spills to disk.",
        rich_help_panel=RUN_PANEL,
    ),
]
OutOption = Annotated[
    Path | None,
    Option(
        "--out",
        metavar="DIR",
        help="Folder or URL for NAME.parquet, .csv, .svg, .vl.json and claims.csv.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
PngOption = Annotated[
    bool,
    Option("--png", help="With --out: also write NAME.png.", rich_help_panel=OUTPUT_PANEL),
]
RawOption = Annotated[
    bool,
    Option(
        "--raw",
        help="CSV: keep texts that a spreadsheet takes for formulas; by default an apostrophe goes before them.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
CellOption = Annotated[str, Option("--cell", metavar="CELL", help="Cell of 2019: a … h.")]
TablesOption = Annotated[
    str,
    Option(
        "--tables",
        metavar="A,B",
        help="Tables, separated by commas; all by default.",
        autocompletion=complete_tables,
    ),
]
CreatorOption = Annotated[
    list[str] | None,
    Option(
        "--creator",
        metavar="NAME",
        help='Who publishes it, as "Family, Given", repeatable: writes datacite.json, for a DOI.',
    ),
]
PublisherOption = Annotated[
    str,
    Option("--publisher", metavar="NAME", help="Where it is published, such as Zenodo."),
]
TimeoutOption = Annotated[
    str, Option("--timeout", metavar="TIME", help="Stop what takes longer, such as 30s or 5m.")
]
NamesArgument = Annotated[
    list[str] | None,
    Argument(
        metavar="[NAME…]",
        help="Questions; all of them by default.",
        autocompletion=complete_questions,
    ),
]
EngineOption = Annotated[
    str,
    Option(
        "--engine",
        metavar="ENGINE",
        help="duckdb, local[N] or spark://HOST:PORT.",
        rich_help_panel=RUN_PANEL,
    ),
]
FromOption = Annotated[
    list[str] | None,
    Option(
        "--from",
        metavar="FILE|MODULE",
        help="Python code of your own, whose names can be used; repeatable (docs: extend.md).",
        rich_help_panel=RUN_PANEL,
    ),
]
ListOption = Annotated[bool, Option("--list", help="List the names and stop.")]
WhereOption = Annotated[
    str,
    Option(
        "--where",
        metavar="SQL",
        help="SQL predicate that selects tasks.",
        rich_help_panel=SELECTION_PANEL,
    ),
]
JobsOption = Annotated[
    str,
    Option(
        "--jobs",
        metavar="A,N,N-M",
        help="Jobs: names, ids, ranges of ids.",
        rich_help_panel=SELECTION_PANEL,
    ),
]
MachinesOption = Annotated[
    str,
    Option(
        "--machines",
        metavar="A,N,N-M",
        help="Machines that a task ran on at any time: names, ids, ranges.",
        rich_help_panel=SELECTION_PANEL,
    ),
]
TimeOption = Annotated[
    str,
    Option(
        "--time",
        metavar="A..B",
        help="Time range, such as 2h..24h after the start of the trace, ..2d or 2026-11-01..",
        rich_help_panel=SELECTION_PANEL,
    ),
]
TierOption = Annotated[
    str,
    Option(
        "--tier",
        metavar="A,B",
        help="Tiers: production,beb; of 2011 also monitoring (10, 11), which papers count as production (9 to 11).",
        rich_help_panel=SELECTION_PANEL,
    ),
]
PriorityOption = Annotated[
    str,
    Option(
        "--priority",
        metavar="N,N-M",
        help="Priorities, such as 0,9-11.",
        rich_help_panel=SELECTION_PANEL,
    ),
]
SchedulingClassOption = Annotated[
    str,
    Option(
        "--class",
        metavar="N,N-M",
        help="Scheduling classes, 0 to 3.",
        rich_help_panel=SELECTION_PANEL,
    ),
]
UserOption = Annotated[
    str,
    Option(
        "--user",
        metavar="A,B",
        help="Users: names, or their beginnings.",
        rich_help_panel=SELECTION_PANEL,
    ),
]
EndTypeOption = Annotated[
    str,
    Option(
        "--end-type",
        metavar="A,B",
        help="How tasks ended, such as FINISH,KILL.",
        rich_help_panel=SELECTION_PANEL,
    ),
]
ProcessesOption = Annotated[
    int,
    PROCESSES,
    Option("--jobs", metavar="N", help="Processes.", rich_help_panel=RUN_PANEL),
]
SinceOption = Annotated[
    str,
    Option(
        "--since",
        metavar="TIME",
        help="From when: a span before now such as 14d, a date such as 2026-11-01 (UTC), or a time.",
    ),
]
UntilOption = Annotated[
    str,
    Option(
        "--until",
        metavar="TIME",
        help="Until when, written the same way; by default five minutes ago.",
    ),
]
SelectorOption = Annotated[
    str,
    Option(
        "--selector",
        metavar="LABELS",
        help="Containers to take, such as '{namespace=\"web\"}'; all by default.",
    ),
]
StepOption = Annotated[
    str, Option("--step", metavar="TIME", help="Time between samples, such as 30s, 1m or 5m.")
]
FractionOption = Annotated[
    float | None,
    POSITIVE_SHARE,
    Option(
        "--fraction",
        metavar="F",
        help="Share of the collections, chosen by hash.",
        rich_help_panel=SELECTION_PANEL,
    ),
]


TIME_LIMIT = Bounds(SECOND // 1000, 365 * DAY)
"""Of a command, in µs."""


def seconds_of(timeout: str, option: str = "--timeout") -> float | None:
    """Return a time limit in seconds; None where there is none.

    Parameters
    ----------
    timeout
        As the user wrote it.
    option
        Where.

    Raises
    ------
    UsageError
        It is no time, or one out of range.
    """
    if not timeout:
        return None
    # On the trace's clock a bare number is one of µs; 30 of them is what nobody means here.
    if timeout.strip().isdecimal():
        raise UsageError(
            option,
            "no unit",
            expected="an amount such as 30s or 5m",
            got=timeout,
            way_out=f"try {timeout.strip()}s",
        )
    microseconds = parse_time(timeout, option)
    check_number(option, microseconds, TIME_LIMIT, 1)
    return microseconds / SECOND


def required_store(store: Path | None) -> Path:
    """Return the store of a command that needs none with ``--list``.

    Raises
    ------
    UsageError
        There is none.
    """
    if store is None:
        raise UsageError("STORE", "no store named", way_out="name one; only --list needs none")
    return store
