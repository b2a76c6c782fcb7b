"""Which of the documented anomalies does this trace have, and how often?

Every anomaly named by the format documents, by Google's notes or by studies of the traces is
counted and compared with what is documented of its trace: expected – found. A documented share is met
within a quarter of it (of what is left to 100 %, where that is less), or within two standard deviations of
a Poisson count where the trace is small. What
ingest refuses or flags row by row is in the store's own quality counters (`borgtrace info`).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.quality.anomalies import (
    ANOMALIES,
    LONG_TRACE_DAYS,
    UNDER_SAMPLED,
    Anomaly,
    tolerance,
    verdict,
)
from borgtrace.analyses.quality.caveats import mixed_requests, pending_updates, usage_after_end
from borgtrace.analyses.shared.attempts import is_inside, of_jobs, time_running
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.windows import POSSIBLE, amount, int_sum, regular
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Criterion,
    NotApplicable,
    Question,
    Row,
    Scope,
    Tables,
    charts,
    near,
    sql,
)
from borgtrace.question.scopes import JOB_EVENTS_2011
from borgtrace.schema.dialects.google import REAL_PARTS
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, DAY, SECOND, TRACE_START, WINDOW

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="anomaly",
    key=[
        Column("table", "string", "id", "Table the anomaly is in."),
        Column("anomaly", "string", "id", "Short name of the anomaly."),
    ],
    columns=[
        Column("statement", "string", "1", "What was counted."),
        Column("expected", "string", "1", "What is documented."),
        Column("n", "int64", "count", "Rows (or seconds) found."),
        Column("of", "int64", "count", "Rows (or seconds) examined."),
        Column(
            "share",
            "float64",
            "fraction",
            "Share `n` ÷ `of`; NULL if none was examined.",
            nullable=True,
        ),
        Column(
            "verdict",
            "string",
            "1",
            "One of: as documented, differs, reported, nothing to measure.",
        ),
    ],
)


Shares = dict[str, tuple[ir.BooleanValue, ir.BooleanValue]]


def compute(tables: Tables) -> list[Row]:
    """Return what is expected and what was found, one row per anomaly that the trace format documents."""
    found = dict(_found(tables))
    if not found:
        raise NotApplicable("the store holds no events and no usage")
    rates = tables.dialect.anomalies
    return [
        {
            "table": anomaly.table,
            "anomaly": code,
            "statement": anomaly.statement,
            "expected": rates[code].expected,
            "n": n,
            "of": of,
            "share": n / of if of else None,
            "verdict": verdict(rates[code], n, of),
        }
        for code, anomaly in ANOMALIES.items()
        if code in found and code in rates
        for n, of in (found[code],)
    ]


def _found(tables: Tables) -> Iterator[tuple[str, tuple[int, int]]]:
    """Count, table by table; what a store does not hold is left out."""
    stages = {
        _events: ("instance_events",),
        _attempts: ("instance_events",),
        _collections: ("collection_events",),
        _jobs: ("collection_events", "instance_events"),
        _machines: ("machine_events",),
        _windows: ("instance_usage",),
        _coverage: ("instance_usage", "instance_events"),
        _allocs: ("instance_usage",),
        mixed_requests: ("instance_events",),
        usage_after_end: ("instance_usage", "instance_events"),
        pending_updates: ("instance_events", "instance_constraints"),
    }
    for stage, reads in stages.items():
        if all(tables.has(name) for name in reads):
            for row in tables.fetch(stage(tables), stage.__name__.strip("_")).to_pylist():
                # One row a stage: the columns carry the codes, so that each table is scanned once for all its
                # anomalies.
                codes = (name.removesuffix("__n") for name in row if name.endswith("__n"))
                yield from (
                    (code, (row[f"{code}__n"] or 0, row[f"{code}__of"] or 0)) for code in codes
                )
    if tables.has("instance_events"):
        yield "fail_days", _fail_days(tables)


def _count(table: ir.Table, shares: Shares) -> ir.Table:
    """Count the rows that satisfy each pair of conditions: the anomaly, and what it could befall."""
    columns = {}
    for code, (anomaly, among) in shares.items():
        # A comparison with NULL is no anomaly.
        columns[f"{code}__n"] = table.count(where=(anomaly & among).fill_null(False))
        columns[f"{code}__of"] = table.count(where=among)
    return table.aggregate(**columns)


def _events(tables: Tables) -> ir.Table:
    e = tables.instance_events
    every = ibis.literal(True)
    submit, first = e.type == "SUBMIT", e.time == BEFORE_TRACE
    # In the real files these name a machine without exception; KILL and the first SUBMIT only sometimes.
    placed = e.type.isin(("SCHEDULE", "EVICT", "FAIL", "FINISH"))
    no_request = e.cpu_request.isnull() & e.memory_request.isnull() & e.disk_request.isnull()
    return _count(
        e,
        {
            "missing_info_instances": (e.missing_type.notnull(), every),
            "missing_info_is_update": (
                e.type == "UPDATE_RUNNING",
                e.missing_type == "SNAPSHOT_BUT_NO_TRANSITION",
            ),
            "missing_creation_no_request": (no_request, e.missing_type == "EXISTS_BUT_NO_CREATION"),
            "machine_missing": (e.machine_id.isnull(), placed),
            "machine_on_kill": (e.machine_id.notnull(), e.type == "KILL"),
            "machine_on_submit": (e.machine_id.notnull(), submit & ~first),
            "machine_on_first_submit": (e.machine_id.notnull(), submit & first),
            "cpu_request_zero": (e.cpu_request == 0.0, e.cpu_request.notnull()),
            "after_trace": (e.time == AFTER_TRACE, every),
        },
    )


def _attempts(tables: Tables) -> ir.Table:
    a = tables.instance_attempts
    return _count(a, {"schedule_missing": (a.schedule_time.isnull(), a.end_type == "FINISH")})


def _fail_days(tables: Tables) -> tuple[int, int]:
    """Count the days with more than twice the median of FAIL events; too short a trace has none."""
    e = tables.instance_events
    inside = e.filter(is_inside(e.time))
    per_day = inside.group_by(day=period(inside.time, DAY, TRACE_START))
    days = per_day.aggregate(n=inside.count(where=inside.type == "FAIL"))
    counts = sorted(tables.fetch(days, "fail_days")["n"].to_pylist())
    # Of a few days, one that is twice the median is not remarkable.
    if len(counts) < LONG_TRACE_DAYS:
        return 0, 0
    median = counts[len(counts) // 2]
    return sum(n > 2 * median for n in counts), len(counts)


def _collections(tables: Tables) -> ir.Table:
    c = tables.collection_events
    attempts = tables.collection_attempts
    whole = _count(c, {"missing_info_collections": (c.missing_type.notnull(), ibis.literal(True))})
    # In 2011 jobs, unlike tasks, are not resubmitted under their id: a second attempt is an id used again.
    first, again = (attempts.count(where=attempts.attempt == number) for number in (1, 2))
    return whole.cross_join(attempts.aggregate(job_id_reused__n=again, job_id_reused__of=first))


def _jobs(tables: Tables) -> ir.Table:
    jobs = of_jobs(tables.collection_events)
    # A join, because a job without tasks stands in the events of jobs alone.
    with_tasks = tables.instance_events.select("collection_id").distinct().mutate(has_tasks=True)
    joined = jobs.select("collection_id").distinct().left_join(with_tasks, "collection_id")
    return _count(joined, {"jobs_without_tasks": (joined.has_tasks.isnull(), ibis.literal(True))})


def _machines(tables: Tables) -> ir.Table:
    m = tables.machine_events
    before = m.time.lag().over(ibis.window(group_by="machine_id", order_by=list(SOURCE_ORDER)))
    m = m.mutate(is_doubled=(before == m.time).fill_null(False))
    lacks = m.cpu_capacity.isnull() | m.memory_capacity.isnull()
    return _count(
        m,
        {
            "capacity_missing": (lacks, m.type == "ADD"),
            "machine_events_doubled": (m.is_doubled, ibis.literal(True)),
            "missing_data_reason": (m.missing_data_reason.notnull(), ibis.literal(True)),
        },
    )


def _windows(tables: Tables) -> ir.Table:
    u = tables.instance_usage
    every = ibis.literal(True)
    length = u.end_time - u.start_time
    # Disk I/O times are documented to be void from day 14 on.
    late = u.start_time >= TRACE_START + 14 * DAY
    # The last µs of the window, not its end: one that ends on the grid does not cross it.
    crosses = (u.start_time - TRACE_START) // WINDOW != (u.end_time - 1 - TRACE_START) // WINDOW
    inside = (u.start_time >= TRACE_START) & (u.end_time < AFTER_TRACE)
    end = TRACE_START + tables.dialect.span // timedelta(microseconds=1)
    cpi, mai = u.cycles_per_instruction, u.memory_accesses_per_instruction
    # With aggregation_type 1 the maximum is a sum over sub-containers (2011 document): not one moment's.
    single = u.maximum_cpu.notnull() & ~u.aggregation_type.fill_null(False)
    return _count(
        u,
        {
            "window_over_300s": (length > WINDOW, inside),
            "window_off_grid": (crosses & (length > 0), inside & (length <= WINDOW)),
            "window_full": (length == WINDOW, inside),
            "cpu_over_1": (u.average_cpu > 1.0, u.average_cpu.notnull()),
            "sampled_cpu_over_1": (u.sampled_cpu > 1.0, u.sampled_cpu.notnull()),
            "mean_over_maximum": (u.average_cpu > u.maximum_cpu, u.average_cpu.notnull() & single),
            "sample_over_maximum": (
                u.sampled_cpu > u.maximum_cpu,
                u.sampled_cpu.notnull() & single,
            ),
            "disk_io_late": (u.mean_disk_io_time.notnull(), late),
            "disk_io_null": (u.mean_disk_io_time.isnull(), ~late),
            "cpi_null": (cpi.isnull(), every),
            "cpi_impossible": (~cpi.between(*POSSIBLE["cycles_per_instruction"]), cpi.notnull()),
            "mai_impossible": (
                ~mai.between(*POSSIBLE["memory_accesses_per_instruction"]),
                mai.notnull(),
            ),
            "assigned_memory_zero": (u.assigned_memory == 0.0, u.assigned_memory.notnull()),
            "dedicated_usage": (u.is_on_dedicated_machine, every),
            "zero_usage": (
                (u.average_cpu == 0.0) & (u.average_memory == 0.0),
                u.average_memory.notnull(),
            ),
            "sample_portion_high": (u.sample_portion > 1.0, u.sample_portion.notnull()),
            "sample_rate_low": (u.sample_rate < UNDER_SAMPLED, u.sample_rate.notnull()),
            "late_windows": (u.end_time > end, every),
            "percentiles_empty": (u.cpu_usage_distribution.length().fill_null(0) == 0, every),
        },
    )


def _coverage(tables: Tables) -> ir.Table:
    """Compare the time instances ran with the time that usage windows cover, in seconds."""
    usage = regular(tables.instance_usage)
    covered = usage.aggregate(covered=int_sum(usage.seconds), last=usage.end_time.max())
    a = tables.instance_attempts
    ran = a.filter(a.schedule_time < AFTER_TRACE).cross_join(covered.select("last"))
    both = ran.aggregate(lasted=int_sum(time_running(ran) // SECOND)).cross_join(covered)
    # Windows may run on after a kill (2011 document) and cover more than the attempts.
    missing = ibis.greatest(both.lasted.fill_null(0) - both.covered.fill_null(0), 0)
    return both.select(usage_missing__n=missing, usage_missing__of=both.lasted.fill_null(0))


def _allocs(tables: Tables) -> ir.Table:
    """Compare the CPU time of tasks inside alloc sets with that of the alloc sets, in seconds."""
    rows = regular(tables.instance_usage)
    # Ten binary digits: the sum of a month must fit into 63 bits.
    cpu = amount(rows.average_cpu, rows.seconds, 10)
    places = {"n": rows.alloc_collection_id.notnull(), "of": rows.collection_type == "ALLOC_SET"}
    return rows.aggregate(
        **{f"alloc_holds_tasks__{n}": int_sum(cpu, test) // 1024 for n, test in places.items()}
    )


def claims_about(anomaly: Anomaly) -> Iterator[Claim]:
    """Judge one anomaly by the rate of each trace, where one is documented."""

    def measure(result: pa.Table) -> str:
        for row in result.to_pylist():
            if row["anomaly"] == anomaly.code and row["of"]:
                return f"{row['share']:.4%} ({row['n']:,} of {row['of']:,}, {row['verdict']})"
        raise NotApplicable(anomaly.why)

    rates = anomaly.rates
    for rate, traces in rates.items():
        yield Claim(
            # The trace is part of the name where each has a rate of its own.
            "-".join(("QUALITY", anomaly.code, *(traces if len(rates) > 1 else ()))),
            statement=anomaly.statement,
            criterion=Criterion(
                rate.expected, tolerance(rate), lambda measured: measured.endswith("as documented)")
            ),
            measure=measure,
            source=rate.source,
            kind="criterion" if rate.source == REAL_PARTS else "published",
            scope=Scope(traces=traces, tables=anomaly.tables),
        )


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: documented anomalies: share found."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Documented anomalies: share found", height=None)
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            x=alt.X(
                "share:Q",
                title="share of what was looked at",
                scale=alt.Scale(type="symlog", constant=1e-05, domain=[0, 1], clamp=True),
                axis=alt.Axis(
                    values=[0, 1e-05, 0.0001, 0.001, 0.01, 0.1, 1],
                    labelExpr="format(datum.value * 100, '~g') + ' %'",
                ),
            ),
            y=alt.Y("statement:N", title=None, sort=None, axis=alt.Axis(labelLimit=420)),
            color=charts.color(
                rows,
                "verdict",
                {
                    "as documented": "#2ca58d",
                    "differs": "#e4572e",
                    "reported": "#88a",
                    "nothing to measure": "#ddd",
                },
                title="verdict",
            ),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    # Made from the published rates of each anomaly.
    *(claim for anomaly in ANOMALIES.values() for claim in claims_about(anomaly)),
    # The real files have 19 of 2,012,242.
    Claim(
        "G11-missing-info-jobs",
        statement="share of the job events with missing info",
        source="ClusterData2011_2.md",
        scope=JOB_EVENTS_2011,
        measure=sql(
            """
            select share
            from answer
            where anomaly = 'missing_info_collections'
            """,
            otherwise="the store has no job events",
        ),
        criterion=near(8e-06, within=5e-07, published="0.0008 %"),
    ),
]

QUESTION = Question(
    name="data_quality",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reference="format documents, Google's notes on the traces, and counts over the real files",
)
