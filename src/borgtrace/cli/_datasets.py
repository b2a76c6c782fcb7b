"""What ``borgtrace dataset`` and ``borgtrace export`` print."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from borgtrace.cli._console import counted, talk
from borgtrace.cli._printing import print_json
from borgtrace.errors import UsageError
from borgtrace.schema.ranges import parse_words

if TYPE_CHECKING:
    from borgtrace.datasets import BuildResult, Selection, Split
    from borgtrace.export import ExportResult
    from borgtrace.store import Store


def split_of(text: str, by: Any) -> Split:
    """Read a split: fractions, each with the name of its set before it or none of them."""
    from borgtrace.datasets import Split

    words = [word.rpartition("=") for word in parse_words(text)]
    names = tuple(name for name, _, _ in words if name)
    try:
        fractions = tuple(float(number) for _, _, number in words)
    except ValueError:
        names, fractions = ("",), ()
    if names and len(names) != len(fractions):
        allowed = "numbers such as 0.7,0.1,0.2, or train=0.8,test=0.2"
        raise UsageError("--split", "not a fraction", expected=allowed, got=text)
    return Split(fractions, by, names) if names else Split(fractions, by)


def print_built(built: BuildResult, store: Store, selection: Selection, *, as_json: bool) -> None:
    """Print what was built, what was left out, how it was scaled, and what its sets have in common.

    Parameters
    ----------
    built
        What was built.
    store, selection
        From what, for the lengths of traces where bounds leave some out.
    as_json
        Whether it is printed as JSON.
    """
    if as_json:
        print_json(asdict(built))
        return
    from borgtrace.datasets.card import left_out
    from borgtrace.datasets.histogram import drawn, lengths

    state = "" if built.is_new else " (already there, unchanged)"
    counts = ", ".join(f"{name} {count:,}" for name, count in built.counts.items())
    talk.print(f"{built.path}{state}: {counts} of {built.n_matched:,} matching traces")
    for option, traces, windows in left_out(built.counts, built.windows, built.removed):
        talk.print(f"  {option}: traces {traces}, windows {windows}")
    if not built.removed.keys().isdisjoint(("--min-length", "--max-length", "slots of the grid")):
        talk.print("\n".join(drawn(lengths(store, selection))))
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
    of_jobs = f"{exported.tasks:,} tasks in index.csv, {exported.rows:,} usage rows"
    talk.print(f"{files}, {of_jobs if exported.tasks else f'{exported.rows:,} rows'}")
    print(exported.path)
