"""Are the limits on tasks per machine and per switch respected?

Three limits: ``max_per_machine`` and ``max_per_switch`` of a collection, and the 2011 flag of a
task that it must run on another machine than all other tasks of its job (a limit of one for its own
start). Every start is replayed against the tasks of the same collection that run there at that
time; at equal times, ends come before starts. A start above the limit violates it. Starts
without a known machine (or switch) are not judged. Limits and flag are those of the SCHEDULE: in
2011, 20,911 SUBMITs at time 0 carry another flag than the task then ran with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.windows import int_sum
from borgtrace.engine.identifiers import literal
from borgtrace.lifecycle.requests import last_in_force, with_positions
from borgtrace.question import Answer, Claim, Column, Measure, Question, Tables, charts, equals, sql
from borgtrace.question.scopes import LIMITS_2011, LIMITS_2019, SWITCHES_2019

if TYPE_CHECKING:
    import altair as alt

ANSWER = Answer(
    grain="limit",
    key=[
        Column(
            "kind",
            "string",
            "id",
            "Which limit: max_per_machine, max_per_switch or different_machine.",
        )
    ],
    columns=[
        Column(
            "n_collections",
            "int64",
            "count",
            "Collections with the limit whose starts were judged.",
        ),
        Column("n_starts", "int64", "count", "Starts that were judged."),
        Column("n_broken", "int64", "count", "Starts that broke the limit."),
        Column("n_collections_broken", "int64", "count", "Collections with such a start."),
    ],
)


def compute(tables: Tables) -> ir.Table:
    """Return how often each limit was judged and broken."""
    attempts = tables.instance_attempts
    placed = attempts.filter(attempts.schedule_time.notnull() & attempts.machine_id.notnull())
    placed = placed.select(
        *TASK, "machine_id", "schedule_time", "left_time", "needs_different_machine"
    )
    with_limits = lookup(placed, limits_of_collections(tables), ["collection_id"])
    # 2011 publishes no switch: NULL, and no start is judged.
    on_switch = lookup(with_limits, switches_of_machines(tables), ["machine_id"])
    with_flags = with_different_machine(placed)
    machine = with_limits.machine_id.cast("string")
    flagged_machine = with_flags.machine_id.cast("string")
    starts = ibis.union(
        judge_starts(with_limits, "max_per_machine", machine, with_limits.max_per_machine),
        judge_starts(on_switch, "max_per_switch", on_switch.switch_id, on_switch.max_per_switch),
        judge_starts(with_flags, "different_machine", flagged_machine, with_flags.own_limit),
    )
    collections = starts.group_by(["kind", "collection_id"]).aggregate(
        n_starts=starts.count(), n_broken=starts.count(where=starts.is_broken)
    )
    return collections.group_by("kind").aggregate(
        n_collections=collections.count(),
        n_starts=int_sum(collections.n_starts),
        n_broken=int_sum(collections.n_broken),
        n_collections_broken=collections.count(where=collections.n_broken > 0),
    )


def limits_of_collections(tables: Tables) -> ir.Table:
    """Return the two limits of each collection."""
    key = ["collection_id"]
    events = with_positions(tables.collection_events, key, tables.dialect)
    return events.group_by(key).aggregate(
        max_per_machine=last_in_force(events, "max_per_machine"),
        max_per_switch=last_in_force(events, "max_per_switch"),
    )


def switches_of_machines(tables: Tables) -> ir.Table:
    """Return the switch of each machine."""
    events = tables.machine_events
    return events.group_by("machine_id").aggregate(switch_id=events.switch_id.max())


def with_different_machine(placed: ir.Table) -> ir.Table:
    """Return the attempts of jobs with the flag, each with a limit of one where it carries the flag itself."""
    has_flag = placed.needs_different_machine.fill_null(False)
    flagged_jobs = placed.filter(has_flag).select("collection_id").distinct()
    limit = has_flag.ifelse(ibis.literal(1, "int32"), ibis.null("int32"))
    return placed.mutate(own_limit=limit).semi_join(flagged_jobs, "collection_id")


def judge_starts(
    attempts: ir.Table, kind: str, place: ir.StringColumn, limit: ir.IntegerColumn
) -> ir.Table:
    """Replay starts and ends at each place, and return for each start with a limit whether it breaks it."""
    attempts = attempts.select(
        *TASK, "schedule_time", "left_time", place=place, limit=limit.cast("int64")
    )
    attempts = attempts.filter(attempts.place.notnull())
    starts = attempts.select(
        *TASK, "place", "limit", time="schedule_time", step=ibis.literal(1, "int64")
    )
    ended = attempts.filter(attempts.left_time.notnull())
    # What starts and ends at the same time would end before it starts: it ends one microsecond later.
    end = ibis.greatest(ended.left_time, ended.schedule_time + 1)
    ends = ended.select(*TASK, "place", "limit", time=end, step=ibis.literal(-1, "int64"))
    # Starts without a limit of their own are replayed too: they occupy the place for others.
    steps = starts.union(ends)
    # By "step" after the time: −1 before +1, so that an end makes room for a start at the same time.
    so_far = ibis.cumulative_window(
        group_by=["collection_id", "place"], order_by=["time", "step", "instance_index"]
    )
    steps = steps.mutate(n_running=steps.step.sum().over(so_far))
    has_limit = steps["limit"].notnull() & (steps["limit"] > 0)
    judged = steps.filter((steps.step == 1) & has_limit)
    return judged.select(
        "collection_id", kind=ibis.literal(kind), is_broken=judged.n_running > judged["limit"]
    )


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw how many starts were judged and how many broke the limit, a panel for each limit."""
    import altair as alt

    rows = charts.melted(answer.to_pylist(), {"n_starts": "judged", "n_broken": "broken"})
    return (
        charts.base(rows, height=60)
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title="starts", scale=alt.Scale(type="symlog")),
            y=alt.Y("series:N", title=None, sort=["judged", "broken"]),
            color=alt.Color("series:N", title="series", legend=None),
            tooltip=charts.tooltips(rows, "value", "series", "kind"),
        )
        .facet(row=charts.rows_of_panels("kind", labelAngle=0, labelAlign="left"))
        .properties(title="Starts under a placement limit")
    )


def share_broken(kind: str) -> Measure:
    """Measure which share of the starts under a limit broke it."""
    return sql(
        f"""
        select sum(n_broken) / nullif(sum(n_starts), 0)
        from answer
        where kind = {literal(kind)}
        """,
        otherwise="no start is subject to this limit",
    )


CLAIMS = [
    Claim(
        "LIMIT-max_per_machine",
        statement="max per machine is respected",
        source="2019 format document",
        scope=LIMITS_2019,
        with_more_data="stays refuted",
        measure=share_broken("max_per_machine"),
        criterion=equals(0.0, published="always"),
    ),
    Claim(
        "LIMIT-max_per_switch",
        statement="max per switch is respected",
        source="2019 format document",
        scope=SWITCHES_2019,
        with_more_data="stays refuted",
        measure=share_broken("max_per_switch"),
        criterion=equals(0.0, published="always"),
    ),
    Claim(
        "LIMIT-different_machine",
        statement="different machine is respected",
        source="2011 format document",
        scope=LIMITS_2011,
        with_more_data="stays refuted",
        measure=share_broken("different_machine"),
        criterion=equals(0.0, published="always"),
    ),
]

QUESTION = Question(
    name="placement_limits",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=["instance_events", "collection_events"],
    reference="format documents (different-machine restriction; max_per_machine, max_per_switch)",
)
