"""One page on several stores: distances between their jobs, answers side by side, claims of each."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import vl_convert
from markupsafe import Markup

from borgtrace.question import Result
from borgtrace.question.comparison import DISTANCES, aligned, share_units
from borgtrace.report.charts import specification
from borgtrace.report.holdings import trace_name
from borgtrace.report.page import render
from borgtrace.report.values import shown_table
from borgtrace.store import Store


def comparison_html(
    stores: Mapping[str, Store], distances: pa.Table, answers: Sequence[Mapping[str, Result]]
) -> str:
    """Return the page.

    Parameters
    ----------
    stores
        By label, the first being the one that others are compared with.
    distances
        What :func:`borgtrace.question.comparison.distances` returned.
    answers
        For each question, the answer of each store by label.
    """
    first, *others = (store.manifest for store in stores.values())
    return render(
        "comparison.html.j2",
        stores=stores,
        names={label: trace_name(store.manifest) for label, store in stores.items()},
        has_one_unit=all(share_units(first, other) for other in others),
        distances=shown_table(distances, DISTANCES),
        questions=[
            {
                "question": next(iter(results.values())).question,
                "chart": _beside(results),
                "table": aligned(results).slice(0, _ROWS).to_pylist(),
                "rows": aligned(results).num_rows,
                "findings": list(
                    zip(*(result.findings for result in results.values()), strict=True)
                ),
                "reasons": {label: result.not_applicable for label, result in results.items()},
            }
            for results in answers
        ],
    )


_ROWS = 40


def _beside(results: Mapping[str, Result]) -> Markup | None:
    """Draw the charts of one question beside each other, with common scales and colors where each is one view."""
    # Here, because only drawing needs it.
    import altair as alt

    drawn = {
        label: plot for label, result in results.items() if (plot := result.plot()) is not None
    }
    if not drawn:
        return None
    row = alt.hconcat(*(plot.properties(title=label) for label, plot in drawn.items()))
    # Panels of one chart have scales of their own, which must not be mixed.
    if not any(
        isinstance(plot, alt.HConcatChart | alt.VConcatChart | alt.ConcatChart)
        for plot in drawn.values()
    ):
        row = row.resolve_scale(x="shared", y="shared", color="shared")
    return Markup(vl_convert.vegalite_to_svg(specification(row)))
