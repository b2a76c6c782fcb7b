"""Can each class of service have a promise of its own on shared machines?

Beyond Janus & Rzadca (SoCC'17): each tier is promised a share of the time without overflow (``--slo
production=0.999,free=0.95``), and the tiers share machines. Stricter classes have precedence, so a class suffers only
when it and all stricter ones together exceed the machine. The packing learns from the earlier hours, and is judged on
the later ones as they were. A tenth of the tasks have no past: they get the moments of their user and logical name, or
else of their user, their job, or all tasks, with the variance between tasks added. Four ways are compared: the paper's
GPA at the strictest promise, separate machines for each class, all classes on shared machines, and the last with
moments by the hour of the day (from two days on).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiments.shared.answers import Row, grouped, rows_where
from borgtrace.colocation.experiments.shared.scopes import OWN
from borgtrace.colocation.packing.quality import least_machines, overflow_counts
from borgtrace.colocation.packing.service_classes import ServiceClasses, with_priors
from borgtrace.colocation.tasks.simultaneous import longest_busy_span, series
from borgtrace.colocation.tasks.streams import PROMISES
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.placement import Observation, Packing, pack
from borgtrace.placement.estimators.promises import Promises
from borgtrace.question import Answer, Claim, Column, at_most, below, charts, query_answer, sql

ANSWER = Answer(
    grain="way of packing, tier and instance",
    key=[
        Column("way", "string", "id", "Way of packing."),
        Column(
            "tier",
            "string",
            "id",
            "Class of service; it suffers when it and all stricter ones exceed the machine.",
        ),
        Column("instance", "int64", "id", "Number of the instance."),
    ],
    columns=[
        Column("target", "float64", "1", "Share of the time in which it may overflow."),
        Column(
            "q",
            "float64",
            "fraction",
            ("Share of (machine with such tasks, later slot) in which they exceed the machine."),
        ),
        Column("m_abs", "int64", "count", "Machines in use."),
        Column(
            "lower_bound",
            "int64",
            "count",
            "Machines that the mean usage of the placed tasks fills in the later hours.",
        ),
        Column("n_of_tier", "int64", "count", "Tasks of the class."),
        Column("n_tasks", "int64", "count", "Tasks."),
        Column("n_unseen", "int64", "count", "Of these, tasks packed without a past of their own."),
        Column("n_unplaceable", "int64", "count", "Tasks that fit no machine alone."),
        Column("hours", "float64", "h", "Length of the later hours."),
        Column("classes", "string", "id", "Where the classes come from."),
    ],
)


WAYS = ("gpa, the strictest for all", "separate machines", "classes", "classes by hour")
UNSEEN = 0.1
"""Share of the tasks that are packed by what others like them do."""
SLOTS_PER_HOUR = 12
SLOTS_PER_DAY = 24 * SLOTS_PER_HOUR


class HourlyMoments(NamedTuple):
    """Mean and variance of each task in each hour of the day that occurs: float64 (n, hours) each."""

    mean: Numbers
    variance: Numbers


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Pack by the earlier hours in each way, and judge each class on the later ones."""
    pool = study.pool(options)
    classes = ServiceClasses.of(pool, options.promises, options.seed)
    span = longest_busy_span(pool, options.hours, options.size)
    values = series(pool, span)
    # Whole days are learned where there are two: each hour of the day then has as many slots.
    n_days = span.slots // SLOTS_PER_DAY
    n_learned = (n_days - 1) * SLOTS_PER_DAY if n_days > 1 else span.slots // 2
    hour_of_slot = (span.first + np.arange(n_learned)) // SLOTS_PER_HOUR % 24
    # All slots as one, and from two days on by the hour of the day.
    partitions = [np.zeros_like(hour_of_slot)]
    if n_days > 1:
        partitions.append(hour_of_slot)

    rows: list[Row] = []
    for number in range(options.instances):
        rng = np.random.default_rng([options.seed, number, PROMISES])
        chosen = rng.permutation(len(span.tasks))[: options.size]
        tasks = span.tasks[chosen]
        seen = values[chosen, :n_learned]
        later = values[chosen, n_learned:]
        is_unseen = rng.random(len(chosen)) < UNSEEN
        is_unseen[0] = False
        kin = [codes[tasks] for codes in (*pool.kin, pool.job)]
        moments = []
        for partition in partitions:
            mean, variance = moments_by_hour(seen, partition)
            moments.append(HourlyMoments(*with_priors(mean, variance, is_unseen, *kin)))
        classes_of_tasks = replace(classes, rank=classes.rank[tasks])
        packings = pack_in_each_way(moments, classes_of_tasks, Observation(seen))
        for way, packing in zip(WAYS, packings, strict=False):
            for row in judge_classes(packing, later, classes_of_tasks):
                row |= {
                    "way": way,
                    "instance": number,
                    "n_unseen": int(is_unseen.sum()),
                    "hours": later.shape[1] / SLOTS_PER_HOUR,
                    "n_tasks": len(tasks),
                    "classes": classes.origin,
                }
                rows.append(row)
    return rows


