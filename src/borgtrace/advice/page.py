"""An advice as one self-contained page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from borgtrace.advice.bought_fleets import MIX
from borgtrace.advice.node_sentences import how_promised
from borgtrace.advice.parts import AdviceParts
from borgtrace.advice.sentences import sentences_of, task_names, times, worst_first
from borgtrace.advice.value_sentences import with_capital
from borgtrace.advice.verdict import Verdict
from borgtrace.notation import NOTHING, Notation, ResourceAmounts, integer, number, percent
from borgtrace.notation.amounts import RESOURCES
from borgtrace.question.shares import with_interval
from borgtrace.report.page_picture import page_picture
from borgtrace.report.values import environment, short_hash
from borgtrace.version import __version__

if TYPE_CHECKING:
    import jinja2


Row = Mapping[str, Any]
SHOWN_WORKLOADS = 500
"""Rows of the table of workloads on the page; the files have all."""


@dataclass(frozen=True, slots=True)
class AdviceColumn:
    """A column of a table on the page: its heading, the text of a row, and whether it holds numbers, or long texts."""

    heading: str
    text: Callable[[Row], str]
    is_number: bool = False
    is_long: bool = False


@dataclass(frozen=True, slots=True)
class AdviceTable:
    """A table on the page: its caption, columns, and texts."""

    caption: str
    columns: Sequence[AdviceColumn]
    rows: Sequence[Sequence[str]]

    @classmethod
    def of(cls, caption: str, columns: Sequence[AdviceColumn], rows: Sequence[Row]) -> AdviceTable:
        """Write rows."""
        return cls(
            caption,
            columns,
            [[column.text(row) for column in columns] for row in rows],
        )


@dataclass(frozen=True, slots=True)
class Tile:
    """A number that matters, what it is, and what to know with it."""

    label: str
    figure: str
    note: str


def page_of(advice: AdviceParts) -> str:
    """Return an advice as one page, which needs no network."""
    notation = Notation.of(advice.store)
    amounts = ResourceAmounts.of(advice.store.manifest, advice.options.cores, advice.options.gib)
    tables = {
        "nodes": node_table(advice),
        "incidents": incident_table(advice, notation, amounts),
        "workloads": workload_table(advice, notation),
    }
    figures = {
        result.question.name: figure_of(advice, number)
        for number, result in enumerate(advice.results)
    }
    return _template().render(
        summary=sentences_of(advice),
        synthetic=advice.store.manifest.is_synthetic,
        tiles=tiles_of(advice, amounts),
        tables=tables,
        table=table_html,
        figure=lambda name: figures[name],
        results=advice.results,
        store=advice.store.path.name,
        digest=advice.store.digest[:16],
        version=__version__,
    )


def sentences_html(advice: AdviceParts) -> str:
    """Return the sentences of an advice, for a notebook."""
    summary = sentences_of(advice)
    parts = [f"<h3>{escape(summary.title)}</h3>"]
    for heading, sentences in (
        ("How far to overcommit", [*summary.value, summary.judged]),
        ("Machines", summary.machines),
        ("What would have broken", summary.incidents[:3]),
        ("What to set for each workload", summary.workloads),
        ("What is not known", summary.unknown),
    ):
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
        parts.append(f"<h4>{heading}</h4><ul>{items}</ul>")
    return "".join(parts)


LABELS = {
    Verdict.KEPT: "requests that need not be promised",
    Verdict.UNCERTAIN: "requests that need not be promised, as far as is known",
    Verdict.ABOVE: "requests that would not have been promised: above the target",
    Verdict.MISSED: "requests that would not have been promised: the target was missed",
    Verdict.NOTHING: "requests that need not be promised",
}
"""What the share of the requests of a resource is called."""


def tiles_of(advice: AdviceParts, amounts: ResourceAmounts) -> list[Tile]:
    """Return the numbers that matter: what is saved of each resource, and nodes."""
    tiles = []
    for row in advice.value.table.to_pylist():
        resource = row["resource"]
        requested = amounts.number(row["requested"], resource)
        promised = amounts.text(row["promised"], resource)
        risk = with_interval(row["rate"], row["rate_low"], row["rate_high"])
        tiles.append(
            Tile(
                f"{with_capital(RESOURCES[resource])} {LABELS[Verdict(row['verdict'])]}",
                percent(max(row["savings"], 0.0), 2),
                f"{requested} → {promised}, at a risk of {risk} of 5-minute windows per machine; "
                f"aimed at {percent(row['target'])}",
            )
        )
    rows = {row["fleet"]: row for row in advice.machines.table.to_pylist()}
    if rows and rows["policy"]["nodes"] is not None:
        promised = how_promised(advice.value)
        requested = integer(rows["requests"]["nodes"])
        tiles.append(
            Tile(
                "Machines of today's shapes that hold the busiest moment",
                integer(rows["policy"]["nodes"]) if promised else requested,
                f"{promised}, {requested} as requested; {integer(rows['today']['nodes'])} there today"
                if promised
                else f"as requested; {integer(rows['today']['nodes'])} there today",
            )
        )
    return tiles


def node_table(advice: AdviceParts) -> AdviceTable:
    """Return the table of fleets."""
    columns = [
        AdviceColumn("fleet", lambda row: row["fleet"]),
        AdviceColumn("nodes", lambda row: whole(row["nodes"]), is_number=True),
        AdviceColumn("cores", lambda row: number(row["cores"]), is_number=True),
        AdviceColumn("GiB", lambda row: number(row["gib"]), is_number=True),
        AdviceColumn("price an hour", lambda row: number(row["price_per_hour"]), is_number=True),
        AdviceColumn("note", note_of_fleet, is_long=True),
    ]
    rows = advice.machines.table.to_pylist()
    # Of the types that can be bought those that hold the workload.
    shown = [
        row
        for row in rows
        if row["nodes"] is not None or row["fleet"] in ("requests", "policy", MIX)
    ]
    return AdviceTable.of("Nodes that hold the workload", columns, shown)


def note_of_fleet(row: Row) -> str:
    """Return what is to be known of a fleet; what all types share stands above the table."""
    is_type = row["price_per_hour"] is not None and row["fleet"] != "today"
    return str(row["mix"]) if is_type else str(row["note"])


def whole(value: int | None) -> str:
    """Write a whole number, or that there is none."""
    return NOTHING if value is None else integer(value)


def incident_table(
    advice: AdviceParts, notation: Notation, amounts: ResourceAmounts
) -> AdviceTable:
    """Return the table of the worst incidents."""

    def amount(column: str) -> Callable[[Row], str]:
        return lambda row: amounts.text(row[column], row["resource"])

    columns = [
        AdviceColumn("machine", lambda row: notation.names.machine(row["machine_id"])),
        AdviceColumn("from", lambda row: notation.clock.text(row["begin"]), is_long=True),
        AdviceColumn("minutes", lambda row: number(row["minutes"]), is_number=True),
        AdviceColumn("resource", lambda row: RESOURCES[row["resource"]]),
        AdviceColumn("above the promise", amount("excess"), is_number=True),
        AdviceColumn("used", amount("used"), is_number=True),
        AdviceColumn("promised", amount("promised"), is_number=True),
        AdviceColumn("the machine has", amount("capacity"), is_number=True),
        AdviceColumn(
            "tasks that used most",
            lambda row: ", ".join(task_names(row["tasks"], notation)),
            is_long=True,
        ),
        AdviceColumn("address in the explorer", explorer_path),
    ]
    rows = worst_first(advice.incidents.table.to_pylist())
    return AdviceTable.of("The worst broken promises", columns, rows)


def explorer_path(row: Row) -> str:
    """Return where the explorer shows the machine of an incident at its worst."""
    return f"/machine/{row['machine_id']}?at={row['worst']}"


def workload_table(advice: AdviceParts, notation: Notation) -> AdviceTable:
    """Return the table of workloads, in their order."""
    columns = [
        AdviceColumn("workload", lambda row: row["workload"]),
        AdviceColumn("tasks", lambda row: integer(row["tasks"]), is_number=True),
    ]
    mark = "" if advice.options.cores and advice.options.gib else "*"
    for resource, title, unit in (
        ("cpu", "CPU", f"cores{mark}"),
        ("memory", "memory", f"GiB{mark}"),
    ):
        columns += [
            AdviceColumn(
                f"{title} request ({unit})",
                change_of(resource, "request", "recommended"),
                is_number=True,
            ),
            AdviceColumn(
                f"{title} limit ({unit})",
                change_of(resource, "limit", "limit_recommended"),
                is_number=True,
            ),
            AdviceColumn(f"{title} above it", above(resource), is_number=True),
            AdviceColumn(f"why ({title})", why(resource, unit, notation), is_long=True),
        ]
    rows = advice.workloads.table.to_pylist()
    caption = "Requests and limits of a task: today's → recommended"
    if len(rows) > SHOWN_WORKLOADS:
        caption += f" (the first {SHOWN_WORKLOADS:,} of {len(rows):,}; the files have all)"
    return AdviceTable.of(caption, columns, rows[:SHOWN_WORKLOADS])


def change_of(resource: str, now: str, then: str) -> Callable[[Row], str]:
    """Return what writes an amount of today and the one that is recommended."""

    def write(row: Row) -> str:
        today = row[f"{resource}_{now}"]
        recommended = row[f"{resource}_{then}"]
        if recommended is None:
            return number(today)
        return f"{number(today, 3)} → {number(recommended, 3)}"

    return write


def above(resource: str) -> Callable[[Row], str]:
    """Return what writes the share of samples above the recommendation in the back-test."""
    return lambda row: percent(row[f"{resource}_short"], 2)


def why(resource: str, unit: str, notation: Notation) -> Callable[[Row], str]:
    """Return what writes why an amount is recommended, or nothing is."""

    def write(row: Row) -> str:
        if row[f"{resource}_skip"]:
            return f"skip: {row[f'{resource}_skip']}"
        p95 = row[f"{resource}_p95"]
        peak = row[f"{resource}_peak"]
        recommended = row[f"{resource}_recommended"]
        margin = f", {recommended / p95 - 1:+.0%}" if p95 else ""
        kills = f"; {oom_kills(row, unit)}" if resource == "memory" and row["oom_kills"] else ""
        return (
            f"p95 of {integer(row['windows'])} samples {number(p95, 3)} {unit}{margin}; "
            f"peak {number(peak, 3)} {notation.clock.text(row[f'{resource}_peak_time'])}{kills}"
        )

    return write


def oom_kills(row: Row, unit: str) -> str:
    """Return how often a workload was OOM-killed, and at which limit."""
    kills = f"OOM-killed {times(row['oom_kills'])}"
    if row["oom_limit"] is None:
        return kills
    return f"{kills}, at a limit of {number(row['oom_limit'], 3)} {unit}"


def table_html(table: AdviceTable) -> Markup:
    """Return a table as HTML; every text is escaped."""
    head = "".join(
        f'<th scope="col"{_number(column)}>{escape(column.heading)}</th>'
        for column in table.columns
    )
    body = []
    for texts in table.rows:
        cells = "".join(
            f"<td{_number(column)}>{short_hash(text)}</td>"
            for column, text in zip(table.columns, texts, strict=True)
        )
        body.append(f"<tr>{cells}</tr>")
    caption = escape(table.caption)
    return Markup(
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">'
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _number(column: AdviceColumn) -> str:
    if column.is_number:
        return ' class="number"'
    return ' class="text"' if column.is_long else ""


def figure_of(advice: AdviceParts, place: int) -> Markup:
    """Return the chart of a part as a picture with a text in its place; nothing where there is none."""
    result = advice.results[place]
    chart = result.plot()
    picture = Markup("") if chart is None else page_picture(chart, result.question.title)
    return Markup("<figure>{0}</figure>").format(picture) if picture else picture


@cache
def _template() -> jinja2.Template:
    template: jinja2.Template = environment("borgtrace.advice").get_template("advice.html.j2")
    return template
