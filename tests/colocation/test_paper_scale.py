"""Table 1 and Fig. 6 at the paper's scale: what they say, and how much memory they take."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, resource
from borgtrace.colocation.percentile_error import RECIPE as FIGURE_6
from borgtrace.colocation.pool import Pool
from borgtrace.colocation.source import PoolTables
from borgtrace.colocation.sum_normality import RECIPE as TABLE_1
tables = PoolTables(Pool.from_synth(100_000, seed=0))
rows = [recipe.run(tables, samples=2000).table.to_pylist() for recipe in (TABLE_1, FIGURE_6)]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
print(json.dumps([*rows, peak]))
"""
PUBLISHED = {10: 0.991, 20: 0.965, 30: 0.923, 50: 0.784, 100: 0.493, 250: 0.183, 500: 0.087}
MEANS = {10: 0.27, 20: 0.55, 30: 0.82, 50: 1.37, 100: 2.74, 250: 6.85, 500: 13.69}


@pytest.mark.scale
def test_the_calibrated_pool_at_the_papers_scale() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    table, figure, peak = json.loads(done.stdout)
    assert [row["size"] for row in table] == list(PUBLISHED)
    for row in table:
        assert row["mean_usage"] == pytest.approx(MEANS[row["size"]], rel=0.05)
        assert row["rejected"] == pytest.approx(PUBLISHED[row["size"]], abs=0.10)
        assert row["rejected_1974"] == pytest.approx(PUBLISHED[row["size"]], abs=0.07)
    for row in figure:
        assert -0.03 < row["median"] < 0
    widths = {(row["size"], row["percentile"]): row["p75"] - row["p25"] for row in figure}
    assert widths[50, 99.9] < widths[30, 99.9] < widths[20, 99.9] < widths[10, 99.9]
    assert peak < 4 + 4  # the realizations are 4 GB
