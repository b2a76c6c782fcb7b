"""``borgtrace verify``: is a store what its manifest says?"""

from pathlib import Path


def verify(store: Path, as_json: bool = False) -> None:
    """Check the integrity of a store.

    It checks digests, order, keys, row counts, index and arrays.

    Example: borgtrace verify cell-2011
    """
    import os
    from dataclasses import asdict

    from borgtrace.cli._console import talk
    from borgtrace.cli._printing import print_json
    from borgtrace.store.verify import as_error
    from borgtrace.store.verify import verify as run

    with talk.status("checking") as status:
        checks = run(store, lambda name: status.update(f"checking {name}"), os.cpu_count() or 1)
    if as_json:
        # All checks are printed before the failure, so that one run shows all damage.
        print_json(list(map(asdict, checks)), indent=1)
    else:
        for check in checks:
            print(f"{'ok  ' if check.holds else 'FAIL'} {check.name}: {check.found}")
    damaged = as_error(store, checks)
    if damaged is not None:
        raise damaged
