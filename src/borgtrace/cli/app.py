"""The command group: finds commands by name, imports one when it is called, ends all the same way."""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from borgtrace._version import __version__
from borgtrace.cli._options import declared, said_of
from borgtrace.errors import BorgtraceError, StoreError, UsageError
from borgtrace.storage import NOT_WRITABLE, RemotePath, as_local_path, as_path, expect_unchanged

# What DuckDB calls faults of a query and of the machine; what else it says of a query may come from a damaged file.
_NO_DAMAGE = (
    "Parser",
    "Binder",
    "Catalog",
    "Permission",
    "Out of Memory",
    "Conversion",
    "Not implemented",
)


def damage_behind(error: Exception, store: object) -> StoreError | None:
    """Return the error of a damaged store, where a command failed on one; None where the store is whole.

    Only asked when a command has failed in a way that it does not explain itself, since every file is read.

    Parameters
    ----------
    error
        What the command raised.
    store
        Its argument of this name.
    """
    # Nor of a bucket, which may be larger than anybody would read for that.
    if not isinstance(store, Path) or isinstance(store, RemotePath) or _is_explained(error):
        return None
    from borgtrace.cli._console import talk
    from borgtrace.store.layout import Layout
    from borgtrace.store.verify import as_error, verify

    if not Layout(store).manifest.is_file():
        return None
    with talk.status("looking whether the store is damaged"):
        try:
            return as_error(store, verify(store, threads=os.cpu_count() or 1))
        except StoreError as damaged:
            return damaged


def _is_explained(error: Exception) -> bool:
    if not isinstance(error, BorgtraceError):
        return False
    cause = error.__cause__
    of_files = isinstance(cause, OSError) or type(cause).__module__.startswith(
        ("duckdb", "_duckdb", "pyarrow")
    )
    return isinstance(error, StoreError) or not of_files or str(cause).startswith(_NO_DAMAGE)


_TAKE_IN = ("demo", "fetch", "synth", "ingest", "dialect")
_LOOK = ("info", "sql", "trace", "machine", "explore")
_ASK = (
    "analyze",
    "compare",
    "views",
    "dataset",
    "export",
    "colocate",
    "overcommit",
    "forecast",
    "compact",
    "simulate",
)
_KEEP = ("report", "subset", "merge", "verify", "doctor")
COMMANDS = (*_TAKE_IN, *_LOOK, *_ASK, *_KEEP)
"""Commands in the order a user meets them; each is the module of its name in this package."""
INTERRUPTED = 130


class LazyGroup(TyperGroup):
    """Commands are modules; only those that are asked for are imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Typer lists these, and suggests names near a wrong one; what they stand for comes from get_command.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import one command; None for an unknown name."""
        return _load(cmd_name) if cmd_name in COMMANDS else None


def _load(name: str) -> Any:
    module = import_module(f"borgtrace.cli.{name}")
    # No tracebacks, and no marked-up help: errors are one line.
    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    said = said_of(name)
    run = ending_well(getattr(module, name), said["Ctrl-C"], said["reads"], said["writes"])
    one.command(name)(declared(name, run))
    return typer.main.get_command(one)


def ending_well(
    function: Callable[..., None],
    on_interrupt: str = "nothing was written",
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
) -> Callable[..., None]:
    """Turn a command's errors into one line and an exit code: the only place that catches them.

    Parameters
    ----------
    function
        The command.
    on_interrupt
        What is true after Ctrl-C: what was kept, and how to go on.
    reads, writes
        Parameters that may be URLs of a bucket, which is read or written; elsewhere one is refused.
    """

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        warnings.formatwarning = _one_line
        try:
            with ExitStack() as stack:
                for name, remote in _take_urls(options, (*reads, *writes)):
                    if name in reads:
                        stack.enter_context(expect_unchanged(remote))
                function(*arguments, **options)
            # Here, where a closed pipe is caught; at exit Python would complain about it.
            sys.stdout.flush()
        except KeyboardInterrupt:
            print(f"borgtrace: interrupted: {on_interrupt}", file=sys.stderr)
            # 128 + SIGINT, as shells have it.
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Whoever read our output has had enough (``| head``); that is no failure.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            # What a library says of a damaged file explains nothing; a mistake of ours keeps its traceback.
            told = _not_writable(error) or damage_behind(error, options.get("store")) or error
            if not isinstance(told, BorgtraceError):
                raise
            print(f"borgtrace: {told}", file=sys.stderr)
            raise typer.Exit(told.exit_code) from error

    return run


def _take_urls(options: dict[str, Any], urls: Sequence[str]) -> list[tuple[str, RemotePath]]:
    """Replace the places in `options`, and return those that are in buckets; refuse URLs of other options."""
    # Here, for all commands: before one says that there is no such file, or makes a folder of the URL's name.
    found: list[tuple[str, Path]] = []
    for name, value in options.items():
        taken = as_path if name in urls else as_local_path
        if isinstance(value, Path):
            options[name] = taken(value)
            found.append((name, options[name]))
        elif isinstance(value, list) and value and isinstance(value[0], Path):
            options[name] = list(map(taken, value))
            found += [(name, item) for item in options[name]]
    return [(name, remote) for name, remote in found if isinstance(remote, RemotePath)]


def _not_writable(error: Exception) -> UsageError | None:
    """Return the error of a place that cannot be written to, where that is what happened."""
    if not isinstance(error, OSError) or error.errno not in NOT_WRITABLE:
        return None
    what = (error.strerror or "").lower()
    return UsageError(
        str(error.filename or "output"), what, way_out="choose another place, or open this one"
    )


def _one_line(message: Warning | str, *_: Any, **__: Any) -> str:
    """Show a notice as errors are shown, without a line of our source."""
    return f"borgtrace: {message}\n"


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"borgtrace {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Cluster traces, from raw archives to answers.

    Start with: borgtrace demo DIR
    """
