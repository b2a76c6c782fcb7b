"""``borgtrace colocate pool``: write the prepared tasks into a file."""

from pathlib import Path
from typing import Annotated

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.option_effects import NoEffectWithout
from borgtrace.cli.options import EngineOption, JsonOption, MemoryOption, SeedOption
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

PoolFileOption = Annotated[
    Path, Option("--out", metavar="FILE", help="The file that the tasks are written to.")
]
IncludedTasksOption = Annotated[
    str,
    Option(
        "--include",
        metavar="KINDS",
        help="Keep tasks that the GPA paper drops: short, failing.",
    ),
]


@command(
    writes=[],
    writes_here=["out"],
    effects=[
        NoEffectWithout(["usage"], ["dialect", "capacity"]),
        NoEffectWithout(["store"], ["percentiles"]),
    ],
)
def colocate_pool(
    out: PoolFileOption,
    store: TasksOfStoreArgument = None,
    include: IncludedTasksOption = "",
    capacity: CapacityOption = "1",
    tasks: SampledTasksOption = 100_000,
    pool: PoolOption = None,
    usage: UsageOption = None,
    dialect: UsageFormatOption = "",
    synthetic: SyntheticOption = None,
    percentiles: PercentilesOption = False,
    seed: SeedOption = 0,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
) -> None:
    """Write the prepared tasks of a store to a file.

    Experiments read it with --pool, without the store.

    Example: borgtrace colocate pool cell-2011 --out long-tasks.pool
    """
    from borgtrace.cli import experiments

    source = experiments.TaskSource(
        store=store,
        pool=pool,
        synthetic=synthetic,
        usage=usage,
        engine=engine,
        memory=memory,
    )
    with experiments.open_study(
        source, dialect, capacity, tasks=tasks, seed=seed, percentiles=percentiles
    ) as study:
        experiments.export_pool(
            study, out, as_json=as_json, include=include, tasks=tasks, seed=seed
        )
