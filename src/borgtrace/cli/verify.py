"""``borgtrace verify``: is a store what its manifest says?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def verify(
    store: Annotated[Path, typer.Argument(help="The store.", metavar="STORE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Check digests, order, keys, conservation, index and arrays of a store.

    Example: borgtrace verify cell-2011
    """
    import json
    from dataclasses import asdict

    from rich.console import Console

    from borgtrace.errors import StoreError
    from borgtrace.store.verify import verify as run

    talk = Console(stderr=True, highlight=False)
    with talk.status("checking") as status:
        checks = run(store, lambda name: status.update(f"checking {name}"))
    if as_json:
        print(json.dumps([asdict(check) for check in checks], indent=1))
    else:
        for check in checks:
            print(f"{'ok  ' if check.holds else 'FAIL'} {check.name}: {check.found}")
    failed = [check.name for check in checks if not check.holds]
    if failed:
        raise StoreError(
            str(store),
            "the store is damaged",
            got=", ".join(failed),
            way_out=f"build it again: borgtrace ingest SRC --store {store} --rebuild",
        )
