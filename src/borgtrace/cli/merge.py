"""``borgtrace merge``: several stores of one cell as one."""

from pathlib import Path


def merge(stores: list[Path], out: Path, memory: str = "4GB", as_json: bool = False) -> None:
    """Make one store of several of the same trace and cell.

    The result is what an ingest of all their files at once would have made, with the same digest. A file that several
    stores hold is taken once; one name with two contents is refused.

    Example: borgtrace merge first-week second-week both-weeks
    """
    from borgtrace.cli._ingestion import bars, print_made
    from borgtrace.ingest.merge import merge as run

    with bars() as progress:
        manifest = run(stores, out, memory=memory, progress=progress)
    print_made(manifest, as_json=as_json)
