"""What ``borgtrace advise`` prints: one screen of 80 columns and 24 lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from borgtrace.advice.options import ASSUMED_CORES, ASSUMED_GIB
from borgtrace.advice.workloads import largest_changes
from borgtrace.notation import number
from borgtrace.notation.names import line_of_name

if TYPE_CHECKING:
    from borgtrace.advice import Advice
    from borgtrace.advice.files import AdviceFiles

WIDTH = 80
LINES = 24
SHOWN_INCIDENTS = 2
SHOWN_WORKLOADS = 5
SHOWN_UNKNOWN = 2
INDENT = "  "

Row = Mapping[str, Any]


def screen_of(advice: Advice, files: AdviceFiles | None) -> list[str]:
    """Return the lines of the screen: what matters most comes first, and what does not fit is in the files.

    Parameters
    ----------
    advice
        What to show.
    files
        Where all of it stands.
    """
    summary = advice.sentences
    lines = [cut(summary.title)]
    for sentence in (*summary.value, *summary.machines[:1]):
        lines += wrapped(sentence)
    if not summary.value:
        lines += wrapped(summary.judged)
    last = lines_about_files(files)
    blocks = [
        ["Would have broken:", *incident_lines(summary.incidents)],
        [*workload_lines(advice)],
        [line for sentence in summary.workloads for line in wrapped(sentence)],
        [line for sentence in summary.machines[1:] for line in first_lines(sentence, 2)],
        [cut(f"Not known: {sentence}") for sentence in summary.unknown[:SHOWN_UNKNOWN]],
    ]
    for block in blocks:
        room = LINES - 1 - len(last) - len(lines)
        lines += block[: max(room, 0)]
    return [*lines, *last]


def incident_lines(incidents: Sequence[str]) -> list[str]:
    """Return the first incidents, a line each; a sentence that stands alone is shown whole."""
    if len(incidents) == 1:
        (sentence,) = incidents
        return wrap(sentence, WIDTH, initial_indent=INDENT, subsequent_indent=2 * INDENT)
    return [cut(INDENT + line) for line in incidents[:SHOWN_INCIDENTS]]


def workload_lines(advice: Advice) -> Iterator[str]:
    """Yield the workloads that change most, below a heading: what a task requests, and what it should."""
    rows = largest_changes(advice.workloads.table.to_pylist(), SHOWN_WORKLOADS)
    if not rows:
        return
    # What is in units that were assumed bears a mark.
    mark = "" if advice.options.cores and advice.options.gib else "*"
    yield f"{'set for each task of':<44}{f'CPU (cores{mark})':>17}{f'memory (GiB{mark})':>19}"
    if mark:
        yield f"* as if the largest machine had {assumed_size(advice)} (see --cores-per-unit)"
    for row in rows:
        name = shortened(line_of_name(row["workload"]), 43)
        yield f"{name:<44}{change(row, 'cpu'):>17}{change(row, 'memory'):>19}"


def assumed_size(advice: Advice) -> str:
    """Return what was assumed of the largest machine."""
    parts = []
    if not advice.options.cores:
        parts.append(f"{ASSUMED_CORES:g} cores")
    if not advice.options.gib:
        parts.append(f"{ASSUMED_GIB:g} GiB")
    return " and ".join(parts)


def change(row: Row, resource: str) -> str:
    """Return what a task requests of a resource, and what it should."""
    today = number(row[f"{resource}_request"], 3)
    recommended = row[f"{resource}_recommended"]
    return f"{today} → {number(recommended, 3)}" if recommended is not None else today


def lines_about_files(files: AdviceFiles | None) -> Sequence[str]:
    """Return where the whole advice stands; paths are never cut."""
    if files is None:
        return ()
    yaml = f", resources.yaml for {files.n_patches:,} owners" if files.n_patches else ""
    return (f"Tables{yaml}: {files.folder}", f"Page: {files.page}")


def wrapped(sentence: str) -> list[str]:
    """Return a sentence on lines that fit, all but the first indented."""
    return wrap(sentence, WIDTH, subsequent_indent=INDENT, break_on_hyphens=False)


def first_lines(sentence: str, n: int) -> list[str]:
    """Return the first lines of a sentence, with an ellipsis where there are more."""
    lines = wrapped(sentence)
    if len(lines) <= n:
        return lines
    last = shortened(" ".join([lines[n - 1], lines[n].strip()]), WIDTH)
    return [*lines[: n - 1], last]


def cut(line: str) -> str:
    """Return a line that fits."""
    return shortened(line, WIDTH)


def shortened(text: str, width: int) -> str:
    """Return the beginning of a text, with an ellipsis where something is left out.

    Examples
    --------
    >>> shortened("data/search/app", 12), shortened("short", 12)
    ('data/search…', 'short')
    """
    return text if len(text) <= width else f"{text[: width - 1]}…"
