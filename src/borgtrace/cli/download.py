"""What ``borgtrace fetch`` shows while it works, and how fetched files go straight into a store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal
from rich.progress import DownloadColumn, TransferSpeedColumn
from rich.table import Table

from borgtrace.cli.console import counted, progress, talk, working
from borgtrace.cli.harmless_console import HarmlessConsole
from borgtrace.cli.printing import print_json
from borgtrace.errors import SourceError, shell_word
from borgtrace.fetch import (
    Bucket,
    FetchOutcome,
    FetchPlan,
    Ledger,
    Listener,
    RemoteFile,
    Session,
    fetch_files,
)
from borgtrace.schema.ranges import Numbers

if TYPE_CHECKING:
    from borgtrace.question import Question

NAMED_FAILURES = 5
"""Failures that are named: a bucket that is away fails for all of its files alike."""


def print_request(bucket: Bucket, base_url: str, tables: Sequence[str], parts: Numbers) -> None:
    """Print which files a fetch would ask for, which needs no server."""
    out = HarmlessConsole(soft_wrap=True)
    out.print(f"Reads {base_url}:")
    if bucket.publication.sums:
        out.print(f"  {bucket.publication.sums}")
    for table in tables:
        out.print(f"  {requested_paths(bucket, table, bucket.parts_of(table, parts))}")


def requested_paths(bucket: Bucket, table: str, parts: Numbers) -> str:
    """Return the first and the last path of the wanted parts of a table, and how many there are.

    Examples
    --------
    >>> from borgtrace.fetch import bucket
    >>> from borgtrace.schema.ranges import ALL, parse_numbers
    >>> requested_paths(bucket("2011"), "task_usage", parse_numbers("0-2,7"))
    'task_usage/part-00000-of-00500.csv.gz … part-00007-of-00500.csv.gz (4 files)'
    >>> requested_paths(bucket("2019", "a"), "instance_usage", ALL)
    'instance_usage-000000000000.json.gz and all that follow'
    """
    _, last_number = parts.ranges[-1]
    n_parts = bucket.n_parts(table)
    first_path = bucket.path(table, parts.ranges[0][0])
    if n_parts is None and last_number is None:
        return f"{first_path} and all that follow"
    ends = [n_parts, None if last_number is None else last_number + 1]
    numbers = list(parts.numbers(min(end for end in ends if end is not None)))
    if len(numbers) < 2:
        return first_path
    _, _, last_name = bucket.path(table, numbers[-1]).rpartition("/")
    return f"{first_path} … {last_name} ({len(numbers):,} files)"


def print_plan(plan: FetchPlan, questions: Sequence[Question] = (), *, as_json: bool) -> None:
    """Print what a fetch would do, table by table, and what its parts can answer of some questions."""
    # Only with --for: a plain fetch needs neither DuckDB nor Ibis.
    if questions:
        from borgtrace.cli.reach import print_reach, reach_of
    if as_json:
        facts = facts_of(plan)
        if questions:
            facts["reach"] = reach_of(questions, plan)
        print_json(facts, indent=1)
        return
    if questions:
        print_reach(questions, plan)
    grid = Table("table", box=None, header_style="bold")
    for heading in ("files", "size", "to fetch"):
        grid.add_column(heading, justify="right")
    for table in dict.fromkeys(file.table for file in plan.files):
        files = [file for file in plan.files if file.table == table]
        to_fetch = [file for file in plan.todo if file.table == table]
        grid.add_row(table, f"{len(files):,}", size_text(files), counted(len(to_fetch), "file"))
    # On stdout: what a dry run prints is its answer.
    out = HarmlessConsole()
    out.print(grid)
    total = decimal(plan.total)
    remaining = decimal(plan.remaining)
    out.print(f"\nTotal {total}; to fetch {remaining}; free disk {decimal(plan.free)}")
    for path in plan.missing:
        out.print(f"Missing on the server: {path}")


def size_text(files: Sequence[RemoteFile]) -> str:
    """Return the size of files in words; a server need not state a length."""
    sizes = [file.version.size for file in files]
    total = decimal(sum(size or 0 for size in sizes))
    return f"at least {total}" if None in sizes else total


def facts_of(plan: FetchPlan) -> dict[str, Any]:
    """Return a plan as plain data, for JSON."""
    paths_here = {file.path for file in plan.here}
    files = []
    for file in plan.files:
        files.append(
            {
                "path": file.path,
                "table": file.table,
                "url": file.url,
                "bytes": file.version.size,
                "is_here": file.path in paths_here,
            }
        )
    return {
        "trace": plan.bucket.name,
        "folder": str(plan.folder),
        "bytes": plan.total,
        "bytes_to_come": plan.remaining,
        "bytes_free": plan.free,
        "missing": list(plan.missing),
        "files": files,
    }


@dataclass
class Download:
    """One fetch as the command does it: with a progress bar, and with a store behind it if wanted."""

    session: Session
    plan: FetchPlan
    jobs: int
    store: Path | None
    delete_raw: bool
    started: float = field(default_factory=time.monotonic)

    def run(self) -> list[FetchOutcome]:
        """Fetch (and stage) everything there is to do."""
        plan = self.plan
        # With it files go as they come, so the sum of all need not fit.
        if not self.delete_raw:
            plan.check_space()
        files = counted(len(plan.files), "file")
        remaining = decimal(plan.remaining)
        free = decimal(plan.free)
        talk.print(f"Fetching {len(plan.todo):,} of {files}, {remaining}; {free} of disk free")
        outcomes: list[FetchOutcome] = []
        with (
            Ledger.open(plan.folder) as ledger,
            progress(DownloadColumn(), TransferSpeedColumn()) as bars,
        ):
            bar = bars.add_task("fetch", total=plan.remaining)

            def advance(path: str, n_bytes: int) -> None:
                # Below 0 for what has to come again.
                bars.advance(bar, n_bytes)

            self.session.listener = Listener(advance, say_retrying)
            # Files fetched before: by a run without a store, or by one that was stopped before it staged them.
            if self.store:
                self.stage(self.files_here(), ledger)
            arriving = fetch_files(self.session, plan, jobs=self.jobs, ledger=ledger)
            # Staging starts worker processes, so files are staged `jobs` at a time.
            batch_size = self.jobs if self.store else 1
            try:
                while batch := list(islice(arriving, batch_size)):
                    outcomes += self.stage(batch, ledger)
            finally:
                # Stops the transfers, also when staging has failed; without it they would go on behind the error.
                arriving.close()
        return outcomes

    def files_here(self) -> list[FetchOutcome]:
        """Return the files that were fetched before and are still on the disk."""
        outcomes = []
        for file in self.plan.here:
            path = self.plan.folder / file.path
            if path.exists():
                outcomes.append(FetchOutcome(file, path))
        return outcomes

    def stage(self, batch: list[FetchOutcome], ledger: Ledger) -> list[FetchOutcome]:
        """Stage what has arrived, delete it if wanted, and return the batch with what went wrong."""
        arrived = [outcome.path for outcome in batch if not outcome.error]
        if self.store is None or not arrived:
            return batch
        faults = self.ingest(self.store, arrived, stage_only=True)
        staged = []
        for outcome in batch:
            error = outcome.error or fault_of(outcome, faults)
            staged.append(replace(outcome, error=error))
        if self.delete_raw:
            for outcome in staged:
                # A file with a fault stays: its error names it.
                if not outcome.error:
                    # The ledger before the file: after a kill between the two the file counts as staged, not missing.
                    ledger.staged(outcome.file.path, self.store)
                    outcome.path.unlink()
        return staged

    def finish(self, outcomes: list[FetchOutcome], *, as_json: bool) -> None:
        """Sort the store, if there is one, and say how it went.

        Raises
        ------
        SourceError
            Some files could not be fetched.
        """
        seconds = time.monotonic() - self.started
        failed = [outcome for outcome in outcomes if outcome.error]
        if as_json:
            facts = facts_of(self.plan)
            facts["failed"] = {outcome.file.path: str(outcome.error) for outcome in failed}
            facts["seconds"] = round(seconds, 3)
            print_json(facts, indent=1)
        for outcome in failed[:NAMED_FAILURES]:
            talk.print(f"✗ {outcome.error}", style="red")
        lost = [*self.plan.missing, *(outcome.file.path for outcome in failed)]
        if lost:
            raise self.incomplete(lost)
        if self.store is None:
            account = account_of(self.plan)
            talk.print(
                f"{account} Next: borgtrace ingest {shell_word(self.plan.folder)} --store store"
            )
        else:
            # Once at the end: sorting after every batch would rewrite the store each time.
            with working(f"Sorting {self.store} by task …"):
                self.ingest(self.store, [], stage_only=False)
            files = counted(len(self.plan.files), "file")
            talk.print(f"{files} in the store. Next: borgtrace info {shell_word(self.store)}")
        if not as_json:
            print(self.store or self.plan.folder)

    def incomplete(self, lost: Sequence[str]) -> SourceError:
        """Return the error of a fetch that misses some files."""
        files = counted(len(self.plan.files) + len(self.plan.missing), "file")
        more = " …" if len(lost) > NAMED_FAILURES else ""
        return SourceError(
            str(self.plan.folder),
            f"{len(lost):,} of {files} could not be fetched",
            got=", ".join(lost[:NAMED_FAILURES]) + more,
            way_out="run the same command again: what has arrived is kept",
        )

    def ingest(
        self, store: Path, paths: list[Path], *, stage_only: bool
    ) -> tuple[SourceError, ...]:
        """Ingest files, or sort what is staged; return the faults of files."""
        # Only with a store: a plain fetch needs neither DuckDB nor Arrow.
        from borgtrace.ingest import IngestOptions, ingest

        options = IngestOptions(stage_only=stage_only, cell=self.plan.bucket.cell)
        return ingest(paths, store, options).faults


def account_of(plan: FetchPlan) -> str:
    """Say how many files are complete, and "verified" only of those whose checksum was compared."""
    entries = Ledger.read(plan.folder).entries
    n_verified = 0
    for file in plan.files:
        entry = entries.get(file.path)
        # What is done was compared with the strongest digest of its version; without one, only its end was checked.
        if entry and entry.state == "done" and entry.version.digests:
            n_verified += 1
    files = counted(len(plan.files), "file")
    if n_verified == len(plan.files):
        return f"{files} complete and verified."
    return (
        f"{files} complete, {n_verified:,} verified: the server gives no checksum of the others, so only their length "
        "and their end were checked."
    )


def say_retrying(path: str, reason: str, delay: float) -> None:
    """Say that a file is tried again."""
    talk.print(f"↻ {path}: {reason}; retrying in {delay:.1f} s", style="yellow")


def fault_of(outcome: FetchOutcome, faults: Sequence[SourceError]) -> SourceError | None:
    """Return the fault of a file; None where it has none."""
    for fault in faults:
        if fault.where.startswith(str(outcome.path)):
            return fault
    return None
