"""The options that choose tasks: the same for ``subset``, ``export`` and ``dataset``."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

from borgtrace.cli._options import Seed, TimeRange, option

_TEXTS: dict[str, Any] = {
    "jobs": Annotated[str, option("N,N-M", "Job ids and ranges of them.")],
    "machines": Annotated[str, option("N,N-M", "Machines a task ever was on: ids, ranges.")],
    "time": TimeRange,
    "tier": Annotated[
        str,
        option(
            "A,B",
            "Tiers: production,beb; of 2011 also monitoring (10, 11), which papers count as production (9 to 11).",
        ),
    ],
    "priority": Annotated[str, option("N,N-M", "Priorities, such as 0,9-11.")],
    "scheduling_class": Annotated[str, option("N,N-M", "Scheduling classes, 0 to 3.", "--class")],
    "user": Annotated[str, option("A,B", "Users (hashes).")],
    "end_type": Annotated[str, option("A,B", "How tasks ended, such as FINISH,KILL.")],
    "where": Annotated[str, option("SQL", "SQL predicate that selects tasks.")],
}
_OTHERS = {"fraction": Annotated[float | None, option("F", "Share of the collections, chosen by hash.")], "seed": Seed}
_DEFAULTS: dict[str, Any] = {**dict.fromkeys(_TEXTS, ""), "fraction": None, "seed": 0}


def takes_criteria(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that choose tasks; it gets what they say as keywords of ``Criteria``."""
    own = inspect.signature(command, eval_str=True)
    kept = [parameter for name, parameter in own.parameters.items() if name != "criteria"]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS[name], annotation=annotation)
        for name, annotation in (_TEXTS | _OTHERS).items()
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in _DEFAULTS}
        command(**given, criteria=_read(chosen))

    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in kept] + options
    # Typer reads the signature and, for the types, the annotations.
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _read(chosen: dict[str, Any]) -> dict[str, Any]:
    """Read what the options say, before a store is opened."""
    from borgtrace.schema.ranges import list_numbers, parse_words
    from borgtrace.schema.time import parse_span

    return {
        "jobs": list_numbers(chosen["jobs"], "--jobs"),
        "machines": list_numbers(chosen["machines"], "--machines"),
        "time": parse_span(chosen["time"], "--time") if chosen["time"] else None,
        "tiers": parse_words(chosen["tier"]),
        "priorities": list_numbers(chosen["priority"], "--priority"),
        "scheduling_classes": list_numbers(chosen["scheduling_class"], "--class"),
        "users": parse_words(chosen["user"]),
        "end_types": parse_words(chosen["end_type"]),
        "where": chosen["where"] or None,
        "fraction": chosen["fraction"],
        "seed": chosen["seed"],
    }
