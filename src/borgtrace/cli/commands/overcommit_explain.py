"""``borgtrace overcommit explain``: the terms of each policy for one machine at one time."""

from typing import Annotated

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.options import MOMENTS, FromOption, JsonOption, MemoryOption, StoreArgument
from borgtrace.cli.replay_options import (
    CoresOption,
    ForecastersOption,
    GibOption,
    HorizonOption,
    MetricOption,
    PolicyOption,
    ResourceOption,
    SweepOption,
    UncappedOption,
)

MachineArgument = Annotated[
    str, Argument(metavar="MACHINE", help="The machine: its name where it has one, or its id.")
]
MomentOption = Annotated[
    str,
    Option("--at", metavar="TIME", help=f"The moment, {MOMENTS}."),
]


@command(on_interrupt="what was dealt to machines stays if it was finished")
def overcommit_explain(
    store: StoreArgument,
    machine: MachineArgument,
    at: MomentOption,
    policy: PolicyOption = None,
    sources: FromOption = None,
    sweep: SweepOption = False,
    resource: ResourceOption = None,
    horizon: HorizonOption = "",
    metric: MetricOption = None,
    uncapped: UncappedOption = False,
    cores_per_unit: CoresOption = 0.0,
    gib_per_unit: GibOption = 0.0,
    model: ForecastersOption = None,
    memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
) -> None:
    """Show the terms of each policy for a machine at a moment.

    Example: borgtrace overcommit explain cell-2011 273697489 --at 3h --policy koordinator-batch
    """
    import borgtrace
    from borgtrace.cli import replays
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.cli.policy_terms import print_terms
    from borgtrace.cli.printing import print_json
    from borgtrace.forecast import FORECASTER_KINDS
    from borgtrace.notation import WallClock
    from borgtrace.overcommit.policies import POLICY_KINDS

    own_policies = names_in_own_code(sources, POLICY_KINDS, also=[FORECASTER_KINDS])
    opened = borgtrace.open(store, memory=memory)
    time = WallClock.of(opened.manifest).parse(at, "--at")
    options = replays.values_of_replay(
        policy=policy,
        own_policies=own_policies,
        sweep=sweep,
        resource=resource,
        tasks=None,
        metric=metric,
        model=model,
        is_capped=not uncapped,
        cores=cores_per_unit,
        gib=gib_per_unit,
    )
    options |= replays.times_of_replay(opened, horizon)
    terms = replays.explanation(opened, options, machine, time)
    if as_json:
        print_json(terms)
    else:
        print_terms(opened, terms, machine, time)
