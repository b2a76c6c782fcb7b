"""Results of the experiments, and what box plots show."""

from pathlib import Path

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.schema.tables import read_declarations

RESULTS = read_declarations(Path(__file__).with_name("results.columns"))
"""Tables of results by the name of the experiment."""
_SPREAD = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95}


def spread(values: Numbers) -> dict[str, float]:
    """Return the percentiles that box plots show, by column."""
    return dict(zip(_SPREAD, np.percentile(values, list(_SPREAD.values())).tolist(), strict=True))
