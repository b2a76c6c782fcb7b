"""Options that only ``borgtrace simulate`` has; the default stands on the command."""

from pathlib import Path
from typing import Annotated

from typer import Option

from borgtrace.cli.completion import complete_schedules
from borgtrace.schema.bounds import PROCESSES, SHARE

ScheduleOption = Annotated[
    list[str] | None,
    Option(
        "--policy",
        metavar="POLICY",
        help="recorded, or a policy such as best-fit+preempt or nilas:lifetimes=oracle; repeatable.",
        autocompletion=complete_schedules,
    ),
]
FactorOption = Annotated[
    float,
    SHARE,
    Option(
        "--factor",
        metavar="SHARE",
        help="Share of their requests that tasks below production take; 0 calibrates it.",
    ),
]
PlanOfAllTasksOption = Annotated[
    str,
    Option(
        "--plan",
        metavar="ESTIMATOR",
        help="Plan all tasks by their usage, such as gpa:0.01 or reclaimed:0.25, instead of a factor.",
    ),
]
WholeJobsOption = Annotated[
    bool,
    Option(
        "--whole-jobs", help="Tasks of a job that arrive together start together or not at all."
    ),
]
EachConstraintOption = Annotated[
    bool,
    Option("--each-constraint", help="Also drop the constraints on each attribute in turn."),
]
AddMachinesOption = Annotated[
    list[str] | None,
    Option(
        "--add-machines",
        metavar="N:CPU:MEMORY",
        help="Also try N more machines, such as 100:0.5:0.25; repeatable.",
    ),
]
UpgradeMachinesOption = Annotated[
    list[str] | None,
    Option(
        "--upgrade-machines",
        metavar="OLD=NEW",
        help="Also try other machines in their place, such as 0.5:0.25=0.5:0.5; repeatable.",
    ),
]
EventLogOption = Annotated[
    Path | None,
    Option(
        "--event-log",
        metavar="DIR",
        help="Folder or URL for the schedule as a store of its own, for one policy.",
    ),
]
ByHourOption = Annotated[
    bool,
    Option(
        "--by-hour",
        help="Print a row for each tier and hour instead: waiting tasks, evictions, allocation and use.",
    ),
]
EmptyMachinesOption = Annotated[
    bool,
    Option(
        "--empty-machines",
        help="Print a row for each policy instead: machines that it leaves empty, and stranded room.",
    ),
]
ReplayProcessesOption = Annotated[
    int,
    PROCESSES,
    Option("--jobs", metavar="N", help="Processes: each replays one policy at a time."),
]
ListSchedulesOption = Annotated[bool, Option("--list", help="List the policies, and stop.")]
