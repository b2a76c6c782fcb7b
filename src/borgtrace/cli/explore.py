"""``borgtrace explore``: the cell in a browser."""

from pathlib import Path


def explore(
    store: Path,
    port: int = 0,
    at: str = "/",
    browser: bool = True,
    memory: str = "1GB",
    as_json: bool = False,
) -> None:
    """Look into a store in a browser: the cell, machines, jobs, tasks, users, SQL.

    It listens on this machine only, needs no network and changes nothing. The first start prepares aggregates, which
    are kept beside the store (or in your cache where the store is read-only). Ctrl-C ends it.

    Example: borgtrace explore cell-2011 --port 8321
    """
    from borgtrace.cli._console import steps, talk
    from borgtrace.cli._printing import print_json
    from borgtrace.explore.pyramid import pyramid
    from borgtrace.explore.trace import Trace
    from borgtrace.store import open as open_store

    opened = open_store(store, memory=memory)
    with steps() as report:
        built = pyramid(opened, lambda step, done, total: report(f"preparing {step}", done, total))

    from borgtrace.explore.server import serve

    def ready(address: str) -> None:
        # Data of this command: a program may read it from a pipe.
        print_json({"url": address}) if as_json else print(address, flush=True)
        talk.print("Press Ctrl-C to stop.")

    try:
        serve(Trace.of(opened, built), port, browser=browser, ready=ready, at=at)
    except KeyboardInterrupt:
        # How it is meant to end: nothing is lost, and nothing is left to continue.
        talk.print("Stopped.")
