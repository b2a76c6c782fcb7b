"""One page on several stores: distances between their jobs, answers side by side, claims of each."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import vl_convert
from markupsafe import Markup

from borgtrace.recipe import Result
from borgtrace.recipe.comparison import DISTANCES, aligned, share_units
from borgtrace.report.page import render
from borgtrace.report.values import shown_table
from borgtrace.store import Store


def comparison_html(stores: Mapping[str, Store], distances: pa.Table, answers: Sequence[Mapping[str, Result]]) -> str:
    """Return the page.

    Parameters
    ----------
    stores
        By label, the first being the one that others are compared with.
    distances
        What :func:`borgtrace.recipe.comparison.distances` returned.
    answers
        For each question, the answer of each store by label.
    """
    first, *others = (store.manifest for store in stores.values())
    return render(
        "comparison.html.j2",
        stores=stores,
        has_one_unit=all(share_units(first, other) for other in others),
        distances=shown_table(distances, DISTANCES, has_codes=False),
        questions=[
            {
                "recipe": next(iter(results.values())).recipe,
                "charts": {label: _svg(result) for label, result in results.items()},
                "table": aligned(results).slice(0, _ROWS).to_pylist(),
                "rows": aligned(results).num_rows,
                "findings": list(zip(*(result.findings for result in results.values()), strict=True)),
                "reasons": {label: result.not_applicable for label, result in results.items()},
            }
            for results in answers
        ],
    )


_ROWS = 40


def _svg(result: Result) -> Markup | None:
    chart = result.plot()
    return None if chart is None else Markup(vl_convert.vegalite_to_svg(chart.to_json(indent=None)))
