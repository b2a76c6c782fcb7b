"""What ``borgtrace report`` says while it works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from borgtrace.report import Summary


@contextmanager
def bar(talk: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar over the questions, where someone watches; yields what to call before each question."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=talk, transient=True, disable=not talk.is_terminal) as progress:
        task = progress.add_task("", total=None)
        yield lambda name, done, total: progress.update(task, description=name, completed=done, total=total)


def say(talk: Console, summary: Summary) -> None:
    """Tell what was written, and which questions were refused."""
    for name, error in summary.refused.items():
        talk.print(f"{name}: {error}")
    size = summary.size / 1e6
    talk.print(f"{summary.n_questions} questions, {summary.n_charts} charts, {size:.1f} MB")
