"""Run the replays of the commands below ``overcommit``, and print their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal

from borgtrace.cli.console import print_prose, steps, talk
from borgtrace.engine import tasks_on
from borgtrace.extensions import Registry
from borgtrace.forecast import walks
from borgtrace.lifecycle.by_machine import expected_size
from borgtrace.overcommit import (
    DEFAULTS,
    SWEEP,
    ReplayOptions,
    ReplayQuestion,
    explain_prediction,
)
from borgtrace.question.study_times import study_times
from borgtrace.schema.time import parse_time

if TYPE_CHECKING:
    from borgtrace.question import Result
    from borgtrace.store import Store


def values_of_replay(
    *,
    policy: Sequence[str] | None,
    sweep: bool,
    resource: Sequence[str] | None,
    tasks: Sequence[str] | None,
    metric: Sequence[str] | None,
    model: Path | None,
    own_policies: Sequence[str] = (),
    compat: str = "",
    **others: Any,
) -> dict[str, Any]:
    """Return fields of :class:`~borgtrace.overcommit.ReplayOptions` as the options of a command say.

    Parameters
    ----------
    policy, sweep, resource, tasks, metric, model, compat
        The options; what was not set is left to the library.
    own_policies
        Names of policies of the user's code, which stand beside ours where none is named.
    others
        Fields by their own names.
    """
    policies = tuple(policy or (*DEFAULTS, *own_policies))
    values: dict[str, Any] = {
        "policies": policies + SWEEP if sweep else policies,
        "metrics": tuple(metric or ()),
        "model": str(model or ""),
        "is_literal": bool(compat),
        **others,
    }
    if resource:
        values["resources"] = tuple(resource)
    if tasks:
        values["tasks"] = tuple(tasks)
    # Refuses wrong values before the store is read.
    ReplayOptions(**values)
    return values


def times_of_replay(store: Store, horizon: str, *, is_literal: bool = False) -> dict[str, int]:
    """Return horizon, period and warm-up of a replay; where no horizon was set, say which one suits the store.

    Parameters
    ----------
    store
        An open store.
    horizon
        What the user wrote; empty for what suits the store.
    is_literal
        Whether the policies are those of Google's simulator, which have warm-ups of their own.
    """
    times = study_times(store)
    # Without usage there is nothing to choose times for: the answer says so.
    if not horizon and times.span:
        print_prose(f"{times.sentence} (--horizon sets another)")
    return {
        "horizon": parse_time(horizon, "--horizon") if horizon else times.horizon,
        "period": times.horizon,
        "most_warmup": 0 if is_literal else times.warmup,
    }


def replay(
    question: ReplayQuestion, store: Store, options: Mapping[str, Any], engine: str = "duckdb"
) -> Result:
    """Answer a question about policies, with a bar.

    Parameters
    ----------
    question, store, options
        What is asked of which store, and with which fields of its options.
    engine
        Where it is answered.
    """
    size = expected_size(store)
    if size:
        is_in_bucket = bool(store.bucket_keeper and tasks_on(engine))
        where = "the bucket" if is_in_bucket else "disk"
        talk.print(f"Sorting usage by machine: up to {decimal(size)} of {where}, half of it kept.")
    with steps() as report:
        return replace(question, forecasts=walks, report=report).run(store, engine, **options)


def explanation(
    store: Store, options: Mapping[str, Any], machine: str, time: int
) -> Sequence[Mapping[str, object]]:
    """Return the terms of policies at one machine and time, with a bar.

    Parameters
    ----------
    store, options
        The store, and fields of the options of a replay.
    machine, time
        An id or a name, and µs on the trace's clock.
    """
    replay_options = ReplayOptions(**options)
    with steps() as report:
        return explain_prediction(store, replay_options, machine, time, report, walks)


def print_difference(literal: Result, plain: Result) -> None:
    """Say on stderr what samples, history and oracle as in Google's simulator change.

    Parameters
    ----------
    literal, plain
        The same policies with and without them.
    """
    key = ("resource", "tasks", "shape", "policy")
    plain_rows = {tuple(row[name] for name in key): row for row in plain.table.to_pylist()}
    for row in literal.table.to_pylist():
        other = plain_rows.get(tuple(row[name] for name in key))
        if other is None or row["shape"] != "all":
            continue
        replayed = f"{row['resource']} of {row['tasks']} tasks, {row['policy']}"
        violations = f"violations {row['rate']:.4f} as in crf, {other['rate']:.4f} by default"
        savings = f"savings {row['savings'] or 0:.4f} and {other['savings'] or 0:.4f}"
        talk.print(f"{replayed}: {violations}; {savings}")


def print_kinds(kinds: Registry[Any]) -> None:
    """Print classes with a sentence about each, their parameters, and where those of others are from.

    Parameters
    ----------
    kinds
        Classes by name.
    """
    for name in sorted(kinds):
        kind = kinds[name]
        parameters = ", ".join(item.name for item in fields(kind))
        notes = [parameters] if parameters else []
        if name not in kinds.own:
            notes.append(f"from {kinds.origin(name)}")
        suffix = f" ({'; '.join(notes)})" if notes else ""
        print(f"{name:<27}{kind.about}{suffix}")


def print_policies_and_recommenders() -> None:
    """Print the policies and the recommenders, each with a sentence and its parameters; and forecasters of others."""
    from borgtrace.forecast import FORECASTER_KINDS
    from borgtrace.overcommit.policies import POLICY_KINDS
    from borgtrace.overcommit.recommenders import RECOMMENDER_KINDS

    print_kinds(POLICY_KINDS)
    print("\nrecommenders (borgtrace overcommit recommend):")
    print_kinds(RECOMMENDER_KINDS)
    foreign_forecasters = [name for name in FORECASTER_KINDS if name not in FORECASTER_KINDS.own]
    if foreign_forecasters:
        print("\nforecasters (borgtrace overcommit --policy forecast:by=NAME):")
    for name in foreign_forecasters:
        print(f"{name:<27}{FORECASTER_KINDS[name].about} (from {FORECASTER_KINDS.origin(name)})")
