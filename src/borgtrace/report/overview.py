"""The cell in numbers: tiles and lines of the page, from the answers of questions that the page shows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from borgtrace.first_screen import CONTENTS, LINES, RESOURCES, TILES, Amount, ScreenLine
from borgtrace.notation import integer, numbers
from borgtrace.question import Finding, NotApplicable
from borgtrace.question.claims import KINDS
from borgtrace.question.scope import duration
from borgtrace.report.sections import PageSection
from borgtrace.report.values import MINUTES, instant, words
from borgtrace.schema.time import HOUR, TRACE_START
from borgtrace.store.coverage import Coverage, coverage
from borgtrace.store.manifest import Manifest

N_SURPRISES = 3
MEASURES = {"used": "used", "allocated": "requested"}
"""What is measured of each resource, and how it is called."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its id in the page, what a program reads, what a person reads, and what it is of."""

    id: str
    exact: float | str
    text: str
    of: str = ""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
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


def facts(manifest: Manifest, sections: Iterable[PageSection]) -> list[Fact]:
    """Return the lines of the first screen, in their order.

    Parameters
    ----------
    manifest
        Of the store: what it holds and what is missing.
    sections
        The questions of the page.
    """
    sections_by_question = {item.question.name: item for item in sections}
    lines = []
    for line in LINES:
        lines.append(fact_of(line, manifest, sections_by_question.get(line.question)))
    lines.append(
        Fact(
            name="span",
            title="Span",
            values=tuple(spans(manifest)),
        )
    )
    missing = "; ".join(missing_tables(manifest)) or "nothing"
    value = Value("missing-parts", missing, missing)
    lines.append(
        Fact(
            name="missing",
            title="Missing",
            values=(value,),
        )
    )
    return lines


def tiles(manifest: Manifest, sections: Iterable[PageSection]) -> list[Fact]:
    """Return the tiles of the first screen in their order, but for those whose question the page leaves out.

    Parameters
    ----------
    manifest, sections
        As for :func:`facts`.
    """
    sections_by_question = {item.question.name: item for item in sections}
    tiles_of_page = []
    for tile in TILES:
        if tile.question in sections_by_question:
            section = sections_by_question[tile.question]
            tiles_of_page.append(fact_of(tile, manifest, section))
    return tiles_of_page


def fact_of(line: ScreenLine, manifest: Manifest, section: PageSection | None) -> Fact:
    """Read a line from the answer of its question, or say why it is unknown."""
    if section is None:
        return Fact(
            name=line.name,
            title=line.title,
            unknown="unknown",
            reason=f"{line.question} is not on this page",
        )
    try:
        amounts = list(line.read(answer_of(section), manifest))
    except NotApplicable as reason:
        return Fact(
            name=line.name,
            title=line.title,
            anchor=section.anchor,
            unknown=unknown(line.needs, manifest),
            reason=str(reason),
        )
    values = tuple(written(amount, manifest) for amount in amounts)
    return Fact(
        name=line.name,
        title=line.title,
        anchor=section.anchor,
        values=values,
    )


def answer_of(section: PageSection) -> pa.Table:
    """Return the answer of a section.

    Raises
    ------
    NotApplicable
        There is none, or it is empty.
    """
    if section.result is None:
        raise NotApplicable(section.note)
    if section.result.not_applicable is not None:
        raise NotApplicable(section.result.not_applicable)
    NotApplicable.unless(section.result.table.num_rows, "the answer is empty")
    return section.result.table


def unknown(table_name: str, manifest: Manifest) -> str:
    """Say that something is unknown, and whether more rows of the table that it needs most would help."""
    table = coverage(manifest).tables[table_name]
    # With all of it in the store, more of it is no way out.
    if table.rows and table.is_whole:
        return "unknown"
    return f"unknown: needs {CONTENTS[table_name]}"


def written(amount: Amount, manifest: Manifest) -> Value:
    """Write an amount for people."""
    text = amount.text or amount_text(amount, manifest)
    # Tiers are named by their code.
    label = words(amount.label) if amount.form == "percent" else amount.label
    return Value(amount.id, amount.exact, text, label)


def amount_text(amount: Amount, manifest: Manifest) -> str:
    """Write an amount in its form."""
    if isinstance(amount.exact, str):
        return amount.exact
    if amount.form == "hour":
        time = TRACE_START + int(amount.exact) * HOUR
        return instant(time, manifest, MINUTES)
    write = WRITERS.get(amount.form, str)
    return write(amount.exact)


