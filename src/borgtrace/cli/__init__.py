"""The command line: one file per command.  stdout is data, stderr is talk."""

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    Raises
    ------
    SystemExit
        Always: 0, 2 for wrong options, the exit code of a `BorgtraceError`, 130 after Ctrl-C.
    """
    # Inside, so that importing the package does not build the command line.
    import gc
    import os
    import sys

    # Before the imports below, which make hundreds of thousands of objects that stay: to look through them for garbage
    # every 700 objects took a sixth of the time of a page.
    gc.set_threshold(50_000)

    from borgtrace.cli.app import app
    from borgtrace.cli.terminal import harmless_streams, print_traceback

    sys.excepthook = print_traceback
    # With colours, Numba makes the end of a process write an escape sequence, which would show as text here.
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    with harmless_streams():
        app(args=None if arguments is None else list(arguments), prog_name="borgtrace")
