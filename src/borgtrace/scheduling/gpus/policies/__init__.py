"""Policies for GPUs by name, one module each."""

from borgtrace.scheduling.gpus.policies import (
    best_fit,
    bids,
    clustering,
    dot_product,
    fgd,
    packing,
    random_node,
)

GPU_POLICIES = {
    policy.name: policy
    for policy in (
        random_node.POLICY,
        dot_product.POLICY,
        clustering.POLICY,
        packing.POLICY,
        best_fit.POLICY,
        fgd.POLICY,
        bids.POLICY,
    )
}
"""Ours by name, in the order of the tables of FGD."""
