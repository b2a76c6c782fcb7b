"""``borgtrace advise``: how far to overcommit, what it saves and risks, and what to set for each workload."""

from pathlib import Path

from borgtrace.cli.advise_options import (
    AcceptGuessedFilesOption,
    AdvisedSourcesArgument,
    BelowPeakOption,
    FormatOfFilesOption,
    HeadroomOption,
    NewStoreOption,
    PageOption,
    PodsPerNodeOption,
    PricesOption,
    PromiseHorizonOption,
    SizeOfFilesOption,
    TargetRiskOption,
    TimeZoneOfFilesOption,
    WhoRecommendsOption,
    WorkloadsByOption,
)
from borgtrace.cli.command import command
from borgtrace.cli.options import (
    JsonOption,
    MemoryOption,
    ProcessesOption,
    SeedOption,
    SelectorOption,
    SinceOption,
    StepOption,
    UntilOption,
)
from borgtrace.cli.replay_options import (
    CoresOption,
    GibOption,
    PolicyOption,
    SampledMachinesOption,
)


@command(
    on_interrupt="a store that was made is kept; no page was written",
    # The store is made first where there is none, and read then.
    reads=[],
    raw=["sources"],
    servers=["sources"],
    writes_here=["out"],
    adds_to_here=["store"],
)
def advise(
    sources: AdvisedSourcesArgument,
    out: PageOption = Path("advice.html"),
    store: NewStoreOption = Path("advice.store"),
    target: TargetRiskOption = None,
    horizon: PromiseHorizonOption = "",
    policy: PolicyOption = None,
    machines: SampledMachinesOption = 0,
    by: WorkloadsByOption = "",
    recommender: WhoRecommendsOption = "",
    below_peak: BelowPeakOption = False,
    prices: PricesOption = None,
    headroom: HeadroomOption = 0.05,
    pods_per_node: PodsPerNodeOption = 110,
    cores_per_unit: CoresOption = 0.0,
    gib_per_unit: GibOption = 0.0,
    dialect: FormatOfFilesOption = "",
    capacity: SizeOfFilesOption = "",
    time_zone: TimeZoneOfFilesOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
    selector: SelectorOption = "",
    step: StepOption = "",
    yes: AcceptGuessedFilesOption = False,
    seed: SeedOption = 0,
    jobs: ProcessesOption = 1,
    memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
) -> None:
    """Say how far to overcommit, what it saves and risks, and what to set for each workload.

    Policies are chosen on earlier days and judged on later ones. The command prints one screen, and writes a page with
    the machines that are needed, what would have broken, and a request and a limit for each workload, also as YAML for
    Kubernetes.

    Example: borgtrace advise http://prometheus:9090 --since 7d, or: borgtrace advise cell-2011
    """
    import borgtrace
    from borgtrace.advice import AdviceOptions
    from borgtrace.advice.files import write_advice
    from borgtrace.cli.advice_sources import store_of_sources
    from borgtrace.cli.advice_text import screen_of
    from borgtrace.cli.console import steps
    from borgtrace.cli.live_sources import LiveOptions
    from borgtrace.cli.printing import print_json
    from borgtrace.ingest import IngestOptions
    from borgtrace.schema.time import parse_time

    options = AdviceOptions(
        target=target,
        horizon=parse_time(horizon, "--horizon") if horizon else None,
        policies=tuple(policy or ()),
        machines=machines,
        by=by,
        recommender=recommender,
        below_peak=below_peak,
        prices=prices,
        headroom=headroom,
        pods_per_node=pods_per_node,
        cores=cores_per_unit,
        gib=gib_per_unit,
        seed=seed,
        jobs=jobs,
    )
    place = store_of_sources(
        sources,
        store,
        IngestOptions(
            jobs=jobs, memory=memory, dialect=dialect, capacity=capacity, time_zone=time_zone
        ),
        LiveOptions(since, until, selector, step),
        is_accepted=yes,
    )
    opened = borgtrace.open(place, memory=memory)
    with steps() as report:
        advice = borgtrace.advise(opened, options, report)
    files = write_advice(advice, out)
    if as_json:
        print_json(advice.to_dict(), indent=1)
        return
    for line in screen_of(advice, files):
        print(line)
