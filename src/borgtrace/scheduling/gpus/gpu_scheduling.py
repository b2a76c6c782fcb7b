"""How much of a cluster's GPUs do pods get, by policy, as more of them arrive?

Pods arrive one after the other and stay; one that fits nowhere fails, and does not come again. A sharing pod takes
thousandths of one device, others whole devices; all take CPU and memory, and some only certain models of GPUs. The load
is what pods have requested so far, those that failed too. A value of a load is the mean over all events of it (each pod
is one), and then over the runs, which differ in the order of arrivals and in the ranks of nodes. Fragmentation is the
part of the free GPUs that the typical pods of the workload (its most frequent kinds, 95 % of the pods) cannot use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from borgtrace.engine.workers import map_workers
from borgtrace.question import Answer, Column, Report, Row
from borgtrace.scheduling.gpus.fgd_claims import CLAIMS
from borgtrace.scheduling.gpus.fgd_results import FIRST_SEED, N_RUNS
from borgtrace.scheduling.gpus.gpu_charts import best_in_words, chart
from borgtrace.scheduling.gpus.gpu_options import GpuOptions, NamedPolicy, gpu_policy
from borgtrace.scheduling.gpus.gpu_question import GpuQuestion
from borgtrace.scheduling.gpus.metrics import LOADS, LoadColumns
from borgtrace.scheduling.gpus.workload import GpuWorkload, columns_of_run
from borgtrace.schema.bounds import GPU_RUNS, SEED

ANSWER = Answer(
    grain="workload, policy, rule for ties and load",
    key=[
        Column("workload", "string", "id", "List of pods."),
        Column("policy", "string", "id", "Policy."),
        Column("ties", "string", "id", "Which of equal nodes is taken: by rank, drawn, by file."),
        Column("load", "int64", "%", "Of all GPUs, how much pods had requested."),
    ],
    columns=[
        Column("runs", "int64", "count", "Runs, each with arrivals of its own."),
        Column(
            "published_arrivals", "int64", "count", "Of these, with arrivals that were published."
        ),
        Column("allocation", "float64", "%", "Of all GPUs, how much pods have."),
        Column(
            "allocation_sd",
            "float64",
            "%",
            "Standard deviation over the runs; NULL of one.",
            nullable=True,
        ),
        Column(
            "fragmentation",
            "float64",
            "%",
            "Of all GPUs, how much is free and of no use to typical pods.",
        ),
        Column(
            "fragmentation_ratio",
            "float64",
            "%",
            "Of the free GPUs, how much is of no use to typical pods.",
        ),
        Column(
            "fragmentation_ratio_sd",
            "float64",
            "%",
            "Standard deviation over the runs; NULL of one.",
            nullable=True,
        ),
        Column("failed", "float64", "%", "Of the pods that arrived, how many failed."),
        Column(
            "failed_several",
            "float64",
            "%",
            "Of the pods that arrived and request several GPUs, how many failed.",
        ),
    ],
    most_important=[
        "workload",
        "policy",
        "ties",
        "load",
        "allocation",
        "fragmentation_ratio",
        "failed",
    ],
)


@dataclass(frozen=True, slots=True)
class GpuSchedulingOptions(GpuOptions):
    """What is simulated: see :class:`~borgtrace.scheduling.gpus.gpu_options.GpuOptions`.

    Attributes
    ----------
    loads
        Loads to show, in percent of all GPUs; all where empty.
    runs
        Runs of each, with the seeds from `seed` on.
    """

    seed: Annotated[int, SEED] = FIRST_SEED
    loads: Sequence[int] = ()
    runs: Annotated[int, GPU_RUNS] = N_RUNS


@dataclass(frozen=True, slots=True)
class GpuExperiment:
    """Runs that are averaged: a workload, a policy, and a rule for ties."""

    workload: GpuWorkload
    name: str
    policy: NamedPolicy
    ties: str


def compute(
    workloads: Sequence[GpuWorkload], options: GpuSchedulingOptions, report: Report
) -> list[Row]:
    """Return the means of all runs, by workload, policy, rule for ties and load."""
    experiments = []
    for workload in workloads:
        for name, policy in options.named_policies().items():
            for ties in options.ties:
                experiments.append(GpuExperiment(workload, name, policy, ties))
    seeds = range(options.seed, options.seed + options.runs)
    run_all = partial(columns_of_runs, seeds=seeds)
    rows: list[Row] = []
    asked = reporting(experiments, report)
    for experiment, columns in map_workers(run_all, asked, options.jobs, place="gpus"):
        rows += rows_of_experiment(experiment, columns, seeds, options.loads or range(LOADS))
    return rows


def reporting(experiments: Sequence[GpuExperiment], report: Report) -> Iterator[GpuExperiment]:
    """Yield the experiments, reporting each before."""
    for done, experiment in enumerate(experiments):
        report(f"{experiment.workload.name}, {experiment.name}", done, len(experiments))
        yield experiment


def columns_of_runs(
    experiment: GpuExperiment, *, seeds: Sequence[int]
) -> tuple[GpuExperiment, list[LoadColumns]]:
    """Replay the runs of an experiment."""
    policy = gpu_policy(experiment.policy)
    columns = []
    for seed in seeds:
        columns.append(columns_of_run(experiment.workload, policy, experiment.ties, seed))
    return experiment, columns


def rows_of_experiment(
    experiment: GpuExperiment,
    runs: Sequence[LoadColumns],
    seeds: Sequence[int],
    loads: Sequence[int],
) -> Iterator[Row]:
    """Yield a row for each load that some run met."""
    columns = LoadColumns(*np.array(runs).transpose(1, 0, 2))
    n_published = sum(seed in experiment.workload.published for seed in seeds)
    has_deviation = len(runs) > 1
    for load in loads:
        allocation = columns.allocation[:, load]
        ratio = columns.fragmentation_ratio[:, load]
        if np.isnan(allocation).any():
            continue
        yield {
            "workload": experiment.workload.name,
            "policy": experiment.name,
            "ties": experiment.ties,
            "load": load,
            "runs": len(runs),
            "published_arrivals": n_published,
            "allocation": float(allocation.mean()),
            "allocation_sd": float(allocation.std(ddof=1)) if has_deviation else None,
            "fragmentation": float(columns.fragmentation[:, load].mean()),
            "fragmentation_ratio": float(ratio.mean()),
            "fragmentation_ratio_sd": float(ratio.std(ddof=1)) if has_deviation else None,
            "failed": float(columns.failed[:, load].mean()),
            "failed_several": float(columns.failed_several[:, load].mean()),
        }


GPU_SCHEDULING = GpuQuestion(
    name="gpu_scheduling",
    doc=__doc__,
    answer=ANSWER,
    options=GpuSchedulingOptions,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    sentence=best_in_words,
    reference="FGD (Weng et al., ATC 2023), sections 4 and 6, and its simulator",
)
"""The table of policies: ``GPU_SCHEDULING.run(folder, policies=("fgd", "best-fit"))``."""
