"""``borgtrace info``: what a store holds."""

from pathlib import Path


def info(store: Path | None = None, as_json: bool = False, schema: bool = False) -> None:
    """Show the tables, time range, sources and quality of a store.

    Example: borgtrace info cell-2011
    """
    from borgtrace.cli import _manifest
    from borgtrace.errors import UsageError

    if schema:
        _manifest.print_schema(as_json=as_json)
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
        _manifest.print_manifest(manifest, store)
