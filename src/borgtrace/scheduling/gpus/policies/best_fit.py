"""The node on which least CPU and GPU are left together, as shares of the largest node."""

from typing import Any

from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import GpuCell
from borgtrace.scheduling.gpus.policies.dot_product import LARGEST_CPU, LARGEST_GPU
from borgtrace.scheduling.gpus.policy import GpuPolicy


@compiled(makes_arrays=False)
def score(cell: GpuCell, own: Any, node: int, kind: int) -> float:
    """Return 100 less the mean share that is left, cut off to a whole number."""
    cpu = (cell.cpu_left[node] - cell.kinds.cpu[kind]) / LARGEST_CPU
    gpu = (cell.total_left[node] - cell.kinds.total[kind]) / LARGEST_GPU
    return float(int((1.0 - (cpu * 0.5 + gpu * 0.5)) * 100))


POLICY = GpuPolicy(
    name="best-fit",
    title="BestFit",
    about="least CPU and GPU are left together",
    score=score,
)