def moments_by_hour(values: Values, hours: Index) -> HourlyMoments:
    """Return the mean and the variance of each task in each of the hours that occur.

    Parameters
    ----------
    values
        float32 (n, slots): usage of each task.
    hours
        int64 (slots,): hour of the day of each slot.
    """
    means = []
    variances = []
    for hour in np.unique(hours):
        of_hour = values[:, hours == hour].astype(np.float64)
        means.append(of_hour.mean(axis=1))
        variances.append(of_hour.var(axis=1))
    return HourlyMoments(np.stack(means, axis=1), np.stack(variances, axis=1))


def pack_in_each_way(
    moments: Sequence[HourlyMoments],
    classes: ServiceClasses,
    seen: Observation,
) -> Iterator[Packing]:
    """Pack in each of the :data:`WAYS`; without moments by hour there is no last one.

    Parameters
    ----------
    moments
        Of the whole day, and maybe by hour.
    classes
        Promises, and the class of each task.
    seen
        Earlier usage.
    """
    of_day = moments[0]
    strictest = classes.targets[-1]
    one_class = np.zeros_like(classes.rank)
    gpa = Promises(strictest, (strictest,), *of_day, one_class)
    yield pack(gpa, seen)
    yield pack_separately(of_day, classes, seen)
    for parts in moments:
        yield pack(Promises(strictest, classes.targets, *parts, classes.rank), seen)


def pack_separately(
    moments: HourlyMoments,
    classes: ServiceClasses,
    seen: Observation,
) -> Packing:
    """Pack each class on machines of its own.

    Parameters
    ----------
    moments
        Of the whole day.
    classes
        Promises, and the class of each task.
    seen
        Earlier usage.
    """
    bins = np.empty_like(classes.rank)
    rows = [np.empty((0, 1))]
    n_machines = 0
    for rank, target in enumerate(classes.targets):
        is_member = classes.rank == rank
        if not is_member.any():
            continue
        test = Promises(
            target,
            (target,),
            moments.mean[is_member],
            moments.variance[is_member],
            np.zeros(int(is_member.sum()), np.int64),
        )
        packing = pack(test, Observation(seen.values[is_member]))
        # Each class is numbered after the machines of those before.
        bins[is_member] = np.where(packing.bins >= 0, packing.bins + n_machines, -1)
        rows.append(packing.rows)
        n_machines += len(packing.rows)
    return Packing(bins, np.concatenate(rows), np.arange(n_machines))


