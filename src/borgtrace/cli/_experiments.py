"""Experiments of ``borgtrace colocate``: their tasks, their runs, and the advice."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from borgtrace.cli import _answers
from borgtrace.colocation.experiments.packing_advice import RECIPE as ADVICE
from borgtrace.colocation.experiments.packing_advice import advice
from borgtrace.colocation.instances import FEWEST_REALIZATIONS
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.source import PoolTables, pool_of
from borgtrace.errors import StoreError, UsageError
from borgtrace.placement.estimators.registry import estimators
from borgtrace.placement.packers import packers
from borgtrace.recipe import NotApplicable, Question, Tables, recipes

_PACKAGE = "borgtrace.colocation."


def experiments() -> dict[str, Question]:
    """The questions about colocation, by name."""
    return {name: recipe for name, recipe in recipes().items() if recipe.module.startswith(_PACKAGE)}


def print_experiments() -> None:
    """Print names and questions."""
    _answers.print_list(list(experiments().values()))


def print_estimators() -> None:
    """Print the estimators with their parameter, and the packers."""
    for name, kind in estimators().items():
        print(f"{name}:{kind.symbol:<4} {kind.about}")
    for name, packer in packers().items():
        print(f"{name:<14} {packer.about}")


def tables_of(
    store: Path | None, pool: Path | None, synthetic: int | None, tasks: int, seed: int, *, percentiles: bool = False
) -> Tables:
    """Open the one source of tasks that was given.

    Raises
    ------
    UsageError
        None or several were given; or percentiles where there are none.
    """
    given = [
        name for name, value in (("STORE", store), ("--pool", pool), ("--synthetic", synthetic)) if value is not None
    ]
    if len(given) != 1:
        raise UsageError(
            "colocate",
            "where do the tasks come from",
            expected="one of STORE, --pool, --synthetic",
            got=" and ".join(given) or "none",
        )
    if pool is not None:
        return PoolTables(Pool.from_file(pool))
    if synthetic is not None:
        if synthetic < 1:
            raise UsageError("--synthetic", "not a number of tasks", expected="at least 1", got=str(synthetic))
        return PoolTables(Pool.from_synth(synthetic, seed))
    assert store is not None
    if percentiles:
        return PoolTables(Pool.from_store(store, tasks=tasks, seed=seed, instantaneous="histogram"))
    return Tables.of(store)


def export(tables: Tables, path: Path, tasks: int, seed: int) -> None:
    """Write the prepared pool to a file; say what the preparation did."""
    try:
        pool = pool_of(tables, tasks=tasks, seed=seed)
    except NotApplicable as reason:
        raise StoreError(tables.name, f"no pool: {reason}") from None
    pool.write(path)
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
        raise UsageError(
            "--slo", "not a service level", expected="above 0 and below 1", got=f"{slo:g}", way_out="try 0.999"
        )
    return round(1 - slo, 12)


def run(
    tables: Tables, names: Sequence[str], given: Mapping[str, Any], *, out: Path | None, png: bool, as_json: bool
) -> None:
    """Run experiments, all by default, the advice last; print it on stderr."""
    check(given)
    known = experiments()
    for name in names:
        if name not in known:
            raise UsageError("--experiment", "unknown name", expected="one of " + ", ".join(known), got=name)
    chosen = [known[name] for name in dict.fromkeys(names or known)]
    parameters = {name: value for name, value in given.items() if value is not None}
    _prepare(tables, chosen, parameters)
    _answers.answer(chosen, tables, parameters, out=out, png=png, as_json=as_json)
    if ADVICE in chosen:
        own = {name: value for name, value in parameters.items() if name in ADVICE.parameters}
        result = _advice_of(tables, own)
        print(result, file=sys.stderr)


def check(given: Mapping[str, Any]) -> None:
    """Refuse sizes that make no experiment.

    Raises
    ------
    UsageError
        Names the option, its value and what is allowed.
    """
    least = {"tasks": 1, "realizations": FEWEST_REALIZATIONS, "instances": 1, "size": 1, "samples": 1}
    for name, lowest in least.items():
        if given.get(name) is not None and given[name] < lowest:
            raise UsageError(f"--{name}", "too few", expected=f"at least {lowest}", got=str(given[name]))
    if not 0 < given["capacity"] < float("inf"):
        raise UsageError(
            "--capacity", "not the capacity of a machine", expected="a number above 0", got=f"{given['capacity']:g}"
        )


def _prepare(tables: Tables, chosen: Sequence[Question], parameters: Mapping[str, Any]) -> None:
    """Run the cells of several experiments in one pass over the instances."""
    from borgtrace.colocation.experiments._grids import Scale, grid_of
    from borgtrace.colocation.experiments._outcomes import cells_of

    gridded = [recipe for recipe in chosen if cells_of(recipe.module)]
    if len(gridded) < 2:
        return
    size = {**gridded[0].parameters, **{k: v for k, v in parameters.items() if k in gridded[0].parameters}}
    try:
        grid = grid_of(tables, Scale(**size))
        grid.outcomes([cell for recipe in gridded for cell in cells_of(recipe.module)])
    except NotApplicable:
        return  # each experiment will say so


def _advice_of(tables: Tables, parameters: Mapping[str, Any]) -> str:
    result = ADVICE.run(tables, **parameters)
    if result.not_applicable is not None:
        return f"No advice: {result.not_applicable}"
    return advice(result.table)
