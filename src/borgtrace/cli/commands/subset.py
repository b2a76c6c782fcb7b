"""``borgtrace subset``: part of a store."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from borgtrace.cli.command import command
from borgtrace.cli.option_effects import NoEffectWithout
from borgtrace.cli.options import (
    EndTypeOption,
    FractionOption,
    JobsOption,
    JsonOption,
    MachinesOption,
    MemoryOption,
    PriorityOption,
    SchedulingClassOption,
    SeedOption,
    StoreArgument,
    TierOption,
    TimeOption,
    UserOption,
    WhereOption,
)


@command(
    effects=[NoEffectWithout(["fraction"], ["seed"])],
)
def subset(
    *,
    store: StoreArgument,
    out: Annotated[Path, Argument(metavar="OUT", help="The folder or URL to create.")],
    memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
    jobs: JobsOption = "",
    machines: MachinesOption = "",
    time: TimeOption = "",
    tier: TierOption = "",
    priority: PriorityOption = "",
    scheduling_class: SchedulingClassOption = "",
    user: UserOption = "",
    end_type: EndTypeOption = "",
    where: WhereOption = "",
    fraction: FractionOption = None,
    seed: SeedOption = 0,
) -> None:
    """Copy part of a store into a new, consistent store.

    Tasks that meet all criteria are kept. Machine tables are copied whole, because capacity belongs to the cell. With
    --time, tasks that are alive in the range keep their earlier events.

    Example: borgtrace subset cell-2011 day-2 --time 24h..48h --tier production
    """
    from borgtrace.cli.criteria import parse_criteria
    from borgtrace.cli.ingestion import bars, print_made
    from borgtrace.ingest.subset import subset as copy_part

    criteria = parse_criteria(
        store,
        jobs=jobs,
        machines=machines,
        time=time,
        tier=tier,
        priority=priority,
        scheduling_class=scheduling_class,
        user=user,
        end_type=end_type,
        where=where,
        fraction=fraction,
        seed=seed,
    )
    with bars() as progress:
        manifest = copy_part(store, out, criteria, memory=memory, progress=progress)
    print_made(manifest, out, as_json=as_json)
