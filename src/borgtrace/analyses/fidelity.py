"""How close is a synthetic trace to the published figures of the real one?

Every calibration target of the generator is measured through the ordinary tables; those of a cell that was made like
another store are what was measured there.  A judged target
holds when the measured number lies within its tolerance (10 %) of the published one, or the published one within the
95 % bootstrap interval over jobs (tasks of a job are not independent; machines where they are counted).
The question does not apply to Google's own traces: the targets come from them.

Reference: published facts about the traces of 2011 and 2019.
"""

import numpy as np

from borgtrace.analyses._fidelity import Measures, Units
from borgtrace.analyses._fidelity_events import event_measures, read_events
from borgtrace.analyses._fidelity_usage import row_measures, usage_measures
from borgtrace.question import NotApplicable, Recipe, Row, Tables
from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.synth.targets import TARGETS, TARGETS_2019, Target

LESS = 1.0 - 1e-6
"""Ends of an interval are float32 values, the published numbers decimals."""


def compute(tables: Tables, *, resamples: int = 200, seed: int = 0) -> list[Row]:
    """Return every target beside its measurement."""
    NotApplicable.unless(tables.synthetic, "the store holds no synthetic trace")
    units = Units.of(tables)
    targets, measures = _targets(tables, units)
    NotApplicable.unless(measures, "the store holds no usage")
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


def _targets(tables: Tables, units: Units) -> tuple[tuple[Target, ...], Measures]:
    """Return the targets of the format and how to measure them; others than 2011 are measured row by row."""
    if tables.dialect is GOOGLE_2011:
        published, measures = (
            TARGETS,
            event_measures(read_events(tables), units) | usage_measures(tables, units),
        )
    else:
        published, measures = TARGETS_2019, row_measures(tables, units)
    return tuple(Target(*target) for target in tables.targets) or published, measures


def _finite(value: float) -> float | None:
    """Return nothing where there was nothing to measure (no such tasks, no such runs)."""
    return value if np.isfinite(value) else None


def _row(target: Target, measured: float | None, low: float | None, high: float | None) -> Row:
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


RECIPE = Recipe.declared(compute, reads=("instance_events",), order=900)
