"""Fetch the files of a plan, several at a time."""

from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from borgtrace.errors import SourceError
from borgtrace.fetch.ledger import Ledger, arrivals, deliver
from borgtrace.fetch.plan import FetchPlan, RemoteFile
from borgtrace.fetch.session import Session
from borgtrace.fetch.transfer import Transfer
from borgtrace.storage import RemotePath


@dataclass(frozen=True, slots=True)
class FetchOutcome:
    """How one file ended: at ``path``, checked, or with an ``error``."""

    file: RemoteFile
    path: Path
    error: SourceError | None = None


def fetch_files(
    session: Session,
    plan: FetchPlan,
    *,
    jobs: int = 4,
    ledger: Ledger | None = None,
) -> Generator[FetchOutcome, None, None]:
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
    FetchOutcome
        In the order in which files are finished.

    Raises
    ------
    StoreError
        The folder is in a bucket that cannot be written to; this stops all transfers too.
    """
    waiting = iter(plan.todo)
    with (
        nullcontext(ledger) if ledger else Ledger.open(plan.folder) as open_ledger,
        session.threads(jobs) as pool,
    ):

        def start(file: RemoteFile) -> Future[FetchOutcome]:
            return pool.submit(fetch_file, session, file, plan.folder, open_ledger)

        running = {start(file) for file in islice(waiting, jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                # One new file for each that is done: whoever deletes files after use never has more than `jobs` on
                # the disk that nobody has asked for yet.
                running |= {start(file) for file in islice(waiting, 1)}
                yield future.result()


def fetch_file(
    session: Session,
    file: RemoteFile,
    folder: Path,
    ledger: Ledger,
) -> FetchOutcome:
    """Fetch one file, and copy it on where its folder is in a bucket.

    Parameters
    ----------
    session
        Connections to use.
    file
        What to fetch.
    folder
        Where it goes.
    ledger
        What is known of the folder.
    """
    path = folder / file.path
    here = arrivals(folder)
    try:
        arrived = Transfer(session, file, here, ledger).run()
        if isinstance(folder, RemotePath):
            deliver(arrived, file.path, ledger.entries[file.path], folder)
        return FetchOutcome(file, path)
    except SourceError as error:
        return FetchOutcome(file, path, error)
    # A full disk stops this file only: another one may be on its way into a store and out again.
    except OSError as error:
        unwritable = SourceError(
            str(here / file.path),
            f"cannot be written ({error.strerror or error})",
            way_out="free some disk and run the command again",
        )
        return FetchOutcome(file, path, unwritable)
