"""Used devices first, then untouched ones of a used node, then those of an untouched node."""

from typing import Any

from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import CPU_ONLY, SHARING, WHOLE, GpuCell, best_device
from borgtrace.scheduling.gpus.policy import GpuPolicy


@compiled(makes_arrays=False)
def score(cell: GpuCell, own: Any, node: int, kind: int) -> float:
    """Return 90 to 100 for a used device, 42 to 49 for untouched ones of a used node, less on an untouched node."""
    kinds = cell.kinds
    pod_class = kinds.pod_class[kind]
    if pod_class == CPU_ONLY:
        return 0.0
    n_devices = cell.n_devices[node]
    if cell.n_whole[node] == n_devices:
        return float(33 - n_devices)
    if pod_class == SHARING:
        left = cell.left[node, best_device(cell, node, kind)]
        if left < WHOLE:
            return float(100 - left // 100)
    return float(50 - kinds.n_gpus[kind])


POLICY = GpuPolicy(
    name="gpu-packing",
    title="GpuPacking",
    about="used devices first, then used nodes",
    score=score,
)
