"""Experiments of ``borgtrace colocate``: their tasks, their runs, and the advice."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from borgtrace.cli import _answers
from borgtrace.colocation import Options, Study, find_experiments, prepare_pool, read_pool, synthetic_pool
from borgtrace.colocation import write_pool as write
from borgtrace.colocation.experiment import run_cells
from borgtrace.errors import StoreError, UsageError
from borgtrace.placement import estimators, packers
from borgtrace.recipe import NotApplicable


def print_estimators() -> None:
    """Print the estimators with their parameter, and the packers."""
    tests = {f"{name}:{kind.symbol}": kind.about for name, kind in estimators().items()}
    rules = {name: packer.about for name, packer in packers().items()}
    width = max(map(len, (*tests, *rules)))
    # No command takes one: experiments name their own.
    for title, listed in (("Estimators, for parse_estimator", tests), ("Packers, for parse_packer", rules)):
        print(f"{title} in Python:")
        for name, about in listed.items():
            print(f"  {name:<{width}}  {about}")


def study_of(
    store: Path | None, pool: Path | None, synthetic: int | None, tasks: int, seed: int, *, percentiles: bool = False
) -> Study:
    """Open the one source of tasks that was given.

    Parameters
    ----------
    store, pool, synthetic
        A store, a file of tasks, or a number of synthetic ones; exactly one is given.
    tasks, seed
        Size of the sample and its seed.
    percentiles
        Draw seconds from the percentiles of each window (2019).

    Raises
    ------
    UsageError
        None or several were given; or percentiles where there are none.
    """
    # Counted by presence, so that ``--synthetic 0`` is refused for its value and not taken for absent.
    sources = {"STORE": store, "--pool": pool, "--synthetic": synthetic}
    given = [name for name, value in sources.items() if value is not None]
    if len(given) != 1:
        expected, got = "one of STORE, --pool, --synthetic", " and ".join(given) or "none"
        raise UsageError("colocate", "where do the tasks come from", expected=expected, got=got)
    if pool is not None:
        return Study(read_pool(pool))
    if synthetic is not None:
        if synthetic < 1:
            raise UsageError("--synthetic", "not a number of tasks", expected="at least 1", got=str(synthetic))
        return Study(synthetic_pool(synthetic, seed))
    assert store is not None
    if not percentiles:
        return Study.of_store(store)
    # Prepared here, because a study of a store draws from the sampled seconds.
    return Study(prepare_pool(store, tasks, seed, "histogram"))


def export(study: Study, path: Path, tasks: int, seed: int) -> None:
    """Write the prepared pool to a file; say what the preparation did."""
    try:
        pool = study.pool(Options(tasks=tasks, seed=seed))
    # A question that does not apply has an answer; a pool that cannot be made is an error.
    except NotApplicable as reason:
        raise StoreError(study.source.provenance({}, 0.0).store, f"no pool: {reason}") from None
    write(pool, path)
    for step in pool.steps:
        print(f"{step.name}: {step.count:,} of {step.of:,} {step.unit}", file=sys.stderr)
    print(f"{path}: {len(pool):,} tasks, {len(pool.inst):,} windows", file=sys.stderr)


def target_of(slo: float) -> float:
    """Tolerated overflow of a service level objective.

    Raises
    ------
    UsageError
        `slo` is not strictly between 0 and 1.
    """
    if not 0 < slo < 1:
        expected = "above 0 and below 1"
        raise UsageError("--slo", "not a service level", expected=expected, got=f"{slo:g}", way_out="try 0.999")
    # 1 − 0.999 is 0.0010000000000000009 in floating point, which would stand so in every table.
    return round(1 - slo, 12)


def run(
    study: Study, names: Sequence[str], given: Mapping[str, Any], *, out: Path | None, png: bool, as_json: bool
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
        As for :func:`borgtrace.cli._answers.answer`.
    """
    # What was not given is left to each experiment's own default.
    parameters = {name: value for name, value in given.items() if value is not None}
    Options(**parameters)  # refuses values outside their range before anything runs
    known = find_experiments()
    for name in names:
        if name not in known:
            raise UsageError("--experiment", "unknown name", expected="one of " + ", ".join(known), got=name)
    chosen = [known[name] for name in dict.fromkeys(names or known)]
    # All cells first, in one pass over the instances: experiments share them and find the outcomes kept.
    run_cells(study, chosen, parameters)
    results = _answers.answer(chosen, study, parameters, out=out, png=png, as_json=as_json)
    for result in results:
        if result.recipe.sentence is not None:
            refusal = result.not_applicable
            print(_answers.sentence(result) if refusal is None else f"No advice: {refusal}", file=sys.stderr)
