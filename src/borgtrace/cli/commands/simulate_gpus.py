"""``borgtrace simulate gpus``: pods on shared GPUs, by policies for these."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_gpu_policies
from borgtrace.cli.option_effects import NoEffectWith, NoEffectWithout
from borgtrace.cli.options import (
    FromOption,
    JsonOption,
    MemoryOption,
    OutOption,
    PngOption,
    ProcessesOption,
    RawOption,
    SeedOption,
    required_store,
)
from borgtrace.schema.bounds import GPU_LOAD, GPU_RUNS, POSITIVE_SHARE

GpuTraceArgument = Annotated[
    Path | None,
    Argument(
        metavar="STORE",
        help="A store, or a folder with openb_node_list_gpu_node.csv and openb_pod_list_*.csv; none with --list.",
    ),
]
GpuPolicyOption = Annotated[
    list[str] | None,
    Option(
        "--policy",
        metavar="POLICY",
        help="A policy such as fgd; repeatable; all by default (with --departures bids, fgd and best-fit).",
        autocompletion=complete_gpu_policies,
    ),
]
WorkloadOption = Annotated[
    list[str] | None,
    Option(
        "--workload",
        metavar="NAME",
        help="Of a folder: a list of pods, such as default; repeatable; those of the paper by default.",
    ),
]
TiesOption = Annotated[
    list[str] | None,
    Option(
        "--ties",
        metavar="RULE",
        help="Which of equal nodes is taken: rank (of the run; the default), drawn, or file; repeatable.",
    ),
]
LoadOption = Annotated[
    list[int] | None,
    GPU_LOAD,
    Option(
        "--load",
        metavar="PERCENT",
        help="Print it when pods have requested so much of the GPUs; repeatable; 100 by default.",
    ),
]
RunsOption = Annotated[
    int, GPU_RUNS, Option("--runs", metavar="N", help="Runs, each with other arrivals.")
]
DeparturesOption = Annotated[
    bool,
    Option(
        "--departures",
        help="Let pods come and go at the times of the trace, and wait where nothing fits; a row a day.",
    ),
]
NodesOption = Annotated[
    float,
    POSITIVE_SHARE,
    Option(
        "--nodes",
        metavar="SHARE",
        help="With --departures: keep so many of the nodes, drawn at random, such as 0.02.",
    ),
]
ListGpuPoliciesOption = Annotated[bool, Option("--list", help="List the policies, and stop.")]


@command(
    writes=["out"],
    effects=[
        NoEffectWith("departures", ["load", "runs"]),
        NoEffectWithout(["departures"], ["nodes"]),
    ],
)
def simulate_gpus(
    store: GpuTraceArgument = None,
    policy: GpuPolicyOption = None,
    sources: FromOption = None,
    workload: WorkloadOption = None,
    ties: TiesOption = None,
    departures: DeparturesOption = False,
    nodes: NodesOption = 1.0,
    load: LoadOption = None,
    runs: RunsOption = 10,
    seed: SeedOption = 42,
    jobs: ProcessesOption = 1,
    memory: MemoryOption = "4GB",
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
    list_names: ListGpuPoliciesOption = False,
) -> None:
    """Fill shared GPUs with the pods of a trace, by several policies.

    Pods arrive in random order and stay until 130 % of the GPUs has been requested, as in the experiments of FGD, or
    come and go as in the trace (--departures). Nodes, devices and requests are those of the trace.

    Example: borgtrace simulate gpus openb --workload default --policy fgd --policy best-fit
    """
    from borgtrace.cli.answers import ask
    from borgtrace.cli.own_code import names_in_own_code, print_names_of
    from borgtrace.report.answer_files import check_png
    from borgtrace.scheduling.gpus import (
        GPU_POLICIES,
        GPU_QUEUE,
        GPU_SCHEDULER_KINDS,
        GPU_SCHEDULING,
        GpuQueueOptions,
        GpuSchedulingOptions,
        open_gpu_trace,
    )
    from borgtrace.scheduling.gpus.gpu_queue import DEFAULTS

    own_schedulers = names_in_own_code(sources, GPU_SCHEDULER_KINDS)
    if list_names:
        print_names_of(GPU_SCHEDULER_KINDS)
        return
    check_png(png, out)
    opened = open_gpu_trace(required_store(store), memory)
    if departures:
        options_of_queue = GpuQueueOptions(
            policies=tuple(policy or (*DEFAULTS, *own_schedulers)),
            workloads=tuple(workload or ("default",)),
            ties=tuple(ties or ("file",)),
            nodes=nodes,
            seed=seed,
            jobs=jobs,
        )
        ask(GPU_QUEUE, opened, options_of_queue, out=out, png=png, as_json=as_json, raw=raw)
        return
    # Where nothing is named, all of ours.
    defaults = (*GPU_POLICIES, *own_schedulers) if own_schedulers else ()
    options = GpuSchedulingOptions(
        policies=tuple(policy or defaults),
        workloads=tuple(workload or ()),
        ties=tuple(ties or ("rank",)),
        loads=tuple(load or (100,)),
        runs=runs,
        seed=seed,
        jobs=jobs,
    )
    question = GPU_SCHEDULING.about(opened)
    ask(question, opened, options, out=out, png=png, as_json=as_json, raw=raw)
