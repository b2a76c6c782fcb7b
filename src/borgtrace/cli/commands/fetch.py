"""``borgtrace fetch``: the published buckets → raw files, or straight into a store."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.options import CellOption, JsonOption, TablesOption
from borgtrace.schema.bounds import DOWNLOADS, SEED


@command(
    on_interrupt="what has arrived is kept; run the same command again to go on",
    reads=[],
    writes=["dest"],
    adds_to_here=["store"],
)
def fetch(
    generation: Annotated[str, Argument(metavar="2011|2019", help="Which trace.")],
    dest: Annotated[
        Path, Argument(metavar="DEST", help="Folder or URL that gets a folder for the trace.")
    ],
    cell: CellOption = "",
    tables: TablesOption = "",
    parts: Annotated[
        str,
        Option(
            "--parts",
            metavar="PARTS",
            help="Parts, such as 0-9, 0-4,10 or all; machine tables come whole.",
        ),
    ] = "all",
    questions: Annotated[
        str, Option("--for", metavar="NAME,…", help="Only the tables that these questions read.")
    ] = "",
    raw_format: Annotated[
        str | None,
        Option("--format", metavar="FORMAT", help="json (default) or parquet, for 2019."),
    ] = None,
    base_url: Annotated[
        str | None,
        Option(
            "--base-url",
            metavar="URL",
            help="A mirror: the address that holds the files of the trace.",
            envvar="BORGTRACE_BASE_URL",
        ),
    ] = None,
    jobs: Annotated[
        int,
        DOWNLOADS,
        Option("--jobs", metavar="N", help="Parallel downloads."),
    ] = 4,
    store: Annotated[
        Path | None,
        Option("--store", metavar="STORE", help="Stage each file into this store on arrival."),
    ] = None,
    delete_raw: Annotated[
        bool, Option("--delete-raw", help="With --store: delete each file once staged.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would be read, its size, and the free disk.")
    ] = False,
    as_json: JsonOption = False,
    seed: Annotated[
        int,
        SEED,
        Option("--seed", metavar="N", help="Seed of the jitter in waiting times."),
    ] = 0,
) -> None:
    """Download a published trace over HTTPS. No account is needed.

    Downloads resume where they broke off, and a file gets its name only after it was checked: by its published
    checksum, or by its length and end where there is none. Redirects to another server are not followed. After Ctrl-C,
    run the same command again: nothing is fetched twice. With --for, --dry-run also says which claims of the questions
    each number of parts has in reach.

    Example: borgtrace fetch 2011 raw --parts 0-9
    """
    from borgtrace import fetch as fetching
    from borgtrace.cli.console import talk
    from borgtrace.cli.download import Download, print_plan, print_request
    from borgtrace.redaction import without_secrets
    from borgtrace.schema.ranges import parse_numbers, parse_words

    check_destination(dest, store, delete_raw=delete_raw)
    bucket = fetching.bucket(generation, cell, raw_format)
    wanted_tables = list(parse_words(tables))
    chosen = []
    if questions:
        from borgtrace.catalog import find
        from borgtrace.question.reach import tables_read

        chosen = [find(name) for name in parse_words(questions)]
        wanted_tables += tables_read(chosen)
    wanted_tables = bucket.select_tables(wanted_tables)
    address = without_secrets(base_url or bucket.url)
    if dry_run and not as_json:
        # Before the server is asked: without a network this is all that there is to say.
        print_request(bucket, address, wanted_tables, parse_numbers(parts, "--parts"))
    with fetching.Session(jobs, backoff=fetching.Backoff(seed=seed)) as session:
        with talk.status(f"Asking {address} for its files …"):
            plan = fetching.make_plan(
                session,
                bucket,
                dest,
                tables=wanted_tables,
                parts=parts,
                base_url=base_url,
                store=store,
                jobs=jobs,
            )
        if dry_run:
            print_plan(plan, chosen, as_json=as_json)
        else:
            download = Download(
                session,
                plan,
                jobs=jobs,
                store=store,
                delete_raw=delete_raw,
            )
            download.finish(download.run(), as_json=as_json)


def check_destination(dest: Path, store: Path | None, *, delete_raw: bool) -> None:
    """Refuse destinations that contradict each other.

    Raises
    ------
    UsageError
        Nothing would be left, or files do not stay on this machine, where a store could read them.
    """
    from borgtrace.errors import UsageError
    from borgtrace.storage import RemotePath

    if delete_raw and store is None:
        raise UsageError(
            "--delete-raw",
            "nothing would be left",
            way_out="name a store for the rows: --store STORE",
        )
    if store and isinstance(dest, RemotePath):
        raise UsageError(
            "--store",
            "files do not stay here",
            expected="DEST on this machine",
            got=str(dest),
            way_out=f"leave it out; then: borgtrace ingest {dest} --store {store}",
        )
