"""A child process that reads requests from stdin and answers on stdout; started anew, or forked."""

import faulthandler
import os
import shutil
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from borgtrace.storage.scratch import new_scratch

START_CODE: Final = (
    "import sys; parent, folder, *sys.path = sys.argv[1:]; "
    "from borgtrace.engine.query_worker import main; main(int(parent), folder)"
)
"""The same modules as in this process, and none from the folder in which it works."""


class Child:
    """A child process, its two pipes, and a folder of its own.

    Parameters
    ----------
    may_fork
        Whether the child may be a fork of this process, which saves half a second of CPU: for a command that has just
        begun, whose libraries have nothing under way in other threads.
    """

    def __init__(self, *, may_fork: bool = False) -> None:
        self.folder = new_scratch("query")
        """For what does not fit in memory; removed with the child."""
        self.folder.mkdir()
        self._log = self.folder / "log"
        self._exit_code: int | None = None
        child_requests, self.requests = os.pipe()
        self.answers, child_answers = os.pipe()
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        descriptors = (child_requests, child_answers, log)
        # A fork copies one thread only: locks that others hold would never be released.
        is_forked = may_fork and sys.platform == "linux" and threading.active_count() == 1
        start = _fork if is_forked else _spawn
        try:
            self.pid = start(descriptors, self.folder)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def exit_code(self, *, wait: bool = False) -> int | None:
        """Return the exit code, negative for a signal; None while the child runs."""
        if self._exit_code is None:
            try:
                pid, status = os.waitpid(self.pid, 0 if wait else os.WNOHANG)
            # Somebody else has waited for all children.
            except ChildProcessError:
                self._exit_code = -signal.SIGKILL
            else:
                self._exit_code = os.waitstatus_to_exitcode(status) if pid else None
        return self._exit_code

    def kill(self) -> None:
        """Kill the child, if it still runs."""
        # Not after its end: another process may have the number by now.
        if self.exit_code() is None:
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the child, and remove all that belongs to it."""
        self.kill()
        self.exit_code(wait=True)
        for descriptor in (self.requests, self.answers):
            with suppress(OSError):
                os.close(descriptor)
        shutil.rmtree(self.folder, ignore_errors=True)

    def last_words(self) -> str:
        """Return the last line that the child wrote on its stderr."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
        written = [line for line in lines if line.strip()]
        return written[-1] if written else ""

    def resident_bytes(self) -> int:
        """Return the memory that the child holds; 0 where the system does not tell."""
        try:
            pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()
        except OSError:
            return 0
        return int(pages[1]) * os.sysconf("SC_PAGE_SIZE")


Descriptors = tuple[int, int, int]


def _spawn(descriptors: Descriptors, folder: Path) -> int:
    path = [entry for entry in sys.path if entry]
    arguments = [sys.executable, "-P", "-c", START_CODE, str(os.getpid()), str(folder), *path]
    return os.posix_spawn(
        sys.executable,
        arguments,
        # Threads of a numeric library would reserve memory that no query uses.
        os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, descriptor, number)
            for number, descriptor in enumerate(descriptors)
        ],
    )


def _fork(descriptors: Descriptors, folder: Path) -> int:
    parent = os.getpid()
    # Imported here, so that the child need not do it.
    from borgtrace.engine.query_worker import main

    with warnings.catch_warnings():
        # Python counts the idle threads of libraries, which have handlers for a fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if not pid:
        _run_and_exit(lambda: main(parent, str(folder)), descriptors)
    return pid


def _run_and_exit(work: Callable[[], None], descriptors: Descriptors) -> None:
    """Do the work of a fork, and never return into what the parent does."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # It would write into a file of the parent's.
        faulthandler.disable()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        work()
        code = 0
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(code)
