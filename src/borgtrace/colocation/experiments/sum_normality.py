"""Is the total CPU usage of many tasks normally distributed?

Table 1 of Janus & Rzadca (SoCC'17): for N = 10 … 500, random samples of N tasks; the sum over R realizations
of each is tested for normality (Anderson–Darling, mean and variance estimated, 5 %), and the share of
rejected samples is shown. The critical value has two versions: 0.752 (D'Agostino & Stephens 1986), which 5 %
of Gaussian samples exceed, and 0.787 (Stephens 1974), which scipy printed until version 1.16, and so at the
time of the paper: both are in the table and among the claims. The paper takes 10,000 samples per size; 1,000
determine a rate to within ± 3 points.

Reference: Janus & Rzadca, SoCC'17, Table 1.
"""

import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation._normality import CRITICAL
from borgtrace.colocation.experiment import SUMS
from borgtrace.colocation.experiments._answers import Row
from borgtrace.colocation.sample_sums import SampleSums
from borgtrace.colocation.study import PAPER_SCALE
from borgtrace.question.charts import Chart, Plot, added, axis, line, log_axis, melted, titled

REALIZATIONS = PAPER_SCALE["realizations"]
"""R of the paper."""


def compute(study: Study, options: Options) -> list[Row]:
    """Return rejection rates and mean totals per size."""
    return [_row(sums, options.realizations) for sums in study.sums(options)]


def _row(sums: SampleSums, realizations: int) -> Row:
    return {
        "size": sums.size,
        "n_samples": len(sums.normality),
        "n_realizations": realizations,
        "mean_usage": float(sums.mean.mean()),
        "rejected": float((sums.normality > CRITICAL["D'Agostino 1986"]).mean()),
        "rejected_1974": float((sums.normality > CRITICAL["Stephens 1974"]).mean()),
    }


def plot(result: pa.Table) -> Chart:
    """Draw the rejection rate over N, measured and published."""
    labels = {
        "rejected": "measured (0.752)",
        "rejected_1974": "measured (0.787)",
        "published": "published",
    }
    said = {claim.id: claim.published.published for claim in EXPERIMENT.claims}
    rows = melted(
        added(result, published=lambda row: said.get(f"S1-table1-{row['size']}-0.752")),
        labels,
        "rate",
    )
    x, y = (
        log_axis("size", "tasks per sample", least=None),
        axis("rate", "rejected at 5 %", axis={"format": "%"}),
    )
    chart = Plot(rows, x=x, y=y, color=axis("series", None)).add(line(point=True))
    sizes = [f"{max(result[name].to_pylist()):,}" for name in ("n_samples", "n_realizations")]
    paper = f"the paper: {PAPER_SCALE['samples']:,} of {REALIZATIONS:,}"
    scale = f"{sizes[0]} samples per size of {sizes[1]} draws each ({paper})"
    return titled(chart.draw(), "Table 1: how often the normality of a total is rejected", scale)


EXPERIMENT = Experiment.declared(compute, plot=plot, order=207, options=SUMS)
