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


SLOTS_PER_HOUR = 12


def ways() -> list[Estimator]:
    """Return the estimators compared."""
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
    real_usage = series(pool, span)
    rows: list[Row] = []
    for number in range(options.instances):
        rng = np.random.default_rng([options.seed, number])
        chosen = rng.permutation(len(span.tasks))[: options.size]
        real = real_usage[chosen]
        judged = {
            # From all windows of a task, not from the hours replayed alone, as the paper's estimators see it.
            "draws": pool.draw(span.tasks[chosen], options.realizations, options.seed),
            "shuffled": shuffled(real, options.seed + number),
            "raw": real,
        }
        for row in judge_ways(judged):
            row |= {
                "instance": number,
                "n_tasks": len(chosen),
                "hours": span.slots / SLOTS_PER_HOUR,
            }
            rows.append(row)
    return rows


def judge_ways(judged: dict[str, Values]) -> list[Row]:
    """Pack by the draws; judge by each kind of usage.

    Parameters
    ----------
    judged
        Usage by kind, with ``draws``: float32 (n, T) each.
    """
    seen = Observation(judged["draws"])
    estimators = ways()
    packings = [pack(estimator, seen) for estimator in estimators]
    rows = []
    for replay in replayed(packings, judged):
        estimator = estimators[replay.packing]
        lower_bound = least_machines(seen.mean, placed=packings[replay.packing])
        rows.append(
            {
                "estimator": estimator.label,
                "target": estimator.parameter if estimator.targets else None,
                "m": replay.row["m_abs"] / lower_bound,
                **replay.row,
            }
        )
    return rows


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the overflow of each estimator by kind of evaluation, beside what it promises."""
    import altair as alt

    measured = query_answer(
        answer,
        """
        select estimator, judged_on, greatest(sum(overflows) / sum(trials), 1e-6) as q
        from answer
        group by all
        order by all
        """,
    )
    promised = query_answer(
        answer,
        """
        select distinct estimator, target as q
        from answer
        where target is not null
        order by estimator
        """,
    )
    title = "overflow probability (tick: promised)"
    x = alt.X("q:Q", title=title, **charts.probability_scale())
    y = alt.Y("estimator:N", title=None)
    ticks = (
        charts.base(promised, width=460, height=None)
        .mark_tick(thickness=2, color="black")
        .encode(x=x, y=y, tooltip=charts.tooltips(promised))
    )
    points = (
        charts.base(measured, width=460, height=None)
        .mark_point(filled=True, size=70)
        .encode(
            x=x,
            y=y,
            color=alt.Color("judged_on:N", title="judged on"),
            tooltip=charts.tooltips(measured),
        )
    )
    return alt.layer(ticks, points).properties(title="Promise and replay")


CLAIMS = [
    Claim(
        "replay-drift",
        statement=(
            "independent draws predict the overflow of real windows to a factor of 1.5 (shuffled ÷ draws, gpa .01)"
        ),
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
            select
                measured / nullif(beside, 0),
                if(
                    measured + beside is null,
                    'not among the ways of packing that were run',
                    'no overflow to compare with'
                )
            from (
                select
                    any_value(q) filter (judged_on = 'shuffled') as measured,
                    any_value(q) filter (judged_on = 'draws') as beside
                from (
                    select judged_on, sum(overflows) / nullif(sum(trials), 0) as q
                    from answer
                    where estimator = 'gpa 0.01'
                    group by judged_on
                )
            )
            """,
        ),
        criterion=between(0.67, 1.5, published="≈ 1"),
    ),
    Claim(
        "replay-together",
        statement="treating tasks as independent is right to a factor of 1.5 (raw ÷ shuffled, gpa .01)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
            select
                measured / nullif(beside, 0),
                if(
                    measured + beside is null,
                    'not among the ways of packing that were run',
                    'no overflow to compare with'
                )
            from (
                select
                    any_value(q) filter (judged_on = 'raw') as measured,
                    any_value(q) filter (judged_on = 'shuffled') as beside
                from (
                    select judged_on, sum(overflows) / nullif(sum(trials), 0) as q
                    from answer
                    where estimator = 'gpa 0.01'
                    group by judged_on
                )
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
    options=["tasks", "realizations", "instances", "size", "hours", "seed"],
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
)
