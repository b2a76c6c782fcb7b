"""Tasks all together, by tier and by scheduling class: the three groupings of most questions."""

from collections import Counter, defaultdict
from functools import reduce
from operator import add
from typing import Literal

import ibis.expr.types as ir

from borgtrace.analyses.shared.quantiles import Counts, Groups, fetch_counts
from borgtrace.analyses.shared.windows import UNKNOWN, int_sum, tier
from borgtrace.question import Tables

TierEvent = Literal["schedule", "submit"]
"""The event whose priority decides the tier of an attempt."""


def with_deciding_priority(attempts: ir.Table, tier_of: TierEvent) -> ir.Table:
    """Take the priority that decides an attempt's tier from one of its events.

    Parameters
    ----------
    attempts
        Attempts of tasks.
    tier_of
        ``"schedule"``: its SCHEDULE, or its other events where it has none; ``"submit"``: its SUBMIT alone.
    """
    if tier_of == "schedule":
        return attempts
    return attempts.mutate(priority=attempts.submit_priority)


def with_tier_and_class(tables: Tables, attempts: ir.Table) -> ir.Table:
    """Add ``tier`` and ``class_`` to attempts."""
    return attempts.mutate(
        tier=tier(tables, attempts.priority),
        class_=attempts.scheduling_class.cast("string").fill_null(UNKNOWN),
    )


def groups_of(tier_: str, class_: str) -> list[tuple[str, str]]:
    """Return the three groups that a task belongs to, each as (grouping, group)."""
    return [("all", "all"), ("tier", tier_), ("class", class_)]


def sum_by_group(
    tables: Tables, attempts: ir.Table, stage: str, **numbers: ir.NumericValue
) -> defaultdict[tuple[str, ...], Counter[str]]:
    """Add up whole numbers of attempts by (grouping, group).

    Parameters
    ----------
    tables
        The store's tables.
    attempts
        Attempts of tasks, or jobs with a priority and a scheduling class.
    stage
        Name of the relational stage.
    numbers
        What is added up, expressions over `attempts`, by name.
    """
    rows = with_tier_and_class(tables, attempts.mutate(**numbers))
    sums = rows.group_by(["tier", "class_"]).aggregate(
        **{name: int_sum(rows[name]) for name in numbers}
    )
    totals: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in tables.fetch(sums, stage).to_pylist():
        for group in groups_of(row["tier"], row["class_"]):
            totals[group].update({name: row[name] or 0 for name in numbers})
    return totals


def count_by_group(
    tables: Tables, attempts: ir.Table, value: ir.Value, stage: str, *by: str
) -> Groups:
    """Count values of attempts by (grouping, group, `by` …); see :func:`fetch_counts`.

    Parameters
    ----------
    tables
        The store's tables.
    attempts
        Attempts of tasks.
    value
        Whole number to be counted, an expression over `attempts`.
    stage
        Name of the relational stage.
    by
        Further columns that make groups.

    Returns
    -------
    dict
        Values with their counts by (grouping, group, `by` …), in sorted order.
    """
    # Counted once per tier and class: the three groupings are sums of these, without three passes over the attempts.
    counts_by_tier_and_class = fetch_counts(
        tables,
        with_tier_and_class(tables, attempts),
        value,
        stage,
        ("tier", "class_", *by),
    )
    parts_of_groups: dict[tuple[str, ...], list[Counts]] = {}
    for (tier_, class_, *others), counts in counts_by_tier_and_class.items():
        for grouping in groups_of(tier_, class_):
            group = (*grouping, *others)
            parts_of_groups.setdefault(group, []).append(counts)
    return {group: reduce(add, parts) for group, parts in sorted(parts_of_groups.items())}
