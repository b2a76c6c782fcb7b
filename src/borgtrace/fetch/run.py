"""Fetch the files of a plan, several at a time."""

from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from borgtrace.errors import SourceError
from borgtrace.fetch.ledger import Ledger, arrivals, deliver
from borgtrace.fetch.plan import Plan, RemoteFile
from borgtrace.fetch.session import Session
from borgtrace.fetch.transfer import Transfer
from borgtrace.storage import RemotePath


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one file ended: at ``path``, checked, or with an ``error``."""

    file: RemoteFile
    path: Path
    error: SourceError | None = None


def fetch_files(
    session: Session, plan: Plan, *, jobs: int = 4, ledger: Ledger | None = None
) -> Generator[Outcome, None, None]:
    """Fetch what a plan has to do, and yield each file when it is done.

    A file that cannot be fetched does not hold up the others.  Closing the iterator (Ctrl-C does) stops
    all transfers at once; what has arrived stays in ``.incomplete`` files and the next run resumes there.

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

    Raises
    ------
    StoreError
        The folder is in a bucket that cannot be written to; this stops all transfers too.
    """
    files = iter(plan.todo)
    with (
        nullcontext(ledger) if ledger else Ledger.open(plan.folder) as book,
        session.threads(jobs) as pool,
    ):
        running = {
            pool.submit(_fetch, session, file, plan.folder, book) for file in islice(files, jobs)
        }
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                # One more for one that is done: whoever deletes each file after use never has more than
                # `jobs` on the disk that nobody has asked for yet.
                running |= {
                    pool.submit(_fetch, session, file, plan.folder, book)
                    for file in islice(files, 1)
                }
                yield future.result()


def _fetch(session: Session, file: RemoteFile, folder: Path, ledger: Ledger) -> Outcome:
    path, here = folder / file.path, arrivals(folder)
    try:
        arrived = Transfer(session, file, here, ledger).run()
        if isinstance(folder, RemotePath):
            deliver(arrived, file.path, ledger.entries[file.path], folder)
        return Outcome(file, path)
    except SourceError as error:
        return Outcome(file, path, error)
    # A full disk stops this file only: another one may be on its way into a store and out again.
    except OSError as error:
        where, reason = str(here / file.path), f"cannot be written ({error.strerror or error})"
        return Outcome(
            file,
            path,
            SourceError(where, reason, way_out="free some disk and run the command again"),
        )
