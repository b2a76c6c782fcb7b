"""``borgtrace overcommit reclaim``: how much best-effort work fits into what production does not use."""

from borgtrace.cli.command import command
from borgtrace.cli.options import (
    JsonOption,
    MemoryOption,
    OutOption,
    PngOption,
    ProcessesOption,
    RawOption,
    SeedOption,
    StoreArgument,
)
from borgtrace.cli.replay_options import (
    CompatOption,
    MetricOption,
    ResourceOption,
    SampledMachinesOption,
    UncappedOption,
)


@command(on_interrupt="what was dealt to machines stays if it was finished")
def overcommit_reclaim(
    store: StoreArgument,
    resource: ResourceOption = None,
    machines: SampledMachinesOption = 0,
    metric: MetricOption = None,
    uncapped: UncappedOption = False,
    compat: CompatOption = "",
    seed: SeedOption = 0,
    jobs: ProcessesOption = 1,
    memory: MemoryOption = "4GB",
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show how much best-effort work fits into what production leaves.

    Production reserves its limits, or its usage with a margin; the rest is for best-effort tasks, which are evicted
    where production takes it back.

    Example: borgtrace overcommit reclaim cell-2011 --resource cpu
    """
    import borgtrace
    from borgtrace.cli import replays
    from borgtrace.cli.answers import publish, say
    from borgtrace.errors import check_names
    from borgtrace.overcommit import RECLAIMED
    from borgtrace.report.answer_files import check_png

    check_names("--compat", [compat] if compat else [], ("crf",), "no such simulator")
    check_png(png, out)
    opened = borgtrace.open(store, memory=memory)
    options = replays.values_of_replay(
        policy=None,
        sweep=False,
        resource=resource,
        tasks=None,
        metric=metric,
        model=None,
        compat=compat,
        machines=machines,
        is_capped=not uncapped,
        seed=seed,
        jobs=jobs,
    )
    result = replays.replay(RECLAIMED, opened, options)
    say(result)
    publish([result], out=out, png=png, as_json=as_json, raw=raw, is_table=True)
