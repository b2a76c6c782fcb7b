"""Features: series from usage columns, and static ones from the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from borgtrace.datasets.formats import IDENTITY
from borgtrace.datasets.selection import tier_sql
from borgtrace.datasets.traces import Static
from borgtrace.errors import UsageError
from borgtrace.schema import TABLES, dialect

if TYPE_CHECKING:
    from borgtrace.store import Store

DERIVED = {"duration": "duration", "elapsed": "start_time"}
"""Series that are no usage column, and the array they come from: length of the window, and time since the
start of the first one, both in seconds."""
_WORDS = ("string", "enum")


@dataclass(frozen=True, slots=True)
class Feature:
    """A series: its name, the array of the store it comes from, whether it is a time since the start."""

    name: str
    column: str
    is_elapsed: bool = False


def series_features(store: Store, names: Sequence[str]) -> tuple[Feature, ...]:
    """Look up series features by name.

    Raises
    ------
    UsageError
        A name is unknown, is given twice, is no single number, or is not published for this generation;
        or the store has no usage.
    """
    if not store.manifest.tables.get("instance_usage"):
        raise UsageError(
            str(store.path),
            "the store has no usage",
            expected="rows in instance_usage",
            got="none",
            way_out="ingest task_usage or instance_usage files first",
        )
    if not names or len(set(names)) < len(names):
        raise UsageError(
            "--features",
            "a feature is missing or given twice",
            expected="one or more names",
            got=",".join(names) or "none",
        )
    return tuple(_series(name, store.manifest.generation) for name in names)


def series_names(generation: str) -> tuple[str, ...]:
    """Names of the series that a store of `generation` can have.

    Examples
    --------
    >>> series_names("2011")[:3]
    ('average_cpu', 'maximum_cpu', 'sampled_cpu')
    """
    columns = TABLES["instance_usage"].columns
    return (
        *(c.name for c in columns if c.type == "float32" and dialect(generation).publishes(c.name, "instance_usage")),
        *DERIVED,
    )


def static_features(generation: str, names: Sequence[str]) -> tuple[Static, ...]:
    """Look up static features by name: columns of ``tasks``, and ``tier``.

    Raises
    ------
    UsageError
        A name is unknown or given twice.
    """
    if len(set(names)) < len(names):
        raise UsageError("--static", "a feature is given twice", got=",".join(names))
    return tuple(_static(name, generation) for name in names)


def static_names() -> tuple[str, ...]:
    """Names of all static features."""
    return ("tier", *(name for name in TABLES["tasks"].names if name not in IDENTITY))


def _series(name: str, generation: str) -> Feature:
    if name in DERIVED:
        return Feature(name, DERIVED[name], name == "elapsed")
    known = series_names(generation)
    if name not in known:
        raise UsageError("--features", "unknown feature", expected=", ".join(known), got=name)
    return Feature(name, name)


def _static(name: str, generation: str) -> Static:
    if name not in static_names():
        raise UsageError("--static", "unknown feature", expected=", ".join(static_names()), got=name)
    if name == "tier":
        return Static(name, tier_sql(generation), is_word=True)
    return Static(name, f'"{name}"', TABLES["tasks"].column(name).type in _WORDS)
