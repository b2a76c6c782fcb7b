"""``borgtrace merge``: several stores of one cell as one."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from borgtrace.cli.command import command
from borgtrace.cli.options import JsonOption, MemoryOption


@command()
def merge(
    stores: Annotated[
        list[Path], Argument(metavar="STORE…", help="Stores of one cell, two or more.")
    ],
    out: Annotated[Path, Argument(metavar="OUT", help="The folder or URL to create.")],
    memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
) -> None:
    """Merge several stores of the same trace and cell into one.

    The result is what an ingest of all their files at once would have made, with the same digest. A file that several
    stores hold is taken once; one name with two contents is refused.

    Example: borgtrace merge first-week second-week both-weeks
    """
    from borgtrace.cli.ingestion import bars, print_made
    from borgtrace.ingest.merge import merge as merge_stores

    with bars() as progress:
        manifest = merge_stores(stores, out, memory=memory, progress=progress)
    print_made(manifest, out, as_json=as_json)
