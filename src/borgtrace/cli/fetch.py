"""``borgtrace fetch``: the published buckets → raw files, or straight into a store."""

from pathlib import Path


def fetch(
    generation: str,
    dest: Path,
    cell: str = "",
    tables: str = "",
    parts: str = "all",
    questions: str = "",
    raw_format: str | None = None,
    base_url: str | None = None,
    jobs: int = 4,
    store: Path | None = None,
    delete_raw: bool = False,
    dry_run: bool = False,
    as_json: bool = False,
    seed: int = 0,
) -> None:
    """Download a published trace over HTTPS. No account is needed.

    Downloads resume where they broke off, and a file gets its name only after it was checked: by its published
    checksum, or by its length and end where there is none. Redirects to another server are not followed. After Ctrl-C,
    run the same command again: nothing is fetched twice. With --for, --dry-run also says which claims of the questions
    each number of parts has in reach.

    Example: borgtrace fetch 2011 raw --parts 0-9
    """
    from borgtrace import fetch as fetching
    from borgtrace.cli import _download
    from borgtrace.cli._console import talk
    from borgtrace.errors import UsageError
    from borgtrace.schema.ranges import parse_words
    from borgtrace.storage import RemotePath

    if delete_raw and store is None:
        raise UsageError(
            "--delete-raw",
            "nothing would be left",
            way_out="name a store for the rows: --store STORE",
        )
    if store and isinstance(dest, RemotePath):
        expected, way_out = (
            "DEST on this machine",
            f"leave it out; then: borgtrace ingest {dest} --store {store}",
        )
        raise UsageError(
            "--store", "files do not stay here", expected=expected, got=str(dest), way_out=way_out
        )
    wanted = fetching.bucket(generation, cell, raw_format)
    selection, asked = list(parse_words(tables)), []
    if questions:
        from borgtrace.catalog import find
        from borgtrace.question.reach import tables_read

        asked = [find(name) for name in parse_words(questions)]
        selection += tables_read(asked)
    selection = wanted.select_tables(selection)
    with fetching.Session(jobs, backoff=fetching.Backoff(seed=seed)) as session:
        with talk.status(f"Asking {base_url or wanted.url} for its files …"):
            plan = fetching.make_plan(
                session,
                wanted,
                dest,
                tables=selection,
                parts=parts,
                base_url=base_url,
                store=store,
                jobs=jobs,
            )
        if dry_run:
            _download.print_plan(plan, asked, as_json=as_json)
        else:
            download = _download.Download(
                session, plan, jobs=jobs, store=store, delete_raw=delete_raw
            )
            download.finish(download.run(), as_json=as_json)
