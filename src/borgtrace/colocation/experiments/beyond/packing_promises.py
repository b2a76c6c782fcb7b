"""Can each class of service have a promise of its own on shared machines?

Beyond Janus & Rzadca (SoCC'17): tiers are promised shares of the time without overflow (``--slo
production=0.999,free=0.95``), and share machines. Classes have precedence by their promises, so one suffers when it and
all stricter ones together exceed the machine. Learned from the earlier hours, judged on the later ones as they were. A
tenth of the tasks have no past: their moments are those of their user and logical name, else their user, their job, or
of all, with the variance between tasks added. Compared: the paper's GPA at the strictest promise, separate machines for
each class, all on shared ones, and these with moments by the hour of the day (from two days on).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiments.shared.answers import Row, grouped, rows_where
from borgtrace.colocation.experiments.shared.scopes import OWN
from borgtrace.colocation.packing.quality import least_machines, overflow_counts
from borgtrace.colocation.packing.service_classes import ServiceClasses, with_priors
from borgtrace.colocation.tasks.simultaneous import longest_busy_span, series
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
_HOUR = 12
_DAY = 24 * _HOUR
"""Slots."""


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Pack by the earlier hours in each way, and judge each class on the later ones."""
    pool = study.pool(options)
    classes = ServiceClasses.of(pool, options.promises, options.seed)
    span = longest_busy_span(pool, options.hours, options.size)
    # Whole days are learned where there are two: each hour of the day then has as many slots.
    days = span.slots // _DAY
    learned = (days - 1) * _DAY if days > 1 else span.slots // 2
    values = series(pool, span)
    rows = []
    of_day = (span.first + np.arange(learned)) // _HOUR % 24
    kin = (*pool.kin, pool.job)
    for number in range(options.instances):
        rng = np.random.default_rng([options.seed, number, 11])
        chosen = rng.permutation(len(span.tasks))[: options.size]
        tasks = span.tasks[chosen]
        seen = values[chosen, :learned]
        later = values[chosen, learned:]
        unseen = rng.random(len(chosen)) < UNSEEN
        unseen[0] = False
        cuts = (np.zeros_like(of_day), of_day)[: max(1, days)]
        moments = [
            with_priors(*_moments(seen, cut), unseen, *(codes[tasks] for codes in kin))
            for cut in cuts
        ]
        own = replace(classes, rank=classes.rank[tasks])
        common = {
            "instance": number,
            "n_unseen": int(unseen.sum()),
            "hours": later.shape[1] / _HOUR,
        }
        common |= {"n_tasks": len(tasks), "classes": classes.origin}
        for way, packing in zip(WAYS, _packings(moments, own, Observation(seen)), strict=False):
            rows += [row | common | {"way": way} for row in _judged(packing, later, own)]
    return rows


def _moments(values: Values, hours: Index) -> tuple[Numbers, Numbers]:
    """Return the mean and the variance of each task in each of the hours that occur, float64 (n, hours) each."""
    parts = [values[:, hours == hour].astype(np.float64) for hour in np.unique(hours)]
    return np.stack([part.mean(axis=1) for part in parts], 1), np.stack(
        [part.var(axis=1) for part in parts], 1
    )


def _packings(
    moments: list[tuple[Numbers, Numbers]], classes: ServiceClasses, seen: Observation
) -> Iterator[Packing]:
    """Pack in each of the ways; without moments by hour there is no last one."""
    strictest = classes.targets[-1]
    (mean, variance) = moments[0]
    alone = np.zeros_like(classes.rank)
    yield pack(Promises(strictest, (strictest,), mean, variance, alone), seen)
    bins = np.empty_like(classes.rank)
    rows = [np.empty((0, 1))]
    machines = 0
    for place, target in enumerate(classes.targets):
        of = classes.rank == place
        if of.any():
            one = pack(
                Promises(target, (target,), mean[of], variance[of], alone[of]),
                Observation(seen.values[of]),
            )
            # Each class is numbered after the machines of those before.
            bins[of] = np.where(one.bins >= 0, one.bins + machines, -1)
            rows.append(one.rows)
            machines += len(one.rows)
    yield Packing(bins, np.concatenate(rows), np.arange(machines))
    for cut in moments:
        yield pack(Promises(strictest, classes.targets, *cut, classes.rank), seen)


