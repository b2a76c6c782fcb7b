"""How many machines does it take when memory must fit too?

Past Janus & Rzadca (SoCC'17): CPU is rate-limited, so a probability of overflow may be promised (ρ = .001); memory is
value-limited, exceeding it kills, so it gets a test of its own: the maximum seen, or a Gaussian tail of 10⁻⁵.  First
Fit, Best Fit (least room in the scarcer resource) and dot product choose among the machines where both fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from borgtrace.colocation.experiments._grids import Scale, instances_of
from borgtrace.colocation.instances import Instance, Instances
from borgtrace.colocation.quality import lower_bound, quality
from borgtrace.colocation.source import pool_of
from borgtrace.placement.estimators.average import Average
from borgtrace.placement.estimators.convolution import Convolution
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.multi_resource import MultiResource
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.percentile import Percentile
from borgtrace.placement.packers import parse_packer
from borgtrace.placement.packing import fit, pack_fitted
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "packing_memory",
    "tests, packer and instance",
    ("cpu", "memory", "packer", "instance"),
    (
        Column("cpu", "string", "id", "Test for CPU.", nullable=False),
        Column("memory", "string", "id", "Test for memory.", nullable=False),
        Column("packer", "string", "id", "Name of the packer.", nullable=False),
        Column("instance", "int64", "id", "Number of the instance.", nullable=False),
        Column("m_abs", "int64", "1", "Machines in use.", nullable=False),
        Column("lower_bound", "int64", "1", "Machines that mean usage of the scarcer resource fills.", nullable=False),
        Column("q_cpu", "float64", "fraction", "Share of CPU overflows.", nullable=False),
        Column("q_memory", "float64", "fraction", "Share of memory overflows.", nullable=False),
        Column("n_unplaceable", "int64", "1", "Tasks that fit no machine alone.", nullable=False),
    ),
)
PACKERS = ("first-fit", "best-fit", "dot-product")


def tests() -> list[tuple[Estimator, Estimator]]:
    """Pairs of a CPU test and a memory test."""
    cpu = (Gpa(0.001), Convolution(0.001), Average(1.25))
    return [(c, m) for c in cpu for m in (Percentile(100), Gpa(1e-5))]


def compute(
    tables: Tables,
    *,
    tasks: int = 100_000,
    realizations: int = 10_000,
    instances: int = 3,
    size: int = 1_000,
    seed: int = 0,
) -> pa.Table:
    """Pack CPU and memory together with every pair of tests and every packer."""
    pool = pool_of(tables, tasks=tasks, seed=seed)
    if pool.memory is None:
        raise NotApplicable("no memory was observed")
    drawn = instances_of(tables, Scale(tasks, realizations, instances, size, seed))
    rows = drawn.map(lambda instance: _rows(instance, drawn))
    return pa.Table.from_pylist([row for some in rows for row in some])


def _rows(instance: Instance, drawn: Instances) -> list[dict[str, Any]]:
    memory = drawn.pool.draw(instance.tasks, drawn.realizations, drawn.seed, "memory")
    seen = instance.seen.with_more(memory=Observation(memory))
    bound = max(lower_bound(instance.inst), lower_bound(memory))
    rows = []
    for cpu_test, memory_test in tests():
        fitted = fit(MultiResource.of(cpu_test, memory_test), seen)
        for packer in PACKERS:
            packing = pack_fitted(fitted, packer=parse_packer(packer))
            rows.append(
                {
                    "cpu": cpu_test.label,
                    "memory": memory_test.label,
                    "packer": packer,
                    "instance": instance.number,
                    "m_abs": packing.n_bins,
                    "lower_bound": bound,
                    "q_cpu": quality(instance.inst, packing),
                    "q_memory": quality(memory, packing, resource=1),
                    "n_unplaceable": len(packing.unplaceable),
                }
            )
    return rows


def plot(result: pa.Table) -> alt.Chart:
    """Draw machines per pair of tests and packer."""
    import altair as alt

    return (
        alt.Chart(alt.Data(values=result.to_pylist()))
        .transform_calculate(tests="datum.cpu + ', memory ' + datum.memory", m="datum.m_abs / datum.lower_bound")
        .mark_boxplot(extent="min-max")
        .encode(
            x=alt.X("m:Q", title="machines ÷ lower bound", scale=alt.Scale(zero=False)),
            y=alt.Y("tests:N", title=None),
            yOffset="packer:N",
            color="packer:N",
        )
        .properties(width=420, title="CPU and memory together")
    )


def _mean(result: pa.Table, column: str, **where: str) -> float:
    kept = [row[column] for row in result.to_pylist() if all(row[k] == v for k, v in where.items())]
    if not kept:
        raise NotApplicable("not among the ways of packing that were run")
    return float(np.mean(kept))


CLAIMS = (
    Claim(
        "memory-kept",
        "memory packed by its maximum never overflows (share of overflows)",
        "0",
        lambda r: _mean(r, "q_memory", memory="percentile 100"),
        lambda v: v == 0,
    ),
    Claim(
        "memory-cpu-kept",
        "convolution keeps its CPU promise beside a memory test (q ÷ ρ)",
        "≤ 1.02",
        lambda r: _mean(r, "q_cpu", cpu="convolution 0.001") / 0.001,
        lambda v: v <= 1.02,
    ),
    Claim(
        "memory-dot-product",
        "dot product needs no more machines than First Fit (ratio)",
        "≤ 1.01",
        lambda r: _mean(r, "m_abs", packer="dot-product") / _mean(r, "m_abs", packer="first-fit"),
        lambda v: v <= 1.01,
    ),
)

RECIPE = Recipe(
    "packing_memory",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Janus & Rzadca, SoCC'17, §7 (future work); Panigrahy et al. 2011 (dot product)",
    order=380,
)
