"""The first screen of the page: the cell in ten seconds, from the answers of questions that the page shows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyarrow as pa

from borgtrace.analyses.queue import queue_length
from borgtrace.engine.embedded import ask
from borgtrace.question import Finding, NotApplicable, Row
from borgtrace.question.claims import KINDS
from borgtrace.question.scope import duration
from borgtrace.report.sections import Section
from borgtrace.report.values import MINUTES, instant, integer, words
from borgtrace.schema.time import HOUR, TRACE_START
from borgtrace.store.coverage import DERIVED_EVENTS, coverage
from borgtrace.store.manifest import Manifest

_NEEDS = {
    "instance_usage": "usage",
    "instance_events": "task events",
    "machine_events": "machine events",
}
"""Tables, as people call what is in them."""
_LABELS = {"cpu": "CPU", "memory": "memory"}
_BASIS = {"cpu": "CPU", "memory": "memory, in largest machines"}
RESOURCES = tuple(_LABELS)
N_SURPRISES = 3
_CELL_BY_HOUR = Path(__file__).with_name("cell_by_hour.sql").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its id in the page, what a program reads, what a person reads, and what it is of."""

    id: str
    exact: float | str
    text: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of the first screen; ``unknown`` and ``reason`` stand where there are no values.

    ``anchor`` is the section of the question that it is taken from, empty where it is the ledger's.
    """

    name: str
    title: str
    anchor: str = ""
    values: tuple[Value, ...] = ()
    unknown: str = ""
    reason: str = ""


Read = Callable[[pa.Table, Manifest], Iterable[Value]]
"""From the answer of a question to the values of a line."""


def facts(manifest: Manifest, sections: Iterable[Section]) -> list[Fact]:
    """Return the lines of the first screen, in their order.

    Parameters
    ----------
    manifest
        Of the store: what it holds and what is missing.
    sections
        The questions of the page.
    """
    known = {item.question.name: item for item in sections}
    lacking = "; ".join(_missing(manifest)) or "nothing"
    return [
        *(line.fact(manifest, known.get(line.question)) for line in _LINES),
        Fact("span", "Span", values=tuple(_spans(manifest))),
        Fact("missing", "Missing", values=(Value("missing-parts", lacking, lacking),)),
    ]


def surprises(sections: Iterable[Section]) -> list[tuple[Section, Finding]]:
    """Return the claims that do not hold: published ones first, those about this trace before those about another."""
    found = [
        (item, each)
        for item in sections
        for each in item.findings
        if each.verdict == "does not hold"
    ]
    # A verdict with a note was published of another trace: that it fails here says less.
    return sorted(found, key=lambda row: (KINDS.index(row[1].kind), bool(row[1].note)))[
        :N_SURPRISES
    ]


@dataclass(frozen=True, slots=True)
class _Line:
    """Where a line comes from: the question, the table that it needs most, and how the answer is read."""

    name: str
    title: str
    question: str
    needs: str
    read: Read

    def fact(self, manifest: Manifest, section: Section | None) -> Fact:
        if section is None:
            return Fact(
                self.name,
                self.title,
                unknown="unknown",
                reason=f"{self.question} is not on this page",
            )
        try:
            values = tuple(self.read(_answer(section), manifest))
        except NotApplicable as reason:
            return Fact(
                self.name, self.title, section.anchor, (), self._unknown(manifest), str(reason)
            )
        return Fact(self.name, self.title, section.anchor, values)

    def _unknown(self, manifest: Manifest) -> str:
        found = coverage(manifest).tables[self.needs]
        # With all of it in the store, more of it is no way out.
        return (
            "unknown" if found.rows and found.is_whole else f"unknown: needs {_NEEDS[self.needs]}"
        )


def _answer(section: Section) -> pa.Table:
    if section.result is None:
        raise NotApplicable(section.note)
    NotApplicable.unless(section.result.not_applicable is None, section.result.not_applicable or "")
    NotApplicable.unless(section.result.table.num_rows, "the answer is empty")
    return section.result.table


def _spans(manifest: Manifest) -> Iterator[Value]:
    store = coverage(manifest)
    for name in ("instance_events", "instance_usage"):
        span = store.span_of(name) if store.tables[name].rows else 0
        yield Value(
            f"span-{name.replace('_', '-')}", span / HOUR, duration(span), f"of {_NEEDS[name]}"
        )


def _missing(manifest: Manifest) -> Iterator[str]:
    """Yield what the store lacks of each table of the trace, in the names of its files."""
    held = coverage(manifest).tables
    raw_tables = manifest.dialect.tables
    # Rows of own data are converted into several tables, which have no parts: they are there or not.
    if not {raw.table for raw in raw_tables.values()} <= held.keys():
        yield from (f"{what}: none" for table, what in _NEEDS.items() if not held[table].rows)
        return
    for name, raw in raw_tables.items():
        found = held[raw.table]
        if not found.is_whole:
            of = f"of {found.of:,}" if found.of else "of an unknown number of"
            yield f"{words(name)}: {f'{len(found.parts):,} {of} parts' if found.parts else 'none'}"


def _covered(table: pa.Table, manifest: Manifest, name: str) -> list[Row]:
    """Return the hours of the cell, all tiers together, that a table of the store speaks about as a whole.

    Hours without machines are left out, as in the claims on overcommitment.

    Raises
    ------
    NotApplicable
        Where there is no such hour: a part of the rows would make the cell look emptier than it is.
    """
    cell = ask(table, _CELL_BY_HOUR)
    NotApplicable.unless(cell, "no machine has a capacity")
    _complete(manifest, name)
    if not coverage(manifest).tables[name].is_whole:
        first, last = manifest.time_range[name]
        # Rounded inward: an hour that is covered in part is not covered.
        begin, end = -((TRACE_START - first) // HOUR), (last - TRACE_START) // HOUR
        cell = [row for row in cell if begin <= row["hour"] < end]
    NotApplicable.unless(cell, f"the store has {_NEEDS[name]} of no whole hour")
    return cell


def _complete(manifest: Manifest, name: str) -> None:
    """Raise :class:`NotApplicable` where the rows of a table are a sample of those of its hours."""
    store = coverage(manifest)
    found = store.tables[name]
    NotApplicable.unless(not store.is_subset, "the store is a subset of another")
    if found.is_whole:
        return
    NotApplicable.unless(
        store.dialect.shards != "hash",
        f"each part is a sample of all {_NEEDS[name]}: all are needed",
    )
    # What runs or waits is known from the first event on; usage is measured in each window anew.
    if not found.is_contiguous or (name == "instance_events" and found.parts[:1] != (0,)):
        raise NotApplicable(f"parts of the {_NEEDS[name]} are missing before the last one")


def _machines(table: pa.Table, manifest: Manifest) -> Iterator[Value]:
    n = sum(table["n_last"].to_pylist())
    yield Value("machines", n, integer(n), f"of {integer(table.num_rows)} shapes")


def _capacity(table: pa.Table, manifest: Manifest) -> Iterator[Value]:
    for name in RESOURCES:
        mean = sum(table[name].to_pylist()) / table.num_rows
        yield Value(f"capacity-{name}", mean, _number(mean), _BASIS[name])


def _tasks(table: pa.Table, manifest: Manifest) -> Iterator[Value]:
    row = next(row for row in table.to_pylist() if row["tier"] == "all")
    for name in ("tasks", "jobs"):
        yield Value(name, row[f"n_{name}"], integer(row[f"n_{name}"]), name)


def _fullness(what: str, source: str) -> Read:
    """Read mean and peak of what is used or allocated, as shares of the cell's capacity: of the cell, then by tier."""

    def read(table: pa.Table, manifest: Manifest) -> Iterator[Value]:
        cell = {row["hour"]: row for row in _covered(table, manifest, source)}
        rows = [row for row in table.to_pylist() if row["hour"] in cell]
        found = {row["tier"] for row in rows}
        # The highest first; a tier that the format does not name comes last.
        names = dict.fromkeys(
            name for name, _, _ in sorted(manifest.dialect.tiers, key=lambda tier: -tier[1])
        )
        yield from _levels(cell.values(), cell, what, "")
        for tier in [*(name for name in names if name in found), *sorted(found - set(names))]:
            yield from _levels([row for row in rows if row["tier"] == tier], cell, what, f"-{tier}")

    return read


