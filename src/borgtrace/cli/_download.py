"""What ``borgtrace fetch`` shows while it works, and how fetched files go straight into a store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.filesize import decimal
from rich.progress import DownloadColumn, TransferSpeedColumn
from rich.table import Table

from borgtrace.cli._console import counted, progress, talk
from borgtrace.cli._printing import print_json
from borgtrace.errors import SourceError
from borgtrace.fetch import Ledger, Listener, Outcome, Plan, RemoteFile, Session, fetch_files

if TYPE_CHECKING:
    from borgtrace.question import Question

# A bucket that is away fails for all of its files alike.
_SHOWN = 5


def print_plan(plan: Plan, questions: Sequence[Question] = (), *, as_json: bool) -> None:
    """Print what a fetch would do, table by table, and what its parts can answer of some questions."""
    # Only with --for: a plain fetch needs neither DuckDB nor Ibis.
    if questions:
        from borgtrace.cli._reach import print_reach, reach_of
    if as_json:
        reach = {"reach": reach_of(questions, plan)} if questions else {}
        print_json({**_facts(plan), **reach}, indent=1)
        return
    if questions:
        print_reach(questions, plan)
    grid = Table("table", box=None, header_style="bold")
    for heading in ("files", "size", "to fetch"):
        grid.add_column(heading, justify="right")
    for table in dict.fromkeys(file.table for file in plan.files):
        files = [file for file in plan.files if file.table == table]
        todo = [file for file in plan.todo if file.table == table]
        grid.add_row(table, f"{len(files):,}", _size(files), counted(len(todo), "file"))
    # On stdout: what a dry run prints is its answer.
    out = Console(highlight=False, markup=False)
    out.print(grid)
    out.print(
        f"\nTotal {decimal(plan.total)}; to fetch {decimal(plan.remaining)}; free disk {decimal(plan.free)}"
    )
    for path in plan.missing:
        out.print(f"Missing on the server: {path}")


def _size(files: list[RemoteFile]) -> str:
    unknown = any(file.version.size is None for file in files)
    # A server need not state a length.
    return ("at least " if unknown else "") + decimal(sum(file.version.size or 0 for file in files))


def _facts(plan: Plan) -> dict[str, Any]:
    here = {file.path for file in plan.here}
    return {
        "trace": plan.bucket.name,
        "folder": str(plan.folder),
        "bytes": plan.total,
        "bytes_to_come": plan.remaining,
        "bytes_free": plan.free,
        "missing": list(plan.missing),
        "files": [
            {
                "path": file.path,
                "table": file.table,
                "bytes": file.version.size,
                "is_here": file.path in here,
            }
            for file in plan.files
        ],
    }


@dataclass
class Download:
    """One fetch as the command does it: with a progress bar, and with a store behind it if wanted."""

    session: Session
    plan: Plan
    jobs: int
    store: Path | None
    delete_raw: bool
    started: float = field(default_factory=time.monotonic)

    def run(self) -> list[Outcome]:
        """Fetch (and stage) everything there is to do."""
        plan = self.plan
        # With it files go as they come, so the sum of all need not fit.
        if not self.delete_raw:
            plan.check_space()
        talk.print(
            f"Fetching {len(plan.todo):,} of {counted(len(plan.files), 'file')}, {decimal(plan.remaining)}; "
            f"{decimal(plan.free)} of disk free"
        )
        outcomes: list[Outcome] = []
        with (
            Ledger.open(plan.folder) as ledger,
            progress(DownloadColumn(), TransferSpeedColumn()) as bars,
        ):
            bar = bars.add_task("fetch", total=plan.remaining)
            # What has to come again moves the bar back.
            self.session.listener = Listener(
                lambda path, n_bytes: bars.advance(bar, n_bytes), _say_retrying
            )
            # Files fetched before: by a run without a store, or by one that was stopped before it staged them.
            if self.store:
                self._stage(self._already_here(), ledger)
            arriving = fetch_files(self.session, plan, jobs=self.jobs, ledger=ledger)
            try:
                # Staging starts worker processes, so files are staged `jobs` at a time.
                while batch := list(islice(arriving, self.jobs if self.store else 1)):
                    outcomes += self._stage(batch, ledger)
            finally:
                # Stops the transfers, also when staging has failed; without it they would go on behind the error.
                arriving.close()
        return outcomes

    def _already_here(self) -> list[Outcome]:
        here = (Outcome(file, self.plan.folder / file.path) for file in self.plan.here)
        return [outcome for outcome in here if outcome.path.exists()]

    def _stage(self, batch: list[Outcome], ledger: Ledger) -> list[Outcome]:
        """Stage what has arrived, delete it if wanted, and return the batch with what went wrong."""
        arrived = [outcome for outcome in batch if not outcome.error]
        if self.store is None or not arrived:
            return batch
        faults = self._ingest(self.store, [outcome.path for outcome in arrived], stage_only=True)
        judged = [
            replace(outcome, error=outcome.error or _fault_of(outcome, faults)) for outcome in batch
        ]
        # A file with a fault is kept: its error names it.
        for outcome in judged if self.delete_raw else []:
            if not outcome.error:
                # The ledger before the file: after a kill between the two the file is found staged, not missing.
                ledger.staged(outcome.file.path, self.store)
                outcome.path.unlink()
        return judged

    def finish(self, outcomes: list[Outcome], *, as_json: bool) -> None:
        """Sort the store, if there is one, and say how it went.

        Raises
        ------
        SourceError
            Some files could not be fetched.
        """
        plan, seconds = self.plan, time.monotonic() - self.started
        failed = [outcome for outcome in outcomes if outcome.error]
        if as_json:
            errors = {outcome.file.path: str(outcome.error) for outcome in failed}
            print_json({**_facts(plan), "failed": errors, "seconds": round(seconds, 3)}, indent=1)
        for outcome in failed[:_SHOWN]:
            talk.print(f"✗ {outcome.error}", style="red")
        lost = [*plan.missing, *(outcome.file.path for outcome in failed)]
        if lost:
            raise SourceError(
                str(plan.folder),
                f"{len(lost):,} of {counted(len(plan.files) + len(plan.missing), 'file')} could not be fetched",
                got=", ".join(lost[:_SHOWN]) + (" …" if len(lost) > _SHOWN else ""),
                way_out="run the same command again: what has arrived is kept",
            )
        files = counted(len(plan.files), "file")
        if self.store is None:
            talk.print(f"{_account(plan)} Next: borgtrace ingest {plan.folder} --store STORE")
        else:
            # Once at the end: sorting after every batch would rewrite the store each time.
            with talk.status(f"Sorting {self.store} by task …"):
                self._ingest(self.store, [], stage_only=False)
            talk.print(f"{files} in the store. Next: borgtrace info {self.store}")
        if not as_json:
            print(self.store or plan.folder)

    def _ingest(
        self, store: Path, paths: list[Path], *, stage_only: bool
    ) -> tuple[SourceError, ...]:
        # Only with a store: a plain fetch needs neither DuckDB nor Arrow.
        from borgtrace.ingest import IngestOptions, ingest

        return ingest(
            paths, store, IngestOptions(stage_only=stage_only, cell=self.plan.bucket.cell)
        ).faults


def _account(plan: Plan) -> str:
    """Say how many files are complete, and "verified" only of those whose checksum was compared."""
    entries = Ledger.read(plan.folder).entries
    known = (entries.get(file.path) for file in plan.files)
    # What is done was compared with the strongest digest of its version; without one, its end was looked at.
    verified = sum(
        1 for entry in known if entry and entry.state == "done" and entry.version.digests
    )
    files = counted(len(plan.files), "file")
    if verified == len(plan.files):
        return f"{files} complete and verified."
    return (
        f"{files} complete, {verified:,} verified: the server gives no checksum of the others, so only their length "
        "and their end were checked."
    )


def _say_retrying(path: str, reason: str, delay: float) -> None:
    talk.print(f"↻ {path}: {reason}; retrying in {delay:.1f} s", style="yellow")


def _fault_of(outcome: Outcome, faults: tuple[SourceError, ...]) -> SourceError | None:
    return next((fault for fault in faults if fault.where.startswith(str(outcome.path))), None)
