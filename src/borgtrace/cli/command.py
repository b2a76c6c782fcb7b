"""The decorator of every command: it turns URLs into places, and errors into one line with an exit code."""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, ParamSpec

import typer

from borgtrace.cli.checked_command import check_options
from borgtrace.cli.failures import explanation_of
from borgtrace.cli.option_effects import EffectRule
from borgtrace.kernels.compilation import announcing_compilation
from borgtrace.storage import RemotePath, as_local_path, as_path, expect_unchanged

P = ParamSpec("P")

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as shells have it."""


def command(
    *,
    on_interrupt: str = "nothing was written",
    reads: Collection[str] = ("store", "stores"),
    raw: Collection[str] = (),
    servers: Collection[str] = (),
    writes: Collection[str] = ("out",),
    writes_here: Collection[str] = (),
    adds_to: Collection[str] = (),
    adds_to_here: Collection[str] = (),
    is_checked_by_answer: bool = False,
    effects: Collection[EffectRule] = (),
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Make a function a command: the only place that catches errors and prints them.

    Typer sees the function's own signature.

    Parameters
    ----------
    on_interrupt
        What is true after Ctrl-C: what was kept, and how to go on.
    reads
        Parameters that may be URLs of a bucket that is read; a store or a bucket is compared before and after.
    raw
        Those that may be URLs of raw files, each of which is checked when it is staged.
    servers
        Those that may also be addresses of servers (http:// or https://), which the command itself reads.
    writes, writes_here
        Those that are written: to a bucket, too, or only on this machine. None goes into a store or over what is read.
    adds_to, adds_to_here
        Those that are stores to which the command adds: of a bucket, too, or only of this machine. Parameters in
        none of these are read on this machine.
    is_checked_by_answer
        Whether the command itself compares what it reads with the version that it opened, answer by answer.
    effects
        Which options have no effect beside others, or without them: they are refused.
    """

    def decorate(function: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(function)
        def run(*arguments: Any, **options: Any) -> None:
            try:
                with ExitStack() as stack:
                    stack.enter_context(notices_in_one_line())
                    announce = functools.partial(say_compiling, function.__name__)
                    stack.enter_context(announcing_compilation(announce))
                    check_options(function, options)
                    # Before the command says that there is no such file, or makes a folder of the URL's name.
                    urls = (*reads, *raw, *writes, *adds_to)
                    options = resolve_places(options, urls=urls, servers=servers)
                    targets = (*writes, *writes_here)
                    options = check_targets(options, targets, (*adds_to, *adds_to_here))
                    if not is_checked_by_answer:
                        for place in places_among(options, reads):
                            stack.enter_context(expect_one_version(place))
                    function(*arguments, **options)
                # Here a closed pipe is caught; at exit Python would complain about it.
                sys.stdout.flush()
            except KeyboardInterrupt:
                print(f"borgtrace: interrupted: {on_interrupt}", file=sys.stderr)
                raise typer.Exit(INTERRUPTED) from None
            except BrokenPipeError:
                # The reader of our output has had enough (``| head``); that is no failure.
                discard_output()
            except (typer.Exit, typer.Abort):
                raise
            except Exception as error:
                exit_code = print_failure(error, options.get("store"))
                # A mistake of ours keeps its traceback.
                if exit_code is None:
                    raise
                raise typer.Exit(exit_code) from error

        # Read where the command is made of the function, before its words are parsed.
        run.effects = effects  # type: ignore[attr-defined]
        return run

    return decorate


def print_failure(error: Exception, store: Any) -> int | None:
    """Print what went wrong in one line and return the exit code; nothing and None for a mistake of ours."""
    if isinstance(error, not_applicable()):
        # A question that this data cannot answer is an answer.
        print(f"not applicable: {error}", file=sys.stderr)
        finish_output()
        return 0
    explained = explanation_of(error, store)
    if explained is None:
        return None
    # Where messages cannot be written either, the exit code tells.
    with suppress(OSError):
        print(f"borgtrace: {explained}", file=sys.stderr)
    finish_output()
    return explained.exit_code


def not_applicable() -> type[Exception]:
    """Return the exception of questions that the data cannot answer; imported here, after a command has begun."""
    from borgtrace.question import NotApplicable

    return NotApplicable


COMPILING_S = {
    "colocate": 30,
    "compact": 10,
    "experiment": 25,
    "overcommit": 25,
    "overcommit_explain": 20,
    "overcommit_reclaim": 15,
    "overcommit_target": 25,
    "simulate": 25,
}
"""Seconds of one core that all functions of a command take to compile: measured without a cache on a small store."""


def say_compiling(function_name: str) -> None:
    """Say on stderr that machine code is compiled, once, and about how long that takes where it is long.

    Parameters
    ----------
    function_name
        Of the command.
    """
    seconds = COMPILING_S.get(function_name)
    duration = f" for up to {seconds} s" if seconds else ""
    print(
        f"First run: compiling{duration}, once; all ahead: borgtrace doctor --warm", file=sys.stderr
    )


@contextmanager
def notices_in_one_line() -> Iterator[None]:
    """Print warnings as errors are printed, without a line of our source, while the block runs."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"borgtrace: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def resolve_places(
    options: dict[str, Any], urls: Collection[str], servers: Collection[str] = ()
) -> dict[str, Any]:
    """Return the options with each path as a place: of this machine, or of a bucket where `urls` names it.

    Parameters
    ----------
    options
        All of them.
    urls, servers
        Names of those that may be of a bucket, and of those whose addresses of servers stay as they are.

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
            has_servers = name in servers
            resolved[name] = [
                item if has_servers and is_server(item) else as_place(item) for item in value
            ]
        else:
            resolved[name] = value
    return resolved


def is_server(path: Path) -> bool:
    """Return whether a path is the address of a server, of which pathlib has left one slash.

    Examples
    --------
    >>> is_server(Path("https://prometheus.example")), is_server(Path("http/answers"))
    (True, False)
    """
    return str(path).lower().startswith(("http:/", "https:/"))


def check_targets(
    options: dict[str, Any],
    targets: Collection[str],
    adds_to: Collection[str] = (),
) -> dict[str, Any]:
    """Return the options with links of what is written followed.

    Parameters
    ----------
    options
        All options, whose paths are places.
    targets, adds_to
        Names of those that are written, and of stores to which the command adds.

    Raises
    ------
    UsageError
        An output would go into a store, or over what is read.
    """
    # Late: a command without an output need not load what a store is.
    from borgtrace.store.targets import checked_target

    written = {*targets, *adds_to}
    inputs: list[Path] = []
    for name, value in options.items():
        if name not in written:
            items = value if isinstance(value, list) else [value]
            inputs += [item for item in items if isinstance(item, Path)]
    checked = dict(options)
    for name, value in options.items():
        if name in written and isinstance(value, Path):
            checked[name] = checked_target(value, inputs, may_be_store=name in adds_to)
    return checked


def discard_output() -> None:
    """Write to nowhere what is still to be printed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def finish_output() -> None:
    """Print what a failed command has answered; discard it where printing is what failed."""
    try:
        sys.stdout.flush()
    except OSError:
        discard_output()


def places_among(options: dict[str, Any], names: Collection[str]) -> list[Path]:
    """Return the places among the options of these names."""
    places = []
    for name, value in options.items():
        if name in names:
            items = value if isinstance(value, list) else [value]
            places += [item for item in items if isinstance(item, Path)]
    return places


def expect_one_version(place: Path) -> AbstractContextManager[None]:
    """Return a block that refuses what was read from a store, or a bucket, that has changed meanwhile."""
    if isinstance(place, RemotePath):
        from borgtrace.store.layout import Layout

        # Workers keep there what they make; it is sealed.
        return expect_unchanged(place, Layout(place).shared_cache)
    from borgtrace.store.version import expect_version, present_version

    return expect_version(place, present_version(place))
