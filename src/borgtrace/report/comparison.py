"""One page on several stores: distances between their jobs, answers side by side, claims of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from markupsafe import Markup

from borgtrace.question import Result
from borgtrace.question.comparison import aligned
from borgtrace.question.job_distances import DISTANCES, share_units
from borgtrace.report.drawable import specification, svg
from borgtrace.report.holdings import trace_name
from borgtrace.report.page import render
from borgtrace.report.values import shown_table
from borgtrace.store import Store

if TYPE_CHECKING:
    import altair as alt

SHOWN_ROWS = 40


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


def side_by_side(results: Mapping[str, Result]) -> dict[str, Any]:
    """Return what the page says on one question."""
    table = aligned(results)
    findings = [result.findings for result in results.values()]
    return {
        "question": next(iter(results.values())).question,
        "chart": charts_side_by_side(results),
        "table": table.slice(0, SHOWN_ROWS).to_pylist(),
        "rows": table.num_rows,
        "findings": list(zip(*findings, strict=True)),
        "reasons": {label: result.not_applicable for label, result in results.items()},
    }


def charts_side_by_side(results: Mapping[str, Result]) -> Markup | None:
    """Draw the charts of one question beside each other, with common scales and colors where each is one view."""
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
    if not any(has_panels(chart) for chart in charts):
        row = row.resolve_scale(
            x="shared",
            y="shared",
            color="shared",
        )
    return Markup(svg(specification(row)))


def has_panels(chart: alt.TopLevelMixin) -> bool:
    """Return whether a chart is several views beside each other."""
    import altair as alt

    return isinstance(chart, alt.HConcatChart | alt.VConcatChart | alt.ConcatChart)
