"""The options that choose tasks: the same for ``subset``, ``export`` and ``dataset``."""

import functools
import inspect
from typing import Any

from borgtrace.cli._options import Command, signed

_TEXTS = (
    "jobs",
    "machines",
    "time",
    "tier",
    "priority",
    "scheduling_class",
    "user",
    "end_type",
    "where",
)
_KINDS = {**dict.fromkeys(_TEXTS, str), "fraction": float | None, "seed": int}
_DEFAULTS: dict[str, Any] = {**dict.fromkeys(_TEXTS, ""), "fraction": None, "seed": 0}


def takes_criteria(command: Command) -> Command:
    """Give a command the options that choose tasks; it gets what they say as keywords of ``Criteria``."""
    by_name = inspect.Parameter.KEYWORD_ONLY
    own = inspect.signature(command, eval_str=True).parameters
    parameters = [each.replace(kind=by_name) for name, each in own.items() if name != "criteria"]
    parameters += [
        inspect.Parameter(name, by_name, default=_DEFAULTS[name], annotation=kind)
        for name, kind in _KINDS.items()
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in _DEFAULTS}
        command(**given, criteria=_read(chosen))

    return signed(run, parameters)


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
