"""``borgtrace colocate``: how tasks may share machines, and which overcommit value to use."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.option_effects import NoEffectWith, NoEffectWithout
from borgtrace.cli.options import (
    EngineOption,
    JsonOption,
    ListOption,
    MemoryOption,
    OutOption,
    PngOption,
    RawOption,
    SeedOption,
)
from borgtrace.schema.bounds import (
    INSTANCE_SIZE,
    INSTANCES,
    REALIZATIONS,
    SAMPLE_SIZE,
    SUM_SAMPLES,
    SYNTHETIC_TASKS,
)

OF_EXPERIMENTS = (
    "experiment",
    "realizations",
    "instances",
    "size",
    "samples",
    "paper_scale",
    "mix",
    "percentiles",
    "include",
    "export_pool",
    "out",
    "png",
)
"""Parameters of experiments: a placement by moments has none of them."""


@command(
    on_interrupt="answers that were written stay",
    writes_here=["placement", "export_pool"],
    effects=[
        NoEffectWithout(["usage"], ["dialect"]),
        NoEffectWithout(["store"], ["percentiles"]),
        NoEffectWithout(["placement", "moments"], ["estimator", "packer"]),
        NoEffectWith("moments", ["tasks", "seed", "dialect", "engine", "memory"]),
        NoEffectWith("moments", OF_EXPERIMENTS),
        NoEffectWith("placement", OF_EXPERIMENTS),
        NoEffectWith(
            "export_pool",
            [
                "experiment",
                "realizations",
                "instances",
                "size",
                "samples",
                "paper_scale",
                "mix",
                "slo",
                "out",
                "png",
                "raw",
                "as_json",
            ],
        ),
    ],
)
def colocate(
    store: Annotated[
        Path | None,
        Argument(metavar="[STORE]", help="The store; or --usage, --moments, --pool, --synthetic."),
    ] = None,
    experiment: Annotated[
        list[str] | None,
        Option("--experiment", metavar="NAME", help="An experiment, repeatable; all by default."),
    ] = None,
    tasks: Annotated[
        int,
        SAMPLE_SIZE,
        Option("--tasks", metavar="N", help="Size of the sample of long tasks."),
    ] = 100_000,
    realizations: Annotated[
        int,
        REALIZATIONS,
        Option("--realizations", metavar="R", help="Draws per task."),
    ] = 10_000,
    instances: Annotated[
        int | None,
        INSTANCES,
        Option(
            "--instances",
            metavar="K",
            help="Random instances; each experiment has its own default.",
        ),
    ] = None,
    size: Annotated[
        int,
        INSTANCE_SIZE,
        Option("--size", metavar="n", help="Tasks per instance."),
    ] = 1_000,
    samples: Annotated[
        int | None,
        SUM_SAMPLES,
        Option(
            "--samples",
            metavar="S",
            help="Samples per size (Table 1, Fig. 6); the paper takes 10,000.",
        ),
    ] = None,
    paper_scale: Annotated[
        bool,
        Option(
            "--paper-scale",
            help="Run at the scale of the GPA paper: 50 instances, 10,000 samples per size; takes minutes.",
        ),
    ] = False,
    seed: SeedOption = 0,
    capacity: Annotated[
        str,
        Option(
            "--capacity",
            metavar="C",
            help="Capacity of a machine; with --usage its size, such as 8cores,32GiB.",
        ),
    ] = "1",
    mix: Annotated[
        str,
        Option(
            "--mix",
            metavar="KINDS",
            help="Kinds of machines, for packing_machines: CPU:MEMORY:NUMBER,…",
        ),
    ] = "",
    slo: Annotated[
        str,
        Option(
            "--slo",
            metavar="P",
            help="Share of the time without overflow, for the advice; TIER=P,… for packing_promises.",
        ),
    ] = "0.999",
    pool: Annotated[
        Path | None,
        Option("--pool", metavar="FILE", help="Read the tasks from a file; see --export-pool."),
    ] = None,
    percentiles: Annotated[
        bool,
        Option(
            "--percentiles",
            help="With STORE, 2019: draw seconds from the percentiles of each window, not from its sampled second.",
        ),
    ] = False,
    include: Annotated[
        str,
        Option(
            "--include",
            metavar="KINDS",
            help="Keep tasks that the GPA paper drops: short, failing; "
            "for packing_online, colocation_preparation and --export-pool.",
        ),
    ] = "",
    usage: Annotated[
        Path | None,
        Option(
            "--usage",
            metavar="FILE",
            help="Read usage of your own tasks: CSV, Parquet or JSON lines.",
        ),
    ] = None,
    dialect: Annotated[
        str,
        Option(
            "--dialect", metavar="FILE.toml", help="With --usage: a file that declares its format."
        ),
    ] = "",
    moments: Annotated[
        Path | None,
        Option(
            "--moments",
            metavar="FILE",
            help="Read moments: task, mean, std, maybe maximum, request.",
        ),
    ] = None,
    placement: Annotated[
        Path | None,
        Option(
            "--placement",
            metavar="OUT.csv",
            help="Place tasks by their moments; write task and machine.",
        ),
    ] = None,
    estimator: Annotated[
        str,
        Option("--estimator", metavar="NAME:PARAMETER", help="For --placement; see --estimators."),
    ] = "",
    packer: Annotated[
        str, Option("--packer", metavar="NAME", help="For --placement; see --estimators.")
    ] = "best-fit",
    rebalancing: Annotated[
        bool,
        Option(
            "--rebalancing",
            help="For --placement: then fill the last machine with the first tasks of the others.",
        ),
    ] = False,
    synthetic: Annotated[
        int | None,
        SYNTHETIC_TASKS,
        Option("--synthetic", metavar="N", help="Use this many calibrated synthetic tasks."),
    ] = None,
    export_pool: Annotated[
        Path | None,
        Option(
            "--export-pool", metavar="FILE", help="Write the prepared tasks to this file and stop."
        ),
    ] = None,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
    list_names: ListOption = False,
    list_estimators: Annotated[
        bool, Option("--estimators", help="List the estimators and packers.")
    ] = False,
) -> None:
    """Pack tasks on machines, and advise on an overcommit value.

    The experiments repeat those of the GPA paper on the long tasks of a store, and go beyond them. A single experiment
    prints its table as CSV; several print their claims. The advice is printed last.

    Your own tasks: --usage own.csv --capacity 8cores, or --moments moments.csv --placement machines.csv.

    Example: borgtrace colocate cell-2011 --experiment packing_base --instances 10, or --engine spark://host:7077
    """
    from borgtrace import catalog
    from borgtrace.cli import experiments
    from borgtrace.cli.parameters import print_list
    from borgtrace.colocation.options import PAPER_SCALE
    from borgtrace.errors import UsageError

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
        moments=moments,
        engine=engine,
        memory=memory,
    )
    # With --usage the capacity is the size of the largest machine, of which all amounts are fractions.
    machine_capacity = 1.0 if usage is not None else experiments.parse_capacity(capacity)
    if moments is not None or placement is not None:
        from borgtrace.cli.moments import place_by_moments

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
        return
    if rebalancing:
        raise UsageError(
            "--rebalancing",
            "nothing is placed",
            expected="--placement FILE or --moments FILE",
            way_out="the experiment packing_rebalancing measures what it is worth",
        )
    with experiments.open_study(
        source,
        dialect,
        capacity,
        tasks=tasks,
        seed=seed,
        percentiles=percentiles,
    ) as study:
        # Before anything is computed: the option says "and stop".
        if export_pool is not None:
            experiments.export_pool(
                study,
                export_pool,
                include=include,
                tasks=tasks,
                seed=seed,
            )
            return
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
