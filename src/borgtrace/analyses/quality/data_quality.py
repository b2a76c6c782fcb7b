"""Which of the documented anomalies does this trace have, and how often?

Every anomaly named by the format documents, by Google's notes or by studies of the traces is
counted and compared with the documented rate of its trace. A share is as documented if it is
within a quarter of the documented one (or of its distance to 100 %, if that is less), or, in a small trace, within two
standard deviations of a Poisson count. On part of a trace a rate is shown but not judged, unless no further part could
overturn the verdict, as when an event was seen that should never occur. Rows that ingest refuses or flags are counted
by the store itself (`borgtrace info`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.quality.anomalies import (
    ANOMALIES,
    LONG_TRACE_DAYS,
    UNDER_SAMPLED,
    Anomaly,
)
from borgtrace.analyses.quality.caveats import mixed_requests, pending_updates, usage_after_end
from borgtrace.analyses.quality.documented_rates import Shares, claim_about, claims_about
from borgtrace.analyses.shared.attempts import is_inside, of_jobs, time_running
from borgtrace.analyses.shared.histograms import period
from borgtrace.analyses.shared.windows import POSSIBLE, amount, int_sum, regular
from borgtrace.lifecycle.order import SOURCE_ORDER
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    charts,
    near,
    sql,
)
from borgtrace.question.colours import SERIES
from borgtrace.question.scope import QuestionRequest
from borgtrace.question.scopes import JOB_EVENTS_2011
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
            "One of: as documented, differs, not judged, reported, nothing to measure.",
        ),
        Column(
            "reason",
            "string",
            "1",
            "What the store lacks for a verdict; NULL where nothing.",
            nullable=True,
        ),
    ],
)


READS: tuple[str, ...] = ()
"""No table is needed: what is there is examined, and each claim names its own."""
ALLOC_BITS = 10
VERDICTS = {
    "holds": "as documented",
    "does not hold": "differs",
    "not judged": "not judged",
}
"""How the verdict on the claim about a rate is called in the table and in the chart."""
VERDICT_COLORS = {
    "as documented": SERIES[2].light,
    "differs": SERIES[1].light,
    "not judged": SERIES[7].light,
    "reported": SERIES[0].light,
    "nothing to measure": "#bbb",
}


class Stage(NamedTuple):
    """A query that counts all anomalies of a table in one scan."""

    name: str
    count: Callable[[Tables], ir.Table]
    reads: Sequence[str]


class AnomalyCounts(NamedTuple):
    """How many rows have an anomaly, of how many that could have it; a count of no rows may be NULL."""

    n: ir.IntegerScalar
    of: ir.IntegerScalar


def compute(tables: Tables) -> list[Row]:
    """Return what is expected and what was counted, one row per anomaly that the trace format documents."""
    stages = [stage for stage in STAGES if all(tables.has(name) for name in stage.reads)]
    if not stages:
        raise NotApplicable("the store holds no events and no usage")
    shares = fetch_shares(tables, stages)
    rates = tables.dialect.anomalies
    rows = []
    for code, anomaly in ANOMALIES.items():
        if code not in shares or code not in rates:
            continue
        n, of = shares[code]
        verdict, reason = judge(tables, anomaly, shares[code])
        rows.append(
            {
                "table": anomaly.table,
                "anomaly": code,
                "statement": anomaly.statement,
                "expected": rates[code].expected,
                "n": n,
                "of": of,
                "share": n / of if of else None,
                "verdict": verdict,
                "reason": reason,
            }
        )
    return rows


def judge(tables: Tables, anomaly: Anomaly, shares: Shares) -> tuple[str, str | None]:
    """Return the verdict on an anomaly, which is that on its claim, and what the store lacks for one."""
    if not shares.of:
        return "nothing to measure", None
    rate = tables.dialect.anomalies[anomaly.code]
    # Some documents say that something occurs, but not how often.
    if rate.documented is None:
        return "reported", None
    claim = claim_about(anomaly, rate, anomaly.rates[rate])
    finding = claim.judge_value(shares, tables.coverage, READS, QuestionRequest(tables.where))
    return VERDICTS[finding.verdict], finding.reason or None


def fetch_shares(tables: Tables, stages: Sequence[Stage]) -> dict[str, Shares]:
    """Count the anomalies that the trace format documents, by code."""
    shares = {}
    for stage in stages:
        counts = stage.count(tables)
        # One row a stage: its columns are named after the anomalies. What is not selected is not counted.
        codes = [name.removesuffix("__n") for name in counts.columns if name.endswith("__n")]
        codes = [code for code in codes if code in tables.dialect.anomalies]
        if not codes:
            continue
        columns = [f"{code}__{part}" for code in codes for part in ("n", "of")]
        for row in tables.fetch(counts.select(*columns), stage.name).to_pylist():
            for code in codes:
                shares[code] = Shares(row[f"{code}__n"] or 0, row[f"{code}__of"] or 0)
    if tables.has("instance_events"):
        shares["fail_days"] = count_fail_days(tables)
    return shares


def count_rows(table: ir.Table, anomalies: Mapping[str, AnomalyCounts]) -> ir.Table:
    """Count all anomalies of a table, by code."""
    columns = {}
    for code, counts in anomalies.items():
        columns[f"{code}__n"] = counts.n
        columns[f"{code}__of"] = counts.of
    return table.aggregate(**columns)


def of_all(table: ir.Table, has_anomaly: ir.BooleanColumn) -> AnomalyCounts:
    """Count an anomaly that every row could have."""
    return AnomalyCounts(count_true(has_anomaly), table.count())


def of_known(values: ir.Column, has_anomaly: ir.BooleanColumn) -> AnomalyCounts:
    """Count an anomaly of values, which is NULL where there is no value."""
    # A comparison with NULL adds nothing: to rule it out as well takes as long as the comparison.
    return AnomalyCounts(count_true(has_anomaly), values.count())


def of_some(could_have_it: ir.BooleanColumn, has_anomaly: ir.BooleanColumn) -> AnomalyCounts:
    """Count an anomaly that some rows could have."""
    return AnomalyCounts(count_true(has_anomaly & could_have_it), count_true(could_have_it))


def count_true(condition: ir.BooleanColumn) -> ir.IntegerColumn:
    """Count the rows on which a condition holds; NULL where there are no rows."""
    # Not count(where=…): DuckDB copies what passes each filter, which takes twice as long as adding up ones.
    return condition.cast("int32").sum().cast("int64")


def count_events(tables: Tables) -> ir.Table:
    """Count anomalies of task events."""
    e = tables.instance_events
    is_submit = e.type == "SUBMIT"
    is_first = e.time == BEFORE_TRACE
    # In the real files these always name a machine; KILL and the first SUBMIT only sometimes do.
    needs_machine = e.type.isin(("SCHEDULE", "EVICT", "FAIL", "FINISH"))
    names_machine = e.machine_id.notnull()
    has_no_request = e.cpu_request.isnull() & e.memory_request.isnull() & e.disk_request.isnull()
    is_update = e.type == "UPDATE_RUNNING"
    anomalies = {
        "missing_info_instances": of_all(e, e.missing_type.notnull()),
        "missing_info_is_update": of_some(
            e.missing_type == "SNAPSHOT_BUT_NO_TRANSITION", is_update
        ),
        "missing_creation_no_request": of_some(
            e.missing_type == "EXISTS_BUT_NO_CREATION", has_no_request
        ),
        "machine_missing": of_some(needs_machine, e.machine_id.isnull()),
        "machine_on_kill": of_some(e.type == "KILL", names_machine),
        "machine_on_submit": of_some(is_submit & ~is_first, names_machine),
        "machine_on_first_submit": of_some(is_submit & is_first, names_machine),
        "cpu_request_zero": of_known(e.cpu_request, e.cpu_request == 0.0),
        "after_trace": of_all(e, e.time == AFTER_TRACE),
    }
    return count_rows(e, anomalies)


def count_attempts(tables: Tables) -> ir.Table:
    """Count finished attempts without a SCHEDULE."""
    a = tables.instance_attempts
    return count_rows(
        a, {"schedule_missing": of_some(a.end_type == "FINISH", a.schedule_time.isnull())}
    )


def count_collections(tables: Tables) -> ir.Table:
    """Count anomalies of job events, and ids that are used again."""
    c = tables.collection_events
    attempts = tables.collection_attempts
    missing_info = count_rows(c, {"missing_info_collections": of_all(c, c.missing_type.notnull())})
    # In 2011 jobs, unlike tasks, are not resubmitted under their id: a second attempt is an id used again.
    reused_ids = attempts.aggregate(
        job_id_reused__n=attempts.count(where=attempts.attempt == 2),
        job_id_reused__of=attempts.count(where=attempts.attempt == 1),
    )
    return missing_info.cross_join(reused_ids)


def count_jobs(tables: Tables) -> ir.Table:
    """Count jobs without any task event."""
    jobs = of_jobs(tables.collection_events).select("collection_id").distinct()
    with_tasks = tables.instance_events.select("collection_id").distinct().mutate(has_tasks=True)
    # A join, because a job without tasks appears only in the events of jobs.
    jobs = jobs.left_join(with_tasks, "collection_id")
    return count_rows(jobs, {"jobs_without_tasks": of_all(jobs, jobs.has_tasks.isnull())})


def count_machines(tables: Tables) -> ir.Table:
    """Count anomalies of machine events."""
    events = tables.machine_events
    history = ibis.window(group_by="machine_id", order_by=list(SOURCE_ORDER))
    is_doubled = (events.time.lag().over(history) == events.time).fill_null(False)
    m = events.mutate(is_doubled=is_doubled)
    lacks_capacity = m.cpu_capacity.isnull() | m.memory_capacity.isnull()
    anomalies = {
        "capacity_missing": of_some(m.type == "ADD", lacks_capacity),
        "machine_events_doubled": of_all(m, m.is_doubled),
        "missing_data_reason": of_all(m, m.missing_data_reason.notnull()),
    }
    return count_rows(m, anomalies)


def count_windows(tables: Tables) -> ir.Table:
    """Count anomalies of usage windows."""
    u = tables.instance_usage
    anomalies = {
        **anomalies_of_times(u, tables.dialect.span),
        **anomalies_of_cpu(u),
        **anomalies_of_counters(u),
        **anomalies_of_other_columns(u),
    }
    return count_rows(u, anomalies)


def anomalies_of_times(u: ir.Table, span: timedelta) -> dict[str, AnomalyCounts]:
    """Count anomalies of when windows begin and end."""
    length = u.end_time - u.start_time
    is_inside_trace = (u.start_time >= TRACE_START) & (u.end_time < AFTER_TRACE)
    # A window that ends on the grid does not cross it.
    time_to_grid = WINDOW - (u.start_time - TRACE_START) % WINDOW
    is_off_grid = (length > time_to_grid) & (length > 0)
    end_of_trace = TRACE_START + span // timedelta(microseconds=1)
    return {
        "window_over_300s": of_some(is_inside_trace, length > WINDOW),
        "window_off_grid": of_some(is_inside_trace & (length <= WINDOW), is_off_grid),
        "window_full": of_some(is_inside_trace, length == WINDOW),
        "late_windows": of_all(u, u.end_time > end_of_trace),
    }


def anomalies_of_cpu(u: ir.Table) -> dict[str, AnomalyCounts]:
    """Count anomalies of CPU usage and of how it was sampled."""
    # With aggregation_type 1 the maximum is a sum over sub-containers (2011 document): not of one time.
    is_of_one_time = ~u.aggregation_type.fill_null(False)
    has_maximum = u.maximum_cpu.notnull() & is_of_one_time
    is_mean_over = (u.average_cpu > u.maximum_cpu) & is_of_one_time
    is_sample_over = (u.sampled_cpu > u.maximum_cpu) & is_of_one_time
    is_idle = (u.average_cpu == 0.0) & (u.average_memory == 0.0)
    has_mean = u.average_cpu.notnull()
    has_sample = u.sampled_cpu.notnull()
    has_no_percentiles = u.cpu_usage_distribution.length().fill_null(0) == 0
    return {
        "cpu_over_1": of_known(u.average_cpu, u.average_cpu > 1.0),
        "sampled_cpu_over_1": of_known(u.sampled_cpu, u.sampled_cpu > 1.0),
        "mean_over_maximum": AnomalyCounts(
            count_true(is_mean_over), count_true(has_mean & has_maximum)
        ),
        "sample_over_maximum": AnomalyCounts(
            count_true(is_sample_over), count_true(has_sample & has_maximum)
        ),
        "zero_usage": of_known(u.average_memory, is_idle),
        "sample_portion_high": of_known(u.sample_portion, u.sample_portion > 1.0),
        "sample_rate_low": of_known(u.sample_rate, u.sample_rate < UNDER_SAMPLED),
        "percentiles_empty": of_all(u, has_no_percentiles),
    }


def anomalies_of_counters(u: ir.Table) -> dict[str, AnomalyCounts]:
    """Count anomalies of hardware counters."""
    cpi = u.cycles_per_instruction
    mai = u.memory_accesses_per_instruction
    is_possible_cpi = cpi.between(*POSSIBLE["cycles_per_instruction"])
    is_possible_mai = mai.between(*POSSIBLE["memory_accesses_per_instruction"])
    return {
        "cpi_null": of_all(u, cpi.isnull()),
        "cpi_impossible": of_known(cpi, ~is_possible_cpi),
        "mai_impossible": of_known(mai, ~is_possible_mai),
    }


def anomalies_of_other_columns(u: ir.Table) -> dict[str, AnomalyCounts]:
    """Count anomalies of disk I/O, assigned memory and dedicated machines."""
    # Disk I/O times are documented to be void from day 14 on.
    is_late = u.start_time >= TRACE_START + 14 * DAY
    return {
        "disk_io_late": of_some(is_late, u.mean_disk_io_time.notnull()),
        "disk_io_null": of_some(~is_late, u.mean_disk_io_time.isnull()),
        "assigned_memory_zero": of_known(u.assigned_memory, u.assigned_memory == 0.0),
        "dedicated_usage": of_all(u, u.is_on_dedicated_machine),
    }


def count_uncovered_seconds(tables: Tables) -> ir.Table:
    """Compare the time that instances ran with the time that usage windows cover, in seconds."""
    usage = regular(tables.instance_usage)
    covered = usage.aggregate(covered=int_sum(usage.seconds), last=usage.end_time.max())
    attempts = tables.instance_attempts
    started = attempts.filter(attempts.schedule_time < AFTER_TRACE)
    started = started.cross_join(covered.select("last"))
    ran = started.aggregate(ran=int_sum(time_running(started) // SECOND))
    seconds = ran.cross_join(covered)
    seconds_ran = seconds.ran.fill_null(0)
    # Windows may continue after a kill (2011 document) and cover more than the attempts.
    uncovered = ibis.greatest(seconds_ran - seconds.covered.fill_null(0), 0)
    return seconds.select(usage_missing__n=uncovered, usage_missing__of=seconds_ran)


def count_alloc_seconds(tables: Tables) -> ir.Table:
    """Compare the CPU time of tasks inside alloc sets with that of the alloc sets, in seconds."""
    rows = regular(tables.instance_usage)
    # Ten binary digits: the sum of a month must fit into 63 bits.
    cpu = amount(rows.average_cpu, rows.seconds, ALLOC_BITS)
    is_in_alloc = rows.alloc_collection_id.notnull()
    is_alloc = rows.collection_type == "ALLOC_SET"
    return rows.aggregate(
        alloc_holds_tasks__n=int_sum(cpu, is_in_alloc) // 2**ALLOC_BITS,
        alloc_holds_tasks__of=int_sum(cpu, is_alloc) // 2**ALLOC_BITS,
    )


STAGES = (
    Stage("events", count_events, ["instance_events"]),
    Stage("attempts", count_attempts, ["instance_events"]),
    Stage("collections", count_collections, ["collection_events"]),
    Stage("jobs", count_jobs, ["collection_events", "instance_events"]),
    Stage("machines", count_machines, ["machine_events"]),
    Stage("windows", count_windows, ["instance_usage"]),
    Stage("coverage", count_uncovered_seconds, ["instance_usage", "instance_events"]),
    Stage("allocs", count_alloc_seconds, ["instance_usage"]),
    Stage("mixed_requests", mixed_requests, ["instance_events"]),
    Stage("usage_after_end", usage_after_end, ["instance_usage", "instance_events"]),
    Stage("pending_updates", pending_updates, ["instance_events", "instance_constraints"]),
)


def count_fail_days(tables: Tables) -> Shares:
    """Count the days with more than twice the median of FAIL events; too short a trace has none."""
    events = tables.instance_events
    inside = events.filter(is_inside(events.time))
    by_day = inside.group_by(day=period(inside.time, DAY, TRACE_START))
    days = by_day.aggregate(n=inside.count(where=inside.type == "FAIL"))
    counts = sorted(tables.fetch(days, "fail_days")["n"].to_pylist())
    # Among a few days, one with twice the median is not remarkable.
    if len(counts) < LONG_TRACE_DAYS:
        return Shares(0, 0)
    median = counts[len(counts) // 2]
    return Shares(sum(n > 2 * median for n in counts), len(counts))


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the share of each documented anomaly, colored by whether it is as documented."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Documented anomalies: share found", height=None)
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            x=alt.X(
                "share:Q",
                title="share of rows (or seconds) examined",
                scale=alt.Scale(type="symlog", constant=1e-05, domain=[0, 1], clamp=True),
                axis=alt.Axis(
                    values=[0, 1e-05, 0.0001, 0.001, 0.01, 0.1, 1],
                    labelExpr="format(datum.value * 100, '~g') + ' %'",
                ),
            ),
            y=alt.Y("statement:N", title=None, sort=None),
            color=charts.color(rows, "verdict", VERDICT_COLORS, title="verdict"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    # Derived from the published rates of each anomaly.
    *chain.from_iterable(map(claims_about, ANOMALIES.values())),
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
    reads=READS,
    reference="format documents, Google's notes on the traces, and counts over the real files",
)