def _levels(
    rows: Iterable[Row], cell: Mapping[int, Row], what: str, suffix: str
) -> Iterator[Value]:
    for name in RESOURCES:
        used = {row["hour"]: row[f"{name}_{what}"] for row in rows}
        capacity = {hour: row[f"{name}_capacity"] for hour, row in cell.items()}
        mean = sum(used.values()) / sum(capacity.values())
        peak = max(amount / capacity[hour] for hour, amount in used.items())
        yield Value(f"{name}-{what}-mean{suffix}", mean, short_percent(mean), _LABELS[name])
        yield Value(f"{name}-{what}-peak{suffix}", peak, short_percent(peak), "peak")


_WORDS = {"used": "used", "allocated": "requested"}
_COLUMNS = {
    f"{of}-{what}": f"{label} {word}"
    for of, label in _LABELS.items()
    for what, word in _WORDS.items()
}
LEVEL_NAMES = tuple(_COLUMNS.values())


def levels(lines: Iterable[Fact]) -> list[tuple[str, list[tuple[Value, Value] | None]]]:
    """Return the table of the first screen: tier, and mean and peak of each of `LEVEL_NAMES`, None where unknown.

    Parameters
    ----------
    lines
        From :func:`facts`.
    """
    known = {
        value.id: value
        for line in lines
        if line.name in ("used", "requested")
        for value in line.values
    }
    means = {name: value for name, value in known.items() if "-mean" in name}
    pairs = {
        name.replace("-mean", ""): (mean, known[name.replace("-mean", "-peak")])
        for name, mean in means.items()
    }
    tiers = {
        name.partition("-mean")[2]: words(name.partition("-mean-")[2]) or "all" for name in means
    }
    return [
        (said, [pairs.get(f"{column}{tier}") for column in _COLUMNS])
        for tier, said in tiers.items()
    ]


