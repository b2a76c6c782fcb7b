"""How many nodes hold the workload when machines promise less than is requested?

The tasks that run at the busiest moment of the judged time are packed again from nothing (cell compaction, Verma et
al., EuroSys'15, §5.1; the 90th percentile of 11 orders): once with their requests, and once with the shares of their
requests that the chosen policies promised (the same share for each task). Where the cores and GiB of the largest
machine are known, the same tasks are packed on each node type of a table of prices, and on the cheapest mix that is
found. Packing is best fit. It leaves a share of each node free, keeps room on each node for what runs on nearly every
machine (daemonsets), and limits the number of tasks on a node. Placement constraints name machines that a new fleet
does not have, so they are dropped; jobs whose tasks must be apart stay apart. Disks, networks and failures of nodes are
not considered: keep as many spare nodes as you do today.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from borgtrace.advice.bought_fleets import rows_of_types
from borgtrace.advice.node_types import read_node_types
from borgtrace.advice.options import AdviceOptions
from borgtrace.advice.packed_moment import NOT_TODAY, PackedMoment
from borgtrace.advice.room_today import RequestedRoom
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Flags
from borgtrace.question import Answer, Column, EngineTables, NotApplicable, Question, Row, charts
from borgtrace.question.store_question import Report
from borgtrace.scheduling.compact import COMPACT, CompactOptions
from borgtrace.scheduling.compact import compute as compact
from borgtrace.scheduling.machines import EXTENDED, UNIT
from borgtrace.scheduling.whatifs import LIMITS
from borgtrace.scheduling.workload import KnownMachines, read_tasks
from borgtrace.store import Store

ANSWER = Answer(
    grain="fleet",
    key=[Column("place", "int64", "count", "Place in the table.")],
    columns=[
        Column(
            "fleet",
            "string",
            "id",
            "today; requests and policy: machines of today's shapes; a node type; or cheapest mix.",
        ),
        Column("at", "int64", "us", "The moment whose tasks are packed."),
        Column("tasks", "int64", "count", "Tasks that are packed; of today, those that run."),
        Column(
            "nodes",
            "int64",
            "count",
            "Nodes; NULL where a task fits none.",
            nullable=True,
        ),
        Column("cores", "float64", "cores", "Cores of all; NULL where not known.", nullable=True),
        Column("gib", "float64", "GiB", "Memory of all; NULL where not known.", nullable=True),
        Column(
            "price_per_hour",
            "float64",
            "1/h",
            "Of all nodes, in the currency of the table of prices; NULL where there is none.",
            nullable=True,
        ),
        Column(
            "cpu_requested",
            "float64",
            "fraction",
            "Share of the CPU of today's nodes that the tasks request; NULL of other fleets.",
            nullable=True,
        ),
        Column(
            "memory_requested",
            "float64",
            "fraction",
            "Share of the memory of today's nodes that the tasks request; NULL of other fleets.",
            nullable=True,
        ),
        Column(
            "overfull",
            "int64",
            "count",
            "Nodes of today whose tasks request more than they have; NULL of other fleets.",
            nullable=True,
        ),
        Column("mix", "string", "id", "Nodes by type, where there are several."),
        Column("note", "string", "id", "What was assumed, or why there is no number."),
    ],
)


def compute(
    store: Store,
    tables: EngineTables,
    at: int,
    promised: tuple[float, float],
    options: AdviceOptions,
    report: Report,
) -> list[Row]:
    """Return a row for each fleet.

    Parameters
    ----------
    store, tables
        The cell.
    at
        The moment, µs.
    promised
        Shares of CPU and memory requests that are promised.
    options
        Prices, headroom, pods a node.
    report
        Called with the progress.

    Raises
    ------
    NotApplicable
        Where no machine with a capacity is there, no task runs, or none that runs has a request.
    """
    moment = PackedMoment(
        at=at,
        machines=KnownMachines.at(tables, at),
        tasks=read_tasks(tables, at=at),
        promised=promised,
    )
    NotApplicable.unless(len(moment.tasks), "no task with a known start runs at the busiest moment")
    NotApplicable.unless(
        (moment.tasks.sizes > 0).any(),
        "no task that runs at the busiest moment has a request, so that nobody knows what it needs",
    )
    rows = [with_price_of_today(row_of_today(moment, options), moment.machines, options)]
    rows += rows_of_shapes(store, tables, moment, options, report)
    rows += rows_of_types(store, tables, moment, options, report)
    return [{"place": place, **row} for place, row in enumerate(rows, 1)]


def row_of_today(moment: PackedMoment, options: AdviceOptions) -> Row:
    """Return the machines that are there."""
    capacity = moment.machines.capacity[:, :EXTENDED].sum(axis=0) / UNIT
    room = RequestedRoom.of(moment.machines, moment.tasks)
    note = ""
    if moment.machines.without_capacity:
        note = f"{moment.machines.without_capacity:,} machines without a capacity left out"
    return {
        "fleet": "today",
        "at": moment.at,
        "tasks": len(moment.tasks),
        "nodes": len(moment.machines.ids),
        "cores": float(capacity[0] * options.cores) if options.cores else None,
        "gib": float(capacity[1] * options.gib) if options.gib else None,
        "price_per_hour": None,
        "cpu_requested": room.cpu,
        "memory_requested": room.memory,
        "overfull": room.n_overfull,
        "mix": "",
        "note": note,
    }


def with_price_of_today(row: Row, machines: KnownMachines, options: AdviceOptions) -> Row:
    """Return today's machines with what as large nodes of the table would cost; as they are where one is too large."""
    types = sorted(read_node_types(options.prices), key=lambda kind: (kind.price, kind.name))
    if not (options.cores and options.gib):
        return row
    amounts = machines.capacity[:, :EXTENDED] / UNIT * [options.cores, options.gib]
    offered = np.array([[kind.cores, kind.gib] for kind in types])
    # Capacities are counted in parts of the largest machine, and rounded.
    is_as_large: Flags = np.all(offered[None] >= amounts[:, None] * (1 - 1e-6), axis=2)
    if not np.any(is_as_large, axis=1).all():
        return row
    prices = np.array([kind.price for kind in types])[is_as_large.argmax(axis=1)]
    return {
        **row,
        "price_per_hour": round(float(prices.sum()), 6),
        "note": "; ".join(filter(None, [row["note"], "price of the cheapest types as large"])),
    }


