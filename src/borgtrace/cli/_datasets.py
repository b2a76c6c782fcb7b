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

if TYPE_CHECKING:
    from borgtrace.datasets import Built
    from borgtrace.datasets.jobs import Exported

_UNITS = {"us": 1, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 24 * 3600 * 10**6}
_END = 2**63 - 1


def words(text: str) -> tuple[str, ...]:
    """Split a list with commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def whole_numbers(option: str, text: str) -> tuple[int, ...]:
    """Read a list of whole numbers such as ``0,1,9-11``."""
    numbers: list[int] = []
    for word in words(text):
        low, dash, high = word.partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise UsageError(option, "not a whole number", expected="numbers such as 0,1,9-11", got=word)
        numbers.extend(range(int(low), int(high if dash else low) + 1))
    return tuple(numbers)


def fractions(text: str) -> tuple[float, ...]:
    """Read the fractions of a split."""
    try:
        return tuple(float(word) for word in words(text))
    except ValueError:
        raise UsageError("--split", "not a fraction", expected="numbers such as 0.7,0.1,0.2", got=text) from None


def time_range(text: str) -> tuple[int, int] | None:
    """Read ``A..B`` on the trace's clock: whole numbers with us, s, m, h or d; either side may be left out.

    Examples
    --------
    >>> time_range("600s..2h")
    (600000000, 7200000000)
    """
    if not text:
        return None
    first, dots, last = text.partition("..")
    if not dots:
        raise UsageError("--time", "not a time range", expected="A..B, such as 600s..24h", got=text)
    return _time(first, text) if first else 0, _time(last, text) if last else _END


def _time(word: str, text: str) -> int:
    unit = word.lstrip("0123456789.")
    number = word.removesuffix(unit) if unit else word
    try:
        return round(float(number) * _UNITS[unit or "us"])
    except (KeyError, ValueError):
        raise UsageError(
            "--time", "not a time", expected="a number with us, s, m, h or d, such as 600s..24h", got=text
        ) from None


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
