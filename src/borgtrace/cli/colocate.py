"""``borgtrace colocate``: how tasks may share machines, and which overcommit value to use."""

from pathlib import Path
from typing import Annotated

from borgtrace.cli._options import AnswerFolder, Json, List, Png, Seed, argument, flag, option

ON_INTERRUPT = "answers that were written stay"


def colocate(
    store: Annotated[Path | None, argument("[STORE]", "The store; or --usage, --moments, --pool, --synthetic.")] = None,
    experiment: Annotated[list[str] | None, option("NAME", "An experiment, repeatable; all by default.")] = None,
    tasks: Annotated[int, option("N", "Size of the sample of long tasks.")] = 100_000,
    realizations: Annotated[int, option("R", "Draws per task.")] = 10_000,
    instances: Annotated[int | None, option("K", "Random instances; each experiment has its own default.")] = None,
    size: Annotated[int, option("n", "Tasks per instance.")] = 1_000,
    samples: Annotated[int | None, option("S", "Samples per size (Table 1, Fig. 6); the paper takes 10,000.")] = None,
    paper_scale: Annotated[
        bool,
        flag(
            "--paper-scale", "Run at the scale of the GPA paper: 50 instances, 10,000 samples per size; takes minutes."
        ),
    ] = False,
    seed: Seed = 0,
    capacity: Annotated[str, option("C", "Capacity of a machine; with --usage its size, such as 8cores,32GiB.")] = "1",
    mix: Annotated[str, option("KINDS", "Kinds of machines, for packing_machines: CPU:MEMORY:NUMBER,…")] = "",
    slo: Annotated[
        str, option("P", "Share of the time without overflow, for the advice; TIER=P,… for packing_promises.")
    ] = "0.999",
    pool: Annotated[Path | None, option("FILE", "Read the tasks from a file; see --export-pool.")] = None,
    percentiles: Annotated[
        bool,
        flag(
            "--percentiles",
            "With STORE, 2019: draw seconds from the percentiles of each window, not from its sampled second.",
        ),
    ] = False,
    usage: Annotated[Path | None, option("FILE", "Read usage of your own tasks: CSV, Parquet or JSON lines.")] = None,
    dialect: Annotated[str, option("FILE.toml", "With --usage: a file that declares its format.")] = "",
    moments: Annotated[Path | None, option("FILE", "Read moments: task, mean, std, maybe maximum, request.")] = None,
    placement: Annotated[
        Path | None, option("OUT.csv", "Place tasks by their moments; write task and machine.")
    ] = None,
    estimator: Annotated[str, option("NAME:PARAMETER", "For --placement; see --estimators.")] = "",
    packer: Annotated[str, option("NAME", "For --placement; see --estimators.")] = "best-fit",
    synthetic: Annotated[int | None, option("N", "Use this many calibrated synthetic tasks.")] = None,
    export_pool: Annotated[Path | None, option("FILE", "Write the prepared tasks to this file and stop.")] = None,
    out: AnswerFolder = None,
    png: Png = False,
    as_json: Json = False,
    list_names: List = False,
    list_estimators: Annotated[bool, flag("--estimators", "List the estimators and packers.")] = False,
) -> None:
    """Pack tasks on machines, and advise on an overcommit value.

    The experiments repeat those of the GPA paper on the long tasks of a store, and go beyond them. A single experiment
    prints its table as CSV; several print their claims. The advice is printed last.

    Your own tasks: --usage own.csv --capacity 8cores, or --moments moments.csv --placement machines.csv.

    Example: borgtrace colocate cell-2011 --experiment packing_base --instances 10
    """
    from borgtrace.cli import _answers, _experiments
    from borgtrace.colocation import find_experiments
    from borgtrace.colocation.study import PAPER_SCALE

    if list_names:
        _answers.print_list(list(find_experiments().values()), has_set=False)
        return
    if list_estimators:
        _experiments.print_estimators()
        return
    sources = _experiments.Sources(store, pool, synthetic, usage, moments)
    sizes = {"tasks": tasks, "seed": seed}
    whole = 1.0 if usage is not None else _experiments.number(capacity)
    if moments is not None or placement is not None:
        from borgtrace.cli import _moments

        known = _experiments.moments_of(sources, dialect, capacity, **sizes)
        target = _experiments.target_of(slo)
        _moments.run(known, whole, target, estimator, packer, placement, as_json=as_json)
        return
    with _experiments.study_of(sources, dialect, capacity, percentiles=percentiles, **sizes) as source:
        # Before anything is computed: the option says "and stop".
        if export_pool is not None:
            _experiments.export(source, export_pool, tasks, seed)
            return
        given = {
            **sizes,
            "realizations": realizations,
            "instances": instances,
            "size": size,
            "samples": samples,
            "capacity": whole,
            "target": _experiments.target_of(slo),
            "mix": mix,
            "promises": slo if "=" in slo else None,
        }
        if paper_scale:
            # The other sizes are the paper's by default; what was set stays as it was set.
            given = {name: PAPER_SCALE.get(name) if value is None else value for name, value in given.items()}
        _experiments.run(source, experiment or [], given, out=out, png=png, as_json=as_json)
