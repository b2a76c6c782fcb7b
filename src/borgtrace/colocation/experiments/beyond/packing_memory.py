"""How many machines are needed when memory must fit too?

Beyond Janus & Rzadca (SoCC'17): CPU is rate-limited, so a probability of overflow may be promised (ρ = .001); memory is
value-limited, exceeding it kills the task, so it gets a test of its own: the maximum seen, or a Gaussian tail of
10⁻⁵. First Fit, Best Fit (least room in the scarcer resource) and dot product choose among the machines where both
fit. Vector GPA is GPA for the CPU, and a hard limit for all else that the store has: memory by its maximum, local disk
space (2011) by the request, which is 0 where it is unknown.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace import placement
from borgtrace.colocation import ColocationOptions, Experiment, Study, TaskPool
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.scopes import OWN
from borgtrace.colocation.packing.instances import Instance
from borgtrace.colocation.packing.quality import least_machines, qualities
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import Average, Convolution, Estimator, Gpa, Percentile
from borgtrace.placement.estimators.vector import VectorGpa
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    NotApplicable,
    at_most,
    charts,
    equals,
    query_answer,
    sql,
)

ANSWER = Answer(
    grain="tests, packer and instance",
    key=[
        Column("cpu", "string", "id", "Test for CPU."),
        Column("memory", "string", "id", "Test for memory."),
        Column("packer", "string", "id", "Name of the packer."),
        Column("instance", "int64", "id", "Number of the instance."),
    ],
    columns=[
        Column(
            "resources",
            "int64",
            "count",
            "What has to fit: CPU and memory, and disk space as the third.",
        ),
        Column("m_abs", "int64", "count", "Machines in use."),
        Column(
            "lower_bound",
            "int64",
            "count",
            "Machines that the placed tasks' mean usage of the scarcer resource fills.",
        ),
        Column("q_cpu", "float64", "fraction", "Share of CPU overflows."),
        Column("q_memory", "float64", "fraction", "Share of memory overflows."),
        Column("n_unplaceable", "int64", "count", "Tasks that fit no machine alone."),
    ],
)


PACKERS = ("first-fit", "best-fit", "dot-product")


class ResourceTests(NamedTuple):
    """A way of packing: what the tests for CPU and memory are called, how many resources have to fit, the test."""

    cpu: str
    memory: str
    n_resources: int
    estimator: Estimator


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Pack CPU and memory together with every pair of tests and every packer.

    Raises
    ------
    NotApplicable
        The pool has no memory.
    """
    pool = study.pool(options)
    NotApplicable.unless(pool.memory is not None, "no memory was observed")
    disk = known_disk_requests(pool)
    instances = study.instances(options)
    return instances.rows(lambda instance: pack_instance(instance, disk))


def known_disk_requests(pool: TaskPool) -> Numbers | None:
    """Return the disk request of each task, 0 where it is unknown; None where all are unknown.

    Parameters
    ----------
    pool
        The tasks.
    """
    disk = pool.disk_request
    if disk is None or np.isnan(disk).all():
        return None
    return np.nan_to_num(disk).astype(np.float64)


def pack_instance(instance: Instance, disk: Numbers | None) -> list[Row]:
    """Pack one instance in every way.

    Parameters
    ----------
    instance
        Tasks and their realizations.
    disk
        Requests of all tasks of the pool, where they are known.
    """
    # Without a salt: draw r of memory is then of the same window as draw r of CPU.
    memory = instance.draw("memory")
    memory_use = placement.Observation(memory)
    seen = instance.seen.with_more(memory=memory_use)
    hard_limits = [memory_use.percentile(100)]
    if disk is not None:
        hard_limits.append(disk[instance.tasks])
    rows = []
    packings = []
    for way in ways(seen, hard_limits):
        fitted = placement.fit(way.estimator, seen)
        for packer in PACKERS:
            packing = placement.pack_fitted(fitted, packer=placement.parse_packer(packer))
            packings.append(packing)
            least_by_cpu = least_machines(seen.mean, placed=packing)
            least_by_memory = least_machines(memory_use.mean, placed=packing)
            rows.append(
                {
                    "cpu": way.cpu,
                    "memory": way.memory,
                    "resources": way.n_resources,
                    "packer": packer,
                    "instance": instance.number,
                    "m_abs": packing.n_bins,
                    # No packing beats either resource alone.
                    "lower_bound": max(least_by_cpu, least_by_memory),
                    "n_unplaceable": len(packing.unplaceable),
                }
            )
    cpu = qualities(instance.inst, packings)
    of_memory = qualities(memory, packings, resource=1)
    return [
        row | {"q_cpu": q_cpu, "q_memory": q_memory}
        for row, q_cpu, q_memory in zip(rows, cpu, of_memory, strict=True)
    ]


def ways(seen: placement.Observation, hard_limits: list[Numbers]) -> list[ResourceTests]:
    """Return vector GPA, and every pair of a CPU test and a memory test.

    Parameters
    ----------
    seen
        Usage of the tasks.
    hard_limits
        What each task takes at most of memory, and of disk space where it is known.
    """
    vector = VectorGpa.of(0.001, [seen], hard_limits)
    listed = [ResourceTests(vector.label, "percentile 100", 1 + len(hard_limits), vector)]
    for cpu_test in (Gpa(0.001), Convolution(0.001), Average(1.25)):
        for memory_test in (Percentile(100), Gpa(1e-5)):
            both = placement.MultiResource.of(cpu_test, memory_test)
            listed.append(ResourceTests(cpu_test.label, memory_test.label, 2, both))
    return listed


def chart(answer: pa.Table) -> charts.Chart:
    """Draw machines over the lower bound as boxes over instances, by tests and packer."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select
            *,
            cpu || ', memory ' || memory as tests,
            m_abs / lower_bound as m
        from answer
        """,
    )
    return (
        charts.base(rows, title="CPU and memory together", height=None)
        .mark_boxplot()
        .encode(
            x=alt.X("m:Q", title="machines ÷ lower bound", scale=alt.Scale(zero=False)),
            y=alt.Y("tests:N", title=None, axis=alt.Axis(labelLimit=300)),
            color=alt.Color("packer:N", title="packer"),
            yOffset="packer:N",
        )
    )


CLAIMS = [
    Claim(
        "memory-kept",
        statement="memory packed by its maximum never overflows (share of overflows)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            "select avg(q_memory) from answer where memory = 'percentile 100'",
            otherwise="not among the ways of packing that were run",
        ),
        criterion=equals(0),
    ),
    Claim(
        "memory-cpu-kept",
        statement="beside a memory test convolution exceeds its CPU target by at most 2 % (q ÷ ρ)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            "select avg(q_cpu) / 0.001 from answer where cpu = 'convolution 0.001'",
            otherwise="not among the ways of packing that were run",
        ),
        criterion=at_most(1.02),
    ),
    Claim(
        "memory-dot-product",
        statement="dot product needs at most 1 % more machines than First Fit (ratio)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
            select
                avg(m_abs) filter (packer = 'dot-product')
                / avg(m_abs) filter (packer = 'first-fit')
            from answer
            """,
            otherwise="not among the ways of packing that were run",
        ),
        criterion=at_most(1.01),
    ),
]

QUESTION = Experiment(
    name="packing_memory",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=PACKING,
    defaults={"instances": 3},
    reference="Janus & Rzadca, SoCC'17, §7 (future work); Panigrahy et al. 2011 (dot product)",
)
