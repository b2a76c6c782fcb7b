"""``borgtrace simulate``: the trace scheduled again, by other policies."""

from pathlib import Path
from typing import Annotated

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_schedules
from borgtrace.cli.options import (
    JsonOption,
    MemoryOption,
    OutOption,
    PngOption,
    RawOption,
    SeedOption,
    StoreOrListArgument,
    required_store,
)
from borgtrace.schema.bounds import PROCESSES, SHARE


@command(writes=["out", "event_log"])
def simulate(
    store: StoreOrListArgument = None,
    policy: Annotated[
        list[str] | None,
        Option(
            "--policy",
            metavar="POLICY",
            help="recorded, or a policy such as best-fit+preempt or random:k=5; repeatable.",
            autocompletion=complete_schedules,
        ),
    ] = None,
    factor: Annotated[
        float,
        SHARE,
        Option(
            "--factor",
            metavar="SHARE",
            help="What tasks below production take of their requests; 0: calibrated.",
        ),
    ] = 0.0,
    plan: Annotated[
        str,
        Option(
            "--plan",
            metavar="ESTIMATOR",
            help="Plan all tasks by their usage, such as gpa:0.01 or reclaimed:0.25, instead of a factor.",
        ),
    ] = "",
    whole_jobs: Annotated[
        bool,
        Option(
            "--whole-jobs", help="Tasks of a job that arrive together start together or not at all."
        ),
    ] = False,
    each_constraint: Annotated[
        bool,
        Option("--each-constraint", help="Also drop the constraints on each attribute in turn."),
    ] = False,
    add_machines: Annotated[
        list[str] | None,
        Option(
            "--add-machines",
            metavar="N:CPU:MEMORY",
            help="Also with so many machines more, such as 100:0.5:0.25; repeatable.",
        ),
    ] = None,
    upgrade_machines: Annotated[
        list[str] | None,
        Option(
            "--upgrade-machines",
            metavar="OLD=NEW",
            help="Also with other machines instead, such as 0.5:0.25=0.5:0.5; repeatable.",
        ),
    ] = None,
    event_log: Annotated[
        Path | None,
        Option(
            "--event-log",
            metavar="DIR",
            help="Folder or URL for the schedule as a store of its own, for one policy.",
        ),
    ] = None,
    by_hour: Annotated[
        bool,
        Option(
            "--by-hour",
            help="A row for each tier and hour instead: what waits, evictions, allocation and use.",
        ),
    ] = False,
    seed: SeedOption = 0,
    jobs: Annotated[
        int,
        PROCESSES,
        Option("--jobs", metavar="N", help="Processes: each replays one policy at a time."),
    ] = 1,
    memory: MemoryOption = "4GB",
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
    list_names: Annotated[bool, Option("--list", help="List the policies, and stop.")] = False,
) -> None:
    """Schedule the trace again, under other policies.

    Arrivals, run times, machines and priorities are those of the trace.

    Example: borgtrace simulate cell-2011 --policy recorded --policy least-stranded+preempt
    """
    from dataclasses import replace

    import borgtrace
    from borgtrace.cli.answers import ask
    from borgtrace.cli.console import talk
    from borgtrace.report.answer_files import check_png
    from borgtrace.scheduling import POLICIES, SIMULATE, SIMULATE_HOURS, SimulateOptions
    from borgtrace.scheduling.schedule_question import DEFAULTS

    if list_names:
        for known_policy in POLICIES.values():
            print(f"{known_policy.name:<22}{known_policy.about}")
        return
    check_png(png, out)
    options = SimulateOptions(
        policies=tuple(policy or DEFAULTS),
        factor=factor,
        plan=plan,
        whole_jobs=whole_jobs,
        seed=seed,
        each_constraint=each_constraint,
        add_machines=tuple(add_machines or ()),
        upgrade_machines=tuple(upgrade_machines or ()),
        event_log=str(event_log or ""),
        jobs=jobs,
    )
    question = SIMULATE_HOURS if by_hour else SIMULATE
    ask(
        replace(question, note=talk.print),
        borgtrace.open(required_store(store), memory=memory),
        options,
        out=out,
        png=png,
        as_json=as_json,
        raw=raw,
    )
