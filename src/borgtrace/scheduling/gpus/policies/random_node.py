"""Any node that takes the pod, and any of its devices."""

from typing import Any

from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import GpuCell, draw_below
from borgtrace.scheduling.gpus.policy import GpuPolicy


@compiled(makes_arrays=False)
def score(cell: GpuCell, own: Any, node: int, kind: int) -> float:
    """Return the same for all nodes: ties are drawn."""
    return 0.0


@compiled(makes_arrays=False)
def device(cell: GpuCell, own: Any, node: int, kind: int) -> int:
    """Draw one of the devices that take the pod, all alike."""
    wanted = cell.kinds.gpu_milli[kind]
    chosen = -1
    n_fitting = 0
    for one in range(cell.n_devices[node]):
        if cell.left[node, one] >= wanted:
            n_fitting += 1
            if draw_below(cell.random, n_fitting) == 0:
                chosen = one
    return chosen


POLICY = GpuPolicy(
    name="random",
    title="Random",
    about="any node that takes the pod",
    score=score,
    device=device,
    draws_ties=True,
)
