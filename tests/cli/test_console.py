"""Counts in words, rates, and a bar that follows the current step."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from rich.progress import Progress

from borgtrace.cli import console
from borgtrace.cli.console import RateColumn, counted, steps


def test_numbers_of_things() -> None:
    assert [counted(n, "file") for n in (0, 1, 2)] == ["0 files", "1 file", "2 files"]


class Clock:
    """A clock that stands still until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("unit", "advances", "text"),
    [
        # Nothing is done, and no time has passed.
        ("rows", [], ""),
        # One part is done: 600 in 8 s.
        ("rows", [(8.0, 600)], "75 rows/s"),
        # Of several parts, the library's own speed: what came after the first.
        ("rows", [(1.0, 600), (2.0, 1235)], "1,235 rows/s"),
        ("bytes", [(1.0, 600), (2.0, 2_500)], "2.5 kB/s"),
        ("", [(1.0, 600), (2.0, 1235)], ""),
    ],
)
def test_rates(unit: str, advances: list[tuple[float, int]], text: str) -> None:
    clock = Clock()
    bars = Progress(get_time=clock, disable=True)
    bar = bars.add_task("", total=10_000, unit=unit)
    for clock.now, amount in advances:
        bars.advance(bar, amount)
    (task,) = bars.tasks
    assert str(RateColumn().render(task)) == text


def test_each_step_has_a_time_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    bars = Progress(get_time=clock, disable=True)
    monkeypatch.setattr(console, "progress", lambda *_: nullcontext(bars))
    with steps("rows") as report:
        (task,) = bars.tasks
        assert (task.total, task.fields) == (None, {"unit": "rows"})
        for time, name, done, total, elapsed in (
            (1.0, "one", 0, 2, 0),
            (9.0, "one", 1, 2, 8),
            (10.0, "two", 0, 4, 0),
            (12.0, "two", 1, 4, 2),
            (13.0, "two", 3, 4, 3),
        ):
            clock.now = time
            report(name, done, total)
            assert (task.description, task.completed, task.total) == (name, done, total)
            assert task.elapsed == elapsed
