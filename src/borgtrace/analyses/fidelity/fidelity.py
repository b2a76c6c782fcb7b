"""How close is a synthetic trace to the published figures of the real one?

Every calibration target of the generator is measured through the ordinary tables; the targets of a cell that was made
like another store are the numbers measured there.  A judged target
fits when the measured number lies within its tolerance (10 %) of the published one, or the published one within the
95 % bootstrap interval over jobs (tasks of a job are not independent; machines where they are counted).
The question does not apply to Google's own traces: the targets come from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.analyses.fidelity.event_measures import event_measures, read_events
from borgtrace.analyses.fidelity.life_measures import life_measures, read_lives
from borgtrace.analyses.fidelity.period_measures import period_measures
from borgtrace.analyses.fidelity.usage_measures import row_measures, usage_measures
from borgtrace.analyses.fidelity.weighted_measures import Measures, Units, WeightedMeasure
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    Question,
    Row,
    Tables,
    charts,
    equals,
    query_answer,
    sql,
)
from borgtrace.question.colours import SERIES
from borgtrace.question.scope import QuestionRequest
from borgtrace.question.scopes import ALL_TABLES
from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.synth.model.targets import TARGETS, TARGETS_2019, FidelityTarget

if TYPE_CHECKING:
    import altair as alt

from borgtrace.schema.bounds import SEED, Bounds

ANSWER = Answer(
    grain="calibration target",
    key=[
        Column("measure", "string", "id", "What is measured."),
        Column("tier", "string", "id", "Group of tasks, or all."),
    ],
    columns=[
        Column("published", "float64", "1", "The published number."),
        Column("measured", "float64", "1", "The number measured on this trace.", nullable=True),
        Column(
            "deviation",
            "float64",
            "1",
            "Measured minus published, as a fraction of the published.",
            nullable=True,
        ),
        Column(
            "low",
            "float64",
            "1",
            "Lower end of the 95 % bootstrap interval over jobs.",
            nullable=True,
        ),
        Column(
            "high",
            "float64",
            "1",
            "Upper end of the 95 % bootstrap interval over jobs.",
            nullable=True,
        ),
        Column(
            "is_near",
            "bool",
            "1",
            "Whether it lies within the tolerance, or the published number within the interval; NULL if not measured.",
            nullable=True,
        ),
        Column(
            "verdict",
            "string",
            "id",
            "One of: fits, does not fit, not judged (too small a trace), reported, not measured.",
        ),
        Column(
            "grade", "string", "id", "A from real bytes, C printed, D third party, E arithmetic."
        ),
        Column("reference", "string", "id", "Where the published number comes from."),
    ],
)


READS = ("instance_events",)
LESS = 1.0 - 1e-6
"""Ends of an interval are float32 values, the published numbers decimals."""
VERDICT_COLORS = {
    "fits": SERIES[0].light,
    "does not fit": SERIES[1].light,
    "not judged": SERIES[7].light,
    "reported": "#888",
}


class Measurement(NamedTuple):
    """A measured number with its 95 % interval; None where there was nothing to measure."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


def compute(
    tables: Tables,
    *,
    resamples: Annotated[int, Bounds(1, 10_000)] = 200,
    seed: Annotated[int, SEED] = 0,
) -> list[Row]:
    """Return every target beside its measurement."""
    if not tables.synthetic:
        raise NotApplicable("the store holds no synthetic trace")
    units = Units.of(tables)
    measures = measures_of_format(tables, units)
    if not measures:
        raise NotApplicable("the store holds no usage")
    generator = np.random.default_rng(seed)
    # Poisson weights are the bootstrap of units that arrive one by one; drawn once, the same for every measure.
    weights_of_resamples = [
        generator.poisson(1.0, size=len(units)).astype(float) for _ in range(resamples)
    ]
    # The scope of the claim about all targets: neither table nor chart judges where the claim is not judged.
    objection = ALL_TABLES.objection(tables.coverage, READS, QuestionRequest(tables.where))
    rows = []
    for target in targets_of_store(tables):
        measurement = Measurement()
        measure = measures.get((target.measure, target.tier))
        if measure is not None:
            measurement = measure_with_interval(measure, np.ones(len(units)), weights_of_resamples)
        rows.append(row_of_target(target, measurement, can_judge=not objection))
    return rows