def rows_of_shapes(
    store: Store,
    tables: EngineTables,
    moment: PackedMoment,
    options: AdviceOptions,
    report: Report,
) -> Iterator[Row]:
    """Yield how many machines of today's shapes hold the requests, and what is promised of them."""
    compaction = CompactOptions(
        at=moment.at,
        what_ifs=(LIMITS, "planned"),
        plan=moment.plan,
        seed=options.seed,
        jobs=options.jobs,
    )
    empty: Row = {
        "at": moment.at,
        "tasks": len(moment.tasks),
        "nodes": None,
        "cores": None,
        "gib": None,
        "price_per_hour": None,
        **NOT_TODAY,
        "mix": "",
    }
    names = {LIMITS: "requests", "planned": "policy"}
    try:
        rows = compact(store, tables, compaction, report)
    except UsageError as error:
        # Some tasks of the trace are larger than its machines: that says nothing about the other fleets.
        for name in names.values():
            yield {**empty, "fleet": name, "note": f"{error.what}"}
        return
    nodes_of = {names[row["what_if"]]: whole(row["machines"]) for row in rows}
    notes = {"requests": f"as {COMPACT.name}: {rows[0]['note']}", "policy": moment.plan}
    requested = nodes_of["requests"]
    promised = nodes_of["policy"]
    # Orders are random: where they say otherwise, what holds the requests holds the shares of them, too.
    if requested is not None and (promised is None or promised > requested):
        nodes_of["policy"] = requested
        notes["policy"] += ": as the requests, which hold them"
    for name, nodes in nodes_of.items():
        yield {**empty, "fleet": name, "nodes": nodes, "note": notes[name]}


def whole(nodes: float | None) -> int | None:
    """Return how many whole nodes a mean over orders takes; None where the workload does not fit."""
    return None if nodes is None else int(np.ceil(nodes))


def chart(answer: pa.Table) -> charts.Chart:
    """Draw how many nodes each fleet has."""
    import altair as alt

    rows = [row for row in answer.to_pylist() if row["nodes"] is not None]
    names = ("fleet", "nodes", "cores", "gib", "price_per_hour", "mix")
    return (
        charts.base(rows, title="Nodes that hold the workload", height=24 * len(rows))
        .mark_bar()
        .encode(
            x=alt.X("nodes:Q", title="nodes", axis=alt.Axis(tickMinStep=1, format=",d")),
            y=alt.Y("fleet:N", title=None, sort=None),
            tooltip=charts.tooltips(rows, *names),
        )
    )


NODES = Question(
    name="advice_nodes",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["machine_events", "instance_events"],
    reference=(
        "Verma et al., EuroSys'15 (Large-scale cluster management at Google with Borg), section 5.1"
    ),
)
"""How many nodes it takes."""
