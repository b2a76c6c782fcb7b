"""What helps against tasks that peak together?

Beyond Janus & Rzadca (SoCC'17): GPA, which treats tasks as independent, against GPA with measured covariances, against
keeping tasks of one job on different machines, and both. Everything is learned on the first half of the busiest hours
and judged on the second half: as it was (*raw*), and with the windows of each task in a random order of their own
(*shuffled*).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiments.shared.answers import Row, replayed
from borgtrace.colocation.experiments.shared.scopes import OWN
from borgtrace.colocation.tasks.simultaneous import longest_busy_span, series, shuffled
from borgtrace.kernels.arrays import Index, Values
from borgtrace.placement import CovarianceGpa, Estimator, Gpa, Observation, pack
from borgtrace.question import Answer, Claim, Column, below, between, charts, query_answer, sql

ANSWER = Answer(
    grain="way of packing, kind of evaluation and instance",
    key=[
        Column("estimator", "string", "id", "Which test: gpa or gpa-covariance."),
        Column("target", "float64", "fraction", "Promised overflow."),
        Column("is_apart", "bool", "1", "Whether tasks of one job are kept on different machines."),
        Column("judged_on", "string", "id", "Kind of evaluation: raw or shuffled."),
        Column("instance", "int64", "id", "Number of the instance."),
    ],
    columns=[
        Column("n_tasks", "int64", "count", "Tasks of the instance."),
        Column("hours", "float64", "h", "Length of the half that judges."),
        Column("m_abs", "int64", "count", "Machines in use."),
        Column("overflows", "int64", "count", "Pairs of machine and moment that overflow."),
        Column("trials", "int64", "count", "Pairs of machine and moment."),
    ],
)


TARGETS = (0.05, 0.01)
SLOTS_PER_HOUR = 12


class JobsApartWay(NamedTuple):
    """An estimator, and whether tasks of one job are kept on different machines."""

    estimator: Estimator
    is_apart: bool


WAYS = [
    JobsApartWay(kind(target), is_apart)
    for kind in (Gpa, CovarianceGpa)
    for target in TARGETS
    for is_apart in (False, True)
]


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Learn on the first half of the busiest hours, judge on the second."""
    pool = study.pool(options)
    span = longest_busy_span(pool, options.hours, options.size)
    half = span.slots // 2
    inst = series(pool, span)
    avg = series(pool, span, "avg")
    rows: list[Row] = []
    for number in range(options.instances):
        # A generator per instance, as in `Instances`: the first instances of a longer run are those of a shorter one.
        rng = np.random.default_rng([options.seed, number])
        chosen = rng.permutation(len(span.tasks))[: options.size]
        # Variances from single seconds, covariances from window averages: what tasks share is slow.
        values = np.ascontiguousarray(inst[chosen, :half])
        seen = Observation(values, series=avg[chosen, :half])
        later = np.ascontiguousarray(inst[chosen, half:])
        # The same values for both, so that the difference is what happens at the same time, and nothing else.
        judged = {"raw": later, "shuffled": shuffled(later, options.seed + number)}
        # Dense within the instance: groups index an array of the packing kernel.
        job_ids = pool.job[span.tasks[chosen]]
        jobs = np.unique(job_ids, return_inverse=True)[1].astype(np.int64)
        for row in judge_ways(seen, jobs, judged):
            row |= {
                "instance": number,
                "n_tasks": len(later),
                "hours": later.shape[1] / SLOTS_PER_HOUR,
            }
            rows.append(row)
    return rows


def judge_ways(seen: Observation, jobs: Index, judged: Mapping[str, Values]) -> list[Row]:
    """Pack one instance in each way, and judge it by each kind of usage.

    Parameters
    ----------
    seen
        What is learned from.
    jobs
        int64 (n,): dense code of each task's job.
    judged
        Usage of the later half by kind.
    """
    packings = [pack(way.estimator, seen, groups=jobs if way.is_apart else None) for way in WAYS]
    rows = []
    for replay in replayed(packings, judged):
        way = WAYS[replay.packing]
        rows.append(
            {
                "estimator": way.estimator.name,
                "target": way.estimator.parameter,
                "is_apart": way.is_apart,
                **replay.row,
            }
        )
    return rows


def chart(answer: pa.Table) -> charts.Chart:
    """Draw machines against overflow, by way of packing and kind of evaluation."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select
            estimator,
            target,
            is_apart,
            judged_on,
            if(is_apart, estimator || ', jobs apart', estimator) as way,
            avg(m_abs) as m,
            greatest(sum(overflows) / sum(trials), 1e-6) as q
        from answer
        group by all
        order by all
        """,
    )
    return (
        charts.base(rows, title="Tasks that peak together", width=460, height=300)
        .mark_point(filled=True, size=70)
        .encode(
            x=alt.X("m:Q", title="machines", scale=alt.Scale(zero=False)),
            y=alt.Y("q:Q", title="overflow probability (q)", **charts.probability_scale()),
            color=alt.Color("way:N", title="way"),
            shape=alt.Shape("judged_on:N", title="judged on"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "correlated-independence",
        statement="independence is right to a factor of 1.5 on the raw series (raw ÷ shuffled, gpa .01)",
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
                    where estimator = 'gpa' and target = 0.01 and not is_apart
                    group by judged_on
                )
            )
            """,
        ),
        criterion=between(0.67, 1.5, published="≈ 1"),
    ),
    Claim(
        "correlated-apart",
        statement="keeping jobs apart lowers the overflow (with ÷ without, gpa .01)",
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
                    any_value(q) filter (is_apart) as measured,
                    any_value(q) filter (not is_apart) as beside
                from (
                    select is_apart, sum(overflows) / nullif(sum(trials), 0) as q
                    from answer
                    where estimator = 'gpa' and target = 0.01 and judged_on = 'raw'
                    group by is_apart
                )
            )
            """,
        ),
        criterion=below(1),
    ),
    Claim(
        "correlated-covariance",
        statement="measured covariances lower the overflow (with ÷ without, gpa .01)",
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
                    any_value(q) filter (estimator = 'gpa-covariance') as measured,
                    any_value(q) filter (estimator = 'gpa') as beside
                from (
                    select estimator, sum(overflows) / nullif(sum(trials), 0) as q
                    from answer
                    where target = 0.01 and not is_apart and judged_on = 'raw'
                    group by estimator
                )
            )
            """,
        ),
        criterion=below(1),
    ),
]

QUESTION = Experiment(
    name="packing_correlated",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=["tasks", "instances", "size", "hours", "seed"],
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
)
