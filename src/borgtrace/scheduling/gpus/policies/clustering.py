"""Pods of one class together: sharing, or with 1, 2, 4 or 8 whole devices; among such nodes the fullest."""

from typing import Any

from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import CPU_ONLY, N_CLASSES, SHARING, GpuCell
from borgtrace.scheduling.gpus.policies.dot_product import LARGEST_GPU
from borgtrace.scheduling.gpus.policy import GpuPolicy


@compiled(makes_arrays=False)
def score(cell: GpuCell, own: Any, node: int, kind: int) -> float:
    """Return 75 to 100 on a node with this class alone, 50 with others too, 25 on one without, 0 with others alone."""
    pod_class = cell.kinds.pod_class[kind]
    if pod_class == CPU_ONLY:
        return 0.0
    fullness = 25 * (LARGEST_GPU - cell.total_left[node]) // LARGEST_GPU
    n_classes = 0
    for other in range(SHARING, N_CLASSES):
        n_classes += cell.n_pods[node, other] > 0
    if cell.n_pods[node, pod_class] > 0:
        return float(fullness + (75 if n_classes == 1 else 50))
    return float(fullness + (25 if n_classes == 0 else 0))


POLICY = GpuPolicy(
    name="gpu-clustering",
    title="GpuClustering",
    about="pods of one class together: sharing, or with so many whole devices",
    score=score,
)
