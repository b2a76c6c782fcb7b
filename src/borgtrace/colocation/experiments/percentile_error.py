"""How far off are the high percentiles of a total if it is assumed to be normal?

Fig. 6 of Janus & Rzadca (SoCC'17): for random samples of N tasks, (F⁻¹(k) − P_k) / P_k at k = 95, 99 and
99.9 %, where F is the normal law whose mean and variance are the sums of the tasks' own (ddof 0) and P_k
the percentile of the realized sums (linear interpolation).  Samples whose P_k is 0 have no relative error.
The samples are those of the question about normality (same seed, same sums).

Reference: Janus & Rzadca, SoCC'17, Fig. 6.
"""

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiment import SUMS
from borgtrace.colocation.experiments._answers import Row, grouped, spread
from borgtrace.colocation.experiments._charts import titled
from borgtrace.colocation.sample_sums import LEVELS, SampleSums
from borgtrace.colocation.study import PAPER_SCALE
from borgtrace.kernels.arrays import Numbers
from borgtrace.recipe import NotApplicable
from borgtrace.recipe.charts import Chart, Plot, area, axis, point, rule

SIZES, CELLS = (10, 20, 30, 50), 24


def errors(sums: SampleSums) -> Numbers:
    """Relative error of the normal percentiles, float64 (S, 3); NaN where the realized one is 0."""
    normal = sums.mean[:, None] + sums.std[:, None] * ndtri(LEVELS)
    realized = np.where(sums.percentiles > 0, sums.percentiles, np.nan)
    relative: Numbers = (normal - realized) / realized
    return relative


def compute(study: Study, options: Options) -> pa.Table:
    """Return the distribution over samples of the relative error, per size and percentile."""
    rows = [row for sums in study.sums(options) if sums.size in SIZES for row in _rows(sums)]
    NotApplicable.unless(rows, "all realized percentiles are 0")
    return pa.Table.from_pylist(rows)


def _rows(sums: SampleSums) -> list[Row]:
    relative, rows = errors(sums), []
    for k, level in enumerate(LEVELS):
        known = relative[np.isfinite(relative[:, k]), k]
        if known.size:
            # Rounded, so that claims and readers find 99.9 and not a neighbor of it.
            percentile = round(100 * float(level), 6)
            common = {"size": sums.size, "percentile": percentile, "n_samples": known.size, **spread(known)}
            density, edges = np.histogram(known, CELLS, density=True)
            cells = zip(edges[:-1].tolist(), edges[1:].tolist(), density.tolist(), strict=True)
            rows += [common | {"cell": n, "low": a, "high": b, "density": d} for n, (a, b, d) in enumerate(cells)]
    return rows


def plot(result: pa.Table) -> Chart:
    """Draw a violin per size and percentile, with its median and quartiles."""
    rows = [shape for _, cells in grouped(result, "size", "percentile") for shape in _violin(cells)]
    places = {"values": list(range(len(SIZES))), "labelExpr": f"{list(SIZES)}[datum.value]", "grid": False}
    x = axis("left", "tasks per sample", axis=places, scale={"domain": [-0.6, len(SIZES) - 0.4]})
    error = "(normal − realized) / realized"
    plot = Plot(rows, y=axis("error", error, axis={"format": "%"}), detail="size")
    violin = area(orient="horizontal", interpolate="monotone", opacity=0.6)
    plot.add(violin, x=x, x2="right", color=axis("percentile", type="N", legend=None))
    plot.add(rule(strokeWidth=4), x=axis("place"), y=axis("p25"), y2="p75")
    plot.add(point(45, color="white", stroke="black", opacity=1), x=axis("place"), y=axis("median"))
    plot.facet(column="percentile", independent=("y",))
    drawn = plot.draw(width=230, height=300)
    scale = f"{max(result['n_samples'].to_pylist()):,} samples per size (the paper: {PAPER_SCALE['samples']:,})"
    return titled(drawn, "Error of the percentiles of a normal total (Fig. 6)", scale, "bars: quartiles; dots: medians")


def _violin(cells: list[Row]) -> list[Row]:
    """The outline of one violin about the place of its size, .45 wide on both sides where it is widest."""
    place, widest = SIZES.index(cells[0]["size"]), max(cell["density"] for cell in cells)
    return [
        {
            "size": cell["size"],
            # Once per violin: all layers of a panel share its rows.
            **{name: cell[name] if cell["cell"] == 0 else None for name in ("p25", "median", "p75")},
            "percentile": f"{cell['percentile']:g} %",
            "place": place,
            "error": (cell["low"] + cell["high"]) / 2,
            "left": place - 0.45 * cell["density"] / widest,
            "right": place + 0.45 * cell["density"] / widest,
        }
        for cell in cells
    ]


EXPERIMENT = Experiment.declared(compute, plot=plot, order=208, options=SUMS)
