"""Is the target met in real time?

Beyond Janus & Rzadca (SoCC'17), who judge by independent draws: tasks that ran through the same hours are placed from
their empirical distributions, then their real windows are replayed. *draws*: independent draws, as in the paper;
*shuffled*: the real windows of the hours, each task's in a random order of their own; *raw*: the real windows as they
were. The step from draws to shuffled is the cost of drift, the step from shuffled to raw the cost of tasks that peak
together.
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiments.shared.answers import Row, replayed
from borgtrace.colocation.experiments.shared.scopes import OWN
from borgtrace.colocation.packing.quality import least_machines
from borgtrace.colocation.tasks.simultaneous import longest_busy_span, series, shuffled
from borgtrace.kernels.arrays import Values
from borgtrace.placement import Average, Convolution, Estimator, Gpa, Observation, Percentile, pack
from borgtrace.question import Answer, Claim, Column, at_most, between, charts, query_answer, sql

ANSWER = Answer(
    grain="estimator, kind of evaluation and instance",
    key=[
        Column("estimator", "string", "id", "Estimator and parameter."),
        Column("judged_on", "string", "id", "Kind of evaluation: draws, shuffled or raw."),
        Column("instance", "int64", "id", "Number of the instance."),
    ],
    columns=[
        Column(
            "target",
            "float64",
            "fraction",
            "Promised overflow, if the estimator promises one.",
            nullable=True,
        ),
        Column("n_tasks", "int64", "count", "Tasks of the instance."),
        Column("hours", "float64", "h", "Length of the replay."),
        Column("m_abs", "int64", "count", "Machines in use."),
        Column("m", "float64", "1", "Machines over the lower bound."),
        Column("overflows", "int64", "count", "Pairs of machine and moment that overflow."),
        Column("trials", "int64", "count", "Pairs of machine and moment."),
    ],
)


def ways() -> list[Estimator]:
    """The estimators compared."""
    return [
        Gpa(0.1),
        Gpa(0.01),
        Gpa(0.001),
        Convolution(0.001),
        Average(1.25),
        Percentile(90),
    ]


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Place tasks that ran at the same time, and replay them."""
    pool = study.pool(options)
    span = longest_busy_span(pool, options.hours, options.size)
    real = series(pool, span)
    rows: list[Row] = []
    for k in range(options.instances):
        order = np.random.default_rng([options.seed, k]).permutation(len(span.tasks))[
            : options.size
        ]
        # From all windows of a task, not from the hours replayed alone, as the paper's estimators see it.
        drawn = pool.draw(span.tasks[order], options.realizations, options.seed)
        judged = {
            "draws": drawn,
            "shuffled": shuffled(real[order], options.seed + k),
            "raw": real[order],
        }
        common = {
            "instance": k,
            "n_tasks": len(drawn),
            "hours": span.slots / 12,
        }
        rows += [row | common for row in _rows(judged)]
    return rows


def _rows(judged: dict[str, Values]) -> list[Row]:
    """Pack by the draws; judge by each kind of evaluation."""
    seen = Observation(judged["draws"])
    tried = ways()
    packings = [pack(estimator, seen) for estimator in tried]
    rows = []
    for k, row in replayed(packings, judged):
        target = tried[k].parameter if tried[k].targets else None
        m = row["m_abs"] / least_machines(seen.mean, placed=packings[k])
        rows.append(
            {
                "estimator": tried[k].label,
                "target": target,
                "m": m,
                **row,
            }
        )
    return rows


_OPTIONS = ("tasks", "realizations", "instances", "size", "hours", "seed")


def chart(answer: pa.Table) -> charts.Chart:
    """Draw: promise and replay."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select estimator, judged_on, greatest(sum(overflows) / sum(trials), 1e-6) as q
        from answer
        group by all
        order by all
        """,
    )
    tick_rows = query_answer(
        answer,
        """
        select distinct estimator, target as q
        from answer
        where target is not null
        order by estimator
        """,
    )
    base = charts.base(rows, width=460, height=None).encode(
        x=alt.X("q:Q", title="overflow probability (tick: promised)", **charts.probability_scale()),
        y=alt.Y("estimator:N", title=None),
    )
    ticks = (
        charts.base(tick_rows, width=460, height=None)
        .encode(
            x=alt.X(
                "q:Q", title="overflow probability (tick: promised)", **charts.probability_scale()
            ),
            y=alt.Y("estimator:N", title=None),
        )
        .mark_tick(thickness=2, color="black")
        .encode(
            tooltip=charts.tooltips(tick_rows),
        )
    )
    points = base.mark_point(filled=True, size=70).encode(
        color=alt.Color("judged_on:N", title="judged on"),
        tooltip=charts.tooltips(rows),
    )
    return alt.layer(ticks, points).properties(title="Promise and replay")


CLAIMS = [
    Claim(
        "replay-drift",
        statement=(
            "independent draws predict the overflow of real windows (shuffled ÷ draws, gpa .01)"
        ),
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
        select measured / nullif(beside, 0),
            if(measured + beside is null, 'not among the ways of packing that were run',
                'no overflow to compare with')
        from (
            select any_value(q) filter (judged_on = 'shuffled') as measured,
                any_value(q) filter (judged_on = 'draws') as beside
            from (select judged_on, sum(overflows) / nullif(sum(trials), 0)
                as q from answer where estimator = 'gpa 0.01' group by judged_on)
        )
        """,
        ),
        criterion=between(0.67, 1.5, published="≈ 1"),
    ),
    Claim(
        "replay-together",
        statement="tasks can be treated as independent (raw ÷ shuffled, gpa .01)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
        select measured / nullif(beside, 0),
            if(measured + beside is null, 'not among the ways of packing that were run',
                'no overflow to compare with')
        from (
            select any_value(q) filter (judged_on = 'raw') as measured,
                any_value(q) filter (judged_on = 'shuffled') as beside
            from (select judged_on, sum(overflows) / nullif(sum(trials), 0)
                as q from answer where estimator = 'gpa 0.01' group by judged_on)
        )
        """,
        ),
        criterion=between(0.67, 1.5, published="≈ 1"),
    ),
    Claim(
        "replay-promise",
        statement="convolution keeps ρ = .001 in real time (q ÷ ρ)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
        select sum(overflows) / nullif(sum(trials), 0) / 0.001
        from answer
        where estimator = 'convolution 0.001' and judged_on = 'raw'
        """,
            otherwise="not among the ways of packing that were run",
        ),
        criterion=at_most(1),
    ),
]

QUESTION = Experiment(
    name="packing_replay",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=_OPTIONS,
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
)
