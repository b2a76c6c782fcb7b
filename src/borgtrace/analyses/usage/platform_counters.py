"""Which platforms have no hardware counters (CPI, MAI)?

Windows by the platform of their machine: how many there are, and the shares without cycles and without
memory accesses per instruction. The platform is the last that the machine's events name; windows of a
machine that none names count as ``unknown``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.joins import last_of, lookup
from borgtrace.analyses.shared.windows import UNKNOWN
from borgtrace.question import Answer, Column, Question, Tables, charts, query_answer

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="platform",
    key=[Column("platform", "string", "id", "Platform of the machine.")],
    columns=[
        Column("n_machines", "int64", "count", "Machines with a window."),
        Column("n_windows", "int64", "count", "Windows."),
        Column(
            "cpi_missing", "float64", "fraction", "Share of them without cycles per instruction."
        ),
        Column(
            "mai_missing",
            "float64",
            "fraction",
            "Share of them without memory accesses per instruction.",
        ),
    ],
)


def compute(tables: Tables) -> ir.Table:
    """Return windows and shares without counters per platform."""
    events = tables.machine_events
    platforms = last_of(events.filter(events.platform_id.notnull()), ["machine_id"])
    platforms = platforms.select("machine_id", platform="platform_id")
    windows = tables.instance_usage.select(
        "machine_id", "cycles_per_instruction", "memory_accesses_per_instruction"
    )
    windows = lookup(windows, platforms, ["machine_id"])
    windows = windows.mutate(platform=windows.platform.fill_null(UNKNOWN))
    counts = windows.group_by("platform").aggregate(
        n_machines=windows.machine_id.nunique(),
        n_windows=windows.count(),
        n_cpi=windows.cycles_per_instruction.count(),
        n_mai=windows.memory_accesses_per_instruction.count(),
    )
    n_windows = counts.n_windows.cast("float64")
    return counts.select(
        "platform",
        "n_machines",
        "n_windows",
        cpi_missing=1.0 - counts.n_cpi.cast("float64") / n_windows,
        mai_missing=1.0 - counts.n_mai.cast("float64") / n_windows,
    )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the share of windows without cycles per instruction, by platform."""
    import altair as alt

    # The first letters are enough: the names are hashes.
    rows = query_answer(answer, "select * replace (platform[:8] as platform) from answer")
    return (
        charts.base(rows, title="Windows without counters", height=130)
        .mark_bar()
        .encode(
            x=alt.X("cpi_missing:Q", title="share of windows without CPI"),
            y=alt.Y("platform:N", title=None),
            tooltip=charts.tooltips(rows),
        )
    )


QUESTION = Question(
    name="platform_counters",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_usage", "machine_events"],
    reference="format documents (task resource usage); ClusterData2011_2.md (known anomalies)",
)
