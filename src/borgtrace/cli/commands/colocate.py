"""``borgtrace colocate``: how tasks may share machines, and which overcommit value to use."""

from typing import Annotated

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_experiments
from borgtrace.cli.option_effects import NoEffectWithout
from borgtrace.cli.options import (
    EngineOption,
    FromOption,
    JsonOption,
    ListOption,
    MemoryOption,
    OutOption,
    PngOption,
    RawOption,
    SeedOption,
)
from borgtrace.cli.task_source_options import (
    CapacityOption,
    PercentilesOption,
    PoolOption,
    SampledTasksOption,
    SyntheticOption,
    TasksOfStoreArgument,
    UsageFormatOption,
    UsageOption,
)
from borgtrace.schema.bounds import INSTANCE_SIZE, INSTANCES, REALIZATIONS, SUM_SAMPLES

SCALE_PANEL = "Scale"

ExperimentOption = Annotated[
    list[str] | None,
    Option(
        "--experiment",
        metavar="NAME",
        help="An experiment, repeatable; all by default.",
        autocompletion=complete_experiments,
    ),
]
RealizationsOption = Annotated[
    int,
    REALIZATIONS,
    Option("--realizations", metavar="R", help="Draws per task.", rich_help_panel=SCALE_PANEL),
]
InstancesOption = Annotated[
    int | None,
    INSTANCES,
    Option(
        "--instances",
        metavar="K",
        help="Random instances; each experiment has its own default.",
        rich_help_panel=SCALE_PANEL,
    ),
]
InstanceSizeOption = Annotated[
    int,
    INSTANCE_SIZE,
    Option("--size", metavar="n", help="Tasks per instance.", rich_help_panel=SCALE_PANEL),
]
SumSamplesOption = Annotated[
    int | None,
    SUM_SAMPLES,
    Option(
        "--samples",
        metavar="S",
        help="Samples per size (Table 1, Fig. 6); the paper takes 10,000.",
        rich_help_panel=SCALE_PANEL,
    ),
]
PaperScaleOption = Annotated[
    bool,
    Option(
        "--paper-scale",
        help="Run at the scale of the GPA paper: 50 instances, 10,000 samples per size; takes minutes.",
        rich_help_panel=SCALE_PANEL,
    ),
]
MachineMixOption = Annotated[
    str,
    Option(
        "--mix",
        metavar="KINDS",
        help="Kinds of machines, for packing_machines: CPU:MEMORY:NUMBER,…",
    ),
]
SloOption = Annotated[
    str,
    Option(
        "--slo",
        metavar="P",
        help="Share of the time without overflow, for the advice; TIER=P,… for packing_promises.",
    ),
]
IncludedTasksOption = Annotated[
    str,
    Option(
        "--include",
        metavar="KINDS",
        help="Keep tasks that the GPA paper drops: short, failing; "
        "for packing_online and colocation_preparation.",
    ),
]
ListEstimatorsOption = Annotated[
    bool, Option("--estimators", help="List the estimators and packers.")
]


@command(
    on_interrupt="answers that were written stay",
    effects=[
        NoEffectWithout(["usage"], ["dialect"]),
        NoEffectWithout(["store"], ["percentiles"]),
    ],
)
def colocate(
    store: TasksOfStoreArgument = None,
    experiment: ExperimentOption = None,
    realizations: RealizationsOption = 10_000,
    instances: InstancesOption = None,
    size: InstanceSizeOption = 1_000,
    samples: SumSamplesOption = None,
    paper_scale: PaperScaleOption = False,
    capacity: CapacityOption = "1",
    mix: MachineMixOption = "",
    slo: SloOption = "0.999",
    include: IncludedTasksOption = "",
    tasks: SampledTasksOption = 100_000,
    pool: PoolOption = None,
    usage: UsageOption = None,
    dialect: UsageFormatOption = "",
    synthetic: SyntheticOption = None,
    percentiles: PercentilesOption = False,
    sources: FromOption = None,
    seed: SeedOption = 0,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
    list_names: ListOption = False,
    list_estimators: ListEstimatorsOption = False,
) -> None:
    """Pack tasks on machines, and advise on an overcommit value.

    The experiments repeat those of the GPA paper on the long tasks of a store, and go beyond them. A single experiment
    prints its table as CSV, and several print their claims. The advice is printed last.

    With --from the advice also tries estimators of your own.

    Your own tasks: --usage own.csv --capacity 8cores, or borgtrace colocate place --moments moments.csv.

    Example: borgtrace colocate cell-2011 --experiment packing_base --instances 10, or --engine spark://host:7077
    """
    from borgtrace import catalog
    from borgtrace.cli import experiments
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.cli.parameters import print_list
    from borgtrace.colocation.options import PAPER_SCALE
    from borgtrace.placement import ESTIMATOR_KINDS

    experiments.print_untried(names_in_own_code(sources, ESTIMATOR_KINDS))
    if list_names:
        print_list(list(catalog.experiments().values()), has_set=False)
        return
    if list_estimators:
        experiments.print_estimators()
        return
    source = experiments.TaskSource(
        store=store,
        pool=pool,
        synthetic=synthetic,
        usage=usage,
        engine=engine,
        memory=memory,
    )
    # With --usage the capacity is the size of the largest machine, of which all amounts are fractions.
    machine_capacity = 1.0 if usage is not None else experiments.parse_capacity(capacity)
    with experiments.open_study(
        source,
        dialect,
        capacity,
        tasks=tasks,
        seed=seed,
        percentiles=percentiles,
    ) as study:
        options = {
            "tasks": tasks,
            "seed": seed,
            "realizations": realizations,
            "instances": instances,
            "size": size,
            "samples": samples,
            "capacity": machine_capacity,
            "target": experiments.parse_target(slo),
            "mix": mix,
            "include": include,
            "promises": slo if "=" in slo else None,
        }
        if paper_scale:
            # What was set stays as it was set.
            for name, value in PAPER_SCALE.items():
                if options[name] is None:
                    options[name] = value
        experiments.run_experiments(
            study,
            experiment or [],
            options,
            out=out,
            png=png,
            as_json=as_json,
            raw=raw,
        )
