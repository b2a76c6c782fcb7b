"""What commands tell people: messages and progress on stderr; stdout is for data."""

import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.status import Status
from rich.text import Text

from borgtrace.cli.harmless_console import HarmlessConsole
from borgtrace.cli.terminal import harmless_streams

# Not wrapped: messages hold paths and commands that people copy.
talk = HarmlessConsole(stderr=True, soft_wrap=True)
"""The console for messages."""

ShowStep = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def print_prose(words: str, *, is_data: bool = False) -> None:
    """Print sentences in lines of the terminal; a word that is longer than a line is left whole.

    Parameters
    ----------
    words
        Sentences; each line of them begins a line.
    is_data
        Whether they are what the command was asked for, and go to stdout; else to stderr.
    """
    # Rows of a table that wait in a buffer would come after it.
    sys.stdout.flush()
    stream = sys.stdout if is_data else sys.stderr
    # A file has no edge.
    is_terminal = stream.isatty() if is_data else talk.is_terminal
    width = HarmlessConsole().width - 1
    for line in words.splitlines():
        wrapped = textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        print(wrapped if is_terminal else line, file=stream)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, in the singular or plural.

    Examples
    --------
    >>> counted(1, "file"), counted(1500, "file")
    ('1 file', '1,500 files')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


class RateColumn(ProgressColumn):
    """Units per second: bytes, or what is counted."""

    def render(self, task: Task) -> Text:
        """Return the rate, once there is one."""
        unit = task.fields["unit"]
        # The library knows no speed before a second part is done.
        speed = task.speed or (task.completed / task.elapsed if task.elapsed else 0.0)
        amount = decimal(int(speed)) if unit == "bytes" else f"{speed:,.0f} {unit}"
        return Text(f"{amount}/s" if unit and speed else "", "dim")


@contextmanager
def progress(*columns: ProgressColumn) -> Iterator[Progress]:
    """Show progress bars while the block runs, where somebody watches: not in a file or a pipe.

    Parameters
    ----------
    columns
        What stands between the bar and the time left.
    """
    around = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *columns,
        TimeRemainingColumn(),
    )
    # Transient: bars vanish when the work is done, messages stay.
    with (
        Progress(
            *around,
            console=talk,
            transient=True,
            disable=not talk.is_terminal,
        ) as bars,
        # While bars are shown, Rich takes what is printed, and would obey the control characters in it.
        harmless_streams(),
    ):
        yield bars


@contextmanager
def working(text: str) -> Iterator[Status]:
    """Show on a terminal that work goes on while the block runs, where nobody knows how much of it there is.

    Parameters
    ----------
    text
        What is done; :meth:`rich.status.Status.update` changes it.
    """
    # Rich puts streams of its own in front, through which its control characters would become visible.
    with talk.status(text) as status, harmless_streams():
        yield status


@contextmanager
def steps(unit: str = "") -> Iterator[ShowStep]:
    """Show one bar that follows the current step, with a rate where there is a unit; yields the function to call."""
    with progress(MofNCompleteColumn(), RateColumn()) as bars:
        # Without a total at first, since a step says how long it is when it begins.
        bar = bars.add_task("", total=None, unit=unit)

        def report(name: str, done: int, total: int) -> None:
            if not done:
                bars.reset(bar)
            bars.update(
                bar,
                description=name,
                completed=done,
                total=total,
            )

        yield report
