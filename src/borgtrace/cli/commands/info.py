"""``borgtrace info``: what a store holds."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.options import JsonOption


@command(on_interrupt="the store is as it was")
def info(
    store: Annotated[
        Path | None,
        Argument(metavar="STORE", help="The store: a folder, or a URL such as s3://bucket/store."),
    ] = None,
    as_json: JsonOption = False,
    schema: Annotated[
        bool, Option("--schema", help="Describe every table and column; needs no store.")
    ] = False,
) -> None:
    """Show tables, time range, sources and quality of a store.

    Example: borgtrace info cell-2011
    """
    from borgtrace.cli.manifest import print_manifest, print_schema
    from borgtrace.errors import UsageError

    if schema:
        print_schema(as_json=as_json)
        return
    if store is None:
        raise UsageError(
            "STORE", "no store named", way_out="borgtrace info STORE, or borgtrace info --schema"
        )
    # The manifest and the footers only: no table is read.
    from borgtrace.store.integrity import read_intact

    manifest = read_intact(store)
    if as_json:
        print(manifest.to_json(), end="")
    else:
        print_manifest(manifest, store)
