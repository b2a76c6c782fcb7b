"""``borgtrace overcommit``: which policy may promise how much of a machine, replayed over a trace."""

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
    StoreOrListArgument,
    required_store,
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

ShapesOption = Annotated[bool, Option("--shapes", help="Add rows for each shape of machine.")]
ListPoliciesOption = Annotated[
    bool, Option("--list", help="List the policies and recommenders, and stop.")
]


@command(on_interrupt="what was dealt to machines stays if it was finished")
def overcommit(
    store: StoreOrListArgument = None,
    policy: PolicyOption = None,
    sources: FromOption = None,
    sweep: SweepOption = False,
    resource: ResourceOption = None,
    tasks: TierOfTasksOption = None,
    horizon: HorizonOption = "",
    shapes: ShapesOption = False,
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
    list_names: ListPoliciesOption = False,
) -> None:
    """Show what overcommit policies would have saved and risked.

    They are replayed on the machines of a trace. Usage is first sorted by machine and kept beside the store. To choose
    a policy on earlier days and judge it on later ones: borgtrace overcommit target STORE.

    Example: borgtrace overcommit cell-2011 --horizon 2h --policy limit --policy nsigma:n=3,history=2h
    """
    import borgtrace
    from borgtrace.cli import replays
    from borgtrace.cli.answers import publish, say
    from borgtrace.cli.console import talk
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.errors import check_names, shell_word
    from borgtrace.forecast import FORECASTER_KINDS
    from borgtrace.overcommit import REPLAY, ReplayOptions
    from borgtrace.overcommit.policies import POLICY_KINDS
    from borgtrace.overcommit.recommenders import RECOMMENDER_KINDS
    from borgtrace.report.answer_files import check_png

    if list_names:
        names_in_own_code(sources, POLICY_KINDS, RECOMMENDER_KINDS, also=[FORECASTER_KINDS])
        replays.print_policies_and_recommenders()
        return
    own_policies = names_in_own_code(sources, POLICY_KINDS, also=[FORECASTER_KINDS])
    check_names("--compat", [compat] if compat else [], ("crf",), "no such simulator")
    check_png(png, out)
    opened = borgtrace.open(required_store(store), memory=memory)
    options = replays.values_of_replay(
        policy=policy,
        own_policies=own_policies,
        sweep=sweep,
        resource=resource,
        tasks=tasks,
        metric=metric,
        model=model,
        compat=compat,
        shapes=shapes,
        machines=machines,
        is_capped=not uncapped,
        cores=cores_per_unit,
        gib=gib_per_unit,
        seed=seed,
        jobs=jobs,
    )
    options |= replays.times_of_replay(opened, horizon, is_literal=bool(compat))
    result = replays.replay(REPLAY, opened, options, engine)
    plain = None
    if compat:
        # The same policies without the simulator's habits, to say what these change.
        labels = tuple(policy.label for policy in ReplayOptions(**options).parsed())
        plain = replays.replay(
            REPLAY, opened, options | {"is_literal": False, "policies": labels}, engine
        )
    say(result)
    if plain is not None:
        replays.print_difference(result, plain)
    # Where no slot could be judged, none can be chosen either.
    if not result.not_applicable:
        line = f"borgtrace overcommit target {shell_word(required_store(store))}"
        talk.print(f"Each policy is judged on all slots. Next, to choose on earlier ones: {line}")
    publish([result], out=out, png=png, as_json=as_json, raw=raw, is_table=True)
