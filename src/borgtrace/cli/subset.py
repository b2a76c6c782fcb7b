"""``borgtrace subset``: part of a store."""

from pathlib import Path
from typing import Any

from borgtrace.cli._criteria import takes_criteria


@takes_criteria
def subset(
    store: Path, out: Path, *, criteria: dict[str, Any], memory: str = "4GB", as_json: bool = False
) -> None:
    """Copy part of a store into a new, consistent store.

    Tasks that meet all criteria are kept. Machine tables are copied whole, because capacity belongs to the cell. With
    --time, tasks that are alive in the range keep their earlier events.

    Example: borgtrace subset cell-2011 day-2 --time 24h..48h --tier production
    """
    from borgtrace.cli._ingestion import bars, print_made
    from borgtrace.ingest.subset import subset as run
    from borgtrace.store.criteria import Criteria

    with bars() as progress:
        manifest = run(store, out, Criteria(**criteria), memory=memory, progress=progress)
    print_made(manifest, as_json=as_json)
