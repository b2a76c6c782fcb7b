"""``borgtrace colocate``: how tasks may share machines, and which overcommit value to use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def colocate(
    store: Annotated[
        Path | None, typer.Argument(help="The store; none with --pool or --synthetic.", metavar="[STORE]")
    ] = None,
    experiment: Annotated[
        list[str] | None, typer.Option(help="An experiment, repeatable; all by default.", metavar="NAME")
    ] = None,
    tasks: Annotated[int, typer.Option(help="Size of the sample of long tasks, N.", metavar="N")] = 100_000,
    realizations: Annotated[int, typer.Option(help="Draws per task, R.", metavar="R")] = 10_000,
    instances: Annotated[
        int | None, typer.Option(help="Random instances; each experiment's own number by default.", metavar="K")
    ] = None,
    size: Annotated[int, typer.Option(help="Tasks per instance.", metavar="n")] = 1_000,
    samples: Annotated[
        int | None,
        typer.Option(help="Random samples per size, for Table 1 and Fig. 6; the paper takes 10,000.", metavar="S"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of samples and draws.", metavar="S")] = 0,
    capacity: Annotated[float, typer.Option(help="Capacity of a machine, for the advice.", metavar="C")] = 1.0,
    mix: Annotated[
        str, typer.Option(help="Kinds of machines, for packing_machines: CPU:MEMORY:NUMBER,…", metavar="KINDS")
    ] = "",
    slo: Annotated[
        float, typer.Option(help="Share of the time a machine must not overflow, for the advice.", metavar="P")
    ] = 0.999,
    pool: Annotated[
        Path | None, typer.Option(help="Take the tasks from this file (see --export-pool).", metavar="FILE")
    ] = None,
    percentiles: Annotated[
        bool,
        typer.Option(
            "--percentiles",
            help="With STORE, 2019: draw seconds from each window's percentiles, not its one sampled second.",
        ),
    ] = False,
    synthetic: Annotated[
        int | None, typer.Option(help="Take so many calibrated synthetic tasks instead.", metavar="N")
    ] = None,
    export_pool: Annotated[
        Path | None, typer.Option(help="Write the prepared tasks to this file and stop.", metavar="FILE")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for NAME.parquet, .csv, .svg, .vl.json and claims.csv.", metavar="DIR")
    ] = None,
    png: Annotated[bool, typer.Option("--png", help="With --out: also write NAME.png.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per experiment.")] = False,
    list_names: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    list_estimators: Annotated[bool, typer.Option("--estimators", help="List the estimators and packers.")] = False,
) -> None:
    """Repeat the GPA paper on the long tasks of a store, go past it, and end in advice.

    One experiment alone prints its table as CSV; several print their claims. The advice is printed last.

    Example: borgtrace colocate cell-2011 --experiment packing_base --instances 10
    """
    from borgtrace.cli import _colocating

    if list_names:
        _colocating.print_experiments()
    elif list_estimators:
        _colocating.print_estimators()
    else:
        source = _colocating.tables_of(store, pool, synthetic, tasks, seed, percentiles=percentiles)
        if export_pool is not None:
            _colocating.export(source, export_pool, tasks, seed)
            return
        given = {
            "tasks": tasks,
            "realizations": realizations,
            "instances": instances,
            "size": size,
            "seed": seed,
            "samples": samples,
            "capacity": capacity,
            "target": _colocating.target_of(slo),
            "mix": mix,
        }
        _colocating.run(source, experiment or [], given, out=out, png=png, as_json=as_json)
