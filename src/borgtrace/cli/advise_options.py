"""Options that only ``borgtrace advise`` has; the default stands on the command."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from borgtrace.cli.completion import complete_recommenders
from borgtrace.schema.bounds import PROBABILITY, SHARE, TASKS_PER_NODE

WORKLOADS_PANEL = "Workloads"
NODES_PANEL = "Nodes"
FILES_PANEL = "Files and servers"

AdvisedSourcesArgument = Annotated[
    list[Path],
    Argument(
        metavar="STORE | FILES… | URL",
        help="A store; or files of a trace, or the URL of a Prometheus server, which become one.",
    ),
]
PageOption = Annotated[
    Path,
    Option(
        "--out",
        metavar="PAGE.html",
        help="The page; tables and resources.yaml go to a folder of its name.",
    ),
]
NewStoreOption = Annotated[
    Path,
    Option(
        "--store",
        metavar="STORE",
        help="Where the store that is made of files or a server goes.",
        rich_help_panel=FILES_PANEL,
    ),
]
TargetRiskOption = Annotated[
    float | None,
    PROBABILITY,
    Option(
        "--target",
        metavar="RATE",
        help="Risk to aim at; by default the smallest of 0.1, 1 and 5 % that the data can show.",
    ),
]
PromiseHorizonOption = Annotated[
    str,
    Option(
        "--horizon",
        metavar="TIME",
        help="How long a promise holds; by default 1 h, or less in a short trace.",
    ),
]
WorkloadsByOption = Annotated[
    Literal["", "owner", "name", "job", "user"],
    Option(
        "--by",
        metavar="WAY",
        help="What a workload is: owner, name (its pattern), job or user; the first known by default.",
        rich_help_panel=WORKLOADS_PANEL,
    ),
]
WhoRecommendsOption = Annotated[
    str,
    Option(
        "--recommender",
        metavar="NAME",
        help="Recommender of requests (overcommit --list); by default a back-test chooses it.",
        autocompletion=complete_recommenders,
        rich_help_panel=WORKLOADS_PANEL,
    ),
]
BelowPeakOption = Annotated[
    bool,
    Option(
        "--below-peak",
        help="Allow memory to be recommended below the highest usage that was seen.",
        rich_help_panel=WORKLOADS_PANEL,
    ),
]
PricesOption = Annotated[
    Path | None,
    Option(
        "--prices",
        metavar="FILE.csv",
        help="Node types: columns type, cores, gib, price_per_hour; a dated table by default.",
        rich_help_panel=NODES_PANEL,
    ),
]
HeadroomOption = Annotated[
    float,
    SHARE,
    Option(
        "--headroom",
        metavar="SHARE",
        help="Share of each node that is left free.",
        rich_help_panel=NODES_PANEL,
    ),
]
PodsPerNodeOption = Annotated[
    int,
    TASKS_PER_NODE,
    Option(
        "--pods-per-node",
        metavar="N",
        help="Most tasks on a node.",
        rich_help_panel=NODES_PANEL,
    ),
]
FormatOfFilesOption = Annotated[
    str,
    Option(
        "--dialect",
        metavar="NAME|FILE.toml|FILE.py",
        help="Files: their format, as for borgtrace ingest.",
        rich_help_panel=FILES_PANEL,
    ),
]
SizeOfFilesOption = Annotated[
    str,
    Option(
        "--capacity",
        metavar="SIZE",
        help="Files: size of the largest machine, such as 8cores,32GiB.",
        rich_help_panel=FILES_PANEL,
    ),
]
TimeZoneOfFilesOption = Annotated[
    str,
    Option(
        "--time-zone",
        metavar="ZONE",
        help="Files: zone of times that name none, such as Europe/Berlin.",
        rich_help_panel=FILES_PANEL,
    ),
]
AcceptGuessedFilesOption = Annotated[
    bool,
    Option(
        "--yes",
        help="Files: accept the guesses about their columns without asking.",
        rich_help_panel=FILES_PANEL,
    ),
]
