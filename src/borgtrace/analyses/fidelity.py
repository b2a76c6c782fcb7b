"""How close is a synthetic trace to the published figures of the real one?

Every calibration target of the generator is measured through the ordinary tables.  A judged target
holds when the measured number lies within 10 % of the published one, or the published one within the
95 % bootstrap interval over jobs (tasks of a job are not independent; machines where they are counted).
The question is about synthetic traces: there is nothing to ask of Google's own, which the targets come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from borgtrace.analyses._fidelity import Units
from borgtrace.analyses._fidelity_events import event_measures
from borgtrace.analyses._fidelity_usage import row_measures, usage_measures
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.arrow import arrow_schema
from borgtrace.synth.targets import TARGETS, TARGETS_2019, Target

if TYPE_CHECKING:
    import altair as alt

TOLERANCE: Final = 0.10
LESS: Final = 1.0 - 1e-6
"""Ends of an interval are float32 values, the published numbers decimals."""
RESULT = Table(
    "fidelity",
    "calibration target",
    ("measure", "tier"),
    (
        Column("measure", "string", "id", "What is measured.", nullable=False),
        Column("tier", "string", "id", "Group of tasks, or all.", nullable=False),
        Column("published", "float64", "1", "The published number.", nullable=False),
        Column("measured", "float64", "1", "The number measured on this trace."),
        Column("deviation", "float64", "1", "Measured minus published, as a fraction of the published."),
        Column("low", "float64", "1", "Lower end of the 95 % bootstrap interval over jobs."),
        Column("high", "float64", "1", "Upper end of the 95 % bootstrap interval over jobs."),
        Column("verdict", "string", "id", "One of: fits, does not fit, reported, not measured.", nullable=False),
        Column("grade", "string", "id", "A from real bytes, C printed, D third party, E arithmetic.", nullable=False),
        Column("reference", "string", "id", "Where the published number comes from.", nullable=False),
    ),
)


def compute(tables: Tables, *, resamples: int = 200, seed: int = 0) -> pa.Table:
    """Return every target beside its measurement."""
    if not (tables.synthetic or tables.is_plan):
        raise NotApplicable("the store holds Google's trace")
    units = Units.of(tables)
    if tables.generation == "2011":
        targets, measures = TARGETS, event_measures(tables, units) | usage_measures(tables, units)
    else:
        targets, measures = TARGETS_2019, row_measures(tables, units)
    if not measures:
        raise NotApplicable("the store holds no usage")
    rng, ones = np.random.default_rng(seed), np.ones(len(units))
    samples = [rng.poisson(1.0, size=len(units)).astype(float) for _ in range(resamples)]
    rows = []
    for target in targets:
        measure = measures.get((target.measure, target.tier))
        measured = low = high = None
        if measure is not None:
            measured = _finite(measure(ones))
            values = np.array([measure(sample) for sample in samples])
            values = values[np.isfinite(values)]
            if measured is not None and len(values):
                low, high = (float(v) for v in np.percentile(values, [2.5, 97.5]))
        rows.append(_row(target, measured, low, high))
    return pa.Table.from_pylist(rows, schema=arrow_schema(RESULT))


def _finite(value: float) -> float | None:
    """Return nothing where there was nothing to measure (no such tasks, no such runs)."""
    return value if np.isfinite(value) else None


def _row(target: Target, measured: float | None, low: float | None, high: float | None) -> dict[str, object]:
    deviation = None
    verdict = "not measured"
    if measured is not None:
        deviation = (measured - target.published) / abs(target.published)
        inside = low is not None and high is not None and low * LESS <= target.published <= high / LESS
        fits = abs(deviation) <= TOLERANCE or inside
        verdict = ("fits" if fits else "does not fit") if target.is_judged else "reported"
    return {
        "measure": target.measure,
        "tier": target.tier,
        "published": target.published,
        "measured": measured,
        "deviation": deviation,
        "low": low,
        "high": high,
        "verdict": verdict,
        "grade": target.grade,
        "reference": target.source,
    }


def plot(result: pa.Table) -> alt.Chart:
    """Draw the deviation of every target, with its interval."""
    import altair as alt

    rows = [
        {**row, "target": f"{row['measure']}, {row['tier']}"}
        for row in result.to_pylist()
        if row["deviation"] is not None
    ]
    chart: alt.Chart = (
        alt.Chart(alt.Data(values=rows), title="Deviation from the published numbers", width=420)
        .mark_point(filled=True)
        .encode(
            x=alt.X(
                "deviation:Q",
                title="(measured − published) / published, at most ± 100 %",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[-1, 1], clamp=True),
            ),
            y=alt.Y("target:N", title=None, sort=None),
            color=alt.Color("verdict:N", title=None),
            tooltip=["target:N", "published:Q", "measured:Q", "low:Q", "high:Q", "reference:N"],
        )
    )
    return chart


def _share_fitting(result: pa.Table) -> float:
    verdicts = [v for v in result["verdict"].to_pylist() if v in ("fits", "does not fit")]
    if not verdicts:
        raise NotApplicable("no target could be measured")
    return verdicts.count("fits") / len(verdicts)


CLAIMS = (
    Claim(
        "SYNTH-fidelity",
        "judged targets lie within 10 % or in the bootstrap interval",
        "all",
        _share_fitting,
        lambda share: share == 1.0,
        "calibration targets of the generator",
    ),
)
RECIPE = Recipe(
    "fidelity",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_events",),
    reference="published facts about the traces of 2011 and 2019",
    order=900,
    topic="The synthetic trace",
)
