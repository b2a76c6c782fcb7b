"""How far off are the high percentiles of a total if it is assumed to be normal?

Fig. 6 of Janus & Rzadca (SoCC'17): for random samples of N tasks, (F⁻¹(k) − P_k) / P_k at k = 95, 99 and
99.9 %, where F is the normal law whose mean and variance are the sums of the tasks' own (ddof 0) and P_k
the percentile of the realized sums (linear interpolation).  Samples whose P_k is 0 have no relative error.
The samples are those of the question about normality (same seed, same sums).

Reference: Janus & Rzadca, SoCC'17, Fig. 6.
"""

import numpy as np
from scipy.special import ndtri

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiment import SUMS
from borgtrace.colocation.experiments._answers import Row, spread
from borgtrace.colocation.sample_sums import LEVELS, SampleSums
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import NotApplicable

SIZES, CELLS = (10, 20, 30, 50), 24


def errors(sums: SampleSums) -> Numbers:
    """Relative error of the normal percentiles, float64 (S, 3); NaN where the realized one is 0."""
    normal = sums.mean[:, None] + sums.std[:, None] * ndtri(LEVELS)
    realized = np.where(sums.percentiles > 0, sums.percentiles, np.nan)
    return (normal - realized) / realized


def compute(study: Study, options: Options) -> list[Row]:
    """Return the distribution over samples of the relative error, per size and percentile."""
    rows = [row for sums in study.sums(options) if sums.size in SIZES for row in _rows(sums)]
    NotApplicable.unless(rows, "all realized percentiles are 0")
    return rows


def _rows(sums: SampleSums) -> list[Row]:
    relative, rows = errors(sums), []
    for k, level in enumerate(LEVELS):
        known = relative[np.isfinite(relative[:, k]), k]
        if known.size:
            # Rounded, so that claims and readers find 99.9 and not a neighbor of it.
            percentile = round(100 * float(level), 6)
            common = {
                "size": sums.size,
                "percentile": percentile,
                "n_samples": known.size,
                **spread(known),
            }
            density, edges = np.histogram(known, CELLS, density=True)
            cells = zip(edges[:-1].tolist(), edges[1:].tolist(), density.tolist(), strict=True)
            rows += [
                common | {"cell": n, "low": a, "high": b, "density": d}
                for n, (a, b, d) in enumerate(cells)
            ]
    return rows


EXPERIMENT = Experiment.declared(compute, order=208, options=SUMS)
