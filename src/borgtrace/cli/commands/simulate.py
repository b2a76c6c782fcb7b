"""``borgtrace simulate``: the trace scheduled again, by other policies."""

from borgtrace.cli.command import command
from borgtrace.cli.options import (
    EngineOption,
    FromOption,
    JsonOption,
    MemoryOption,
    OutOption,
    PngOption,
    RawOption,
    SeedOption,
    StoreOrListArgument,
    required_store,
)
from borgtrace.cli.simulate_options import (
    AddMachinesOption,
    ByHourOption,
    EachConstraintOption,
    EmptyMachinesOption,
    EventLogOption,
    FactorOption,
    ListSchedulesOption,
    PlanOfAllTasksOption,
    ReplayProcessesOption,
    ScheduleOption,
    UpgradeMachinesOption,
    WholeJobsOption,
)


@command(writes=["out", "event_log"])
def simulate(
    store: StoreOrListArgument = None,
    policy: ScheduleOption = None,
    sources: FromOption = None,
    factor: FactorOption = 0.0,
    plan: PlanOfAllTasksOption = "",
    whole_jobs: WholeJobsOption = False,
    each_constraint: EachConstraintOption = False,
    add_machines: AddMachinesOption = None,
    upgrade_machines: UpgradeMachinesOption = None,
    event_log: EventLogOption = None,
    by_hour: ByHourOption = False,
    empty_machines: EmptyMachinesOption = False,
    seed: SeedOption = 0,
    jobs: ReplayProcessesOption = 1,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
    list_names: ListSchedulesOption = False,
) -> None:
    """Schedule the trace again, under other policies.

    Arrivals, run times, machines and priorities are those of the trace.

    Example: borgtrace simulate cell-2011 --policy recorded --policy least-stranded+preempt
    """
    from dataclasses import replace

    import borgtrace
    from borgtrace.cli.answers import ask
    from borgtrace.cli.console import print_prose
    from borgtrace.cli.own_code import names_in_own_code, print_names_of
    from borgtrace.errors import UsageError
    from borgtrace.report.answer_files import check_png
    from borgtrace.scheduling import EMPTY_MACHINES, SIMULATE, SIMULATE_HOURS, SimulateOptions
    from borgtrace.scheduling.policies import SCHEDULER_KINDS
    from borgtrace.scheduling.schedule_question import DEFAULTS, DEFAULTS_OF_EMPTY

    own_schedulers = names_in_own_code(sources, SCHEDULER_KINDS)
    if list_names:
        print_names_of(SCHEDULER_KINDS)
        return
    if by_hour and empty_machines:
        raise UsageError("--by-hour", "not beside --empty-machines", expected="one of the two")
    check_png(png, out)
    defaults: tuple[str, ...] = DEFAULTS
    asked = SIMULATE_HOURS if by_hour else SIMULATE
    if empty_machines:
        defaults = DEFAULTS_OF_EMPTY
        asked = EMPTY_MACHINES
    options = SimulateOptions(
        policies=tuple(policy or (*defaults, *own_schedulers)),
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
    question = replace(asked, note=print_prose)
    opened = borgtrace.open(required_store(store), memory=memory)
    ask(
        question,
        opened,
        options,
        out=out,
        png=png,
        as_json=as_json,
        raw=raw,
        engine=engine,
    )
