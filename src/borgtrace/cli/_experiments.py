"""Experiments of ``borgtrace colocate``: their tasks, their runs, and the advice."""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from borgtrace.catalog import experiments
from borgtrace.cli import _answers
from borgtrace.colocation import Options, Study, prepare_pool, read_pool, synthetic_pool
from borgtrace.colocation import write_pool as write
from borgtrace.colocation.classes import parse_promises
from borgtrace.colocation.experiment import Experiment, run_cells
from borgtrace.colocation.from_moments import Moments, read_moments
from borgtrace.engine import tasks_on
from borgtrace.errors import StoreError, UsageError, check_names
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.placement import estimators, packers
from borgtrace.question import EngineTables, NotApplicable, Tables


def print_estimators() -> None:
    """Print the estimators with their parameter, and the packers."""
    tests = {f"{name}:{kind.symbol}": kind.about for name, kind in estimators().items()}
    rules = {name: packer.about for name, packer in packers().items()}
    width = max(map(len, (*tests, *rules)))
    # No command takes one: experiments name their own.
    for title, listed in (
        ("Estimators, for parse_estimator", tests),
        ("Packers, for parse_packer", rules),
    ):
        print(f"{title} in Python:")
        for name, about in listed.items():
            print(f"  {name:<{width}}  {about}")


@dataclass(frozen=True)
class Sources:
    """Where tasks may come from; exactly one is given.

    Parameters
    ----------
    store, pool, synthetic, usage, moments
        A store, a file of tasks, a number of synthetic ones, usage of own tasks, or tasks by their moments.
    engine, memory
        Where a store's tasks are prepared and instances packed, and its budget.

    Raises
    ------
    UsageError
        None or several were given.
    """

    store: Path | None
    pool: Path | None
    synthetic: int | None
    usage: Path | None = None
    moments: Path | None = None
    engine: str = "duckdb"
    memory: str = "4GB"

    def __post_init__(self) -> None:
        # Counted by presence, so that ``--synthetic 0`` is refused for its value and not taken for absent.
        names = {"store": "STORE"} | {
            name: f"--{name}" for name in ("pool", "synthetic", "usage", "moments")
        }
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) != 1:
            got = " and ".join(names[name] for name in given) or "none"
            expected = f"one of {', '.join(names.values())}"
            raise UsageError("colocate", "where do the tasks come from", expected=expected, got=got)


@contextmanager
def study_of(
    sources: Sources,
    dialect: str,
    capacity: str,
    *,
    tasks: int,
    seed: int,
    percentiles: bool = False,
) -> Iterator[Study]:
    """Open the one source of tasks that was given.

    Parameters
    ----------
    sources
        Where the tasks come from.
    dialect, capacity
        Format and size of the largest machine, of own usage.
    tasks, seed
        Size of the sample and its seed.
    percentiles
        Draw seconds from the percentiles of each window (2019).

    Raises
    ------
    UsageError
        There is no such number of tasks, or no percentiles.
    """
    spark = tasks_on(sources.engine, sources.memory)
    if sources.pool is not None:
        yield Study(read_pool(sources.pool), spark)
    elif sources.synthetic is not None:
        if sources.synthetic < 1:
            got = str(sources.synthetic)
            raise UsageError("--synthetic", "not a number of tasks", expected="at least 1", got=got)
        yield Study(synthetic_pool(sources.synthetic, seed), spark)
    elif sources.usage is not None:
        with tempfile.TemporaryDirectory(prefix="borgtrace-") as folder:
            yield Study.of_store(
                _own_store(sources.usage, Path(folder) / sources.usage.name, dialect, capacity)
            )
    else:
        assert sources.store is not None
        tables = EngineTables.of(sources.store, sources.engine, memory=sources.memory)
        # Prepared here, because a study of a store draws from the sampled seconds.
        yield Study(
            prepare_pool(tables, tasks, seed, "histogram") if percentiles else tables, spark
        )


