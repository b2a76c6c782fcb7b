"""``borgtrace fetch``: the published buckets → raw files, or straight into a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_INTERRUPTED = 130


def fetch(
    generation: Annotated[str, typer.Argument(help="Which trace.", metavar="2011|2019")],
    dest: Annotated[Path, typer.Argument(help="Folder that gets a folder for the trace.", metavar="DEST")],
    cell: Annotated[str, typer.Option(help="Cell of 2019: a … h.", metavar="CELL")] = "",
    tables: Annotated[str, typer.Option(help="Tables with commas between; all by default.", metavar="A,B")] = "",
    parts: Annotated[
        str,
        typer.Option(help="Numbers such as 0-9 or 0-4,10, or all; machine tables always come whole.", metavar="PARTS"),
    ] = "all",
    raw_format: Annotated[
        str | None, typer.Option("--format", help="json (default) or parquet, for 2019.", metavar="FORMAT")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="A mirror: the address under which the trace's files lie.",
            metavar="URL",
            envvar="BORGTRACE_BASE_URL",
            show_envvar=True,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Files, and connections, at a time.", min=1, max=64, metavar="N")] = 4,
    store: Annotated[
        Path | None, typer.Option(help="Stage every file into this store once it has arrived.", metavar="STORE")
    ] = None,
    delete_raw: Annotated[
        bool, typer.Option("--delete-raw", help="With --store: delete every file once it is staged.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would come, and the free disk.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the jitter in waiting times.", metavar="N")] = 0,
) -> None:
    """Fetch a published trace over HTTPS, without an account.

    Files are resumed and checked (SHA-256 for 2011; hash, length or gzip end for 2019) before they get
    their names. Ctrl-C is safe: the same command goes on where it stopped, and nothing comes twice.

    Example: borgtrace fetch 2011 raw --parts 0-9
    """
    from rich.console import Console

    from borgtrace import fetch as fetching
    from borgtrace.cli import _fetching
    from borgtrace.errors import UsageError
    from borgtrace.schema.ranges import parse_words

    if delete_raw and store is None:
        raise UsageError("--delete-raw", "nothing would be left", way_out="say where the rows go: --store STORE")
    wanted = fetching.bucket(generation, cell, raw_format)
    selection = fetching.select_tables(wanted, parse_words(tables))
    talk = Console(stderr=True, highlight=False)
    with fetching.Session(jobs, backoff=fetching.Backoff(seed=seed)) as session:
        try:
            with talk.status(f"Asking {base_url or wanted.url} what there is …"):
                plan = fetching.make_plan(
                    session, wanted, dest, tables=selection, parts=parts, base_url=base_url, store=store, jobs=jobs
                )
            if dry_run:
                return _fetching.show_plan(plan, as_json=as_json)
            run = _fetching.Run(session, plan, talk, jobs=jobs, store=store, delete_raw=delete_raw)
            run.finish(run.all(), as_json=as_json)
        except KeyboardInterrupt:
            talk.print("Stopped. What has arrived is kept: run the same command again to go on.")
            raise typer.Exit(_INTERRUPTED) from None