def _judged(packing: Packing, later: Values, classes: ServiceClasses) -> list[Row]:
    bound = least_machines(later.mean(axis=1, dtype=np.float64), placed=packing)
    rows = []
    for place, (name, target) in enumerate(zip(classes.names, classes.targets, strict=True)):
        is_in = classes.rank >= place
        # Laxer classes throttled to nothing: what is left is whether this one and the stricter ones exceed the machine.
        counts = overflow_counts(np.where(is_in[:, None], later, np.float32(0)), [packing])
        # Machines without the class cannot fail it, and would make its share look better.
        used = len(np.unique(packing.bins[is_in & (packing.bins >= 0)]))
        q = float(counts[0] / (max(1, used) * later.shape[1]))
        numbers = {
            "tier": name,
            "target": target,
            "q": q,
            "m_abs": packing.n_bins,
            "lower_bound": bound,
        }
        n = int((classes.rank == place).sum())
        rows.append(numbers | {"n_of_tier": n, "n_unplaceable": len(packing.unplaceable)})
    return rows


def answer(result: pa.Table) -> str:
    """Say what was kept, and what would keep more."""
    found = result.to_pylist()
    way = WAYS[3] if any(row["way"] == WAYS[3] for row in found) else WAYS[2]
    kept = [
        f"{kind['tier']} {1 - np.mean([row['q'] for row in rows]):.5g} of the time ({1 - kind['target']:.5g} promised)"
        for kind, rows in grouped(rows_where(found, way=way), "tier", "target")
    ]
    hours = found[0]["hours"]
    told = f"Packed as {way}, and judged on {hours:g} later hours: {', '.join(kept)}."
    if way == WAYS[3]:
        return told
    return f"{told} Moments by the hour of the day need tasks that run for two days, these run for {2 * hours:g} h."


_OPTIONS = ("tasks", "instances", "size", "hours", "promises", "seed")


def chart(answer: pa.Table) -> charts.Chart:
    """Draw: A promise for each class."""
    import altair as alt

    rows = query_answer(answer, "select *, greatest(q, 1e-6) as shown from answer")
    base = charts.base(rows, height=None).encode(
        x=alt.X(
            "shown:Q", title="overflow probability (tick: promised)", **charts.probability_scale()
        ),
        y=alt.Y(
            "way:N",
            title=None,
            sort=["gpa, the strictest for all", "separate machines", "classes", "classes by hour"],
        ),
        color=charts.tier_color(rows),
    )
    ticks = base.mark_tick(thickness=2).encode(
        x=alt.X("target:Q", title="share of the time in which it may overflow"),
        tooltip=charts.tooltips(rows, "target", "way", "tier"),
    )
    points = base.mark_point(filled=True, size=60).encode(
        tooltip=charts.tooltips(rows),
    )
    return alt.layer(ticks, points).properties(title="A promise for each class")


CLAIMS = [
    Claim(
        "promises-kept",
        statement=(
            "classes by hour keep the promise of each class on later hours (largest mean q ÷ ρ)"
        ),
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
        select max(q / target)
        from (select target, avg(q)
            as q from answer where way = 'classes by hour' group by tier, target)
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
        select avg(m_abs) filter (way = 'classes') / avg(m_abs) filter (way =
            'gpa, the strictest for all')
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
        select avg(m_abs) filter (way = 'classes') / avg(m_abs) filter (way =
            'separate machines')
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
    options=_OPTIONS,
    defaults={"hours": 72},
    sentence=answer,
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
)