def targets_of_store(tables: Tables) -> Sequence[FidelityTarget]:
    """Return the store's own targets, or those published for its format."""
    own_targets = [FidelityTarget(*target) for target in tables.targets]
    return own_targets or (TARGETS if tables.dialect is GOOGLE_2011 else TARGETS_2019)


def measures_of_format(tables: Tables, units: Units) -> Measures:
    """Return how to measure targets; formats other than 2011 are measured row by row."""
    if tables.dialect is GOOGLE_2011:
        events = read_events(tables)
        lives = read_lives(tables, events)
        return (
            event_measures(events, units)
            | life_measures(lives, units)
            | usage_measures(tables, units)
            | period_measures(tables, units)
        )
    return row_measures(tables, units)


def measure_with_interval(
    measure: WeightedMeasure, weights: Numbers, weights_of_resamples: Sequence[Numbers]
) -> Measurement:
    """Return a measured number with its bootstrap interval.

    Parameters
    ----------
    measure
        From the weights of all units to a number; NaN where there is nothing to measure.
    weights
        The weights of the store itself: all 1.
    weights_of_resamples
        Those of each resample.
    """
    value = measure(weights)
    values = np.array([measure(resample) for resample in weights_of_resamples])
    if not np.isfinite(value):
        return Measurement()
    # A resample may hold nothing to measure: none of its jobs has such a task.
    values = values[np.isfinite(values)]
    if not len(values):
        return Measurement(value)
    low, high = np.percentile(values, [2.5, 97.5])
    return Measurement(value, float(low), float(high))


def row_of_target(
    target: FidelityTarget, measurement: Measurement, *, can_judge: bool = True
) -> Row:
    """Return the row of a target; without a verdict where the trace is too small for one."""
    deviation = None
    is_near = None
    if measurement.value is not None:
        deviation = (measurement.value - target.published) / abs(target.published)
        # Two ways to fit: a small cell scatters far, a large one has intervals too narrow for a published figure's
        # rounding.
        is_within_tolerance = abs(deviation) <= target.tolerance
        is_near = is_within_tolerance or is_inside(target.published, measurement)
    return {
        "measure": target.measure,
        "tier": target.tier,
        "published": target.published,
        "measured": measurement.value,
        "deviation": deviation,
        "low": measurement.low,
        "high": measurement.high,
        "is_near": is_near,
        "verdict": verdict(target, is_near, can_judge=can_judge),
        "grade": target.grade,
        "reference": target.source,
    }


def verdict(target: FidelityTarget, is_near: bool | None, *, can_judge: bool) -> str:
    """Return whether a measurement fits its target."""
    if is_near is None:
        return "not measured"
    # Shares of a month, tails and guides move with the length and the size of a trace: reported, not judged.
    if not target.is_judged:
        return "reported"
    if not can_judge:
        return "not judged"
    return "fits" if is_near else "does not fit"


def is_inside(published: float, measurement: Measurement) -> bool:
    """Return whether the interval of a measurement includes the published number."""
    if measurement.low is None or measurement.high is None:
        return False
    return measurement.low * LESS <= published <= measurement.high / LESS


def chart(answer: pa.Table) -> alt.Chart:
    """Draw how far each measurement lies from the published number, colored by whether it fits."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, replace(measure || ', ' || tier, '_', ' ') as target
        from answer
        where deviation is not null
        """,
    )
    return (
        charts.base(rows, title="Deviation from the published numbers", height=None)
        .mark_point(filled=True)
        .encode(
            x=alt.X(
                "deviation:Q",
                title="(measured − published) ÷ published, at most ± 100 %",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[-1, 1], clamp=True),
            ),
            y=alt.Y("target:N", title=None, sort=None),
            color=charts.color(rows, "verdict", VERDICT_COLORS),
            tooltip=charts.tooltips(
                rows,
                "deviation",
                "target",
                "verdict",
                "published",
                "measured",
                "low",
                "high",
                "reference",
            ),
        )
    )


CLAIMS = [
    Claim(
        "SYNTH-fidelity",
        statement="judged targets lie within 10 % or in the bootstrap interval",
        source="calibration targets of the generator",
        kind="criterion",
        scope=ALL_TABLES,
        measure=sql(
            """
            select avg(is_near::int)
            from answer
            where verdict in ('fits', 'does not fit', 'not judged')
            """,
            otherwise="no target could be measured",
        ),
        criterion=equals(1.0, published="all"),
    ),
]

QUESTION = Question(
    name="fidelity",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    reads=READS,
    reference="published facts about the traces of 2011 and 2019",
)
