"""What ``borgtrace fetch`` shows while it works, and how fetched files go straight into a store."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from borgtrace.cli._wording import several
from borgtrace.errors import SourceError
from borgtrace.fetch import Ledger, Outcome, Plan, Session, fetch_files

_SHOWN = 5


def show_plan(plan: Plan, *, as_json: bool) -> None:
    """Print what a fetch would do, table by table."""
    if as_json:
        print(json.dumps(_facts(plan), indent=2))
        return
    grid = Table("table", box=None, header_style="bold")
    for heading in ("files", "size", "to come"):
        grid.add_column(heading, justify="right")
    for table in dict.fromkeys(file.table for file in plan.files):
        files = [file for file in plan.files if file.table == table]
        todo = [file for file in plan.todo if file.table == table]
        grid.add_row(table, f"{len(files):,}", _size(files), several(len(todo), "file"))
    out = Console(highlight=False)
    out.print(grid)
    sizes = {"All": plan.total, "to come": plan.remaining, "free on the disk": plan.free}
    out.print("\n" + "; ".join(f"{what} {decimal(size)}" for what, size in sizes.items()) + ".")
    for path in plan.missing:
        out.print(f"Missing on the server: {escape(path)}")


def _size(files: list[Any]) -> str:
    unknown = any(file.version.size is None for file in files)
    return ("at least " if unknown else "") + decimal(sum(file.version.size or 0 for file in files))


def _facts(plan: Plan) -> dict[str, Any]:
    todo = {file.path for file in plan.todo}
    return {
        "trace": plan.bucket.name,
        "folder": str(plan.folder),
        "bytes": plan.total,
        "bytes_to_come": plan.remaining,
        "bytes_free": plan.free,
        "missing": list(plan.missing),
        "files": [
            {"path": file.path, "table": file.table, "bytes": file.version.size, "is_here": file.path not in todo}
            for file in plan.files
        ],
    }


class Run:
    """One fetch as the command does it: a progress bar, and a store behind it if wanted."""

    def __init__(
        self, session: Session, plan: Plan, talk: Console, *, jobs: int, store: Path | None, delete_raw: bool
    ) -> None:
        self._session, self._plan, self._talk, self._jobs = session, plan, talk, jobs
        self._store, self._delete_raw = store, delete_raw
        self._started = time.monotonic()

    def all(self) -> list[Outcome]:
        """Fetch (and stage) everything there is to do."""
        plan = self._plan
        if not self._delete_raw:
            plan.check_space()
        self._talk.print(
            f"{len(plan.todo):,} of {several(len(plan.files), 'file')} to fetch, {decimal(plan.remaining)}; "
            f"{decimal(plan.free)} free on the disk"
        )
        outcomes: list[Outcome] = []
        with Ledger.open(plan.folder) as ledger, self._progress():
            self._stage(self._already_here(), ledger)
            arriving = fetch_files(self._session, plan, jobs=self._jobs, ledger=ledger)
            try:
                while batch := list(islice(arriving, self._jobs if self._store else 1)):
                    outcomes += self._stage(batch, ledger)
            finally:
                arriving.close()
        return outcomes

    def _already_here(self) -> list[Outcome]:
        todo = {file.path for file in self._plan.todo}
        here = (Outcome(file, self._plan.folder / file.path) for file in self._plan.files if file.path not in todo)
        return [outcome for outcome in here if outcome.path.exists()]

    def _stage(self, batch: list[Outcome], ledger: Ledger) -> list[Outcome]:
        """Stage what has arrived, delete it if wanted, and return the batch with what went wrong."""
        arrived = [outcome for outcome in batch if not outcome.error]
        if self._store is None or not arrived:
            return batch
        from borgtrace.ingest import IngestOptions, ingest

        options = IngestOptions(stage_only=True, cell=self._plan.bucket.cell)
        faults = ingest([outcome.path for outcome in arrived], self._store, options).faults
        judged = [replace(outcome, error=_fault_of(outcome, faults) or outcome.error) for outcome in batch]
        for outcome in judged if self._delete_raw else []:
            if not outcome.error:
                ledger.staged(outcome.file.path, self._store)
                outcome.path.unlink()
        return judged

    def _cluster(self) -> None:
        if self._store is not None:
            from borgtrace.ingest import IngestOptions, ingest

            with self._talk.status(f"Sorting {self._store} by task …"):
                ingest([], self._store, IngestOptions(cell=self._plan.bucket.cell))

    def finish(self, outcomes: list[Outcome], *, as_json: bool) -> None:
        """Say how it went.

        Raises
        ------
        SourceError
            Files could not be had.
        """
        plan, seconds = self._plan, time.monotonic() - self._started
        failed = [outcome for outcome in outcomes if outcome.error]
        if as_json:
            errors = {outcome.file.path: str(outcome.error) for outcome in failed}
            print(json.dumps({**_facts(plan), "failed": errors, "seconds": round(seconds, 3)}, indent=2))
        for outcome in failed[:_SHOWN]:
            self._talk.print(f"[red]✗[/] {escape(str(outcome.error))}", soft_wrap=True)
        lost = [*plan.missing, *(outcome.file.path for outcome in failed)]
        if lost:
            raise SourceError(
                str(plan.folder),
                f"{len(lost):,} of {several(len(plan.files) + len(plan.missing), 'file')} could not be had",
                got=", ".join(lost[:_SHOWN]) + (" …" if len(lost) > _SHOWN else ""),
                way_out="run the same command again: what has arrived is kept",
            )
        self._cluster()
        if not as_json:
            print(self._store or plan.folder)
        self._talk.print(self._next_step(), soft_wrap=True)

    def _next_step(self) -> str:
        n_files = len(self._plan.files)
        if self._store is None:
            here = f"{several(n_files, 'file')} here, whole and verified."
            return f"{here} Next: borgtrace ingest {self._plan.folder} --store STORE"
        return f"{several(n_files, 'file')} in the store. Next: borgtrace info {self._store}"

    @contextmanager
    def _progress(self) -> Iterator[None]:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self._talk) as progress:
            task = progress.add_task("fetch", total=self._plan.remaining)
            self._session.listener = _Bar(progress, task, self._talk)
            yield


def _fault_of(outcome: Outcome, faults: tuple[SourceError, ...]) -> SourceError | None:
    return next((fault for fault in faults if fault.where.startswith(str(outcome.path))), None)


class _Bar:
    """Feeds the progress bar from the transfers' threads."""

    def __init__(self, progress: Progress, task: Any, talk: Console) -> None:
        self._progress, self._task, self._talk = progress, task, talk

    def received(self, path: str, n_bytes: int) -> None:
        """Move the bar; what has to come again moves it back."""
        self._progress.advance(self._task, n_bytes)

    def retrying(self, path: str, reason: str, delay: float) -> None:
        """Say what is tried again."""
        self._talk.print(f"[yellow]↻[/] {escape(path)}: {escape(reason)}; again in {delay:.1f} s", soft_wrap=True)