def short_percent(share: float) -> str:
    """Write a share as a number of percent, for a narrow column.

    Examples
    --------
    >>> short_percent(0.4567), short_percent(0.0123), short_percent(1.25)
    ('46', '1.2', '125')
    """
    return f"{share * 100:.{0 if share >= 0.0995 else 1}f}"


def _tiers(table: pa.Table, manifest: Manifest) -> Iterator[Value]:
    hours = {row["hour"] for row in _covered(table, manifest, "instance_events")}
    sums: dict[str, float] = {}
    for row in table.to_pylist():
        if row["hour"] in hours:
            sums[row["tier"]] = sums.get(row["tier"], 0.0) + row["cpu_allocated"]
    total = sum(sums.values())
    NotApplicable.unless(total, "no task requests CPU")
    # The largest first; equal ones by name, so that the page is the same every time.
    for tier, amount in sorted(sums.items(), key=lambda item: (-item[1], item[0])):
        yield Value(f"tier-{tier}", amount / total, percent(amount / total), str(words(tier)))


def _busiest(table: pa.Table, manifest: Manifest) -> Iterator[Value]:
    hours = _covered(table, manifest, "instance_usage")
    row = max(hours, key=lambda row: row["cpu_used"] / row["cpu_capacity"])
    when = instant(TRACE_START + row["hour"] * HOUR, manifest, MINUTES)
    yield Value("busiest-hour", row["hour"], when)


def _queue(table: pa.Table, manifest: Manifest) -> Iterator[Value]:
    _complete(manifest, "instance_events")
    NotApplicable.unless(
        DERIVED_EVENTS not in manifest.notes, "events are derived from usage: nobody waits"
    )
    steps = queue_length.inside_trace(table)
    NotApplicable.unless(steps.num_rows, "no step lies inside the trace")
    middle, peak = median(steps["pending"].to_pylist()), max(steps["pending_max"].to_pylist())
    yield Value("pending-median", middle, _number(middle), "pending (median)")
    yield Value("pending-peak", peak, integer(peak), "at the peak")


def _advice(table: pa.Table, manifest: Manifest) -> Iterator[Value]:
    factors = [row["parameter"] for row in table.to_pylist() if row["is_factor"]]
    for factor in factors:
        yield Value("overcommit-factor", factor, f"{factor:.3g}", "× the capacity may be requested")
    if not factors:
        yield Value(
            "overcommit-factor", "none", "none", "of the factors is known to keep the target"
        )
    for row in table.to_pylist():
        if row["is_advised"]:
            yield Value(
                "packing",
                row["estimator"],
                f"{row['estimator']} {row['parameter']:.3g}",
                "packs best",
            )


def _number(value: float) -> str:
    return integer(round(value)) if value >= 100 or value == round(value) else f"{value:.3g}"


def percent(share: float) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.4567), percent(0.0012), percent(1.25)
    ('45.7 %', '0.12 %', '125 %')
    """
    return f"{share * 100:.3g} %"


_LINES = (
    _Line("machines", "Machines", "machine_shapes", "machine_events", _machines),
    _Line("capacity", "Capacity", "machine_availability", "machine_events", _capacity),
    _Line("tasks", "Tasks", "task_totals", "instance_events", _tasks),
    _Line(
        "used", "Used, mean", "utilization", "instance_usage", _fullness("used", "instance_usage")
    ),
    _Line(
        "requested",
        "Requested, mean",
        "utilization",
        "instance_events",
        _fullness("allocated", "instance_events"),
    ),
    _Line("tiers", "Largest CPU requests", "utilization", "instance_events", _tiers),
    _Line("busiest", "Busiest hour", "utilization", "instance_usage", _busiest),
    _Line("queue", "Queue", "queue_length", "instance_events", _queue),
    _Line("advice", "Overcommit", "packing_advice", "instance_usage", _advice),
)
