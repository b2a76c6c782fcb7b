"""How many machines are needed when memory must fit too?

Beyond Janus & Rzadca (SoCC'17): CPU is rate-limited, so a probability of overflow may be promised (ρ = .001); memory is
value-limited, exceeding it kills the task, so it gets a test of its own: the maximum seen, or a Gaussian tail of
10⁻⁵. First Fit, Best Fit (least room in the scarcer resource) and dot product choose among the machines where both
fit. Vector GPA is GPA for the CPU, and a hard limit for all else that the store has: memory by its maximum, local disk
space (2011) by the request, which is 0 where it is unknown.

Reference: Janus & Rzadca, SoCC'17, §7 (future work); Panigrahy et al. 2011 (dot product).
"""

import numpy as np

from borgtrace import placement
from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments._answers import Row
from borgtrace.colocation.instances import Instance
from borgtrace.colocation.pool import picked
from borgtrace.colocation.quality import least_machines, quality
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import Average, Convolution, Estimator, Gpa, Percentile
from borgtrace.placement.estimators.vector import VectorGpa
from borgtrace.question import NotApplicable

PACKERS = ("first-fit", "best-fit", "dot-product")


def tests() -> list[tuple[Estimator, Estimator]]:
    """Pairs of a CPU test and a memory test."""
    cpu = (Gpa(0.001), Convolution(0.001), Average(1.25))
    return [(c, m) for c in cpu for m in (Percentile(100), Gpa(1e-5))]


def compute(study: Study, options: Options) -> list[Row]:
    """Pack CPU and memory together with every pair of tests and every packer.

    Raises
    ------
    NotApplicable
        The pool has no memory.
    """
    pool = study.pool(options)
    NotApplicable.unless(pool.memory is not None, "no memory was observed")
    disk = pool.disk_request
    known = None if disk is None or np.isnan(disk).all() else np.nan_to_num(disk).astype(np.float64)
    return study.instances(options).rows(
        lambda instance: _rows(instance, picked(known, instance.tasks))
    )


def _rows(instance: Instance, disk: Numbers | None) -> list[Row]:
    # Without a salt: draw r of memory is then of the same window as draw r of CPU.
    memory = instance.draw("memory")
    used = placement.Observation(memory)
    seen = instance.seen.with_more(memory=used)
    rows = []
    limits = [used.percentile(100), *([] if disk is None else [disk])]
    vector = VectorGpa.of(0.001, [seen], limits)
    ways: list[tuple[str, str, int, Estimator]] = [
        (vector.label, "percentile 100", 1 + len(limits), vector)
    ]
    ways += [(c.label, m.label, 2, placement.MultiResource.of(c, m)) for c, m in tests()]
    for cpu, hard, resources, estimator in ways:
        fitted = placement.fit(estimator, seen)
        for packer in PACKERS:
            packing = placement.pack_fitted(fitted, packer=placement.parse_packer(packer))
            rows.append(
                {
                    "cpu": cpu,
                    "memory": hard,
                    "resources": resources,
                    "packer": packer,
                    "instance": instance.number,
                    "m_abs": packing.n_bins,
                    # No packing beats either resource alone.
                    "lower_bound": max(
                        least_machines(each.mean, placed=packing) for each in (seen, used)
                    ),
                    "q_cpu": quality(instance.inst, packing),
                    "q_memory": quality(memory, packing, resource=1),
                    "n_unplaceable": len(packing.unplaceable),
                }
            )
    return rows


EXPERIMENT = Experiment.declared(compute, order=380, options=PACKING, defaults={"instances": 3})
