"""How much disk, page cache and assigned memory do tasks use?

Per tier and quantity: the mean over windows that have it (weighted by their length), its ratio to the
mean memory in the same windows (to the disk request for disk space), its largest value, and the share of
windows that do not have it. Tasks inside alloc sets are left out: the alloc instance's own row holds theirs.
Assigned memory is the limit that a container ran under; page caches are part of the memory that it was charged for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.window_blocks import task_windows
from borgtrace.analyses.shared.windows import (
    UNKNOWN,
    amount,
    int_sum,
    outermost,
    regular,
    task_tiers,
)
from borgtrace.analyses.usage.quantity_sums import sums_by_tier
from borgtrace.question import (
    Answer,
    Column,
    NotApplicable,
    Question,
    SharedTable,
    Tables,
    charts,
    query_answer,
)

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="quantity and tier",
    key=[
        Column("quantity", "string", "id", "Column of the usage windows."),
        Column("tier", "string", "id", "Tier of the tasks."),
    ],
    columns=[
        Column("n_windows", "int64", "count", "Windows of the tier."),
        Column("missing", "float64", "fraction", "Share of the windows without a value."),
        Column(
            "mean",
            "float64",
            "fraction",
            "Mean, weighted by time; of disk I/O: disk time per second.",
            nullable=True,
        ),
        Column("largest", "float64", "fraction", "Largest value of a window.", nullable=True),
        Column(
            "relative",
            "float64",
            "1",
            "Mean ÷ mean memory (assigned, caches) or disk request (space) if known.",
            nullable=True,
        ),
    ],
)


COMPARED_COLUMNS = {
    "assigned_memory": "average_memory",
    "page_cache_memory": "average_memory",
    "unmapped_page_cache_memory": "average_memory",
    "mean_disk_space": "disk_request",
    "mean_disk_io_time": None,
}
"""The column with which each quantity is compared."""
BITS = 20
"""Binary digits of amounts: 2⁻²⁰ is the smallest step of the traces, and a month of a cell fits into 63 bits."""


def compute(tables: Tables) -> ir.Table:
    """Return means, largest values and missing shares."""
    published = published_quantities(tables)
    if not published:
        raise NotApplicable(f"{tables.dialect.spoken_name} publishes none of these quantities")
    sums = tables.shared(QUANTITY_SUMS)
    return ibis.union(*(summarize_quantity(sums, name) for name in published))


def published_quantities(tables: Tables) -> list[str]:
    """Return the quantities of the trace: one that it does not publish is left out, as it is not missing."""
    return [name for name in COMPARED_COLUMNS if tables.dialect.publishes(name)]


def tiers_and_disk_requests(tables: Tables) -> ir.Table:
    """Return the tier and the disk request of each task; NULL where the trace publishes none."""
    if not tables.dialect.publishes("disk_request"):
        return task_tiers(tables).mutate(disk_request=ibis.null("float64"))
    tasks = task_tiers(tables, "disk_request")
    return tasks.mutate(disk_request=tasks.disk_request.cast("float64"))


def quantity_sums(tables: Tables) -> ir.Table:
    """Return the sums of all quantities by tier, in one pass over the windows."""
    windows = outermost(regular(tables.instance_usage))
    windows = lookup(windows, tiers_and_disk_requests(tables), TASK)
    windows = windows.mutate(tier=windows.tier.fill_null(UNKNOWN))
    sums: dict[str, ir.Value] = {"n_windows": windows.count()}
    for name in published_quantities(tables):
        value = windows[name]
        compared_column = COMPARED_COLUMNS[name]
        compared = windows[compared_column] if compared_column else ibis.null("float64")
        has_both = value.notnull() & compared.notnull()
        value_amount = amount(value, windows.seconds, BITS)
        compared_amount = amount(compared, windows.seconds, BITS)
        sums[f"{name}_known"] = value.count()
        sums[f"{name}_seconds"] = int_sum(windows.seconds, value.notnull())
        sums[f"{name}_total"] = int_sum(value_amount)
        sums[f"{name}_largest"] = value.max().cast("float64")
        sums[f"{name}_of_both"] = int_sum(value_amount, has_both)
        sums[f"{name}_compared"] = int_sum(compared_amount, has_both)
    return windows.group_by("tier").aggregate(**sums)


def compiled_quantity_sums(tables: Tables) -> Iterator[pa.RecordBatchReader]:
    """Yield the rows of :func:`quantity_sums` as compiled code adds them up."""
    compared_columns = {name: COMPARED_COLUMNS[name] for name in published_quantities(tables)}
    has_disk_request = tables.dialect.publishes("disk_request")
    disk_request = tables.tasks.disk_request if has_disk_request else ibis.null("float64")
    _, tasks = task_windows(tables, disk_request=disk_request.cast("float64"))
    rows = sums_by_tier(tables, compared_columns, tasks, BITS)
    yield pa.RecordBatchReader.from_batches(rows.schema, [rows])


QUANTITY_SUMS = SharedTable("quantity_sums", quantity_sums, compiled_quantity_sums)
"""Sums of all quantities by tier: see :func:`quantity_sums`."""


def summarize_quantity(sums: ir.Table, quantity: str) -> ir.Table:
    """Return the rows of one quantity, one per tier."""
    share_known = sums[f"{quantity}_known"].cast("float64") / sums.n_windows.cast("float64")
    total = sums[f"{quantity}_total"].cast("float64") / float(2**BITS)
    compared_total = sums[f"{quantity}_compared"].cast("float64")
    return sums.select(
        "tier",
        "n_windows",
        largest=sums[f"{quantity}_largest"],
        quantity=ibis.literal(quantity),
        missing=1.0 - share_known,
        mean=total / sums[f"{quantity}_seconds"].cast("float64").nullif(0.0),
        relative=sums[f"{quantity}_of_both"].cast("float64") / compared_total.nullif(0.0),
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the mean of each quantity by tier."""
    import altair as alt

    rows = query_answer(answer, "select * from answer where mean is not null")
    return (
        charts.base(rows, title="Disk, page cache and assigned memory")
        .mark_bar()
        .encode(
            x=alt.X(
                "mean:Q",
                title="mean (of the largest machine; s/s)",
                scale=alt.Scale(type="symlog", constant=1e-05),
            ),
            y=alt.Y("quantity:N", title=None, sort=list(COMPARED_COLUMNS)),
            yOffset="tier:N",
            color=charts.tier_color(rows),
            tooltip=charts.tooltips(
                rows, "mean", "quantity", "tier", "missing", "largest", "relative"
            ),
        )
    )


QUESTION = Question(
    name="other_resources",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_usage", "tasks"],
    shares=[QUANTITY_SUMS],
    reference="format documents (task resource usage)",
)
