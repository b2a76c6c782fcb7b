"""How much of a node's free GPUs typical pods cannot use: the F of FGD, class by class.

For each typical kind, what is left of a node's GPUs falls into classes: all of it where the kind cannot be placed or
wants no GPU, and what is left on devices that are too small for it where it can.  All but what a kind can use is
fragmentation, weighted by the share of the kind.
"""

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.scheduling.gpus.cell import GpuCell


@compiled(inline=True, makes_arrays=False)
def devices_for(left: Index, n_devices: int, wanted: int) -> tuple[int, int]:
    """Return how many devices have as much left, and what is left on the others together."""
    n_fitting = 0
    too_small = 0
    for device in range(n_devices):
        if left[device] >= wanted:
            n_fitting += 1
        else:
            too_small += left[device]
    return n_fitting, too_small


@compiled(makes_arrays=False)
def fragmentation_if(cell: GpuCell, node: int, cpu_left: int, left: Index) -> float:
    """Return the fragmentation of a node, in thousandths of a device, if this were left of it.

    Parameters
    ----------
    cell
        The nodes; of this one only the model and the number of devices are read.
    node
        Which node.
    cpu_left, left
        What would be left of its CPU, and of each device.
    """
    typical = cell.typical
    n_devices = cell.n_devices[node]
    total = 0
    for device in range(n_devices):
        total += left[device]
    # Classes are added up each for itself, as FGD does: the last bit of a sum of floats depends on the order, and a
    # score that is cut off on the last bit.
    lacks_both = 0.0
    lacks_gpu = 0.0
    lacks_cpu = 0.0
    wants_none = 0.0
    wants_none_lacks_cpu = 0.0
    no_access = 0.0
    for kind in range(len(typical.weight)):
        weight = typical.weight[kind]
        has_cpu = cpu_left >= typical.cpu[kind]
        wanted = typical.gpu_milli[kind]
        if wanted == 0 and has_cpu:
            wants_none += weight * total
        elif wanted == 0:
            wants_none_lacks_cpu += weight * total
        elif not typical.allowed[kind, cell.model[node]]:
            no_access += weight * total
        else:
            n_fitting, too_small = devices_for(left, n_devices, wanted)
            has_gpus = n_fitting >= typical.n_gpus[kind]
            if has_cpu:
                lacks_gpu += weight * (too_small if has_gpus else total)
            elif has_gpus:
                lacks_cpu += weight * total
            else:
                lacks_both += weight * total
    return lacks_both + lacks_gpu + lacks_cpu + wants_none + wants_none_lacks_cpu + no_access


@compiled(makes_arrays=False)
def update_fragmentation(cell: GpuCell, node: int) -> None:
    """Compute the fragmentation of a node anew, as its state is now."""
    cell.fragmentation[node] = fragmentation_if(cell, node, cell.cpu_left[node], cell.left[node])
