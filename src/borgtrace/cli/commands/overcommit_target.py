"""``borgtrace overcommit target``: a policy chosen on earlier days, judged on later ones."""

from typing import Annotated

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.options import (
    EngineOption,
    FromOption,
    JsonOption,
    MemoryOption,
    OutOption,
    PngOption,
    ProcessesOption,
    RawOption,
    SeedOption,
    StoreArgument,
)
from borgtrace.cli.replay_options import (
    CompatOption,
    CoresOption,
    ForecastersOption,
    GibOption,
    HorizonOption,
    MetricOption,
    PolicyOption,
    ResourceOption,
    SampledMachinesOption,
    SweepOption,
    TierOfTasksOption,
    UncappedOption,
)
from borgtrace.schema.bounds import PROBABILITY

TargetRateOption = Annotated[
    float,
    PROBABILITY,
    Option("--target", metavar="RATE", help="Violation rate that must be kept."),
]


@command(on_interrupt="what was dealt to machines stays if it was finished")
def overcommit_target(
    store: StoreArgument,
    target: TargetRateOption = 0.01,
    policy: PolicyOption = None,
    sources: FromOption = None,
    sweep: SweepOption = False,
    resource: ResourceOption = None,
    tasks: TierOfTasksOption = None,
    horizon: HorizonOption = "",
    machines: SampledMachinesOption = 0,
    metric: MetricOption = None,
    uncapped: UncappedOption = False,
    compat: CompatOption = "",
    cores_per_unit: CoresOption = 0.0,
    gib_per_unit: GibOption = 0.0,
    model: ForecastersOption = None,
    seed: SeedOption = 0,
    jobs: ProcessesOption = 1,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
) -> None:
    """Choose a policy that keeps a violation rate, and judge it on later days.

    For each day (or a shorter period in a short trace), the advice is the policy that saved most in the periods before
    while it kept the rate there.

    Example: borgtrace overcommit target cell-2011 --target 0.01 --sweep --resource cpu
    """
    import borgtrace
    from borgtrace.cli import replays
    from borgtrace.cli.answers import publish, say
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.errors import check_names
    from borgtrace.forecast import FORECASTER_KINDS
    from borgtrace.overcommit import ADVICE
    from borgtrace.overcommit.policies import POLICY_KINDS
    from borgtrace.report.answer_files import check_png

    own_policies = names_in_own_code(sources, POLICY_KINDS, also=[FORECASTER_KINDS])
    check_names("--compat", [compat] if compat else [], ("crf",), "no such simulator")
    check_png(png, out)
    opened = borgtrace.open(store, memory=memory)
    options = replays.values_of_replay(
        policy=policy,
        own_policies=own_policies,
        sweep=sweep,
        resource=resource,
        tasks=tasks,
        metric=metric,
        model=model,
        compat=compat,
        target=target,
        machines=machines,
        is_capped=not uncapped,
        cores=cores_per_unit,
        gib=gib_per_unit,
        seed=seed,
        jobs=jobs,
    )
    options |= replays.times_of_replay(opened, horizon, is_literal=bool(compat))
    result = replays.replay(ADVICE, opened, options, engine)
    say(result)
    publish([result], out=out, png=png, as_json=as_json, raw=raw, is_table=True)
