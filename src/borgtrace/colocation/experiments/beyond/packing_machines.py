"""What changes on machines of unequal size?

Beyond Janus & Rzadca (SoCC'17): machines are drawn from the given mix, else from the capacity table of the cell, else
(where the store has no machines) from the published one of 2011. They are opened in the order in which they come,
largest first, or smallest first; a task that does not fit a fresh machine leaves it to later tasks. Here m is the
*capacity* in use ÷ mean usage.
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import ColocationOptions, Experiment, Study
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.experiments.shared.scopes import OWN
from borgtrace.colocation.packing.instances import Instance
from borgtrace.colocation.packing.machine_kinds import CPU, machines, parse_mix
from borgtrace.colocation.packing.quality import qualities
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
from borgtrace.question import Answer, Claim, Column, at_most, below, charts, query_answer, sql

ANSWER = Answer(
    grain="estimator, packer, order of machines and instance",
    key=[
        Column("estimator", "string", "id", "Estimator and parameter."),
        Column("packer", "string", "id", "Name of the packer."),
        Column("order", "string", "id", "Order in which machines are opened."),
        Column("instance", "int64", "id", "Number of the instance."),
    ],
    columns=[
        Column("n_machines", "int64", "count", "Machines in use."),
        Column("capacity", "float64", "fraction", "Their CPU capacity together."),
        Column("m", "float64", "1", "Capacity in use over the mean usage of the placed tasks."),
        Column("q", "float64", "fraction", "Share of overflows."),
        Column("n_unplaceable", "int64", "count", "Tasks that fit no machine alone."),
    ],
)


ORDERS = ("as they come", "largest first", "smallest first")


def ways() -> list[Estimator]:
    """Return the estimators compared."""
    return [
        Gpa(0.01),
        Gpa(0.001),
        Convolution(0.001),
        Average(1.25),
        Percentile(100),
    ]


def compute(study: Study, options: ColocationOptions) -> list[Row]:
    """Pack onto unequal machines with every estimator, packer and order."""
    kinds = parse_mix(options.mix) if options.mix else study.machines()
    instances = study.instances(options)
    return instances.rows(lambda instance: pack_instance(instance, kinds, options.seed))


def pack_instance(instance: Instance, kinds: Numbers, seed: int) -> list[Row]:
    """Pack one instance in every way.

    Parameters
    ----------
    instance
        Tasks and their realizations.
    kinds
        float64 (k, 3): CPU, memory and number of each kind of machine.
    seed
        Of the draw of machines.
    """
    seen = instance.seen
    # Twice as many as can be used: a task that does not fit a small machine must still meet a large one.
    inventory = machines(kinds, 2 * len(seen), seed + instance.number)
    largest = float(inventory[:, CPU].max())
    rows = []
    packings = []
    for estimator in ways():
        fitted = fit(estimator, seen, largest)
        for order in ORDERS:
            capacities = in_order(inventory, order)
            for packer in ("first-fit", "best-fit"):
                packing = pack_fitted(
                    fitted,
                    packer=parse_packer(packer),
                    inventory=capacities,
                )
                packings.append(packing)
                # Capacity, not machines: half a machine is not as much as a whole one.
                capacity_in_use = float(packing.capacities.sum())
                placed_usage = float(seen.mean[packing.bins >= 0].sum())
                rows.append(
                    {
                        "estimator": estimator.label,
                        "packer": packer,
                        "order": order,
                        "instance": instance.number,
                        "n_machines": packing.n_bins,
                        "capacity": capacity_in_use,
                        "m": capacity_in_use / placed_usage if placed_usage else 0.0,
                        "n_unplaceable": len(packing.unplaceable),
                    }
                )
    shares = qualities(instance.inst, packings)
    return [row | {"q": share} for row, share in zip(rows, shares, strict=True)]


def in_order(inventory: Numbers, order: str) -> Numbers:
    """Return the CPU capacities of the machines, in one of :data:`ORDERS`, float64 (M,).

    Parameters
    ----------
    inventory
        float64 (M, 2): CPU and memory capacity of each machine, as they come.
    order
        One of :data:`ORDERS`.
    """
    cpu = inventory[:, CPU]
    match order:
        case "largest first":
            return np.sort(cpu)[::-1]
        case "smallest first":
            return np.sort(cpu)
        case _:
            return cpu


def chart(answer: pa.Table) -> charts.Chart:
    """Draw the capacity in use against overflow, Best Fit, by estimator and order of the machines."""
    import altair as alt

    rows = query_answer(
        answer,
        """
        select estimator, "order", avg(m) as m, greatest(avg(q), 1e-7) as q
        from answer
        where packer = 'best-fit'
        group by all
        order by all
        """,
    )
    return (
        charts.base(rows, title="Machines of unequal size", width=460, height=320)
        .mark_point(filled=True, size=70)
        .encode(
            x=alt.X("m:Q", title="capacity in use ÷ mean usage", scale=alt.Scale(zero=False)),
            y=alt.Y("q:Q", title="overflow probability (q)", **charts.probability_scale()),
            color=alt.Color("estimator:N", title="estimator"),
            shape=alt.Shape("order:N", title="order"),
            tooltip=charts.tooltips(rows),
        )
    )


CLAIMS = [
    Claim(
        "machines-promise",
        statement="on unequal machines convolution exceeds ρ = .001 by at most 5 % (q ÷ ρ)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            "select avg(q) / 0.001 from answer where estimator = 'convolution 0.001'",
            otherwise="not among the ways of packing that were run",
        ),
        criterion=at_most(1.05),
    ),
    Claim(
        "machines-order",
        statement="large machines first need less capacity (over smallest first, gpa .001)",
        kind="criterion",
        scope=OWN,
        measure=sql(
            """
            select
                avg(m) filter ("order" = 'largest first')
                / avg(m) filter ("order" = 'smallest first')
            from answer
            where estimator = 'gpa 0.001'
            """,
            otherwise="not among the ways of packing that were run",
        ),
        criterion=below(1),
    ),
]

QUESTION = Experiment(
    name="packing_machines",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    options=(*PACKING, "mix"),
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
)
