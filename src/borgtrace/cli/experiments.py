"""Experiments of ``borgtrace colocate``: their tasks, their runs, and the advice."""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from borgtrace import catalog
from borgtrace.cli.answers import publish, run
from borgtrace.cli.console import print_prose
from borgtrace.cli.guesses import confirm_guess
from borgtrace.cli.printing import print_json
from borgtrace.colocation import (
    ColocationOptions,
    Study,
    prepare_pool,
    read_pool,
    synthetic_pool,
    write_pool,
)
from borgtrace.colocation.packing.from_moments import NamedTasks, read_moments
from borgtrace.colocation.packing.service_classes import parse_promises
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.engine import tasks_on
from borgtrace.errors import StoreError, UsageError, check_names
from borgtrace.ingest import IngestOptions, prepare_ingest
from borgtrace.notation import ResourceAmounts
from borgtrace.placement import ESTIMATOR_KINDS, packers
from borgtrace.question import EngineTables, NotApplicable, Tables
from borgtrace.question.facts import sentence_of
from borgtrace.schema.bounds import CAPACITY, check_number
from borgtrace.storage import as_path, scratch_folder
from borgtrace.store.manifest import read_manifest


def print_estimators() -> None:
    """Print the estimators with their parameter, and the packers."""
    about_estimators = {}
    for name, kind in ESTIMATOR_KINDS.items():
        origin = "" if name in ESTIMATOR_KINDS.own else f" (from {ESTIMATOR_KINDS.origin(name)})"
        about_estimators[f"{name}:{kind.symbol}"] = f"{kind.about}{origin}"
    about_packers = {name: packer.about for name, packer in packers().items()}
    width = max(len(name) for name in (*about_estimators, *about_packers))
    # No command takes one: experiments name their own.
    print("Estimators, for parse_estimator in Python:")
    for name, about in about_estimators.items():
        print(f"  {name:<{width}}  {about}")
    print("Packers, for parse_packer in Python:")
    for name, about in about_packers.items():
        print(f"  {name:<{width}}  {about}")


def print_untried(names: Sequence[str]) -> None:
    """Say which estimators of the user no experiment tries: those that name no parameters.

    Parameters
    ----------
    names
        Of the estimators in what ``--from`` names.
    """
    for name in names:
        if not ESTIMATOR_KINDS[name].paper:
            print_prose(
                f"{name} is not tried: it names no parameters. In its class, write those to try, "
                "such as paper = (1.0, 2.0)."
            )


@dataclass(frozen=True, kw_only=True)
class TaskSource:
    """Where tasks come from; exactly one of the first five is given.

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

    store: Path | None = None
    pool: Path | None = None
    synthetic: int | None = None
    usage: Path | None = None
    moments: Path | None = None
    engine: str = "duckdb"
    memory: str = "4GB"

    def __post_init__(self) -> None:
        sources = {
            "STORE": self.store,
            "--pool": self.pool,
            "--synthetic": self.synthetic,
            "--usage": self.usage,
            "--moments": self.moments,
        }
        # Counted by presence, so that ``--synthetic 0`` is refused for its value and not taken for absent.
        present = [name for name, value in sources.items() if value is not None]
        if len(present) != 1:
            raise UsageError(
                "colocate",
                "where do the tasks come from",
                expected=f"one of {', '.join(sources)}",
                got=" and ".join(present) or "none",
            )


@contextmanager
def open_study(
    source: TaskSource,
    dialect: str,
    capacity: str,
    *,
    tasks: int,
    seed: int,
    percentiles: bool = False,
) -> Iterator[Study]:
    """Open the source of tasks as a study.

    Parameters
    ----------
    source
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
        There are no percentiles.
    """
    workers = tasks_on(source.engine, source.memory)
    if source.pool is not None:
        yield Study(read_pool(source.pool), workers)
    elif source.synthetic is not None:
        yield Study(synthetic_pool(source.synthetic, seed), workers)
    elif source.usage is not None:
        with tempfile.TemporaryDirectory(dir=scratch_folder()) as folder:
            store = Path(folder) / source.usage.name
            ingest_own_usage(source.usage, store, dialect, capacity)
            yield Study.of_store(store)
    else:
        assert source.store is not None
        tables = EngineTables.of(source.store, source.engine, memory=source.memory)
        if percentiles:
            # Prepared here, because a study of a store draws from the sampled seconds.
            yield Study(prepare_pool(tables, tasks, seed, "histogram"), workers)
        else:
            yield Study(tables, workers)


def ingest_own_usage(
    usage: Path,
    store: Path,
    dialect: str,
    capacity: str,
) -> None:
    """Make a store of own usage for the time of a command, and say what was guessed."""
    # A number alone is one of cores: usage has no other unit of a machine.
    is_number = capacity.replace(".", "", 1).isdecimal()
    size = f"{capacity}cores" if is_number else capacity
    prepared = prepare_ingest([usage], store, IngestOptions(dialect=dialect, capacity=size))
    confirm_guess(prepared.raw_files, is_accepted=False, question="Go on like this?")
    result = prepared.run()
    notes = result.manifest.notes if result.manifest else ()
    for note in notes:
        print(note, file=sys.stderr)


def parse_capacity(capacity: str) -> float:
    """Return the capacity of a machine where amounts are fractions of the largest one.

    Raises
    ------
    UsageError
        It is no number.
    """
    try:
        number = float(capacity)
    except ValueError:
        raise UsageError(
            "--capacity",
            "not a number",
            expected="such as 1",
            got=capacity,
            way_out="a size such as 8cores is for --usage",
        ) from None
    check_number("--capacity", number, CAPACITY)
    return number


def parse_target(slo: str) -> float:
    """Return the tolerated overflow of a service level objective, the strictest where tiers have their own.

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
        raise UsageError(
            "--slo",
            "not a service level",
            expected="above 0 and below 1",
            got=slo,
            way_out="try 0.999",
        )
    # 1 − 0.999 is 0.0010000000000000009 in floating point, which would stand so in every table.
    return round(1 - share, 12)


