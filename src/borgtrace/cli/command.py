"""The decorator of every command: URLs become places, and errors one line with an exit code."""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ParamSpec

import typer

from borgtrace.errors import BorgtraceError, StoreError, UsageError
from borgtrace.storage import NOT_WRITABLE, RemotePath, as_local_path, as_path, expect_unchanged

P = ParamSpec("P")

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as shells have it."""

# DuckDB's errors that begin so are about the query or the machine; others may come from a damaged file.
ERRORS_OF_QUERIES = (
    "Parser",
    "Binder",
    "Catalog",
    "Permission",
    "Out of Memory",
    "Conversion",
    "Not implemented",
)


def command(
    *,
    on_interrupt: str = "nothing was written",
    reads: Collection[str] = ("store", "stores"),
    writes: Collection[str] = ("out",),
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Make a function a command: the only place that catches errors and prints them.

    Typer sees the function's own signature.

    Parameters
    ----------
    on_interrupt
        What is true after Ctrl-C: what was kept, and how to go on.
    reads, writes
        Parameters that may be URLs of a bucket that is read or written; other parameters refuse URLs.
        A bucket that is read is compared before and after. Raw files are not among them, since each is
        checked when it is staged.
    """

    def decorate(function: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(function)
        def run(*arguments: Any, **options: Any) -> None:
            try:
                with ExitStack() as stack:
                    stack.enter_context(notices_in_one_line())
                    # Before the command says that there is no such file, or makes a folder of the URL's name.
                    options = resolve_places(options, urls=(*reads, *writes))
                    for remote in remote_places(options, reads):
                        stack.enter_context(expect_unchanged(remote))
                    function(*arguments, **options)
                # Here a closed pipe is caught; at exit Python would complain about it.
                sys.stdout.flush()
            except KeyboardInterrupt:
                print(f"borgtrace: interrupted: {on_interrupt}", file=sys.stderr)
                raise typer.Exit(INTERRUPTED) from None
            except BrokenPipeError:
                # The reader of our output has had enough (``| head``); that is no failure.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            except (typer.Exit, typer.Abort):
                raise
            except Exception as error:
                explained = explanation_of(error, options.get("store"))
                # A mistake of ours keeps its traceback.
                if explained is None:
                    raise
                print(f"borgtrace: {explained}", file=sys.stderr)
                raise typer.Exit(explained.exit_code) from error

        return run

    return decorate


@contextmanager
def notices_in_one_line() -> Iterator[None]:
    """Print warnings as errors are printed, without a line of our source, while the block runs."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"borgtrace: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def resolve_places(options: dict[str, Any], urls: Collection[str]) -> dict[str, Any]:
    """Return the options with each path as a place: of this machine, or of a bucket where `urls` names it.

    Raises
    ------
    UsageError
        Where another option is a URL.
    """
    resolved: dict[str, Any] = {}
    for name, value in options.items():
        as_place = as_path if name in urls else as_local_path
        if isinstance(value, Path):
            resolved[name] = as_place(value)
        elif isinstance(value, list) and value and isinstance(value[0], Path):
            resolved[name] = [as_place(item) for item in value]
        else:
            resolved[name] = value
    return resolved


def remote_places(options: dict[str, Any], names: Collection[str]) -> list[RemotePath]:
    """Return the places in buckets among the options of these names."""
    remote = []
    for name, value in options.items():
        if name in names:
            items = value if isinstance(value, list) else [value]
            remote += [item for item in items if isinstance(item, RemotePath)]
    return remote


def explanation_of(error: Exception, store: object) -> BorgtraceError | None:
    """Return what a user is told of an error; None where it is a mistake of ours.

    Parameters
    ----------
    error
        What the command raised.
    store
        The command's argument of this name.
    """
    explained = refusal_to_write(error) or damage_behind(error, store) or error
    return explained if isinstance(explained, BorgtraceError) else None


def refusal_to_write(error: Exception) -> UsageError | None:
    """Return the error of a place that cannot be written to, where that is what happened."""
    if not isinstance(error, OSError) or error.errno not in NOT_WRITABLE:
        return None
    return UsageError(
        str(error.filename or "output"),
        (error.strerror or "").lower(),
        way_out="choose another place, or open this one",
    )


def damage_behind(error: Exception, store: object) -> StoreError | None:
    """Return the error of a damaged store on which a command failed; None where the store is whole.

    Every file is read, so this is only asked when the command's own error does not explain the failure.

    Parameters
    ----------
    error
        What the command raised.
    store
        The command's argument of this name.
    """
    # Skip buckets: they may be too large to read.
    if not isinstance(store, Path) or isinstance(store, RemotePath) or explains_itself(error):
        return None
    from borgtrace.cli.console import talk
    from borgtrace.store.layout import Layout
    from borgtrace.store.verify import as_error, verify

    if not Layout(store).manifest.is_file():
        return None
    with talk.status("looking whether the store is damaged"):
        try:
            checks = verify(store, threads=os.cpu_count() or 1)
        except StoreError as damaged:
            return damaged
    return as_error(store, checks)


def explains_itself(error: Exception) -> bool:
    """Return whether an error says all there is to say: it is ours, and not about reading a file."""
    if not isinstance(error, BorgtraceError):
        return False
    if isinstance(error, StoreError) or error.__cause__ is None:
        return True
    import duckdb
    import pyarrow as pa

    cause = error.__cause__
    if not isinstance(cause, OSError | duckdb.Error | pa.ArrowException):
        return True
    return str(cause).startswith(ERRORS_OF_QUERIES)
