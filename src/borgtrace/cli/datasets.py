"""What ``borgtrace dataset`` and ``borgtrace export`` read and print."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from borgtrace.cli.console import counted, talk
from borgtrace.cli.printing import print_json
from borgtrace.notation.numbers import number

if TYPE_CHECKING:
    from borgtrace.datasets import BuildResult, Selection, Split
    from borgtrace.export import ExportResult, LedgerLine
    from borgtrace.store import Store

# Criteria that leave traces out by their length.
LENGTH_CRITERIA = ("--min-length", "--max-length", "slots of the grid")


def split_of(text: str, by: Any) -> Split:
    """Read a split: fractions, either all with the name of their set before them or none.

    Raises
    ------
    UsageError
        For what is no number, or where only some have names.
    """
    from borgtrace.datasets import Split

    return Split.parse(text, by)


def lines_of_lengths(store: Store, selection: Selection) -> list[str]:
    """Return the lines of a histogram of the lengths of traces."""
    from borgtrace.datasets.histogram import drawn, lengths

    return list(drawn(lengths(store, selection)))


def print_built(
    built: BuildResult,
    store: Store,
    selection: Selection,
    *,
    as_json: bool,
) -> None:
    """Print what was built, what was left out, how it was scaled, and what its sets have in common.

    Parameters
    ----------
    built
        What was built.
    store, selection
        From what, for the lengths of traces where bounds leave some out.
    as_json
        Print JSON instead of text.
    """
    if as_json:
        print_json(asdict(built))
        return
    from borgtrace.datasets.card import left_out

    state = "" if built.is_new else " (already there, unchanged)"
    counts = ", ".join(f"{name} {count:,}" for name, count in built.counts.items())
    talk.print(f"{built.path}{state}: {counts} of {built.n_matched:,} matching traces")
    for option, traces, windows in left_out(built.counts, built.windows, built.removed):
        talk.print(f"  {option}: traces {traces}, windows {windows}")
    if any(criterion in built.removed for criterion in LENGTH_CRITERIA):
        talk.print("\n".join(lines_of_lengths(store, selection)))
    for scaling in built.scalings:
        formula = f"({scaling.feature} − {number(scaling.offset)}) ÷ {number(scaling.divisor)}"
        talk.print(f"  {scaling.feature}: {formula}, measured on {scaling.count:,} values")
    # Always, even when nothing is shared: nobody should have to ask whether a split leaks.
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
    if exported.tasks:
        contents = f"{exported.tasks:,} tasks in index.csv, {exported.rows:,} usage rows"
        if exported.rows_left_out:
            contents += f" ({exported.rows_left_out:,} of alloc instances left out)"
    else:
        contents = f"{exported.rows:,} rows"
    talk.print(f"{files}, {contents}")
    for line in exported.ledger:
        talk.print(f"  {describe_ledger(line)}")
    print(exported.path)


def describe_ledger(line: LedgerLine) -> str:
    """Return a sum such as ``machines: 41 = 40 written + 1 without a capacity``."""
    total = line.written + sum(line.left_out.values())
    left_out = "".join(f" + {rows:,} {reason}" for reason, rows in line.left_out.items())
    cut = f" ({line.cut:,} of them cut at the end of the trace)" if line.cut else ""
    return f"{line.what}: {total:,} = {line.written:,} written{cut}{left_out}"