def moments_of(
    source: TaskSource,
    dialect: str,
    capacity: str,
    *,
    tasks: int,
    seed: int,
) -> NamedTasks:
    """Return the moments of the tasks of a source.

    Parameters
    ----------
    source, dialect, capacity, tasks, seed
        As for :func:`open_study`.
    """
    if source.moments is not None:
        return read_moments(source.moments)
    with open_study(source, dialect, capacity, tasks=tasks, seed=seed) as study:
        pool = pool_of(study, ColocationOptions(tasks=tasks, seed=seed))
        return NamedTasks.of(pool, names_of_collections(study))


def pool_of(study: Study, options: ColocationOptions) -> TaskPool:
    """Return the prepared pool of a study.

    Raises
    ------
    StoreError
        No pool can be made of the store.
    """
    try:
        return study.pool(options)
    # A question that does not apply has an answer; a pool that cannot be made is an error.
    except NotApplicable as reason:
        raise StoreError(study.source.provenance({}, 0.0).store, f"no pool: {reason}") from None


def names_of_collections(study: Study) -> dict[int, str]:
    """Return the names of collections of own usage; those of Google's traces repeat."""
    source = study.source
    if not isinstance(source, Tables) or source.dialect.conversion is None:
        return {}
    columns = source.collection_events.select("collection_id", "collection_name")
    table = source.fetch(columns.distinct(), "names")
    ids = table["collection_id"].to_pylist()
    names = table["collection_name"].to_pylist()
    return dict(zip(ids, names, strict=True))


def export_pool(study: Study, path: Path, *, as_json: bool = False, **options: Any) -> None:
    """Write the prepared pool to a file; say on stderr what the preparation did, or print it as JSON.

    Raises
    ------
    StoreError
        No pool can be made of the store.
    """
    pool = pool_of(study, ColocationOptions(**options))
    write_pool(pool, path)
    if as_json:
        steps = [asdict(step) for step in pool.steps]
        print_json({"pool": str(path), "tasks": len(pool), "steps": steps}, indent=1)
    for step in pool.steps:
        # Of what applies to none nothing has to be said.
        if step.count:
            print_prose(f"{step.name}: {step.count:,} of {step.of:,} {step.unit}")
    print(f"{path}: {len(pool):,} tasks, {len(pool.inst):,} windows", file=sys.stderr)


def run_experiments(
    study: Study,
    names: Sequence[str],
    options: Mapping[str, Any],
    *,
    out: Path | None,
    png: bool,
    as_json: bool,
    raw: bool = False,
) -> None:
    """Run experiments, all by default, and print the advice last, on stderr.

    Parameters
    ----------
    study
        Where the tasks come from.
    names
        Experiments; all where empty.
    options
        Options; None where one was not given.
    out, png, as_json, raw
        As for :func:`borgtrace.cli.answers.publish`.
    """
    # What was not given is left to each experiment's own default.
    parameters = {name: value for name, value in options.items() if value is not None}
    # Refuses values outside their range before anything runs.
    ColocationOptions(**parameters)
    known = catalog.experiments()
    check_names("--experiment", names, known)
    chosen = [known[name] for name in dict.fromkeys(names or known)]
    answers = run(chosen, study, parameters)
    results = publish(
        answers,
        out=out,
        png=png,
        as_json=as_json,
        raw=raw,
    )
    advices = [advice for advice in map(sentence_of, results) if advice]
    # A single answer is printed with its sentence.
    if len(results) > 1 or out is not None or as_json:
        for advice in advices:
            print_prose(advice)
    size = size_of_capacity(study)
    if advices and size:
        print_prose(size)


def size_of_capacity(study: Study) -> str:
    """Say how large a machine of capacity 1 is; empty where nobody knows it."""
    # A pool has no store.
    if not isinstance(study.source, EngineTables):
        return ""
    amounts = ResourceAmounts.of(read_manifest(as_path(study.source.origin.store)))
    size = amounts.describe()
    return f"A machine of capacity 1 is the largest one: {size}." if size else ""
