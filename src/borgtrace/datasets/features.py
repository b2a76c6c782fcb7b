"""Features: series from usage columns, and static ones from the index."""

import re
from collections.abc import Sequence

from borgtrace.datasets.formats.arrays import IDENTITY
from borgtrace.errors import UsageError, check_names
from borgtrace.schema import PERCENTILES, TABLES, Dialect
from borgtrace.store import Store

DERIVED = {
    "duration": ("duration", "s"),
    "elapsed": ("start_time", "s"),
    "hour_of_day": ("start_time", "h"),
}
"""Series that are no usage column, with the array they come from and their unit: length of the window, time since the
start of the first one, and the hour at which it starts where the cell is (0 to 24)."""
_LAG = re.compile(r"(.+)\.lag([1-9]\d{0,3})")


def base_and_lag(name: str) -> tuple[str, int]:
    """Return the series that a feature is made of, and how many points it is late.

    Examples
    --------
    >>> base_and_lag("average_cpu.lag12"), base_and_lag("average_cpu")
    (('average_cpu', 12), ('average_cpu', 0))
    """
    match = _LAG.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, 0)


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
        got = ",".join(names) or "none"
        raise UsageError(
            "--features",
            "a feature is missing or given twice",
            expected="one or more names",
            got=got,
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
    columns = TABLES["instance_usage"].columns
    held = {c.name for c in columns if dialect.publishes(c.name, "instance_usage")}
    numbers = (c.name for c in columns if c.type == "float32" and c.name in held)
    return (
        *numbers,
        *(name for name, (column, _) in PERCENTILES.items() if column in held),
        *DERIVED,
    )


def series_unit(name: str) -> str:
    """Return the unit of a series, as the schema declares it.

    Examples
    --------
    >>> series_unit("average_cpu.lag1"), series_unit("p99"), series_unit("hour_of_day")
    ('fraction', 'fraction', 'h')
    """
    base = base_and_lag(name)[0]
    column, _ = PERCENTILES.get(base, (base, 0))
    return DERIVED[base][1] if base in DERIVED else TABLES["instance_usage"].column(column).unit


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
        raise UsageError("--static", "a feature is given twice", got=",".join(names))
    check_names("--static", names, static_names(), "unknown feature")
    return {name: _tier(dialect) if name == "tier" else f'"{name}"' for name in names}


def static_names() -> tuple[str, ...]:
    """Names of all static features."""
    return ("tier", *(name for name in TABLES["tasks"].names if name not in IDENTITY))


def _tier(dialect: Dialect) -> str:
    # Written out as SQL, because tiers depend on the trace format and the store holds raw priorities.
    cases = (
        f"when priority between {low} and {high} then '{tier}'" for tier, low, high in dialect.tiers
    )
    return f"case {' '.join(cases)} end"
