"""``borgtrace colocate place``: place tasks by their means and deviations alone."""

from pathlib import Path
from typing import Annotated

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_estimators, complete_packers
from borgtrace.cli.option_effects import NoEffectWith, NoEffectWithout
from borgtrace.cli.options import (
    EngineOption,
    FromOption,
    JsonOption,
    MemoryOption,
    RawOption,
    SeedOption,
)
from borgtrace.cli.task_source_options import (
    SOURCE_PANEL,
    CapacityOption,
    PoolOption,
    SampledTasksOption,
    SyntheticOption,
    TasksOfStoreArgument,
    UsageFormatOption,
    UsageOption,
)

MomentsOption = Annotated[
    Path | None,
    Option(
        "--moments",
        metavar="FILE",
        help="Read moments: columns task, mean and std; maximum and request may be there.",
        rich_help_panel=SOURCE_PANEL,
    ),
]
PlacementOption = Annotated[
    Path | None,
    Option("--placement", metavar="OUT.csv", help="Write task and machine to this file."),
]
EstimatorOption = Annotated[
    str,
    Option(
        "--estimator",
        metavar="NAME:PARAMETER",
        help="How much room a task needs; see borgtrace colocate --estimators.",
        autocompletion=complete_estimators,
    ),
]
PackerOption = Annotated[
    str,
    Option(
        "--packer",
        metavar="NAME",
        help="Which machine a task goes to; see borgtrace colocate --estimators.",
        autocompletion=complete_packers,
    ),
]
RebalancingOption = Annotated[
    bool,
    Option(
        "--rebalancing",
        help="Then fill the last machine with the first tasks of the others.",
    ),
]
OverflowOption = Annotated[
    str,
    Option("--slo", metavar="P", help="Share of the time without overflow."),
]


@command(
    writes_here=["placement"],
    effects=[
        NoEffectWithout(["usage"], ["dialect"]),
        NoEffectWith("moments", ["tasks", "seed", "dialect", "engine", "memory"]),
    ],
)
def colocate_place(
    store: TasksOfStoreArgument = None,
    moments: MomentsOption = None,
    placement: PlacementOption = None,
    estimator: EstimatorOption = "",
    sources: FromOption = None,
    packer: PackerOption = "best-fit",
    rebalancing: RebalancingOption = False,
    capacity: CapacityOption = "1",
    slo: OverflowOption = "0.999",
    tasks: SampledTasksOption = 100_000,
    pool: PoolOption = None,
    usage: UsageOption = None,
    dialect: UsageFormatOption = "",
    synthetic: SyntheticOption = None,
    seed: SeedOption = 0,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    raw: RawOption = False,
    as_json: JsonOption = False,
) -> None:
    """Place tasks on machines by their means and deviations.

    Prints how many machines each estimator needs; the advice is printed last.

    Example: borgtrace colocate place --moments moments.csv --slo 0.99 --placement machines.csv
    """
    from borgtrace.cli import experiments
    from borgtrace.cli.moments import place_by_moments
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.placement import ESTIMATOR_KINDS

    names_in_own_code(sources, ESTIMATOR_KINDS)

    source = experiments.TaskSource(
        store=store,
        pool=pool,
        synthetic=synthetic,
        usage=usage,
        moments=moments,
        engine=engine,
        memory=memory,
    )
    # With --usage the capacity is the size of the largest machine, of which all amounts are fractions.
    machine_capacity = 1.0 if usage is not None else experiments.parse_capacity(capacity)
    place_by_moments(
        experiments.moments_of(source, dialect, capacity, tasks=tasks, seed=seed),
        capacity=machine_capacity,
        target=experiments.parse_target(slo),
        estimator=estimator,
        packer=packer,
        out=placement,
        as_json=as_json,
        rebalancing=rebalancing,
        raw=raw,
    )
