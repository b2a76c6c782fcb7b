"""``borgtrace advise``: how far to overcommit, what it saves and risks, and what to set for each workload."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_recommenders
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
from borgtrace.schema.bounds import PROBABILITY, SHARE, TASKS_PER_NODE

WORKLOADS_PANEL = "Workloads"
NODES_PANEL = "Nodes"
FILES_PANEL = "Files and servers"


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
    sources: Annotated[
        list[Path],
        Argument(
            metavar="STORE | FILES… | URL",
            help="A store; or files of a trace, or the URL of a Prometheus server, which become one.",
        ),
    ],
    out: Annotated[
        Path,
        Option(
            "--out",
            metavar="PAGE.html",
            help="The page; tables and resources.yaml go to a folder of its name.",
        ),
    ] = Path("advice.html"),
    store: Annotated[
        Path,
        Option(
            "--store",
            metavar="STORE",
            help="Where the store of files or a server goes.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = Path("advice.store"),
    target: Annotated[
        float | None,
        PROBABILITY,
        Option(
            "--target",
            metavar="RATE",
            help="Risk to aim at; by default the smallest of 0.1, 1 and 5 % that the data can show.",
        ),
    ] = None,
    horizon: Annotated[
        str,
        Option(
            "--horizon",
            metavar="TIME",
            help="How long a promise holds; by default 1 h, or less in a short trace.",
        ),
    ] = "",
    policy: PolicyOption = None,
    machines: SampledMachinesOption = 0,
    by: Annotated[
        Literal["", "owner", "name", "job", "user"],
        Option(
            "--by",
            metavar="WAY",
            help="What a workload is: owner, name (its pattern), job or user; the first known by default.",
            rich_help_panel=WORKLOADS_PANEL,
        ),
    ] = "",
    recommender: Annotated[
        str,
        Option(
            "--recommender",
            metavar="NAME",
            help="Who recommends requests (overcommit --list); chosen by a back-test by default.",
            autocompletion=complete_recommenders,
            rich_help_panel=WORKLOADS_PANEL,
        ),
    ] = "",
    below_peak: Annotated[
        bool,
        Option(
            "--below-peak",
            help="Let memory be recommended below what was seen at its highest.",
            rich_help_panel=WORKLOADS_PANEL,
        ),
    ] = False,
    prices: Annotated[
        Path | None,
        Option(
            "--prices",
            metavar="FILE.csv",
            help="Node types: columns type, cores, gib, price_per_hour; a dated table by default.",
            rich_help_panel=NODES_PANEL,
        ),
    ] = None,
    headroom: Annotated[
        float,
        SHARE,
        Option(
            "--headroom",
            metavar="SHARE",
            help="Share of each node that is left free.",
            rich_help_panel=NODES_PANEL,
        ),
    ] = 0.05,
    pods_per_node: Annotated[
        int,
        TASKS_PER_NODE,
        Option(
            "--pods-per-node",
            metavar="N",
            help="Most tasks on a node.",
            rich_help_panel=NODES_PANEL,
        ),
    ] = 110,
    cores_per_unit: CoresOption = 0.0,
    gib_per_unit: GibOption = 0.0,
    dialect: Annotated[
        str,
        Option(
            "--dialect",
            metavar="NAME|FILE.toml",
            help="Files: their format, as of ingest.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = "",
    capacity: Annotated[
        str,
        Option(
            "--capacity",
            metavar="SIZE",
            help="Files: size of the largest machine, such as 8cores,32GiB.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = "",
    time_zone: Annotated[
        str,
        Option(
            "--time-zone",
            metavar="ZONE",
            help="Files: zone of times that name none, such as Europe/Berlin.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = "",
    since: SinceOption = "",
    until: UntilOption = "",
    selector: SelectorOption = "",
    step: StepOption = "",
    yes: Annotated[
        bool,
        Option(
            "--yes",
            help="Files: take what was guessed of them without a question.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = False,
    seed: SeedOption = 0,
    jobs: ProcessesOption = 1,
    memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
) -> None:
    """Say how far to overcommit, what it saves and risks, and what to set for each workload.

    Policies are chosen on earlier days and judged on later ones. One screen is printed; the page has the machines that
    are needed, what would have broken, and a request and a limit for each workload, also as YAML for Kubernetes.

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
