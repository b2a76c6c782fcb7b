"""``borgtrace compact``: how few machines would hold the workload of one moment."""

from typing import Annotated

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_placements, complete_what_ifs
from borgtrace.cli.options import (
    MOMENTS,
    EngineOption,
    FromOption,
    JsonOption,
    MemoryOption,
    OutOption,
    PngOption,
    ProcessesOption,
    RawOption,
    SeedOption,
    StoreOrListArgument,
    required_store,
)
from borgtrace.errors import UsageError
from borgtrace.schema.bounds import MARGIN, SEEDS, UNIT_SIZE

MomentOption = Annotated[
    str,
    Option(
        "--at",
        metavar="TIME",
        help=f"The moment, {MOMENTS}; by default when most CPU is requested.",
    ),
]
WhatIfOption = Annotated[
    list[str] | None,
    Option(
        "--what-if",
        metavar="NAME",
        help="A row of the table, repeatable; all by default.",
        autocompletion=complete_what_ifs,
    ),
]
PlacementPolicyOption = Annotated[
    list[str] | None,
    Option(
        "--policy",
        metavar="POLICY",
        help="Which machine a task goes to, such as best-fit.",
        show_default="least-stranded",
        autocompletion=complete_placements,
    ),
]
MarginOption = Annotated[
    float,
    MARGIN,
    Option("--margin", metavar="SHARE", help="Share by which reservations exceed the usage."),
]
PlannedRowOption = Annotated[
    str,
    Option(
        "--plan",
        metavar="ESTIMATOR",
        help="How much tasks take in the row planned, such as gpa:0.01; overcommit:POLICY also sets what they reserve.",
    ),
]
CoresPerUnitOption = Annotated[
    float,
    UNIT_SIZE,
    Option(
        "--cores-per-unit",
        metavar="CORES",
        help="Cores of the largest machine, where the store does not know them.",
    ),
]
GibPerUnitOption = Annotated[
    float,
    UNIT_SIZE,
    Option(
        "--gib-per-unit",
        metavar="GIB",
        help="GiB of the largest machine, where the store does not know them.",
    ),
]
SeedsOption = Annotated[
    int,
    SEEDS,
    Option("--seeds", metavar="N", help="Orders of machines and jobs that are tried."),
]
ListWhatIfsOption = Annotated[
    bool, Option("--list", help="List the what-ifs and policies, and stop.")
]


@command()
def compact(
    store: StoreOrListArgument = None,
    at: MomentOption = "",
    what_if: WhatIfOption = None,
    policy: PlacementPolicyOption = None,
    sources: FromOption = None,
    margin: MarginOption = 0.25,
    plan: PlannedRowOption = "",
    cores_per_unit: CoresPerUnitOption = 0.0,
    gib_per_unit: GibPerUnitOption = 0.0,
    seeds: SeedsOption = 11,
    seed: SeedOption = 0,
    jobs: ProcessesOption = 1,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
    list_names: ListWhatIfsOption = False,
) -> None:
    """Show how few machines hold the workload of a moment.

    This is Borg's cell compaction: the workload is packed onto fewer and fewer machines, as it is and under what-ifs.

    Example: borgtrace compact cell-2011 --at 1h --what-if limits --what-if segregated
    """
    from dataclasses import replace

    import borgtrace
    from borgtrace.cli.answers import ask
    from borgtrace.cli.console import print_prose
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.notation import WallClock
    from borgtrace.report.answer_files import check_png
    from borgtrace.scheduling import COMPACT, CompactOptions, busiest_moment
    from borgtrace.scheduling.compact import ALL
    from borgtrace.scheduling.policies import SCHEDULER_KINDS

    names_in_own_code(sources, SCHEDULER_KINDS)
    if list_names:
        print_what_ifs()
        return
    check_png(png, out)
    opened = borgtrace.open(required_store(store), memory=memory)
    clock = WallClock.of(opened.manifest)
    options = CompactOptions(
        at=clock.parse(at, "--at") if at else 0,
        what_ifs=tuple(what_if or ALL),
        policy=one_policy(policy or ["least-stranded"]),
        margin=margin,
        plan=plan,
        cores=cores_per_unit,
        gib=gib_per_unit,
        seeds=seeds,
        seed=seed,
        jobs=jobs,
    )
    if not at:
        moment = busiest_moment(opened)
        options = replace(options, at=moment)
        print_prose(
            f"At {clock.moment(moment)}: when most CPU is requested (--at names another time)."
        )
    ask(
        COMPACT,
        opened,
        options,
        out=out,
        png=png,
        as_json=as_json,
        raw=raw,
        engine=engine,
    )


def one_policy(policies: list[str]) -> str:
    """Return the policy that a cell is compacted with.

    Raises
    ------
    UsageError
        Several are named.
    """
    if len(policies) > 1:
        raise UsageError(
            "--policy",
            "a cell is compacted with one policy",
            expected="one",
            got=", ".join(policies),
            way_out="ask for one after the other",
        )
    return policies[0]


def print_what_ifs() -> None:
    """Print the what-ifs and the policies with a sentence about each."""
    from borgtrace.cli.own_code import print_names_of
    from borgtrace.scheduling.policies import SCHEDULER_KINDS
    from borgtrace.scheduling.whatifs import WHAT_IFS

    for what_if in WHAT_IFS:
        print(f"{what_if.name:<22}{what_if.note or what_if.published}".rstrip())
    print_names_of(SCHEDULER_KINDS)
