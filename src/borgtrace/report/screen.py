"""The charts of the first screen, each drawn from the answer of a question that the page shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from borgtrace.first_screen import CHARTS, ScreenChart
from borgtrace.question import NotApplicable
from borgtrace.report.charts import Figure, figure
from borgtrace.report.overview import answer_of, unknown
from borgtrace.report.sections import PageSection
from borgtrace.store.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnChart:
    """A chart of the first screen, or why there is none; ``anchor`` is the section of its question."""

    name: str
    title: str
    anchor: str
    figure: Figure | None = None
    unknown: str = ""
    reason: str = ""


def drawn_charts(manifest: Manifest, sections: Iterable[PageSection]) -> list[DrawnChart]:
    """Return the charts of the first screen in their order, but for those whose question the page leaves out.

    Parameters
    ----------
    manifest
        Of the store.
    sections
        The questions of the page.
    """
    sections_by_question = {item.question.name: item for item in sections}
    charts = []
    for chart in CHARTS:
        if chart.question in sections_by_question:
            charts.append(drawn(chart, manifest, sections_by_question[chart.question]))
    return charts


def drawn(chart: ScreenChart, manifest: Manifest, section: PageSection) -> DrawnChart:
    """Draw a chart from the answer of its question, or say why it is not drawn."""
    try:
        picture = chart.draw(answer_of(section), manifest)
    except NotApplicable as reason:
        return DrawnChart(
            name=chart.name,
            title=chart.title,
            anchor=section.anchor,
            unknown=unknown(chart.needs, manifest),
            reason=str(reason),
        )
    return DrawnChart(
        name=chart.name,
        title=chart.title,
        anchor=section.anchor,
        figure=figure(picture, chart.title),
    )
