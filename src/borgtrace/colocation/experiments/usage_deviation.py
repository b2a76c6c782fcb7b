"""How much more does CPU usage vary from second to second than from window to window?

Fig. 2 of Janus & Rzadca (SoCC'17): the standard deviation (ddof 0) of every long task's one-second samples
and of its window averages, as two cumulative distributions over tasks.  Windows weigh by their length in
2019.

Reference: Janus & Rzadca, SoCC'17, Fig. 2.
"""

from typing import Literal

import numpy as np
import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Study

BOTH: tuple[Literal["inst", "avg"], ...] = ("inst", "avg")
# Percents, and two steps more near the end, where the deviations of few tasks lie far apart.
SHARES = np.concatenate((np.arange(100) / 100, [0.995, 0.999, 1.0]))


def compute(study: Study, options: Options) -> pa.Table:
    """Return both distributions as quantiles."""
    pool = study.pool(options)
    quantiles = {series: np.quantile(pool.std(series), SHARES) for series in BOTH}
    return pa.concat_tables(
        pa.table({"series": [series] * len(SHARES), "share": SHARES, "deviation": deviation})
        for series, deviation in quantiles.items()
    )


EXPERIMENT = Experiment.declared(compute, order=201)
