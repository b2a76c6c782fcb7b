"""Options of the commands below ``colocate`` that say where tasks come from; the default stands on each command."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.schema.bounds import SAMPLE_SIZE, SYNTHETIC_TASKS

SOURCE_PANEL = "Where the tasks come from"

TasksOfStoreArgument = Annotated[
    Path | None,
    Argument(metavar="[STORE]", help="The store; --usage, --pool or --synthetic replace it."),
]
SampledTasksOption = Annotated[
    int,
    SAMPLE_SIZE,
    Option(
        "--tasks",
        metavar="N",
        help="Size of the sample of long tasks.",
        rich_help_panel=SOURCE_PANEL,
    ),
]
CapacityOption = Annotated[
    str,
    Option(
        "--capacity",
        metavar="C",
        help="Capacity of a machine; with --usage its size, such as 8cores,32GiB.",
    ),
]
PoolOption = Annotated[
    Path | None,
    Option(
        "--pool",
        metavar="FILE",
        help="Read the tasks from a file; see borgtrace colocate pool.",
        rich_help_panel=SOURCE_PANEL,
    ),
]
UsageOption = Annotated[
    Path | None,
    Option(
        "--usage",
        metavar="FILE",
        help="Read usage of your own tasks: CSV, Parquet or JSON lines.",
        rich_help_panel=SOURCE_PANEL,
    ),
]
UsageFormatOption = Annotated[
    str,
    Option(
        "--dialect",
        metavar="FILE.toml|FILE.py",
        help="With --usage: a file that says its format.",
        rich_help_panel=SOURCE_PANEL,
    ),
]
SyntheticOption = Annotated[
    int | None,
    SYNTHETIC_TASKS,
    Option(
        "--synthetic",
        metavar="N",
        help="Use this many calibrated synthetic tasks.",
        rich_help_panel=SOURCE_PANEL,
    ),
]
PercentilesOption = Annotated[
    bool,
    Option(
        "--percentiles",
        help="With STORE, 2019: draw seconds from the percentiles of each window, not from its sampled second.",
        rich_help_panel=SOURCE_PANEL,
    ),
]
