"""What does it cost to see five-minute averages instead of single seconds?

Fig. 10 of Janus & Rzadca (SoCC'17), in a panel per estimator and data: the same estimators, once fed with
instantaneous samples and once with window averages, always judged on instantaneous usage. The bin size multiplier e
says how far machines are filled, to .8 or all of their capacity; overflows are those of the whole machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.colocation import Experiment, GridCell
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments.shared.columns import OUTCOME, WAY_OF_PACKING
from borgtrace.colocation.experiments.shared.outcomes import (
    pack_cells,
    paper_estimators,
    rare_overflow,
)
from borgtrace.colocation.experiments.shared.overflow_charts import (
    FLOOR,
    HEIGHT,
    WHISKERS,
    estimator_color,
    labeled,
    overflow_axis,
    overflow_boxes,
    scale_of,
    with_floor,
)
from borgtrace.colocation.experiments.shared.scopes import PAPER, SHAPE
from borgtrace.colocation.packing.instances import Data
from borgtrace.question import Answer, Claim, Measure, NotApplicable, between, charts, query_answer

if TYPE_CHECKING:
    import altair as alt


ANSWER = Answer(
    grain="way of packing and instance",
    key=WAY_OF_PACKING,
    columns=OUTCOME,
)


FILLS = (0.8, 1.0)
"""Bin size multipliers e of §5.3 that the paper gives numbers for."""
DATA: tuple[Data, ...] = ("inst", "avg")


def cells() -> list[GridCell]:
    """Return every estimator of the paper, on both data, filling machines to .8 or to all of their capacity."""
    return [
        GridCell(estimator, data=data, fill=fill)
        for estimator in paper_estimators()
        for data in DATA
        for fill in FILLS
    ]


def chart(answer: pa.Table) -> alt.FacetChart:
    """Draw boxes of q over the instances, in a panel per estimator and data, with GPA's targets ρ."""
    import altair as alt

    rows = []
    for row in labeled(with_floor(answer.to_pylist())):
        target = row["parameter"] if row["estimator"] == "gpa" else None
        rows.append(row | {"target": target})
    base = charts.base(rows, width=200, height=HEIGHT)
    bin_size = alt.X("fill:O", title="bin size multiplier (e)", axis=alt.Axis(labelAngle=0))
    color = estimator_color(rows)
    color.legend = None
    boxes = overflow_boxes(base, bin_size, color)
    targets = base.mark_tick(color="#777", thickness=2, size=14).encode(
        x=bin_size,
        xOffset="rank:O",
        y=overflow_axis("target"),
    )
    # Upright, for parameters stand closer than they are wide.
    parameters = base.mark_text(angle=270, align="left", dx=7, fontSize=10).encode(
        x=bin_size,
        xOffset="rank:O",
        y=alt.Y("max(shown_q):Q"),
        text="parameter:N",
    )
    title = charts.subtitled(
        "Overflow from seconds and from averages of windows (Fig. 10)",
        scale_of(answer),
        WHISKERS,
        f"numbers: parameters of the estimators; gray: targets ρ of gpa; {FLOOR}",
    )
    return (
        alt.layer(targets, boxes, parameters)
        .facet(row=charts.rows_of_panels("data"), column=charts.columns_of_panels("estimator"))
        .properties(title=title)
    )


# The geometric mean, because q spans powers of ten between the parameters.  Where one of both never overflowed, a ratio
# says nothing but the number of draws.
RATIOS = """
    select estimator, exp(avg(ln(windows / seconds))) as ratio
    from (
        select
            estimator,
            any_value(q) filter (data = 'avg') as windows,
            any_value(q) filter (data = 'inst') as seconds
        from (
            select estimator, parameter, data, sum(overflows) / nullif(sum(trials), 0) as q
            from answer
            where fill = 1
            group by estimator, parameter, data
        )
        group by estimator, parameter
    )
    where windows > 0 and seconds > 0
    group by estimator
"""


def averages_over_seconds(estimator: str) -> Measure:
    """Measure how many times more often an estimator overflows when it sees averages.

    Parameters
    ----------
    estimator
        Its name.
    """

    def measure(answer: pa.Table) -> float:
        for row in query_answer(answer, RATIOS):
            if row["estimator"] == estimator:
                return float(row["ratio"])
        raise NotApplicable("no overflow from instantaneous data")

    return measure


CLAIMS = [
    Claim(
        "S1-avg-cantelli",
        statement="instantaneous data lower q of cantelli about 10 times",
        source="Janus & Rzadca, §5.3",
        scope=SHAPE,
        measure=averages_over_seconds("cantelli"),
        criterion=between(5, 20, published="≈ 10"),
    ),
    Claim(
        "S1-avg-gpa",
        statement="instantaneous data lower q of gpa 2–3 times",
        source="Janus & Rzadca, §5.3",
        scope=SHAPE,
        measure=averages_over_seconds("gpa"),
        criterion=between(1.5, 4.5, published="2–3"),
    ),
    Claim(
        "S1-avg-average",
        statement="for average the data make no difference",
        source="Janus & Rzadca, §5.3",
        scope=SHAPE,
        measure=averages_over_seconds("average"),
        criterion=between(0.8, 1.25, published="1"),
    ),
    Claim(
        "S1-avg-maximum-0.8",
        statement=(
            "q of the maximum of the averages, machines filled to 0.8 of their capacity (e = 0.8)"
        ),
        source="Janus & Rzadca, §5.3",
        scope=PAPER,
        measure=rare_overflow(
            published=3e-07,
            estimator="percentile",
            parameter=100,
            data="avg",
            fill=0.8,
        ),
        criterion=between(6e-08, 1.5e-06, published=3e-07),
        format=".1e",
    ),
    Claim(
        "S1-avg-maximum-1",
        statement=(
            "q of the maximum of the averages, machines filled to 1 of their capacity (e = 1)"
        ),
        source="Janus & Rzadca, §5.3",
        scope=PAPER,
        measure=rare_overflow(
            published=5e-05,
            estimator="percentile",
            parameter=100,
            data="avg",
            fill=1.0,
        ),
        criterion=between(1e-05, 0.00025, published=5e-05),
        format=".1e",
    ),
]

QUESTION = Experiment(
    name="packing_averages",
    doc=__doc__,
    answer=ANSWER,
    compute=pack_cells(cells, ANSWER),
    chart=chart,
    claims=CLAIMS,
    options=PACKING,
    defaults={"instances": 10},
    cells=cells,
    reference="Janus & Rzadca, SoCC'17, Fig. 10",
)
