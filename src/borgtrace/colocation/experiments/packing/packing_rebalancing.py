"""Does filling up the last machine make overflows rarer?

Fig. 13 of Janus & Rzadca (SoCC'17): the same packings before and after rebalancing (first tasks of the other machines
move to the last one, round robin, until five moves have failed).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.colocation import Experiment, GridCell
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments.shared.answers import Row, grouped, rows_where
from borgtrace.colocation.experiments.shared.columns import OUTCOME, WAY_OF_PACKING
from borgtrace.colocation.experiments.shared.outcomes import pack_cells, paper_estimators
from borgtrace.colocation.experiments.shared.overflow_charts import WHISKERS, scale_of
from borgtrace.colocation.experiments.shared.scopes import SHAPE
from borgtrace.question import Answer, Claim, between, charts, sql

if TYPE_CHECKING:
    import altair as alt


ANSWER = Answer(
    grain="way of packing and instance",
    key=WAY_OF_PACKING,
    columns=OUTCOME,
)


def cells() -> list[GridCell]:
    """Return every estimator of the paper, rebalanced and not, with both packers."""
    return [
        GridCell(estimator, packer=packer, is_rebalanced=is_rebalanced)
        for estimator in paper_estimators()
        for packer in ("best-fit", "first-fit")
        for is_rebalanced in (False, True)
    ]


def falls(result: pa.Table) -> list[Row]:
    """Return the relative fall of q by rebalancing: a row per estimator, parameter, packer and instance.

    Parameters
    ----------
    result
        Outcomes; where nothing overflowed, nothing can fall, and there is no row.
    """
    rows = []
    # Paired by instance: the same packing before and after, so what differs between instances cancels.
    for way, pair in grouped(result, "estimator", "parameter", "packer", "instance"):
        q_before = rows_where(pair, is_rebalanced=False)[0]["q"]
        q_after = rows_where(pair, is_rebalanced=True)[0]["q"]
        if q_before > 0:
            label = f"{way['estimator']} {way['parameter']:g}"
            rows.append(way | {"label": label, "fall": 1 - q_after / q_before})
    return rows


def chart(answer: pa.Table) -> alt.Chart:
    """Draw the distribution of the relative fall over the instances."""
    import altair as alt

    rows = [row for row in falls(answer) if row["packer"] == "best-fit"]
    title = charts.subtitled(
        "How much rebalancing lowers the overflow, Best Fit (Fig. 13)",
        scale_of(answer),
        WHISKERS,
    )
    return (
        charts.base(rows, width=500, height=None)
        .mark_boxplot()
        .encode(
            x=alt.X("fall:Q", title="relative fall of q by rebalancing", axis=alt.Axis(format="%")),
            y=alt.Y("label:N", title=None),
            color=alt.Color("estimator:N", title="estimator", legend=None),
        )
        .properties(title=title)
    )


CLAIMS = [
    Claim(
        "S1-rebalancing",
        statement="rebalancing lowers q of average and gpa by about 7 % (mean fall)",
        source="Janus & Rzadca, Fig. 13",
        scope=SHAPE,
        measure=sql(
            """
            select avg(1 - after / before)
            from (
                select
                    any_value(q) filter (not is_rebalanced) as before,
                    any_value(q) filter (is_rebalanced) as after
                from answer
                where packer = 'best-fit' and estimator in ('average', 'gpa')
                group by estimator, parameter, instance
            )
            where before > 0
            """,
            otherwise="nothing overflowed",
        ),
        criterion=between(0.04, 0.09, published="≈ .07"),
    ),
]

QUESTION = Experiment(
    name="packing_rebalancing",
    doc=__doc__,
    answer=ANSWER,
    compute=pack_cells(cells, ANSWER),
    chart=chart,
    claims=CLAIMS,
    options=PACKING,
    defaults={"instances": 10},
    cells=cells,
    reference="Janus & Rzadca, SoCC'17, Fig. 13",
)
