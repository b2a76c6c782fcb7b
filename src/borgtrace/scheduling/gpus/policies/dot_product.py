"""The node whose free CPU and GPUs have the smallest product with what the pod requests.

So a large request goes where little is left.  The simulator of FGD has it with the options ``merge`` (the devices of a
node added up) and ``max`` (shares of the same largest node everywhere).
"""

from typing import Any

from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import GpuCell
from borgtrace.scheduling.gpus.policy import GpuPolicy

LARGEST_CPU = 128_000
LARGEST_GPU = 8_000
"""Thousandths of the largest node, which shares are of."""


@compiled(makes_arrays=False)
def score(cell: GpuCell, own: Any, node: int, kind: int) -> float:
    """Return 100 less the mean product of shares, cut off to a whole number."""
    cpu = cell.cpu_left[node] / LARGEST_CPU * (cell.kinds.cpu[kind] / LARGEST_CPU)
    gpu = cell.total_left[node] / LARGEST_GPU * (cell.kinds.total[kind] / LARGEST_GPU)
    return float(int(100 * (1 - (cpu + gpu) / 2)))


POLICY = GpuPolicy(
    name="dot-product",
    title="DotProd",
    about="the smallest product of what is free and what the pod requests",
    score=score,
)
