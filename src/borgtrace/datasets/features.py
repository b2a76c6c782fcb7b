"""Features of a dataset: series from usage columns, and static values from the table of tasks."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from borgtrace.datasets.formats.arrays import IDENTITY
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.errors import UsageError, check_names
from borgtrace.schema import PERCENTILES, TABLES, Dialect
from borgtrace.store import Store


class DerivedSeries(NamedTuple):
    """A series that is no usage column: the array it comes from, and its unit."""

    column: str
    unit: str


DERIVED = {
    "duration": DerivedSeries("duration", "s"),
    "elapsed": DerivedSeries("start_time", "s"),
    "hour_of_day": DerivedSeries("start_time", "h"),
}
"""Length of the window, time since the start of the first one, and the hour at which it starts where the cell is (0 to
24)."""

LAG = re.compile(r"(.+)\.lag([1-9]\d{0,3})")


def base_and_lag(name: str) -> tuple[str, int]:
    """Return the series that a feature is made of, and how many points it is late.

    Examples
    --------
    >>> base_and_lag("average_cpu.lag12"), base_and_lag("average_cpu")
    (('average_cpu', 12), ('average_cpu', 0))
    """
    match = LAG.fullmatch(name)
    if match is None:
        return name, 0
    return match[1], int(match[2])


def check_series(store: Store, names: Sequence[str]) -> None:
    """Refuse series features that a store does not have.

    Parameters
    ----------
    store
        Whose usage they come from.
    names
        Numeric columns of ``instance_usage`` and names of :data:`DERIVED`, in the order of the last axis; with
        ``.lagN`` behind it, the value N points before.

    Raises
    ------
    UsageError
        A name is unknown, is given twice, is no single number, or is not published in this dialect;
        or the store has no usage.
    """
    store.usage_rows()
    if not names or len(set(names)) < len(names):
        raise UsageError(
            "--features",
            "a feature is missing or given twice",
            expected="one or more names",
            got=",".join(names) or "none",
        )
    # Only what this trace format publishes: a column that is always missing would give a dataset of NaN.
    bases = [base_and_lag(name)[0] for name in names]
    check_names("--features", bases, series_names(store.manifest.dialect), "unknown feature")


def series_names(dialect: Dialect) -> tuple[str, ...]:
    """Names of the series that a store of `dialect` can have.

    Examples
    --------
    >>> from borgtrace.schema import dialect
    >>> series_names(dialect("2011"))[:3]
    ('average_cpu', 'maximum_cpu', 'sampled_cpu')
    """
    published = [
        column
        for column in TABLES["instance_usage"].columns
        if dialect.publishes(column.name, "instance_usage")
    ]
    published_names = {column.name for column in published}
    names = [column.name for column in published if column.type == "float32"]
    for percentile, (column_name, _) in PERCENTILES.items():
        if column_name in published_names:
            names.append(percentile)
    return (*names, *DERIVED)


def series_unit(name: str) -> str:
    """Return the unit of a series, as the schema declares it.

    Examples
    --------
    >>> series_unit("average_cpu.lag1"), series_unit("p99"), series_unit("hour_of_day")
    ('fraction', 'fraction', 'h')
    """
    base, _ = base_and_lag(name)
    if base in DERIVED:
        return DERIVED[base].unit
    column, _ = PERCENTILES.get(base, (base, 0))
    return TABLES["instance_usage"].column(column).unit


def static_features(dialect: Dialect, names: Sequence[str]) -> dict[str, str]:
    """Look up static features by name: the SQL over ``tasks`` that yields each.

    Parameters
    ----------
    dialect
        Whose tiers are meant.
    names
        Columns of ``tasks``, and ``"tier"``.

    Raises
    ------
    UsageError
        A name is unknown or given twice.
    """
    if len(set(names)) < len(names):
        raise UsageError(
            "--static",
            "a feature is given twice",
            got=",".join(names),
        )
    check_names("--static", names, static_names(), "unknown feature")
    return {name: tier_sql(dialect) if name == "tier" else quoted(name) for name in names}


def static_names() -> tuple[str, ...]:
    """Names of all static features."""
    columns = [name for name in TABLES["tasks"].names if name not in IDENTITY]
    return ("tier", *columns)


def tier_sql(dialect: Dialect) -> str:
    """Return the SQL of a task's tier: the store holds raw priorities, and each trace format has its own tiers."""
    cases = [
        f"when priority between {low} and {high} then {literal(tier)}"
        for tier, low, high in dialect.tiers
    ]
    return f"case {' '.join(cases)} end"
