"""The card of a dataset: ``README.md`` in its folder, for whoever finds it later."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from borgtrace.datasets.features import series_unit
from borgtrace.datasets.metadata import Metadata
from borgtrace.datasets.trace_index import ALL, Counts
from borgtrace.schema import Dialect

FILE = "README.md"
_CARD = Path(__file__).with_name("card.md").read_text("utf-8")
_SYNTHETIC = "\n\n**The trace is synthetic: results on it say nothing about a real cell.**"


def card(about: Metadata, dialect: Dialect) -> str:
    """Write what a dataset is, from its metadata alone; nothing in it depends on place or time.

    Parameters
    ----------
    about
        Its metadata.
    dialect
        The trace format that it comes from: units, and the terms of its publication.
    """
    raw = about.raw
    store = about.raw["store"]
    features = (
        (
            entry.feature,
            series_unit(entry.feature),
            f"(x − {entry.offset:.9g}) ÷ {entry.divisor:.9g}",
        )
        for entry in about.scalings
    )
    files = ((name, about.counts[name], len(entries)) for name, entries in about.files.items())
    return _CARD.format(
        trace=dialect.title + (f", cell {store['cell']}" if store["cell"] else ""),
        synthetic=_SYNTHETIC if store["synthetic"] else "",
        code_version=raw["code_version"],
        store=store["digest"],
        identity=raw["identity"],
        sets=_table(("set", "traces", "files"), files),
        left_out=_table(
            ("", "traces", "windows"), left_out(about.counts, about.windows, about.removed)
        ),
        series=_table(("feature", "unit", "stored as"), features),
        options=_table(("option", "value"), _options(raw["options"])),
        leakage="".join(f"- {line}\n" for line in about.leakage),
        licence=dialect.licence or "The terms of the trace are not known.",
        first_set=next(iter(about.files)),
    )


def left_out(
    counts: Mapping[str, int], windows: int, removed: Mapping[str, Counts]
) -> Iterator[tuple[str, str, str]]:
    """Yield what is kept, then what each criterion leaves out: its name, traces and windows with their shares.

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
    told = {"kept": (sum(counts.values()), windows)} | {
        f"left out by {option}": n for option, n in removed.items()
    }
    del told[f"left out by {ALL}"]
    for name, (some_traces, some_windows) in told.items():
        yield name, _share(some_traces, all_traces), _share(some_windows, all_windows)


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / (whole or 1):.1f} %)"


def _options(options: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _options(value, f"{name}.")
        elif value not in (None, (), [], ""):
            yield f"{prefix}{name}", value


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    return "\n".join(
        "| " + " | ".join(map(str, row)) + " |" for row in (head, ("---",) * len(head), *rows)
    )
