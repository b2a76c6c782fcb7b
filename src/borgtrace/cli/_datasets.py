"""What ``borgtrace dataset`` and ``borgtrace export`` print."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from borgtrace.cli._console import counted, talk
from borgtrace.cli._printing import print_json
from borgtrace.errors import UsageError
from borgtrace.schema.ranges import parse_words

if TYPE_CHECKING:
    from borgtrace.datasets import BuildResult
    from borgtrace.export import ExportResult


def fractions(text: str) -> tuple[float, ...]:
    """Read the fractions of a split."""
    try:
        return tuple(float(word) for word in parse_words(text))
    except ValueError:
        raise UsageError("--split", "not a fraction", expected="numbers such as 0.7,0.1,0.2", got=text) from None


def print_built(built: BuildResult, *, as_json: bool) -> None:
    """Print what was built, how it was scaled, and what its sets have in common."""
    if as_json:
        print_json(asdict(built))
        return
    state = "" if built.is_new else " (already there, unchanged)"
    counts = ", ".join(f"{name} {count:,}" for name, count in built.counts.items())
    talk.print(f"{built.path}{state}: {counts} of {built.n_matched:,} matching traces")
    for scaling in built.scalings:
        scaled = f"({scaling.feature} − {scaling.offset:.6g}) ÷ {scaling.divisor:.6g}"
        talk.print(f"  {scaling.feature}: {scaled}, measured on {scaling.count:,} values")
    # Always, also when nothing is shared: that a split leaks is not something to ask for.
    for line in built.leakage:
        talk.print(f"  leakage: {line}")
    # The only line on stdout, for ``$(borgtrace dataset …)``.
    print(built.path)


def print_exported(exported: ExportResult, *, as_json: bool) -> None:
    """Print what was exported."""
    if as_json:
        print_json(asdict(exported))
        return
    files = counted(exported.files, "file")
    talk.print(f"{files}, {exported.tasks:,} tasks in index.csv, {exported.rows:,} usage rows")
    print(exported.path)
