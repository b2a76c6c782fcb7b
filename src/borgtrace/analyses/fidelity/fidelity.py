"""How close is a synthetic trace to the published figures of the real one?

Every calibration target of the generator is measured through the ordinary tables; those of a cell that was made like
another store are what was measured there.  A judged target
holds when the measured number lies within its tolerance (10 %) of the published one, or the published one within the
95 % bootstrap interval over jobs (tasks of a job are not independent; machines where they are counted).
The question does not apply to Google's own traces: the targets come from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from borgtrace.analyses.fidelity.event_measures import event_measures, read_events
from borgtrace.analyses.fidelity.usage_measures import row_measures, usage_measures
from borgtrace.analyses.fidelity.weighted_measures import Measures, Units
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
from borgtrace.question.scopes import ALL_TABLES
from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.synth.model.targets import TARGETS, TARGETS_2019, FidelityTarget

if TYPE_CHECKING:
    import altair as alt

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
        Column("verdict", "string", "id", "One of: fits, does not fit, reported, not measured."),
        Column(
            "grade", "string", "id", "A from real bytes, C printed, D third party, E arithmetic."
        ),
        Column("reference", "string", "id", "Where the published number comes from."),
    ],
)


LESS = 1.0 - 1e-6
"""Ends of an interval are float32 values, the published numbers decimals."""


def compute(tables: Tables, *, resamples: int = 200, seed: int = 0) -> list[Row]:
    """Return every target beside its measurement."""
    if not tables.synthetic:
        raise NotApplicable("the store holds no synthetic trace")
    units = Units.of(tables)
    targets, measures = _targets(tables, units)
    if not measures:
        raise NotApplicable("the store holds no usage")
    rng, ones = np.random.default_rng(seed), np.ones(len(units))
    # Poisson weights are the bootstrap of units that arrive one by one; drawn once, the same for every measure.
    samples = [rng.poisson(1.0, size=len(units)).astype(float) for _ in range(resamples)]
    rows = []
    for target in targets:
        measure = measures.get((target.measure, target.tier))
        measured = low = high = None
        if measure is not None:
            measured = _finite(measure(ones))
            values = np.array([measure(sample) for sample in samples])
            # A resample may hold nothing to measure: none of its jobs has such a task.
            values = values[np.isfinite(values)]
            if measured is not None and len(values):
                low, high = (float(v) for v in np.percentile(values, [2.5, 97.5]))
        rows.append(_row(target, measured, low, high))
    return rows


def _targets(tables: Tables, units: Units) -> tuple[tuple[FidelityTarget, ...], Measures]:
    """Return the targets of the format and how to measure them; others than 2011 are measured row by row."""
    if tables.dialect is GOOGLE_2011:
        published, measures = (
            TARGETS,
            event_measures(read_events(tables), units) | usage_measures(tables, units),
        )
    else:
        published, measures = TARGETS_2019, row_measures(tables, units)
    return tuple(FidelityTarget(*target) for target in tables.targets) or published, measures


def _finite(value: float) -> float | None:
    """Return nothing where there was nothing to measure (no such tasks, no such runs)."""
    return value if np.isfinite(value) else None


def _row(
    target: FidelityTarget, measured: float | None, low: float | None, high: float | None
) -> Row:
    deviation = None
    verdict = "not measured"
    if measured is not None:
        deviation = (measured - target.published) / abs(target.published)
        inside = (
            low is not None and high is not None and low * LESS <= target.published <= high / LESS
        )
        # Two ways to fit: a small cell scatters far, a large one has intervals too narrow for a published figure's
        # rounding.
        fits = abs(deviation) <= target.tolerance or inside
        # Shares of a month, tails and guides move with the length and the size of a trace: reported, not judged.
        verdict = ("fits" if fits else "does not fit") if target.is_judged else "reported"
    known = {name: getattr(target, name) for name in ("measure", "tier", "published", "grade")}
    found = {
        "measured": measured,
        "deviation": deviation,
        "low": low,
        "high": high,
        "verdict": verdict,
    }
    return known | found | {"reference": target.source}


def chart(answer: pa.Table) -> alt.Chart:
    """Draw: deviation from the published numbers."""
    import altair as alt

    # Every target, with its interval.
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
            color=charts.color(
                rows, "verdict", {"fits": "#1f6fb4", "does not fit": "#c4540a", "reported": "#888"}
            ),
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
            select avg((verdict = 'fits')::int)
            from answer
            where verdict in ('fits', 'does not fit')
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
    reads=["instance_events"],
    reference="published facts about the traces of 2011 and 2019",
)
