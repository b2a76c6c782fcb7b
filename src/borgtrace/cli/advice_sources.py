"""What ``borgtrace advise`` is about: a store, or files and servers that become one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from borgtrace.cli.command import is_server
from borgtrace.cli.console import talk
from borgtrace.cli.guesses import confirm_guess
from borgtrace.cli.ingestion import announce, bars
from borgtrace.cli.live_sources import LiveOptions, fetch_all
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, prepare_ingest
from borgtrace.store.targets import is_store

OPTIONS_OF_FILES = ("dialect", "capacity", "time_zone")
"""How files are read: of a store that is known."""
KIND_OF_SERVER = "prometheus"
"""A word before an address, as ``fetch prometheus`` has it."""


def store_of_sources(
    sources: Sequence[Path],
    store: Path,
    options: IngestOptions,
    live: LiveOptions,
    *,
    is_accepted: bool,
) -> Path:
    """Return the store that sources are, or become.

    Parameters
    ----------
    sources
        One store; or files, folders and addresses of servers.
    store
        Where the store goes that they become.
    options
        How files are read.
    live
        What of a server's data is wanted.
    is_accepted
        Whether what is guessed of own data is taken without a question.

    Raises
    ------
    UsageError
        A store among other sources.
    BorgtraceError
        As of an ingest.
    """
    named = [source for source in sources if str(source) != KIND_OF_SERVER]
    stores = [source for source in named if not is_server(source) and is_store(source)]
    if stores and len(named) > 1:
        raise UsageError(
            "SOURCE",
            "a store stands for itself",
            expected="one store, or files and servers",
            got=", ".join(str(source) for source in named),
            way_out="make one store of several first: borgtrace merge",
        )
    if stores:
        live.require_servers()
        refuse_options_of_files(options)
        return stores[0]
    servers = [source for source in named if is_server(source)]
    answers = fetch_all(servers, store, live)
    files = [source for source in named if not is_server(source)]
    prepared = prepare_ingest([*files, *answers], store, options)
    confirm_guess(prepared.raw_files, is_accepted=is_accepted)
    announce(prepared.plan)
    with bars() as progress:
        result = prepared.run(progress)
    for fault in result.faults:
        talk.print(f"borgtrace: {fault}")
    if result.faults and result.manifest is None:
        raise result.faults[0]
    talk.print(f"Store: {store}", style="dim")
    return store


def refuse_options_of_files(options: IngestOptions) -> None:
    """Refuse options that have no effect: the source is a store, and no files are read.

    Raises
    ------
    UsageError
        It names the first of them.
    """
    for name in OPTIONS_OF_FILES:
        value = getattr(options, name)
        if value:
            raise UsageError(
                f"--{name.replace('_', '-')}",
                "no effect on a store, which was made of files before",
                got=value,
                way_out="leave it out, or name the files",
            )
