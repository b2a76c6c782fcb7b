"""Write the card of a dataset: ``README.md`` in its folder, for whoever finds it later."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from borgtrace.datasets.features import series_unit
from borgtrace.datasets.metadata import Metadata
from borgtrace.datasets.publishing import front_matter
from borgtrace.datasets.selection import INSTANCE_NAMES
from borgtrace.datasets.trace_index import ALL, Counts
from borgtrace.schema import Dialect

FILE = "README.md"
TEMPLATE = Path(__file__).with_name("card.md").read_text("utf-8")
SYNTHETIC = "\n\n**The trace is synthetic: results on it say nothing about a real cell.**"


def card(about: Metadata, dialect: Dialect) -> str:
    """Describe a dataset from its metadata alone; nothing in it depends on place or time.

    Parameters
    ----------
    about
        Its metadata.
    dialect
        The trace format that it comes from: units, and the terms of its publication.
    """
    raw = about.raw
    store = raw["store"]
    files = [(name, about.counts[name], len(set_files)) for name, set_files in about.files.items()]
    series = []
    for scaling in about.scalings:
        formula = f"(x − {scaling.offset:.9g}) ÷ {scaling.divisor:.9g}"
        series.append((scaling.feature, series_unit(scaling.feature), formula))
    removed = left_out(about.counts, about.windows, about.removed)
    instances = INSTANCE_NAMES[raw["options"]["selection"].get("instances", "tasks")]
    head = front_matter(about, dialect)
    return head + TEMPLATE.format(
        instances=f"{instances}s",
        trace=dialect.title + (f", cell {store['cell']}" if store["cell"] else ""),
        synthetic=SYNTHETIC if store["synthetic"] else "",
        code_version=raw["code_version"],
        store=store["digest"],
        identity=raw["identity"],
        sets=markdown_table(("set", "traces", "files"), files),
        left_out=markdown_table(("", "traces", "windows"), removed),
        series=markdown_table(("feature", "unit", "stored as"), series),
        options=markdown_table(("option", "value"), flat_options(raw["options"])),
        leakage="".join(f"- {line}\n" for line in about.leakage),
        licence=dialect.licence or "The terms of the trace are not known.",
        first_set=next(iter(about.files)),
    )


def left_out(
    counts: Mapping[str, int],
    windows: int,
    removed: Mapping[str, Counts],
) -> Iterator[tuple[str, str, str]]:
    """Yield what is in the sets, then what each criterion leaves out: a name, traces and windows with their shares.

    Parameters
    ----------
    counts, windows
        Traces of each set, and windows of all of them.
    removed
        Traces and windows of all tasks, and those that each criterion leaves out.

    Examples
    --------
    >>> list(left_out({"training": 1}, 5, {"all": (4, 20), "--tier": (3, 15)}))
    [('kept', '1 of 4 (25.0 %)', '5 of 20 (25.0 %)'), ('left out by --tier', '3 of 4 (75.0 %)', '15 of 20 (75.0 %)')]
    """
    if ALL not in removed:
        return
    all_traces, all_windows = removed[ALL]
    rows = {"kept": (sum(counts.values()), windows)}
    for option, removed_counts in removed.items():
        if option != ALL:
            rows[f"left out by {option}"] = removed_counts
    for name, (n_traces, n_windows) in rows.items():
        yield name, share(n_traces, all_traces), share(n_windows, all_windows)


def share(part: int, whole: int) -> str:
    """Return a count with its share of all."""
    return f"{part:,} of {whole:,} ({100 * part / (whole or 1):.1f} %)"


def flat_options(options: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield all options that have a value, those within another as ``outer.inner``."""
    for name, value in options.items():
        if isinstance(value, dict):
            yield from flat_options(value, f"{name}.")
        elif value not in (None, (), [], ""):
            yield f"{prefix}{name}", value


def markdown_table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    """Write a table in Markdown."""
    line = ("---",) * len(head)
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in (head, line, *rows))
