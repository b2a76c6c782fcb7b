"""Are the limits on tasks per machine and per switch kept?

Three limits: ``max_per_machine`` and ``max_per_switch`` of a collection, and the 2011 flag of a
task that it must run on another machine than all other tasks of its job (a limit of one for its own
start). Every start is replayed against the tasks of the same collection that run there at that
instant; at equal times, ends come before starts. A start above the limit violates it. Starts
without a known machine (or switch) are not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.analyses.shared.attempts import TASK
from borgtrace.analyses.shared.joins import lookup
from borgtrace.analyses.shared.windows import int_sum
from borgtrace.question import Answer, Claim, Column, Question, Tables, charts, equals, sql
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
    placed = placed.select(*TASK, "machine_id", "schedule_time", "left_time")
    events, machines = tables.collection_events, tables.machine_events
    # A limit is repeated by every event that has full info; max() passes the others over.
    most = {name: events[f"max_per_{name}"].max() for name in ("machine", "switch")}
    limits = events.group_by("collection_id").aggregate(**most)
    limited = lookup(placed, limits, ["collection_id"])
    # 2011 publishes no switch: NULL, and no start is judged.
    switches = machines.group_by("machine_id").aggregate(switch_id=machines.switch_id.max())
    on_switch = lookup(limited, switches, ["machine_id"])
    flagged = _different_machine(tables, placed)
    judged = ibis.union(
        _judge(limited, "max_per_machine", limited.machine_id.cast("string"), limited.machine),
        _judge(on_switch, "max_per_switch", on_switch.switch_id, on_switch.switch),
        _judge(flagged, "different_machine", flagged.machine_id.cast("string"), flagged.own_limit),
    )
    per_collection = judged.group_by(["kind", "collection_id"])
    per_collection = per_collection.aggregate(
        n_starts=judged.count(), n_broken=judged.count(where=judged.is_broken)
    )
    return per_collection.group_by("kind").aggregate(
        n_collections=per_collection.count(),
        n_starts=int_sum(per_collection.n_starts),
        n_broken=int_sum(per_collection.n_broken),
        n_collections_broken=per_collection.count(where=per_collection.n_broken > 0),
    )


def _different_machine(tables: Tables, placed: ir.Table) -> ir.Table:
    """Return the tasks of jobs with the flag, each with a limit of one where it carries the flag itself."""
    events = tables.instance_events
    flagged = events.filter(events.needs_different_machine.fill_null(False))
    own = flagged.select(*TASK).distinct().mutate(own_limit=ibis.literal(1, "int32"))
    return lookup(
        placed.semi_join(flagged.select("collection_id").distinct(), "collection_id"), own, TASK
    )


def _judge(rows: ir.Table, kind: str, place: ir.StringColumn, limit: ir.IntegerColumn) -> ir.Table:
    """Replay starts and ends at each place; return the judged starts."""
    rows = rows.select(*TASK, "schedule_time", "left_time", place=place, most=limit.cast("int64"))
    rows = rows.filter(rows.place.notnull())
    starts = rows.select(*TASK, "place", "most", at="schedule_time", step=ibis.literal(1, "int64"))
    ended = rows.filter(rows.left_time.notnull())
    # What starts and ends at one instant would end before it starts; it ends one microsecond later.
    end = ibis.greatest(ended.left_time, ended.schedule_time + 1)
    ends = ended.select(*TASK, "place", "most", at=end, step=ibis.literal(-1, "int64"))
    # Starts without a limit of their own are replayed too: they take the place of others.
    steps = starts.union(ends)
    # By "step" after the time: −1 before +1, so that an end makes room for a start at the same instant.
    running = ibis.cumulative_window(
        group_by=["collection_id", "place"], order_by=["at", "step", "instance_index"]
    )
    seen = steps.mutate(n_running=steps.step.sum().over(running))
    judged = seen.filter((seen.step == 1) & seen.most.notnull() & (seen.most > 0))
    return judged.select(
        "collection_id", kind=ibis.literal(kind), is_broken=judged.n_running > judged.most
    )


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw: starts under a placement limit."""
    import altair as alt

    rows = answer.to_pylist()
    rows = charts.melted(rows, {"n_starts": "judged", "n_broken": "broken"})
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


CLAIMS = [
    Claim(
        "LIMIT-max_per_machine",
        statement="max per machine is respected",
        source="2019 format document",
        scope=LIMITS_2019,
        measure=sql(
            """
            select sum(n_broken) / nullif(sum(n_starts), 0)
            from answer
            where kind = 'max_per_machine'
            """,
            otherwise="no start is subject to this limit",
        ),
        criterion=equals(0.0, published="always"),
    ),
    Claim(
        "LIMIT-max_per_switch",
        statement="max per switch is respected",
        source="2019 format document",
        scope=SWITCHES_2019,
        measure=sql(
            """
            select sum(n_broken) / nullif(sum(n_starts), 0)
            from answer
            where kind = 'max_per_switch'
            """,
            otherwise="no start is subject to this limit",
        ),
        criterion=equals(0.0, published="always"),
    ),
    Claim(
        "LIMIT-different_machine",
        statement="different machine is respected",
        source="2011 format document",
        scope=LIMITS_2011,
        measure=sql(
            """
            select sum(n_broken) / nullif(sum(n_starts), 0)
            from answer
            where kind = 'different_machine'
            """,
            otherwise="no start is subject to this limit",
        ),
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
    reference=("format documents (different-machine restriction; max_per_machine, max_per_switch)"),
)
