"""What the authors of FGD published of its experiments: means over ten runs, and their deviations.

From the results that lie beside their simulator (hkust-adsl/kubernetes-scheduler-simulator, experiments/analysis); the
paper draws the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

N_RUNS = 10
FIRST_SEED = 42
"""Seeds of the runs: 42 to 51."""
POLICIES = ("random", "dot-product", "gpu-clustering", "gpu-packing", "best-fit", "fgd")


class PublishedMean(NamedTuple):
    """A mean over ten runs, and the standard deviation of these, in percent."""

    mean: float
    deviation: float


def row(*pairs: tuple[float, float]) -> Mapping[str, PublishedMean]:
    """Return the numbers of a load by policy."""
    return {policy: PublishedMean(*pair) for policy, pair in zip(POLICIES, pairs, strict=True)}


# fmt: off
ALLOCATION: Mapping[tuple[str, int], Mapping[str, PublishedMean]] = {
    ("default", 80): row((78.66, .40), (80.02, .02), (80.02, .02), (80.02, .02), (80.02, .02), (80.02, .02)),
    ("default", 90): row((85.02, .29), (89.98, .05), (89.98, .05), (89.98, .05), (89.99, .04), (89.98, .05)),
    ("default", 95): row((85.72, .34), (90.58, .19), (91.61, .61), (91.74, .53), (92.82, .15), (94.91, .06)),
    ("default", 100): row((86.30, .33), (90.62, .19), (91.65, .61), (91.78, .53), (92.86, .14), (95.23, .11)),
    ("default", 110): row((86.88, .34), (90.70, .20), (91.73, .63), (91.86, .55), (92.94, .13), (95.30, .10)),
    ("default", 120): row((87.28, .31), (90.77, .20), (91.80, .62), (91.92, .55), (93.00, .14), (95.35, .10)),
    ("default", 130): row((87.47, .32), (90.85, .20), (91.88, .62), (92.00, .54), (93.08, .13), (95.39, .08)),
    ("cpu100", 100): row((87.44, .28), (91.73, .27), (92.42, .40), (92.50, .42), (93.26, .13), (95.21, .14)),
    ("gpushare60", 100): row((82.81, .35), (86.82, .28), (86.90, .41), (87.15, .37), (89.06, .18), (91.26, .13)),
    ("gpuspec33", 100): row((83.87, .26), (79.82, .25), (81.09, .22), (82.22, .39), (80.40, .27), (87.84, .18)),
    ("multigpu20", 100): row((86.92, .52), (91.85, .32), (93.34, .60), (93.50, .64), (93.73, .25), (95.53, .16)),
}
"""Of all GPUs, how much pods have, by workload and load."""
FRAGMENTATION_RATIO: Mapping[tuple[str, int], Mapping[str, PublishedMean]] = {
    ("default", 100): row((98.44, .31), (99.19, .29), (98.40, .60), (98.88, .42), (98.84, .29), (99.07, .57)),
}
"""Of the GPUs that are free, how much typical pods cannot use."""
# fmt: on
