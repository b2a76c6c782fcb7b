"""Weng et al., USENIX ATC 2023: GPU scheduling by the gradient of fragmentation (FGD)."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.question import NotApplicable, Row, charts
from borgtrace.reproduction.axes import Draw
from borgtrace.reproduction.published_paper import ItemAnswer, PublishedItem, PublishedPaper
from borgtrace.scheduling.gpus import GPU_POLICIES, open_gpu_trace
from borgtrace.scheduling.gpus.fgd_results import ALLOCATION, FRAGMENTATION_RATIO, POLICIES

UNALLOCATED = "GPUs that no pod has (%)"
SIX_POLICIES = {"policies": POLICIES}
"""Those of the paper; there are others by now."""
TITLES = [GPU_POLICIES[name].title for name in POLICIES]
DEFAULT_LOADS = [load for workload, load in ALLOCATION if workload == "default"]


def rows_of(answer: pa.Table, workload: str, loads: Iterable[int]) -> list[Row]:
    """Return the rows of a workload and of loads, with the titles of policies and what no pod has.

    Raises
    ------
    NotApplicable
        There is none.
    """
    chosen = answer.filter(
        (pc.field("workload") == workload) & pc.field("load").isin(list(loads))
    ).to_pylist()
    NotApplicable.unless(chosen, f"there are no runs of the workload {workload}")
    rows = []
    for row in chosen:
        title = GPU_POLICIES[row["policy"]].title
        rows.append({**row, "policy": title, "unallocated": 100 - row["allocation"]})
    return rows


def by_load(column: str, title: str) -> Draw:
    """Return what draws a value of the default workload, or of a store, over the load: a line for each policy.

    Parameters
    ----------
    column
        Of the answer, or ``unallocated``.
    title
        Of the vertical axis.
    """

    def draw(answer: pa.Table) -> charts.Chart:
        import altair as alt

        workloads = answer["workload"].to_pylist()
        workload = "default" if "default" in workloads else workloads[0]
        rows = rows_of(answer, workload, range(131))
        return (
            charts.base(rows)
            .mark_line()
            .encode(
                x=alt.X("load:Q", title="requested so far (% of the GPUs)"),
                y=alt.Y(f"{column}:Q", title=title),
                color=alt.Color("policy:N", title=None, sort=TITLES),
                tooltip=charts.tooltips(rows, "policy", "load", column),
            )
        )

    return draw


def bars(workload: str) -> Draw:
    """Return what draws what no pod has at a load of 100 %, with a standard deviation on both sides.

    Parameters
    ----------
    workload
        Which list of pods.
    """

    def draw(answer: pa.Table) -> charts.Chart:
        import altair as alt

        rows = rows_of(answer, workload, [100])
        for row in rows:
            deviation = row["allocation_sd"] or 0.0
            row["low"] = row["unallocated"] - deviation
            row["high"] = row["unallocated"] + deviation
        base = charts.base(rows, height=160).encode(
            y=alt.Y("policy:N", title=None, sort=TITLES),
            tooltip=charts.tooltips(rows, "policy", "unallocated", "allocation_sd"),
        )
        bar = base.mark_bar().encode(x=alt.X("unallocated:Q", title=UNALLOCATED))
        return bar + base.mark_rule().encode(x="low:Q", x2="high:Q")

    return draw


def allocation_claims(workload: str, loads: Iterable[int]) -> tuple[str, ...]:
    """Return the ids of the claims on the allocation of a workload."""
    return tuple(f"FGD-{workload}-{load}-{policy}" for load in loads for policy in POLICIES)


def bars_item(name: str, title: str, workload: str) -> PublishedItem:
    """Return a figure of bars at a load of 100 %."""
    return PublishedItem(
        name=name,
        title=title,
        axes="x: policy; y: unallocated GPUs (%), mean and standard deviation of ten runs",
        answers=(
            ItemAnswer(
                question="gpu_scheduling",
                parameters=SIX_POLICIES,
                claims=allocation_claims(workload, [100]),
                draw=bars(workload),
            ),
        ),
        note=f"The workload {workload}; the paper draws several of its kind.",
    )


PAPER = PublishedPaper(
    name="fgd2023",
    mark="FGD",
    trace="Alibaba's GPU cluster of 2023 (openb)",
    opens=open_gpu_trace,
    note=(
        "Published numbers are the means of ten runs that lie beside the authors' simulator. With its arrivals "
        "(openb_arrivals.csv, in the folder) five policies agree to the last digit; Random draws anew, so that it "
        "agrees within two standard errors. A store holds one list of pods and no arrivals: on it, nothing is judged."
    ),
    items=(
        PublishedItem(
            name="Fig. 7a",
            title="Fragmentation while pods arrive",
            axes="x: arrived workload (% of the GPUs); y: fragmented GPUs (%)",
            answers=(
                ItemAnswer(
                    question="gpu_scheduling",
                    parameters=SIX_POLICIES,
                    claims=(),
                    draw=by_load("fragmentation", "GPUs of no use to typical pods (%)"),
                ),
            ),
        ),
        PublishedItem(
            name="Fig. 7b",
            title="Fragmentation of what is free, while pods arrive",
            axes="x: arrived workload (% of the GPUs); y: fragmented of unallocated GPUs (%)",
            answers=(
                ItemAnswer(
                    question="gpu_scheduling",
                    parameters=SIX_POLICIES,
                    claims=tuple(
                        f"FGD-ratio-{workload}-{load}-{policy}"
                        for workload, load in FRAGMENTATION_RATIO
                        for policy in POLICIES
                    ),
                    draw=by_load("fragmentation_ratio", "of the free GPUs, of no use (%)"),
                ),
            ),
        ),
        PublishedItem(
            name="Fig. 9a",
            title="Unallocated GPUs while pods arrive",
            axes="x: arrived workload (% of the GPUs); y: unallocated GPUs (%), medians",
            answers=(
                ItemAnswer(
                    question="gpu_scheduling",
                    parameters=SIX_POLICIES,
                    claims=allocation_claims("default", DEFAULT_LOADS),
                    draw=by_load("unallocated", UNALLOCATED),
                ),
            ),
            note="Means of the runs, where the paper draws medians.",
        ),
        bars_item("Fig. 11", "More pods that share GPUs", "gpushare60"),
        bars_item("Fig. 12", "More pods with several GPUs", "multigpu20"),
        bars_item("Fig. 13", "More pods that are bound to models", "gpuspec33"),
        bars_item("Fig. 14", "Fewer pods without GPU", "cpu100"),
    ),
)
