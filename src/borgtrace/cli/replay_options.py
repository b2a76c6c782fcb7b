"""Options that the commands below ``overcommit`` share; the default stands on each command."""

from pathlib import Path
from typing import Annotated

from typer import Option

from borgtrace.cli.completion import complete_policies, complete_resources
from borgtrace.cli.options import USAGE_PANEL
from borgtrace.schema.bounds import SAMPLE_OR_ALL, UNIT_SIZE

PolicyOption = Annotated[
    list[str] | None,
    Option(
        "--policy",
        metavar="POLICY",
        help="A policy, such as nsigma:n=3,history=10h; repeatable; A+B takes the larger.",
        autocompletion=complete_policies,
    ),
]
SweepOption = Annotated[
    bool,
    Option(
        "--sweep", help="Also try several histories and parameters of every family of policies."
    ),
]
ResourceOption = Annotated[
    list[str] | None,
    Option(
        "--resource",
        metavar="NAME",
        help="cpu or memory; both by default.",
        autocompletion=complete_resources,
    ),
]
TierOfTasksOption = Annotated[
    list[str] | None,
    Option("--tasks", metavar="NAME", help="all, high (high priority) or a tier; repeatable."),
]
HorizonOption = Annotated[
    str,
    Option(
        "--horizon",
        metavar="TIME",
        help="How far ahead the peak is predicted; by default what suits the span of the usage.",
    ),
]
SampledMachinesOption = Annotated[
    int,
    SAMPLE_OR_ALL,
    Option(
        "--machines",
        metavar="N",
        help="Size of a random sample of machines; 0 takes all.",
        rich_help_panel=USAGE_PANEL,
    ),
]
MetricOption = Annotated[
    list[str] | None,
    Option(
        "--metric",
        metavar="NAME",
        help="What is taken as usage, such as maximum_cpu or maximum_memory; repeatable.",
        rich_help_panel=USAGE_PANEL,
    ),
]
UncappedOption = Annotated[
    bool,
    Option(
        "--uncapped",
        help="Let policies see usage above its limit.",
        rich_help_panel=USAGE_PANEL,
    ),
]
CompatOption = Annotated[
    str,
    Option(
        "--compat",
        metavar="NAME",
        help="crf: samples, history and oracle as Google's simulator has them.",
        rich_help_panel=USAGE_PANEL,
    ),
]
CoresOption = Annotated[
    float,
    UNIT_SIZE,
    Option(
        "--cores-per-unit",
        metavar="CORES",
        help="Cores of the largest machine, where the store does not know them.",
        rich_help_panel=USAGE_PANEL,
    ),
]
GibOption = Annotated[
    float,
    UNIT_SIZE,
    Option(
        "--gib-per-unit",
        metavar="GIB",
        help="GiB of memory of the largest machine, where the store does not know them.",
        rich_help_panel=USAGE_PANEL,
    ),
]
ForecastersOption = Annotated[
    Path | None,
    Option(
        "--model",
        metavar="FILE",
        help="Trained forecasters for the policy forecast (borgtrace forecast --save).",
        rich_help_panel=USAGE_PANEL,
    ),
]
