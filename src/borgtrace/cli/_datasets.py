"""What ``borgtrace dataset`` and ``borgtrace export`` read from the command line, and what they say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from borgtrace.cli._wording import several
from borgtrace.errors import UsageError
from borgtrace.schema.ranges import parse_words

if TYPE_CHECKING:
    from borgtrace.datasets import Built
    from borgtrace.datasets.jobs import Exported


def fractions(text: str) -> tuple[float, ...]:
    """Read the fractions of a split."""
    try:
        return tuple(float(word) for word in parse_words(text))
    except ValueError:
        raise UsageError("--split", "not a fraction", expected="numbers such as 0.7,0.1,0.2", got=text) from None


@contextmanager
def progress(talk: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Show one bar per step while the block runs."""
    columns = (TextColumn("{task.description:<8}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=talk, transient=True, disable=not talk.is_terminal) as bars:
        steps: dict[str, object] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in steps:
                steps[step] = bars.add_task(step, total=total)
            bars.update(steps[step], completed=done)  # type: ignore[arg-type]

        yield report


def say_built(built: Built, talk: Console, *, as_json: bool) -> None:
    """Tell what was built, what leaks, how it was scaled."""
    if as_json:
        print(json.dumps(asdict(built) | {"path": str(built.path)}))
        return
    state = "" if built.is_new else " (already there, unchanged)"
    counts = ", ".join(f"{name} {count:,}" for name, count in built.counts.items())
    talk.print(f"{built.path}{state}: {counts} of {built.n_matched:,} traces that match")
    for scaling in built.scalings:
        name = scaling.feature
        talk.print(
            f"  {name}: ({name} − {scaling.offset:.6g}) ÷ {scaling.divisor:.6g}, measured on {scaling.count:,} values"
        )
    for line in built.leakage:
        talk.print(f"  leakage: {line}")
    print(built.path)


def talking() -> Console:
    """Return the console for people: stderr."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def say_exported(exported: Exported, talk: Console, *, as_json: bool) -> None:
    """Tell what was exported."""
    if as_json:
        print(json.dumps(asdict(exported) | {"path": str(exported.path)}))
        return
    talk.print(
        f"{several(exported.files, 'file')}, {exported.tasks:,} tasks in index.csv, {exported.rows:,} usage rows"
    )
    print(exported.path)
