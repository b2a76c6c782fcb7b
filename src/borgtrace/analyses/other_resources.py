"""How much disk, page cache and assigned memory do tasks use?

Per tier and quantity: the mean over windows that have it (weighted by their length), what that is of the
mean memory in the same windows (of the disk request for disk space), its largest value, and the share of
windows that do not have it. Tasks inside alloc sets are left out: the alloc instance's own row holds theirs.
Assigned memory is the limit that a container ran under; page caches are part of the memory that it was charged for.

Reference: format documents (task resource usage).
"""

import ibis

from borgtrace.analyses._attempts import TASK
from borgtrace.analyses._joins import lookup
from borgtrace.analyses._windows import UNKNOWN, amount, outermost, regular, task_tiers
from borgtrace.question import NotApplicable, Recipe, Tables

QUANTITIES = {
    "assigned_memory": "average_memory",
    "page_cache_memory": "average_memory",
    "unmapped_page_cache_memory": "average_memory",
    "mean_disk_space": "disk_request",
    "mean_disk_io_time": None,
}
"""Columns of windows, and what each is compared with."""
_BITS = 20
"""Binary digits of amounts: 2⁻²⁰ is the smallest step of the traces, and a month of a cell fits into 63 bits."""


def compute(tables: Tables) -> ibis.Table:
    """Return means, largest values and missing shares."""
    rows = outermost(regular(tables.instance_usage))
    tasks, events = (
        task_tiers(tables).mutate(disk_request=ibis.null("float64")),
        tables.instance_events,
    )
    if tables.dialect.publishes("disk_request"):
        requests = events.group_by(list(TASK)).aggregate(
            disk_request=events.disk_request.max().cast("float64")
        )
        tasks = lookup(task_tiers(tables), requests, TASK)
    known = lookup(rows, tasks, TASK)
    known = known.mutate(tier=known.tier.fill_null(UNKNOWN))
    # A quantity that a trace does not publish is left out: it is not missing.
    published = [name for name in QUANTITIES if tables.dialect.publishes(name)]
    NotApplicable.unless(published, f"{tables.dialect.trace} publishes none of these quantities")
    return ibis.union(*(_of(known, name) for name in published))


def _of(rows: ibis.Table, name: str) -> ibis.Table:
    value, beside = rows[name], QUANTITIES[name]
    base = rows[beside] if beside else ibis.null("float64")
    both = value.notnull() & base.notnull()
    found = rows.group_by("tier").aggregate(
        n_windows=rows.count(),
        n_known=value.count(),
        seconds=rows.seconds.sum(where=value.notnull()),
        total=amount(value, rows.seconds, _BITS).sum(where=value.notnull()),
        largest=value.max().cast("float64"),
        over=amount(value, rows.seconds, _BITS).sum(where=both),
        under=amount(base, rows.seconds, _BITS).sum(where=both),
    )
    return found.select(
        "tier",
        "n_windows",
        "largest",
        quantity=ibis.literal(name),
        missing=1.0 - found.n_known.cast("float64") / found.n_windows.cast("float64"),
        mean=found.total.cast("float64")
        / float(2**_BITS)
        / found.seconds.cast("float64").nullif(0.0),
        relative=found.over.cast("float64") / found.under.cast("float64").nullif(0.0),
    )


RECIPE = Recipe.declared(compute, reads=("instance_usage", "instance_events", "tasks"), order=69)
