"""What changes on machines of unequal size?

Beyond Janus & Rzadca (SoCC'17): machines are drawn from the given mix, else from the capacity table of the cell, else
(where the store has no machines) from the published one of 2011. They are opened in the order in which they come,
largest first, or smallest first; a task that does not fit a fresh machine leaves it to later tasks. Here m is the
*capacity* in use ÷ mean usage.

Reference: Janus & Rzadca, SoCC'17, §7 (future work).
"""

import numpy as np

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments._answers import Row
from borgtrace.colocation.instances import Instance
from borgtrace.colocation.inventory import machines, parse_mix
from borgtrace.colocation.quality import quality
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import (
    Average,
    Convolution,
    Estimator,
    Gpa,
    Percentile,
    fit,
    pack_fitted,
    parse_packer,
)

ORDERS = ("as they come", "largest first", "smallest first")


def ways() -> list[Estimator]:
    """The estimators compared."""
    return [Gpa(0.01), Gpa(0.001), Convolution(0.001), Average(1.25), Percentile(100)]


def compute(study: Study, options: Options) -> list[Row]:
    """Pack onto unequal machines with every estimator, packer and order."""
    table = parse_mix(options.mix) if options.mix else study.machines()
    return study.instances(options).rows(lambda instance: _rows(instance, table, options.seed))


def in_order(inventory: Numbers, order: str) -> Numbers:
    """CPU capacities of the machines, in one of :data:`ORDERS`, float64 (M,).

    Parameters
    ----------
    inventory
        float64 (M, 2): CPU and memory capacity of each machine, as they come.
    order
        One of :data:`ORDERS`.
    """
    cpu = inventory[:, 0]
    if order == ORDERS[0]:
        return cpu
    return np.sort(cpu)[::-1] if order == ORDERS[1] else np.sort(cpu)


def _rows(instance: Instance, table: Numbers, seed: int) -> list[Row]:
    seen = instance.seen
    # Twice as many as can be used: a task that does not fit a small machine must still meet a large one.
    drawn = machines(table, 2 * len(seen), seed + instance.number)
    rows = []
    for estimator in ways():
        fitted = fit(estimator, seen, float(drawn[:, 0].max()))
        for order in ORDERS:
            for packer in ("first-fit", "best-fit"):
                packing = pack_fitted(
                    fitted, packer=parse_packer(packer), inventory=in_order(drawn, order)
                )
                # Capacity, not machines: half a machine is not as much as a whole one.
                used = float(packing.capacities.sum())
                placed = float(seen.mean[packing.bins >= 0].sum())
                rows.append(
                    {
                        "estimator": estimator.label,
                        "packer": packer,
                        "order": order,
                        "instance": instance.number,
                        "n_machines": packing.n_bins,
                        "capacity": used,
                        "m": used / placed if placed else 0.0,
                        "q": quality(instance.inst, packing),
                        "n_unplaceable": len(packing.unplaceable),
                    }
                )
    return rows


EXPERIMENT = Experiment.declared(compute, order=390, options=(*PACKING, "mix"))
