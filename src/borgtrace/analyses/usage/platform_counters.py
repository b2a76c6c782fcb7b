"""On which platforms do hardware counters (CPI, MAI) lack?

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
    machines = tables.machine_events
    platforms = last_of(machines.filter(machines.platform_id.notnull()), ["machine_id"])
    usage = tables.instance_usage
    columns = ("machine_id", "cycles_per_instruction", "memory_accesses_per_instruction")
    rows = lookup(
        usage.select(columns),
        platforms.select("machine_id", platform="platform_id"),
        ["machine_id"],
    )
    rows = rows.mutate(platform=rows.platform.fill_null(UNKNOWN))
    found = rows.group_by("platform").aggregate(
        n_machines=rows.machine_id.nunique(),
        n_windows=rows.count(),
        cpi=rows.cycles_per_instruction.count(),
        mai=rows.memory_accesses_per_instruction.count(),
    )
    n = found.n_windows.cast("float64")
    missing = {f"{name}_missing": 1.0 - found[name].cast("float64") / n for name in ("cpi", "mai")}
    return found.select("platform", "n_machines", "n_windows", **missing)


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: windows without counters."""
    import altair as alt

    # The first letters tell platforms apart: the names are hashes.
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