def spans(manifest: Manifest) -> Iterable[Value]:
    """Yield how long events and usage cover the trace."""
    store = coverage(manifest)
    for table in ("instance_events", "instance_usage"):
        span = store.span_of(table) if store.tables[table].rows else 0
        yield Value(
            id=f"span-{table.replace('_', '-')}",
            exact=span / HOUR,
            text=duration(span),
            of=f"of {CONTENTS[table]}",
        )


def missing_tables(manifest: Manifest) -> Iterable[str]:
    """Yield what the store lacks of each table of the trace, in the names of its files."""
    tables = coverage(manifest).tables
    raw_tables = manifest.dialect.tables
    # Rows of own data are converted into several tables, which have no parts: they are there or not.
    if not {raw.table for raw in raw_tables.values()} <= tables.keys():
        for table, contents in CONTENTS.items():
            if not tables[table].rows:
                yield f"{contents}: none"
        return
    for name, raw in raw_tables.items():
        if not tables[raw.table].is_whole:
            yield f"{words(name)}: {parts_text(tables[raw.table])}"


def parts_text(table: Coverage) -> str:
    """Say how many parts of a table there are."""
    if not table.parts:
        return "none"
    total = f"of {table.of:,}" if table.of else "of an unknown number of"
    return f"{len(table.parts):,} {total} parts"


def surprises(sections: Iterable[PageSection]) -> list[tuple[PageSection, Finding]]:
    """Return the claims that do not hold: published ones first, those about this trace before those about another."""
    failed = []
    for section in sections:
        for finding in section.findings:
            if finding.verdict == "does not hold":
                failed.append((section, finding))

    def weight(row: tuple[PageSection, Finding]) -> tuple[int, bool]:
        _, finding = row
        # A verdict with a note was published of another trace: that it fails here says less.
        return KINDS.index(finding.kind), bool(finding.note)

    return sorted(failed, key=weight)[:N_SURPRISES]


def level_columns() -> dict[str, str]:
    """Return the columns of the table of levels: the beginning of their values' ids, and their headings."""
    columns = {}
    for resource, label in RESOURCES.items():
        for measure, name in MEASURES.items():
            columns[f"{resource}-{measure}"] = f"{label} {name}"
    return columns


THREE_DIGITS = 3
LEVEL_COLUMNS = level_columns()
LEVEL_NAMES = tuple(LEVEL_COLUMNS.values())
MeanAndPeak = tuple[Value, Value]


def levels(lines: Iterable[Fact]) -> list[tuple[str, list[MeanAndPeak | None]]]:
    """Return the table of the first screen: tier, and mean and peak of each of `LEVEL_NAMES`, None where unknown.

    Parameters
    ----------
    lines
        From :func:`facts`.
    """
    values = {}
    for line in lines:
        if line.name in ("used", "requested"):
            values.update({value.id: value for value in line.values})
    # Ids are such as cpu-used-mean of the cell, and cpu-used-mean-production of a tier.
    suffixes = dict.fromkeys(id_.partition("-mean")[2] for id_ in values if "-mean" in id_)
    rows = []
    for suffix in suffixes:
        cells: list[MeanAndPeak | None] = []
        for column in LEVEL_COLUMNS:
            mean = values.get(f"{column}-mean{suffix}")
            peak = values.get(f"{column}-peak{suffix}")
            cells.append((mean, peak) if mean and peak else None)
        tier = words(suffix.removeprefix("-")) or "all"
        rows.append((tier, cells))
    return rows


def short_percent(share: float) -> str:
    """Write a share as a number of percent, for a narrow column.

    Examples
    --------
    >>> short_percent(0.4567), short_percent(0.0123), short_percent(1.25)
    ('46', '1.2', '125')
    """
    digits = 0 if share >= 0.0995 else 1
    return f"{share * 100:.{digits}f}"


def number(value: float) -> str:
    """Write a number with three digits.

    Examples
    --------
    >>> number(3.0), number(12.345), number(100.4)
    ('3', '12.3', '100')
    """
    return numbers.number(value, THREE_DIGITS)


def percent(share: float) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.4567), percent(0.0012), percent(1.25)
    ('45.7 %', '0.12 %', '125 %')
    """
    return numbers.percent(share, THREE_DIGITS)


def factor(value: float) -> str:
    """Write a factor with three digits."""
    return numbers.number(value, THREE_DIGITS)


def count(value: float) -> str:
    """Write a count."""
    return integer(int(value))


WRITERS: Mapping[str, Callable[[float], str]] = {
    "count": count,
    "number": number,
    "percent": percent,
    "short percent": short_percent,
    "factor": factor,
}
"""How amounts of each form are written."""
