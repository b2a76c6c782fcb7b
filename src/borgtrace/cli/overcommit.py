"""``borgtrace overcommit``: which policy may promise how much of a machine, replayed over a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from borgtrace.cli._options import AnswerFolder, Json, Memory, Png, Seed, Store, flag, option

if TYPE_CHECKING:
    from borgtrace.recipe import Result

ON_INTERRUPT = "what was dealt to machines stays if it was finished"


def overcommit(
    store: Store,
    policy: Annotated[
        list[str] | None,
        option("POLICY", "A policy, such as nsigma:n=3,history=10h; repeatable; A+B takes the larger."),
    ] = None,
    sweep: Annotated[bool, flag("--sweep", "Add history × parameter of every family.")] = False,
    resource: Annotated[list[str] | None, option("NAME", "cpu or memory; both by default.")] = None,
    tasks: Annotated[list[str] | None, option("NAME", "all, high (high priority) or a tier; repeatable.")] = None,
    horizon: Annotated[str, option("TIME", "How far ahead the peak is predicted.")] = "1d",
    machines: Annotated[int, option("N", "A random sample of so many machines; 0 takes all.")] = 0,
    metric: Annotated[
        list[str] | None, option("NAME", "What is taken as usage, such as maximum_cpu or maximum_memory; repeatable.")
    ] = None,
    shapes: Annotated[bool, flag("--shapes", "Add rows for each shape of machine.")] = False,
    uncapped: Annotated[bool, flag("--uncapped", "Let policies see usage above its limit.")] = False,
    compat: Annotated[str, option("NAME", "crf: slots and history as Google's simulator has them.")] = "",
    cores_per_unit: Annotated[
        float, option("CORES", "Cores of the largest machine, for koordinator-prod and --recommend.")
    ] = 0.0,
    gib_per_unit: Annotated[
        float, option("GIB", "GiB of memory of the largest machine, for koordinator-prod and --recommend.")
    ] = 0.0,
    target: Annotated[
        float | None, option("RATE", "Advise a policy for each day that keeps this violation rate, by the days before.")
    ] = None,
    reclaim: Annotated[
        bool, flag("--reclaim", "Show what best-effort work finds room in what production does not reserve.")
    ] = False,
    recommend: Annotated[bool, flag("--recommend", "Back-test recommenders of limits instead; see --list.")] = False,
    recommender: Annotated[
        list[str] | None, option("NAME", "With --recommend: a recommender, repeatable; all by default.")
    ] = None,
    explain: Annotated[
        int | None, option("MACHINE", "Show the terms of each policy for a machine, and stop; needs --at.")
    ] = None,
    at: Annotated[str, option("TIME", "With --explain: a time, such as 12h or 2d3h.")] = "",
    seed: Seed = 0,
    jobs: Annotated[int, option("N", "Processes.", min=1)] = 1,
    memory: Memory = "4GB",
    out: AnswerFolder = None,
    png: Png = False,
    as_json: Json = False,
    list_names: Annotated[bool, flag("--list", "List the policies and recommenders, and stop.")] = False,
) -> None:
    """Replay overcommit policies on the machines of a trace, and print the one table.

    Usage is first dealt to machines and kept beside the store.

    Example: borgtrace overcommit cell-2011 --horizon 2h --policy limit --policy nsigma:n=3,history=2h
    """
    from dataclasses import replace

    import borgtrace
    from borgtrace.cli._answers import check_png, publish, say
    from borgtrace.cli._console import steps, talk
    from borgtrace.errors import UsageError, check_names
    from borgtrace.lifecycle.by_machine import expected_size
    from borgtrace.overcommit import ADVICE, DEFAULTS, RECLAIMED, REPLAY, SWEEP, Setting, explained
    from borgtrace.overcommit.recommenders import RECOMMENDERS
    from borgtrace.schema.time import parse_time

    if list_names:
        _print_list()
        return
    check_names("--compat", [compat] if compat else [], ("crf",), "no such simulator")
    check_png(png, out)
    opened = borgtrace.open(store, memory=memory)
    if recommend:
        named = {"recommenders": tuple(recommender or ()), "resources": tuple(resource or ())}
        asked: dict[str, Any] = {name: value for name, value in named.items() if value}
        result = RECOMMENDERS.run(opened, cores=cores_per_unit, gib=gib_per_unit, **asked)
        say(result)
        publish([result], out=out, png=png, as_json=as_json)
        return
    talk.print(f"usage by machine: at most {expected_size(opened) / 1e6:,.1f} MB on disk while it is dealt, half after")
    given: dict[str, Any] = {
        "policies": tuple(policy or DEFAULTS) + (SWEEP if sweep else ()),
        "horizon": parse_time(horizon, "--horizon"),
        "machines": machines,
        "metrics": tuple(metric or ()),
        "shapes": shapes,
        "is_capped": not uncapped,
        "is_literal": bool(compat),
        "cores": cores_per_unit,
        "gib": gib_per_unit,
        "seed": seed,
        "jobs": jobs,
    }
    chosen: dict[str, tuple[str, ...]] = {"resources": tuple(resource or ()), "tasks": tuple(tasks or ())}
    given |= {name: value for name, value in chosen.items() if value}
    if explain is not None:
        if compat:
            raise UsageError("--explain", "not with --compat, which renumbers the slots")
        setting = Setting(**given)
        with steps() as report:
            found = explained(opened, setting, explain, parse_time(at, "--at"), report)
        _print(found, as_json=as_json)
        return
    question = RECLAIMED if reclaim else REPLAY if target is None else ADVICE
    given |= {} if target is None else {"target": target}
    with steps() as report:
        result = replace(question, report=report).run(opened, **given)
        # The same without the simulator's habits, to say what they change.
        plain = replace(question, report=report).run(opened, **given | {"is_literal": False}) if compat else None
    say(result)
    if plain is not None and question is REPLAY:
        _tell_difference(result, plain)
    publish([result], out=out, png=png, as_json=as_json)


def _tell_difference(literal: Result, plain: Result) -> None:
    """Say on stderr what slots and history as in Google's simulator change."""
    from borgtrace.cli._console import talk

    key = ("resource", "tasks", "shape", "policy")
    rates = {tuple(row[name] for name in key): row for row in plain.table.to_pylist()}
    for row in literal.table.to_pylist():
        other = rates.get(tuple(row[name] for name in key))
        if other is not None and row["shape"] == "all":
            talk.print(
                f"{row['resource']} of {row['tasks']} tasks, {row['policy']}: violations {row['rate']:.4f} as in crf, "
                f"{other['rate']:.4f} by default; savings {row['savings'] or 0:.4f} and {other['savings'] or 0:.4f}"
            )


def _print_list() -> None:
    from dataclasses import fields

    from borgtrace.overcommit import policies, recommenders

    for name, kind in sorted(policies.KINDS.items()):
        parameters = ", ".join(item.name for item in fields(kind))
        print(f"{name:<27}{kind.about}{f' ({parameters})' if parameters else ''}")
    print("\nrecommenders (--recommend):")
    for name, recommender in sorted(recommenders.KINDS.items()):
        print(f"{name:<27}{recommender.about}")


def _print(found: Sequence[Mapping[str, object]], *, as_json: bool) -> None:
    from borgtrace.cli._grid import Column, print_grid
    from borgtrace.cli._printing import number, print_json

    if as_json:
        print_json(list(found))
    else:
        cells = {name: [number(row[name], 5, missing="–") for row in found] for name in found[0]}
        print_grid([Column(name, values, name == "value") for name, values in cells.items()])