def _own_store(usage: Path, store: Path, dialect: str, capacity: str) -> Path:
    """Make a store of own usage for the time of a command, and say what was guessed."""
    # A number alone is one of cores: usage has no other unit of a machine.
    size = f"{capacity}cores" if capacity.replace(".", "", 1).isdecimal() else capacity
    result = ingest([usage], store, IngestOptions(dialect=dialect, capacity=size))
    for note in result.manifest.notes if result.manifest else ():
        print(note, file=sys.stderr)
    return store


def number(capacity: str) -> float:
    """Return the capacity of a machine where amounts are fractions of the largest one.

    Raises
    ------
    UsageError
        It is no number.
    """
    try:
        return float(capacity)
    except ValueError:
        way_out = "a size such as 8cores is for --usage"
        raise UsageError(
            "--capacity", "not a number", expected="such as 1", got=capacity, way_out=way_out
        ) from None


def moments_of(sources: Sources, dialect: str, capacity: str, *, tasks: int, seed: int) -> Moments:
    """Return the moments of the tasks that were given.

    Parameters
    ----------
    sources, dialect, capacity, tasks, seed
        As for :func:`study_of`.
    """
    if sources.moments is not None:
        return read_moments(sources.moments)
    with study_of(sources, dialect, capacity, tasks=tasks, seed=seed) as study:
        return Moments.of(study.pool(Options(tasks=tasks, seed=seed)), _names(study))


def _names(study: Study) -> dict[int, str]:
    """Return the names of collections, where they have some of their own: those of Google's repeat."""
    source = study.source
    if not isinstance(source, Tables) or source.dialect.conversion is None:
        return {}
    found = source.fetch(
        source.collection_events.select("collection_id", "collection_name").distinct(), "names"
    )
    return dict(
        zip(found["collection_id"].to_pylist(), found["collection_name"].to_pylist(), strict=True)
    )


def export(study: Study, path: Path, **options: Any) -> None:
    """Write the prepared pool to a file; say what the preparation did."""
    try:
        pool = study.pool(Options(**options))
    # A question that does not apply has an answer; a pool that cannot be made is an error.
    except NotApplicable as reason:
        raise StoreError(study.source.provenance({}, 0.0).store, f"no pool: {reason}") from None
    write(pool, path)
    for step in pool.steps:
        print(f"{step.name}: {step.count:,} of {step.of:,} {step.unit}", file=sys.stderr)
    print(f"{path}: {len(pool):,} tasks, {len(pool.inst):,} windows", file=sys.stderr)


def target_of(slo: str) -> float:
    """Tolerated overflow of a service level objective, the strictest of those of several tiers.

    Raises
    ------
    UsageError
        `slo` is not strictly between 0 and 1.
    """
    if "=" in slo:
        return min(parse_promises(slo).values())
    try:
        share = float(slo)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        expected = "above 0 and below 1"
        raise UsageError(
            "--slo", "not a service level", expected=expected, got=slo, way_out="try 0.999"
        )
    # 1 − 0.999 is 0.0010000000000000009 in floating point, which would stand so in every table.
    return round(1 - share, 12)


def run(
    study: Study,
    names: Sequence[str],
    given: Mapping[str, Any],
    *,
    out: Path | None,
    png: bool,
    as_json: bool,
) -> None:
    """Run experiments, all by default, the advice last; print it on stderr.

    Parameters
    ----------
    study
        Where the tasks come from.
    names
        Experiments; all where empty.
    given
        Options; None where one was not given.
    out, png, as_json
        As for :func:`borgtrace.cli._answers.publish`.
    """
    # What was not given is left to each experiment's own default.
    parameters = {name: value for name, value in given.items() if value is not None}
    Options(**parameters)  # refuses values outside their range before anything runs
    known = experiments()
    check_names("--experiment", names, known)
    chosen = [known[name] for name in dict.fromkeys(names or known)]
    # All cells first, in one pass over the instances: experiments share them and find the outcomes kept.
    gridded = [experiment for experiment in chosen if isinstance(experiment, Experiment)]
    run_cells(study, gridded, parameters)
    results = _answers.publish(
        _answers.run(chosen, study, parameters), out=out, png=png, as_json=as_json
    )
    for result in results:
        if told := _answers.sentence(result):
            print(told, file=sys.stderr)
