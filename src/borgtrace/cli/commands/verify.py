"""``borgtrace verify``: check that a store is what its manifest says."""

import os
from dataclasses import asdict

from borgtrace.cli.command import command
from borgtrace.cli.options import JsonOption, StoreArgument


@command(on_interrupt="the store is as it was")
def verify(
    store: StoreArgument,
    as_json: JsonOption = False,
) -> None:
    """Check the integrity of a store.

    It checks digests, order, keys, row counts, index and arrays.

    Example: borgtrace verify cell-2011
    """
    from borgtrace.cli.console import talk, working
    from borgtrace.cli.printing import print_json
    from borgtrace.store.verify import as_error
    from borgtrace.store.verify import verify as verify_store

    with working("checking") as status:

        def show(name: str) -> None:
            status.update(f"checking {name}")

        checks = verify_store(store, show, os.cpu_count() or 1)
    if as_json:
        # All checks are printed before the failure, so that one run shows all damage.
        print_json([asdict(check) for check in checks], indent=1)
    else:
        for check in checks:
            mark = "ok  " if check.holds else "FAIL"
            print(f"{mark} {check.name}: {check.found}")
    damage = as_error(store, checks)
    if damage is None:
        talk.print(f"All {len(checks):,} checks hold: the store is as it was written.")
    if damage is not None:
        raise damage
