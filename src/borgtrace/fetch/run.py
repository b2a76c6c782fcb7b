"""Fetch the files of a plan, several at a time."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from borgtrace.errors import SourceError
from borgtrace.fetch.crew import Crew
from borgtrace.fetch.ledger import Ledger
from borgtrace.fetch.plan import Plan, RemoteFile
from borgtrace.fetch.session import Session
from borgtrace.fetch.transfer import Transfer, explain_disk


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one file ended: at ``path``, verified, or with an ``error``."""

    file: RemoteFile
    path: Path
    error: SourceError | None = None


def fetch_files(
    session: Session, plan: Plan, *, jobs: int = 4, ledger: Ledger | None = None
) -> Generator[Outcome, None, None]:
    """Fetch what a plan has to do, and yield each file when it is done.

    A file that cannot be had does not hold up the others.  Closing the iterator (Ctrl-C does) stops all
    transfers at once; what has arrived stays in ``.incomplete`` files and the next run goes on there.

    Parameters
    ----------
    session
        Connections to use; it is stopped when the iterator is closed early.
    plan
        What to fetch, from :func:`make_plan`.
    jobs
        Files at a time.
    ledger
        An open ledger of the plan's folder; by default one is opened for the length of the fetch.

    Yields
    ------
    Outcome
        In the order in which files are finished.
    """
    with nullcontext(ledger) if ledger else Ledger.open(plan.folder) as book:
        crew = Crew(lambda file: _fetch(session, file, plan.folder, book), plan.todo, jobs)
        finished = False
        try:
            yield from crew
            finished = True
        finally:
            if not finished:
                session.stop()
            crew.join()


def _fetch(session: Session, file: RemoteFile, folder: Path, ledger: Ledger) -> Outcome:
    try:
        return Outcome(file, Transfer(session, file, folder, ledger).run())
    except SourceError as error:
        return Outcome(file, folder / file.path, error)
    except OSError as error:
        return Outcome(file, folder / file.path, explain_disk(error, str(folder / file.path)))
