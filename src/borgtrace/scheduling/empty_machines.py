"""How many machines does a scheduler leave empty, and how much of the others can nobody use?

A machine is empty while no task is on it. Shares are means over blocks of an hour (of a day, from a week on), and the
interval is that of the mean difference to best fit over the blocks, widened by how much neighboring blocks are alike.
What is stranded is measured by inflation: at six moments, tasks drawn from those of the trace are placed by best fit
until 100 of them have found no room. What is then free of a resource is stranded.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.incomplete import student_quantile
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    EngineTables,
    Row,
    Scope,
    between,
    charts,
    sql,
)
from borgtrace.scheduling.hours import empty_shares, n_machines
from borgtrace.scheduling.machine_spans import Spans, ends_of, spans_there
from borgtrace.scheduling.machines import CPU, EXTENDED, MEMORY, Demand
from borgtrace.scheduling.packing import pack
from borgtrace.scheduling.policies import POLICIES
from borgtrace.scheduling.replay import ScheduleInput
from borgtrace.scheduling.schedule_question import BEST_FIT, ScheduleQuestion, SimulateOptions
from borgtrace.scheduling.simulate import waits_of
from borgtrace.scheduling.state import ATTEMPT, RAN_ON, STARTED
from borgtrace.schema.time import DAY, HOUR
from borgtrace.store import Store

MOMENTS = 6
"""Moments at which cells are filled."""
REFUSED = 100
"""Drawn tasks that find no room, after which a cell is full."""
MOST_DRAWN = 400_000
LEAST_BLOCKS = 4
"""Of fewer blocks there is no interval."""
MOST_ALIKE = 0.95
"""Correlation of neighboring blocks, at most: of a straight line it would be 1."""
SHARES = "shares"
"""Empty machines by block, in a row that is not finished."""

ANSWER = Answer(
    grain="policy",
    key=[
        Column(
            "policy",
            "string",
            "id",
            "Policy, or recorded: the trace itself. All others are simulated.",
        ),
    ],
    columns=[
        Column("machines", "float64", "count", "Mean number of machines that are there."),
        Column("empty", "float64", "fraction", "Mean share of them without a task."),
        Column(
            "gain",
            "float64",
            "fraction",
            "How much larger that share is than with best-fit; NULL where that is not asked for.",
            nullable=True,
        ),
        Column(
            "gain_low",
            "float64",
            "fraction",
            "Lower end of its 95 % interval; NULL likewise, and of few blocks.",
            nullable=True,
        ),
        Column(
            "gain_high",
            "float64",
            "fraction",
            "Upper end; NULL likewise.",
            nullable=True,
        ),
        Column("blocks", "int64", "count", "Blocks of time of which these are means."),
        Column("block_hours", "float64", "h", "Length of a block."),
        Column(
            "stranded_cpu",
            "float64",
            "fraction",
            "CPU of the cell that is free once it is filled; mean over moments.",
        ),
        Column("stranded_memory", "float64", "fraction", "Memory, likewise."),
        Column(
            "stranded_cpu_change",
            "float64",
            "fraction",
            "Stranded CPU against that of best-fit; NULL where that is not asked for, or has none.",
            nullable=True,
        ),
        Column(
            "stranded_memory_change",
            "float64",
            "fraction",
            "Stranded memory, likewise.",
            nullable=True,
        ),
        Column("starts", "int64", "count", "Submissions that started."),
        Column("waiting_hours", "float64", "h", "Waits of all submissions together."),
    ],
)


def compute(
    trace: ScheduleInput,
    submissions: Index,
    policy: str,
    planned: Index,
    impossible: Index,
) -> list[Row]:
    """Return the row of a policy, with its empty machines by block.

    Parameters
    ----------
    trace, submissions, policy, planned
        As for :func:`borgtrace.scheduling.simulate.compute`.
    impossible
        Not used.
    """
    bounds = bounds_of_blocks(trace.until)
    there = spans_there(trace)
    shares = empty_shares(trace, submissions, bounds)
    stranded = stranded_room(trace, there, submissions, planned)
    waits = waits_of(trace, submissions)
    row = {
        "policy": policy,
        "machines": float(n_machines(there, bounds).mean()),
        "empty": float(shares.mean()),
        "blocks": len(shares),
        "block_hours": float((bounds[1] - bounds[0]) / HOUR),
        "stranded_cpu": float(stranded[CPU]),
        "stranded_memory": float(stranded[MEMORY]),
        "starts": waits["starts"],
        "waiting_hours": waits["waiting_hours"],
        SHARES: shares,
    }
    return [row]


def bounds_of_blocks(until: int) -> Index:
    """Return the bounds of whole blocks of a trace; of one that is shorter than a block, its own."""
    block = DAY if until >= 7 * DAY else HOUR
    if until < block:
        return np.array([0, max(until, 1)])
    return np.arange(0, until + 1, block)


def stranded_room(
    trace: ScheduleInput, there: Spans, submissions: Index, planned: Index
) -> Numbers:
    """Return the shares of CPU and memory that are free once a cell is filled, as means over some moments."""
    ran = submissions[(submissions[:, STARTED] >= 0) & (submissions[:, RAN_ON] >= 0)]
    ended = ends_of(trace, ran)
    shares = []
    for number in range(MOMENTS):
        moment = trace.until * (2 * number + 1) // (2 * MOMENTS)
        is_running = (ran[:, STARTED] <= moment) & (ended > moment)
        is_there = (there.begin <= moment) & (there.end > moment)
        lines = np.unique(there.machine[is_there])
        free = trace.machines.capacity[:, :EXTENDED].copy()
        taken = planned[ran[is_running, ATTEMPT]]
        np.subtract.at(free, ran[is_running, RAN_ON], taken)
        left = left_when_filled(np.maximum(free[lines], 0), planned, number)
        shares.append(left / trace.machines.capacity[lines, :EXTENDED].sum(axis=0))
    return np.asarray(np.mean(shares, axis=0))


def left_when_filled(free: Index, sizes: Index, seed: int) -> Numbers:
    """Return how much of free room is left when no more of the drawn tasks fit.

    Parameters
    ----------
    free
        CPU and memory of each machine, int64 (machines, 2).
    sizes
        What tasks take, of which some are drawn, int64 (n, 2).
    seed
        Of the draws.
    """
    left = free.sum(axis=0).astype(np.float64)
    has_both = (free > 0).all(axis=1)
    mean_size = sizes.mean(axis=0)
    if not has_both.any() or not mean_size.any():
        return left
    # Twice as many as would fill the resource that lasts longer.
    n_drawn = 2 * (left[mean_size > 0] / mean_size[mean_size > 0]).max() + REFUSED
    drawn = np.random.default_rng(seed).integers(len(sizes), size=int(min(n_drawn, MOST_DRAWN)))
    chosen = sizes[drawn]
    nothing = np.zeros(len(chosen), np.int64)
    packing = pack(
        Demand(sizes=chosen, groups=nothing - 1, sets=nothing),
        np.arange(len(chosen)),
        free[has_both],
        np.arange(int(has_both.sum())),
        POLICIES[BEST_FIT],
        most=REFUSED,
    )
    return left - chosen[packing.machines >= 0].sum(axis=0)


class MeanInterval(NamedTuple):
    """A mean and the ends of its 95 % interval, None of too few blocks."""

    mean: float | None
    low: float | None
    high: float | None


NO_GAIN = MeanInterval(None, None, None)


def interval_of(values: Numbers) -> MeanInterval:
    """Return the mean of blocks that follow each other, with an interval.

    Parameters
    ----------
    values
        float64 (blocks,).

    Examples
    --------
    >>> interval_of(np.array([1.0, 3.0, 1.0, 3.0])).mean
    2.0
    """
    n = len(values)
    mean = float(values.mean())
    if n < LEAST_BLOCKS:
        return MeanInterval(mean, None, None)
    deviations = values - mean
    variance = float((deviations**2).sum())
    alike = 0.0
    if variance > 0:
        alike = float((deviations[1:] * deviations[:-1]).sum()) / variance
    # Of blocks that are alike there are as good as fewer; never more.
    alike = min(max(alike, 0.0), MOST_ALIKE)
    error = (variance / (n - 1) / n * (1 + alike) / (1 - alike)) ** 0.5
    half = student_quantile(n - 1.0, 0.975) * error
    return MeanInterval(mean, mean - half, mean + half)


class EmptyMachinesQuestion(ScheduleQuestion):
    """The question of empty machines, whose rows are compared with that of best fit."""

    def rows_of_store(
        self, store: Store, tables: EngineTables, options: SimulateOptions, /
    ) -> list[Row]:
        """Schedule the trace again, and compare; see the base."""
        rows = super().rows_of_store(store, tables, options)
        return compared(rows, set(options.parsed_policies()))


def compared(rows: list[Row], policies: set[str]) -> list[Row]:
    """Return finished rows, those of `policies` compared with best fit; what-ifs have other machines."""
    reference = next((row for row in rows if row["policy"] == BEST_FIT), None)
    return [finished(row, reference if row["policy"] in policies else None) for row in rows]


def finished(row: Row, reference: Row | None) -> Row:
    """Return a row of the answer, compared with that of best fit where there is one."""
    finished_row = {name: value for name, value in row.items() if name != SHARES}
    gain = NO_GAIN
    if reference is not None:
        gain = interval_of(row[SHARES] - reference[SHARES])
    finished_row |= {"gain": gain.mean, "gain_low": gain.low, "gain_high": gain.high}
    for name in ("stranded_cpu", "stranded_memory"):
        change = None
        if reference is not None and reference[name] > 0:
            change = row[name] / reference[name] - 1
        finished_row[f"{name}_change"] = change
    return finished_row


def gains_in_words(answer: pa.Table) -> str:
    """Return how many machines each policy leaves empty, the most first.

    Parameters
    ----------
    answer
        Rows of this question.
    """
    rows = sorted(answer.to_pylist(), key=lambda row: (-row["empty"], row["policy"]))
    parts = []
    for row in rows:
        part = f"{row['policy']} {row['empty']:.2%}"
        if row["gain"] is not None and row["policy"] != BEST_FIT:
            part += f", {100 * row['gain']:+.2f} points against {BEST_FIT}"
            if row["gain_low"] is not None:
                part += f" [{100 * row['gain_low']:.2f} to {100 * row['gain_high']:.2f}]"
        parts.append(part)
    return f"Machines without a task: {'; '.join(parts)}."


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the share of empty machines by policy."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, title="Machines without a task (simulated, beside what was recorded)")
        .mark_bar()
        .encode(
            x=alt.X("empty:Q", title="share of the machines", axis=alt.Axis(format="%")),
            y=alt.Y("policy:N", title=None),
            tooltip=charts.tooltips(
                rows, "empty", "policy", "gain", "stranded_cpu", "stranded_memory"
            ),
        )
    )


OF_VMS = Scope(traces=("Google's virtual machines",), tables=("machine_events", "instance_events"))
"""Published of pools of virtual machines of which there is no public trace: measured, and never judged, on others."""


NEEDS_NILAS = f"needs the policies nilas and {BEST_FIT}"

CLAIMS = [
    Claim(
        "NILAS-empty",
        statement="NILAS left 2.3 to 9.2 points more hosts empty in production (pools of virtual machines)",
        source="Ling et al., MLSys 2025 (arXiv 2412.09840), abstract",
        scope=OF_VMS,
        measure=sql(
            "select gain from answer where policy in ('nilas', 'nilas:lifetimes=learned')",
            otherwise=NEEDS_NILAS,
        ),
        criterion=between(0.023, 0.092, "2.3 to 9.2 points"),
    ),
    Claim(
        "NILAS-stranded-cpu",
        statement="lifetime-aware scheduling decreased stranded CPU by about 3 % (pools of virtual machines)",
        source="Ling et al., MLSys 2025 (arXiv 2412.09840), abstract",
        scope=OF_VMS,
        measure=sql(
            "select stranded_cpu_change from answer where policy in ('nilas', 'nilas:lifetimes=learned')",
            otherwise=NEEDS_NILAS,
        ),
        criterion=between(-0.035, -0.025, "about −3 %"),
    ),
    Claim(
        "NILAS-stranded-memory",
        statement="lifetime-aware scheduling decreased stranded memory by about 2 % (pools of virtual machines)",
        source="Ling et al., MLSys 2025 (arXiv 2412.09840), abstract",
        scope=OF_VMS,
        measure=sql(
            "select stranded_memory_change from answer where policy in ('nilas', 'nilas:lifetimes=learned')",
            otherwise=NEEDS_NILAS,
        ),
        criterion=between(-0.025, -0.015, "about −2 %"),
    ),
]

EMPTY_MACHINES = EmptyMachinesQuestion(
    name="simulation_empty",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    sentence=gains_in_words,
    reference="Ling et al., MLSys 2025 (LAVA), arXiv 2412.09840",
)
"""The question: ``EMPTY_MACHINES.run(store, policies=("best-fit", "nilas"))``."""
