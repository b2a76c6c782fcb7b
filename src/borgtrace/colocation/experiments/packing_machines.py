"""What changes on machines of unequal size?

Past Janus & Rzadca (SoCC'17): machines are drawn from a mix that is given, else from the capacity table of the cell,
else (where the store has no machines) from the published one of 2011.  They are opened in the order they come, largest
first, or smallest first; a task that does not fit a fresh machine leaves it to later tasks.  Here m is the *capacity*
in use ÷ mean usage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.colocation.experiments._charts import overflow_axis
from borgtrace.colocation.experiments._grids import Scale, instances_of
from borgtrace.colocation.instances import Instance
from borgtrace.colocation.inventory import capacity_table, machines, parse_mix
from borgtrace.colocation.quality import quality
from borgtrace.placement.estimators.average import Average
from borgtrace.placement.estimators.convolution import Convolution
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.percentile import Percentile
from borgtrace.placement.packers import parse_packer
from borgtrace.placement.packing import fit, pack_fitted
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "packing_machines",
    "estimator, packer, order of machines and instance",
    ("estimator", "packer", "order", "instance"),
    (
        Column("estimator", "string", "id", "Estimator and parameter.", nullable=False),
        Column("packer", "string", "id", "Name of the packer.", nullable=False),
        Column("order", "string", "id", "Order in which machines are opened.", nullable=False),
        Column("instance", "int64", "id", "Number of the instance.", nullable=False),
        Column("n_machines", "int64", "1", "Machines in use.", nullable=False),
        Column("capacity", "float64", "fraction", "Their CPU capacity together.", nullable=False),
        Column("m", "float64", "1", "Capacity in use over the mean usage of the placed tasks.", nullable=False),
        Column("q", "float64", "fraction", "Share of overflows.", nullable=False),
        Column("n_unplaceable", "int64", "1", "Tasks that fit no machine alone.", nullable=False),
    ),
)
ORDERS = ("as they come", "largest first", "smallest first")


def ways() -> list[Estimator]:
    """The estimators compared."""
    return [Gpa(0.01), Gpa(0.001), Convolution(0.001), Average(1.25), Percentile(100)]


def compute(
    tables: Tables,
    *,
    tasks: int = 100_000,
    realizations: int = 10_000,
    instances: int = 5,
    size: int = 1_000,
    seed: int = 0,
    mix: str = "",
) -> pa.Table:
    """Pack onto unequal machines with every estimator, packer and order; `mix` as in `parse_mix`."""
    table = parse_mix(mix) if mix else capacity_table(tables)
    drawn = instances_of(tables, Scale(tasks, realizations, instances, size, seed))
    rows = drawn.map(lambda instance: _rows(instance, table, seed))
    return pa.Table.from_pylist([row for some in rows for row in some])


def in_order(inventory: NDArray[np.float64], order: str) -> NDArray[np.float64]:
    """CPU capacities of the machines, in one of :data:`ORDERS`."""
    cpu = inventory[:, 0]
    if order == ORDERS[0]:
        return cpu
    return np.sort(cpu)[::-1] if order == ORDERS[1] else np.sort(cpu)


def _rows(instance: Instance, table: NDArray[np.float64], seed: int) -> list[dict[str, Any]]:
    seen = instance.seen
    drawn = machines(table, 2 * len(seen), seed + instance.number)
    rows = []
    for estimator in ways():
        fitted = fit(estimator, seen, float(drawn[:, 0].max()))
        for order in ORDERS:
            for packer in ("first-fit", "best-fit"):
                packing = pack_fitted(fitted, packer=parse_packer(packer), inventory=in_order(drawn, order))
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


def plot(result: pa.Table) -> alt.Chart:
    """Draw capacity in use against overflow, per estimator and order."""
    import altair as alt

    return (
        alt.Chart(alt.Data(values=[row for row in result.to_pylist() if row["packer"] == "best-fit"]))
        .transform_aggregate(m="mean(m)", q="mean(q)", groupby=["estimator", "order"])
        .transform_calculate(shown="max(datum.q, 1e-7)")
        .mark_point(filled=True, size=70)
        .encode(
            x=alt.X("m:Q", title="capacity in use ÷ mean usage", scale=alt.Scale(zero=False)),
            y=overflow_axis(alt.Y, "shown"),
            color="estimator:N",
            shape="order:N",
            tooltip=["estimator:N", "order:N", "m:Q", "q:Q"],
        )
        .properties(width=460, height=320, title="Machines of unequal size")
    )


def _mean(result: pa.Table, column: str, **where: str) -> float:
    kept = [row[column] for row in result.to_pylist() if all(row[k] == v for k, v in where.items())]
    if not kept:
        raise NotApplicable("not among the ways of packing that were run")
    return float(np.mean(kept))


CLAIMS = (
    Claim(
        "machines-promise",
        "convolution keeps ρ = .001 on unequal machines (q ÷ ρ)",
        "≤ 1.05",
        lambda r: _mean(r, "q", estimator="convolution 0.001") / 0.001,
        lambda v: v <= 1.05,
    ),
    Claim(
        "machines-order",
        "large machines first need less capacity (over smallest first, gpa .001)",
        "< 1",
        lambda r: (
            _mean(r, "m", estimator="gpa 0.001", order=ORDERS[1])
            / _mean(r, "m", estimator="gpa 0.001", order=ORDERS[2])
        ),
        lambda v: v < 1,
    ),
)

RECIPE = Recipe(
    "packing_machines",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
    order=390,
)
