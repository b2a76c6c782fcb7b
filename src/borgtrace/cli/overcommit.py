"""``borgtrace overcommit``: which policy may promise how much of a machine, replayed over a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from borgtrace.question import Result


def overcommit(
    store: Path,
    policy: list[str] | None = None,
    sweep: bool = False,
    resource: list[str] | None = None,
    tasks: list[str] | None = None,
    horizon: str = "1d",
    machines: int = 0,
    metric: list[str] | None = None,
    shapes: bool = False,
    uncapped: bool = False,
    compat: str = "",
    cores_per_unit: float = 0.0,
    gib_per_unit: float = 0.0,
    target: float | None = None,
    model: Path | None = None,
    reclaim: bool = False,
    recommend: bool = False,
    recommender: list[str] | None = None,
    explain: int | None = None,
    at: str = "",
    seed: int = 0,
    jobs: int = 1,
    memory: str = "4GB",
    out: Path | None = None,
    png: bool = False,
    as_json: bool = False,
    list_names: bool = False,
) -> None:
    """Replay overcommit policies on the machines of a trace, and print the one table.

    Usage is first dealt to machines and kept beside the store.

    Example: borgtrace overcommit cell-2011 --horizon 2h --policy limit --policy nsigma:n=3,history=2h
    """
    from dataclasses import replace

    import borgtrace
    from borgtrace.cli._answers import ask, check_png, publish, say
    from borgtrace.cli._console import steps, talk
    from borgtrace.errors import UsageError, check_names
    from borgtrace.forecast import walks
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
        asked = {name: value for name, value in named.items() if value} | {
            "cores": cores_per_unit,
            "gib": gib_per_unit,
        }
        ask(RECOMMENDERS, opened, asked, out=out, png=png, as_json=as_json)
        return
    talk.print(
        f"usage by machine: at most {expected_size(opened) / 1e6:,.1f} MB on disk while it is dealt, half after"
    )
    given: dict[str, Any] = {
        "policies": tuple(policy or DEFAULTS) + (SWEEP if sweep else ()),
        "machines": machines,
    }
    given |= {
        "horizon": parse_time(horizon, "--horizon"),
        "metrics": tuple(metric or ()),
        "shapes": shapes,
    }
    given |= {
        "is_capped": not uncapped,
        "is_literal": bool(compat),
        "model": str(model or ""),
        "seed": seed,
    }
    given |= {"cores": cores_per_unit, "gib": gib_per_unit, "jobs": jobs}
    chosen = {"resources": tuple(resource or ()), "tasks": tuple(tasks or ())}
    given |= {name: value for name, value in chosen.items() if value}
    if explain is not None:
        if compat:
            raise UsageError("--explain", "not with --compat, which renumbers the slots")
        setting = Setting(**given)
        with steps() as report:
            found = explained(opened, setting, explain, parse_time(at, "--at"), report, walks)
        _print(found, as_json=as_json)
        return
    question = replace(
        RECLAIMED if reclaim else REPLAY if target is None else ADVICE, forecasts=walks
    )
    given |= {} if target is None else {"target": target}
    with steps() as report:
        result = replace(question, report=report).run(opened, **given)
        # The same without the simulator's habits, to say what they change.
        plain = (
            replace(question, report=report).run(opened, **given | {"is_literal": False})
            if compat
            else None
        )
    say(result)
    if plain is not None and question == REPLAY:
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

    for title, kinds in (
        ("", policies.KINDS),
        ("\nrecommenders (--recommend):\n", recommenders.KINDS),
    ):
        print(title, end="")
        for name, kind in sorted(kinds.items()):
            parameters = ", ".join(item.name for item in fields(kind))
            print(f"{name:<27}{kind.about}{f' ({parameters})' if parameters else ''}")


def _print(found: Sequence[Mapping[str, object]], *, as_json: bool) -> None:
    from borgtrace.cli._grid import Column, print_grid
    from borgtrace.cli._printing import number, print_json

    if as_json:
        print_json(list(found))
    else:
        cells = {name: [number(row[name], 5, missing="–") for row in found] for name in found[0]}
        print_grid([Column(name, values, name == "value") for name, values in cells.items()])
