"""What is said with every answer: which trace a store holds, how much of it, and what must not be left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from borgtrace.notation import ResourceAmounts
from borgtrace.report.holdings import holdings, span_of_store, trace_name
from borgtrace.store import Store
from borgtrace.store.coverage import coverage

TIMES = (
    "µs on the trace's own clock, which reads 600,000,000 at the start of the trace, except where a unit says "
    "otherwise"
)
MADE = {
    "synthetic": "The cell is synthetic: a generator made it. Its numbers were measured on no real cluster.",
    "simulated": "The cell is simulated: a scheduler of borgtrace made it. No real cluster did this.",
}
"""What must be said of a trace that was not recorded."""


def scope_of(store: Store) -> dict[str, Any]:
    """Return what a store holds, as plain data.

    Parameters
    ----------
    store
        An open store.
    """
    manifest = store.manifest
    tables = {}
    for holding in holdings(manifest):
        tables[holding.table.name] = {
            "rows": manifest.tables[holding.table.name],
            "files": holding.sources,
            "span": holding.span,
        }
    return {
        "trace": trace_name(manifest),
        "made": manifest.made or "recorded",
        "is_subset": coverage(manifest).is_subset,
        "span": span_of_store(manifest),
        "tables": tables,
        "times": TIMES,
        "amounts": amounts_text(ResourceAmounts.of(manifest)),
        "notes": list(manifest.notes),
    }


def amounts_text(amounts: ResourceAmounts) -> str:
    """Say what amounts of CPU and memory are fractions of.

    Examples
    --------
    >>> amounts_text(ResourceAmounts(16, 64))
    'fractions of the largest machine, which has 16 cores, 64 GiB'
    >>> amounts_text(ResourceAmounts())
    'fractions of the largest machine, whose size is not known: they are neither cores nor GiB'
    """
    size = amounts.describe()
    if size:
        return f"fractions of the largest machine, which has {size}"
    return (
        "fractions of the largest machine, whose size is not known: they are neither cores nor GiB"
    )


def notices_of(store: Store) -> Iterator[str]:
    """Yield the sentences that go with every answer about a store."""
    manifest = store.manifest
    if manifest.made:
        yield MADE[manifest.made]
    covered = coverage(manifest)
    if covered.is_subset:
        yield "The store is a subset of another: totals are those of the subset."
    partial = [name for name, table in covered.tables.items() if table.rows and not table.is_whole]
    if partial:
        yield f"The store does not hold, or is not known to hold, all parts of {', '.join(partial)}."
