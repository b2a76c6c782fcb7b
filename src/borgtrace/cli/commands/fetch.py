"""``borgtrace fetch``: the published buckets → raw files, or straight into a store."""

from pathlib import Path

from borgtrace.cli.command import command
from borgtrace.cli.fetch_options import (
    BaseUrlOption,
    DeleteRawOption,
    DownloadsOption,
    ForQuestionsOption,
    PartsOption,
    RawFilesArgument,
    RawFormatOption,
    ShowDownloadOption,
    StageIntoOption,
    TraceArgument,
)
from borgtrace.cli.options import CellOption, JitterSeedOption, JsonOption, TablesOption


@command(
    on_interrupt="what has arrived is kept; run the same command again to go on",
    reads=[],
    writes=["dest"],
    adds_to_here=["store"],
)
def fetch(
    generation: TraceArgument,
    dest: RawFilesArgument,
    cell: CellOption = "",
    tables: TablesOption = "",
    parts: PartsOption = "all",
    questions: ForQuestionsOption = "",
    raw_format: RawFormatOption = None,
    base_url: BaseUrlOption = None,
    jobs: DownloadsOption = 4,
    store: StageIntoOption = None,
    delete_raw: DeleteRawOption = False,
    dry_run: ShowDownloadOption = False,
    as_json: JsonOption = False,
    seed: JitterSeedOption = 0,
) -> None:
    """Download a published trace over HTTPS. No account is needed.

    Downloads resume where they broke off. A file gets its name only after a check of its published checksum, or of its
    length and end where none is published. Redirects to another server are not followed. After Ctrl-C, run the same
    command again: nothing is fetched twice. --for with --dry-run also says how many claims of the questions each number
    of parts can judge.

    Example: borgtrace fetch 2011 raw --parts 0-9
    """
    from borgtrace import fetch as fetching
    from borgtrace.cli.console import working
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
        with working(f"Asking {address} for its files …"):
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
    from borgtrace.errors import UsageError, shell_word
    from borgtrace.storage import RemotePath

    if delete_raw and store is None:
        raise UsageError(
            "--delete-raw",
            "nothing would be left",
            way_out="name a store for the rows: --store store",
        )
    if store and isinstance(dest, RemotePath):
        raise UsageError(
            "--store",
            "files do not stay here",
            expected="DEST on this machine",
            got=str(dest),
            way_out=f"leave it out; then: borgtrace ingest {shell_word(dest)} --store {shell_word(store)}",
        )
