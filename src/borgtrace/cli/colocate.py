"""``borgtrace colocate``: how tasks may share machines, and which overcommit value to use."""

from pathlib import Path


def colocate(
    store: Path | None = None,
    experiment: list[str] | None = None,
    tasks: int = 100_000,
    realizations: int = 10_000,
    instances: int | None = None,
    size: int = 1_000,
    samples: int | None = None,
    paper_scale: bool = False,
    seed: int = 0,
    capacity: str = "1",
    mix: str = "",
    slo: str = "0.999",
    pool: Path | None = None,
    percentiles: bool = False,
    include: str = "",
    usage: Path | None = None,
    dialect: str = "",
    moments: Path | None = None,
    placement: Path | None = None,
    estimator: str = "",
    packer: str = "best-fit",
    synthetic: int | None = None,
    export_pool: Path | None = None,
    engine: str = "duckdb",
    memory: str = "4GB",
    out: Path | None = None,
    png: bool = False,
    as_json: bool = False,
    list_names: bool = False,
    list_estimators: bool = False,
) -> None:
    """Pack tasks on machines, and advise on an overcommit value.

    The experiments repeat those of the GPA paper on the long tasks of a store, and go beyond them. A single experiment
    prints its table as CSV; several print their claims. The advice is printed last.

    Your own tasks: --usage own.csv --capacity 8cores, or --moments moments.csv --placement machines.csv.

    Example: borgtrace colocate cell-2011 --experiment packing_base --instances 10, or --engine spark://host:7077
    """
    from borgtrace.catalog import experiments
    from borgtrace.cli import _answers, _experiments
    from borgtrace.colocation.study import PAPER_SCALE

    if list_names:
        _answers.print_list(list(experiments().values()), has_set=False)
        return
    if list_estimators:
        _experiments.print_estimators()
        return
    sources = _experiments.Sources(store, pool, synthetic, usage, moments, engine, memory)
    sizes = {"tasks": tasks, "seed": seed}
    whole = 1.0 if usage is not None else _experiments.number(capacity)
    if moments is not None or placement is not None:
        from borgtrace.cli import _moments

        known = _experiments.moments_of(sources, dialect, capacity, **sizes)
        target = _experiments.target_of(slo)
        _moments.run(known, whole, target, estimator, packer, placement, as_json=as_json)
        return
    with _experiments.study_of(
        sources, dialect, capacity, percentiles=percentiles, **sizes
    ) as source:
        # Before anything is computed: the option says "and stop".
        if export_pool is not None:
            _experiments.export(source, export_pool, include=include, **sizes)
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
            "include": include,
            "promises": slo if "=" in slo else None,
        }
        if paper_scale:
            # The other sizes are the paper's by default; what was set stays as it was set.
            given = {
                name: PAPER_SCALE.get(name) if value is None else value
                for name, value in given.items()
            }
        _experiments.run(source, experiment or [], given, out=out, png=png, as_json=as_json)
