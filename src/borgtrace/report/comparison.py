"""One page on several stores: distances between their jobs, answers side by side, claims of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from borgtrace.question import Finding, Question, Result
from borgtrace.question.comparison import aligned
from borgtrace.question.job_distances import DISTANCES, share_units
from borgtrace.report.charts import Figure, UndrawableError, figure
from borgtrace.report.holdings import trace_name
from borgtrace.report.page import render
from borgtrace.report.values import ShownTable, shown_table, words
from borgtrace.schema import Column
from borgtrace.store import Store

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, slots=True)
class ComparedAnswers:
    """What the page says on one question.

    Attributes
    ----------
    question
        The question.
    table, headings
        The first rows of the answers side by side, None where nobody answers, and what its columns are called.
    figure, note
        The charts side by side, None where there are none; the note says why they cannot be drawn.
    findings
        The claims, each as judged on every store.
    reasons
        Why a store cannot answer, by label; None where it can.
    """

    question: Question
    table: ShownTable | None
    headings: Sequence[str]
    figure: Figure | None
    note: str
    findings: Sequence[Sequence[Finding]]
    reasons: Mapping[str, str | None]


def comparison_html(
    stores: Mapping[str, Store], distances: pa.Table, answers: Sequence[Mapping[str, Result]]
) -> str:
    """Return the page.

    Parameters
    ----------
    stores
        By label, the first being the one that others are compared with.
    distances
        What :func:`borgtrace.question.job_distances.distances` returned.
    answers
        For each question, the answer of each store by label.
    """
    first, *others = (store.manifest for store in stores.values())
    return render(
        "comparison.html.j2",
        stores=stores,
        names={label: trace_name(store.manifest) for label, store in stores.items()},
        synthetic=[label for label, store in stores.items() if store.manifest.is_synthetic],
        has_one_unit=all(share_units(first, other) for other in others),
        distances=shown_table(distances, DISTANCES),
        questions=[side_by_side(results) for results in answers],
    )


def side_by_side(results: Mapping[str, Result]) -> ComparedAnswers:
    """Return what the page says on one question.

    Parameters
    ----------
    results
        The answer of each store by label.
    """
    question = next(iter(results.values())).question
    table, headings = table_side_by_side(question, results)
    note = ""
    drawing = None
    try:
        drawing = charts_side_by_side(results)
    except UndrawableError as error:
        note = f"No chart: {error}."
    return ComparedAnswers(
        question=question,
        table=table,
        headings=headings,
        figure=drawing,
        note=note,
        findings=list(zip(*(result.findings for result in results.values()), strict=True)),
        reasons={label: result.not_applicable for label, result in results.items()},
    )


def table_side_by_side(
    question: Question, results: Mapping[str, Result]
) -> tuple[ShownTable | None, list[str]]:
    """Write the first rows of the answers side by side, and say what their columns are called."""
    table = aligned(results)
    if not table.num_rows:
        return None, []
    columns: list[Column] = []
    headings = []
    for column in question.schema.columns:
        if column.name in question.answer.key_names:
            columns.append(column)
            headings.append(words(column.name))
            continue
        for label in results:
            columns.append(replace(column, name=f"{column.name} {label}", nullable=True))
            headings.append(f"{words(column.name)}, {label}")
    declared = replace(question.schema, key=(), columns=tuple(columns))
    return shown_table(table, declared, has_codes=True), headings


def charts_side_by_side(results: Mapping[str, Result]) -> Figure | None:
    """Draw the charts of one question beside each other, with common scales and colors where each is one view.

    Raises
    ------
    UndrawableError
        They show nothing, or have more points than a browser can draw.
    """
    # Here, because only drawing needs it.
    import altair as alt

    charts = []
    for label, result in results.items():
        chart = result.plot()
        if chart is not None:
            charts.append(chart.properties(title=label))
    if not charts:
        return None
    row = alt.hconcat(*charts)
    # Panels of one chart have scales of their own, which must not be mixed.
    if not has_panels(charts):
        row = row.resolve_scale(
            x="shared",
            y="shared",
            color="shared",
        )
    question = next(iter(results.values())).question
    return figure(row, question.title)


def has_panels(charts: Iterable[alt.TopLevelMixin]) -> bool:
    """Return whether one of some charts is several views beside each other."""
    import altair as alt

    panels = alt.HConcatChart | alt.VConcatChart | alt.ConcatChart
    return any(isinstance(chart, panels) for chart in charts)
