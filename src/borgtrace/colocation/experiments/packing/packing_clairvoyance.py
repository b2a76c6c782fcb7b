"""How many observations of a task are enough?

Fig. 12 of Janus & Rzadca (SoCC'17): the estimators see the first .001 … 1 of the realizations and are judged on the
rest (on all at 1).  With 10,000 realizations, .01 are 100 observations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.colocation import Experiment, GridCell
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments.shared.columns import OUTCOME, WAY_OF_PACKING
from borgtrace.colocation.experiments.shared.outcomes import pack_cells, paper_estimators
from borgtrace.colocation.experiments.shared.overflow_charts import (
    FLOOR,
    HEIGHT,
    WHISKERS,
    labeled,
    overflow_boxes,
    scale_of,
    with_floor,
)
from borgtrace.colocation.experiments.shared.scopes import SHAPE
from borgtrace.question import Answer, Claim, at_most, charts, sql

if TYPE_CHECKING:
    import altair as alt


ANSWER = Answer(
    grain="way of packing and instance",
    key=WAY_OF_PACKING,
    columns=OUTCOME,
)


SEEN = (0.001, 0.01, 0.1, 0.3, 0.5, 0.8, 1.0)


def cells() -> list[GridCell]:
    """Return every estimator of the paper at every share of realizations seen."""
    return [
        GridCell(estimator, clairvoyance=share)
        for estimator in paper_estimators()
        for share in SEEN
    ]


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw boxes of q over the instances by the share of realizations seen, in a panel per estimator."""
    import altair as alt

    rows = []
    for row in labeled(with_floor(answer.to_pylist())):
        if row["estimator"] in ("gpa", "cantelli", "average"):
            rows.append(row)
    share = alt.X(
        "clairvoyance:O",
        title="share of the draws that the estimator saw",
        axis=alt.Axis(labelAngle=0),
    )
    base = charts.base(rows, width=300, height=HEIGHT)
    title = charts.subtitled(
        "Overflow with fewer observations (Fig. 12)",
        scale_of(answer),
        WHISKERS,
        FLOOR,
    )
    return (
        overflow_boxes(base, share, alt.Color("label:N", title="estimator", sort=None))
        .facet(column=charts.columns_of_panels("estimator"))
        .properties(title=title)
    )


CLAIMS = [
    Claim(
        "S1-observations-m",
        statement="with 100 observations gpa needs as many machines as with all, to 3 % (difference)",
        source="Janus & Rzadca, §5.5",
        scope=SHAPE,
        measure=sql(
            """
            select max(abs(few / greatest(every, 1e-12) - 1))
            from (
                select
                    avg(m) filter (clairvoyance = 0.01) as few,
                    avg(m) filter (clairvoyance = 1) as every
                from answer
                where estimator = 'gpa' and parameter >= 0.01
                group by parameter
            )
            """,
            otherwise="not among the cells that were run",
        ),
        criterion=at_most(0.03, published="≈ 0"),
    ),
    Claim(
        "S1-observations-q",
        statement=(
            "with 100 observations gpa (ρ ≥ .01) overflows about as often as with all, "
            "half as often again at most (difference)"
        ),
        source="Janus & Rzadca, §5.5",
        scope=SHAPE,
        measure=sql(
            """
            select max(abs(few / greatest(every, 1e-12) - 1))
            from (
                select
                    any_value(q) filter (clairvoyance = 0.01) as few,
                    any_value(q) filter (clairvoyance = 1) as every
                from (
                    select parameter, clairvoyance, sum(overflows) / nullif(sum(trials), 0) as q
                    from answer
                    where estimator = 'gpa' and parameter >= 0.01
                    group by parameter, clairvoyance
                )
                group by parameter
            )
            """,
            otherwise="not among the cells that were run",
        ),
        criterion=at_most(0.5, published="≈ 0"),
    ),
]

QUESTION = Experiment(
    name="packing_clairvoyance",
    doc=__doc__,
    answer=ANSWER,
    compute=pack_cells(cells, ANSWER),
    chart=chart,
    claims=CLAIMS,
    options=PACKING,
    defaults={"instances": 10},
    cells=cells,
    reference="Janus & Rzadca, SoCC'17, Fig. 12",
)