def judge_classes(packing: Packing, later: Values, classes: ServiceClasses) -> list[Row]:
    """Judge each class on later usage: with the stricter classes, how often does it exceed its machines?

    Parameters
    ----------
    packing
        Where the tasks are.
    later
        float32 (n, slots): later usage.
    classes
        Promises, and the class of each task.
    """
    lower_bound = least_machines(later.mean(axis=1, dtype=np.float64), placed=packing)
    rows: list[Row] = []
    for rank, (tier, target) in enumerate(zip(classes.names, classes.targets, strict=True)):
        counts_for_class = classes.rank >= rank
        # Laxer classes throttled to nothing: what is left is whether this one and the stricter ones exceed the machine.
        usage = np.where(counts_for_class[:, None], later, np.float32(0))
        n_overflows = overflow_counts(usage, [packing])[0]
        # Machines without the class cannot fail it, and would make its share look better.
        is_placed = packing.bins >= 0
        n_used = len(np.unique(packing.bins[counts_for_class & is_placed]))
        n_trials = max(1, n_used) * later.shape[1]
        rows.append(
            {
                "tier": tier,
                "target": target,
                "q": float(n_overflows / n_trials),
                "m_abs": packing.n_bins,
                "lower_bound": lower_bound,
                "n_of_tier": int((classes.rank == rank).sum()),
                "n_unplaceable": len(packing.unplaceable),
            }
        )
    return rows


def answer_in_words(result: pa.Table) -> str:
    """Say what was kept, and what would keep more.

    Parameters
    ----------
    result
        The answer.
    """
    rows = result.to_pylist()
    by_hour = WAYS[3]
    has_hours = any(row["way"] == by_hour for row in rows)
    way = by_hour if has_hours else WAYS[2]
    parts = []
    for tier, rows_of_tier in grouped(rows_where(rows, way=way), "tier", "target"):
        q = np.mean([row["q"] for row in rows_of_tier])
        promised = 1 - tier["target"]
        parts.append(f"{tier['tier']} {1 - q:.5g} of the time ({promised:.5g} promised)")
    hours = rows[0]["hours"]
    text = (
        f"Packed as {way}, and judged on {hours:g} later hours: {', '.join(parts)}. "
        "No interval: all instances share these hours, so that of others nothing is known."
    )
    if not has_hours:
        text += (
            " Moments by the hour of the day need tasks that run for two days, "
            f"these run for {2 * hours:g} h."
        )
    return text


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the overflow of each class beside its promise, by way of packing."""
    import altair as alt

    rows = query_answer(answer, "select *, greatest(q, 1e-6) as shown from answer")
    x_title = "overflow probability (tick: promised)"
    base = charts.base(rows, height=None).encode(
        x=alt.X("shown:Q", title=x_title, **charts.probability_scale()),
        y=alt.Y("way:N", title=None, sort=list(WAYS)),
        color=charts.tier_color(rows),
    )
    ticks = base.mark_tick(thickness=2).encode(
        x=alt.X("target:Q", title="share of the time in which it may overflow"),
        tooltip=charts.tooltips(rows, "target", "way", "tier"),
    )
    points = base.mark_point(filled=True, size=60).encode(tooltip=charts.tooltips(rows))
    return alt.layer(ticks, points).properties(title="A promise for each class")


CLAIMS = [
    Claim(
        "promises-kept",
        statement=(
            "classes by hour exceed the promise of no class by over 10 % on later hours (largest mean q ÷ ρ)"
        ),
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
            select max(q / target)
            from (
                select target, avg(q) as q
                from answer
                where way = 'classes by hour'
                group by tier, target
            )
            """,
            otherwise="the tasks run for less than two days",
        ),
        criterion=at_most(1.1),
    ),
    Claim(
        "promises-machines",
        statement="classes need fewer machines than the strictest promise for all (ratio)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
            select
                avg(m_abs) filter (way = 'classes')
                / avg(m_abs) filter (way = 'gpa, the strictest for all')
            from answer
            """,
            otherwise="not among the ways of packing that were run",
        ),
        criterion=below(1),
    ),
    Claim(
        "promises-mixing",
        statement="classes need no more machines than separate ones (ratio)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
            select
                avg(m_abs) filter (way = 'classes')
                / avg(m_abs) filter (way = 'separate machines')
            from answer
            """,
            otherwise="not among the ways of packing that were run",
        ),
        criterion=at_most(1),
    ),
]

QUESTION = Experiment(
    name="packing_promises",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=["tasks", "instances", "size", "hours", "promises", "seed"],
    defaults={"hours": 72},
    sentence=answer_in_words,
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
)
