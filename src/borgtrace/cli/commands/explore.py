"""``borgtrace explore``: the cell in a browser."""

from typing import Annotated

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.options import JsonOption, MemoryOption, StoreArgument
from borgtrace.schema.bounds import PORT

PortOption = Annotated[
    int,
    PORT,
    Option(
        "--port",
        metavar="PORT",
        help="Port on 127.0.0.1; by default a store has one of its own, while that is free.",
    ),
]
FirstPageOption = Annotated[
    str,
    Option(
        "--at",
        metavar="PAGE",
        help="Page to begin with, such as /machine/node-01?at=12h or /job/3.",
    ),
]
BrowserOption = Annotated[bool, Option("--browser/--no-browser", help="Open a browser.")]


@command(
    on_interrupt="nothing was kept; the same command begins again",
    # It may run for days, and another process may write to the store meanwhile.
    is_checked_by_answer=True,
)
def explore(
    store: StoreArgument,
    port: PortOption = 0,
    at: FirstPageOption = "/",
    browser: BrowserOption = True,
    memory: MemoryOption = "1GB",
    as_json: JsonOption = False,
) -> None:
    """Explore a store in a browser.

    You see the cell, machines, jobs, tasks, users and SQL. The explorer listens on this machine only, needs no network
    and changes nothing. The first start prepares aggregates, which are kept beside the store (or in your cache where
    the store is read-only). Ctrl-C ends it.

    Example: borgtrace explore cell-2011 --port 8321
    """
    from borgtrace.cli.console import steps, talk
    from borgtrace.cli.printing import print_json
    from borgtrace.explore.explored_store import ExploredStore
    from borgtrace.explore.pyramid import pyramid
    from borgtrace.store import open as open_store

    opened = open_store(store, memory=memory)
    with steps() as report:

        def prepare(step: str, done: int, total: int) -> None:
            report(f"preparing {step}", done, total)

        aggregates = pyramid(opened, prepare)

    from borgtrace.explore.server import serve

    def announce(address: str) -> None:
        # Data of this command: a program may read it from a pipe.
        if as_json:
            print_json({"url": address})
        else:
            print(address, flush=True)
        talk.print("Press Ctrl-C to stop.")

    try:
        serve(
            ExploredStore(opened, aggregates),
            port,
            browser=browser,
            ready=announce,
            at=at,
        )
    except KeyboardInterrupt:
        # How it is meant to end: nothing is lost, and nothing is left to continue.
        talk.print("Stopped.")
