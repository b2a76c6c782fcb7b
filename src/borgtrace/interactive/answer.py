"""The answer to a question as a notebook shows it: its chart above its first rows."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from borgtrace.question import Result

if TYPE_CHECKING:
    from borgtrace.report.paper import PaperFigure


class StoreAnswer(Result):
    """The answer to a question that a store was asked: a table, a chart, and claims with their verdicts.

    A notebook shows the chart and the first rows; ``print`` a few lines.  ``to_pandas()`` and ``to_polars()`` return
    frames, and libraries that read Arrow's C stream take the answer itself.  ``figure()`` draws it for a paper.
    """

    __slots__ = ("full_curve",)
    full_curve: Callable[[], Result] | None
    """Asks again for every tenth of a percent; None where the answer is no distribution, or has them all."""

    def _repr_html_(self) -> str:
        """Show the chart and the first rows in a notebook."""
        # Named: the class that `super` would look for is made anew where a class has slots.
        return self._picture() + Result._repr_html_(self)

    def figure(self, style: str = "acm-column") -> PaperFigure:
        """Return the chart for a paper: SVG and PDF with their letters, provenance and references.

        Parameters
        ----------
        style
            ``"acm-column"`` is 3.33 inches wide, ``"acm-page"`` 7.

        Raises
        ------
        UsageError
            For an unknown style.
        NotApplicable
            The answer has nothing to draw.
        """
        from borgtrace.report.paper import paper_figure

        # A table shows a dozen percentiles, which a curve would show as so many stairs.
        full_curve = getattr(self, "full_curve", None)
        result = full_curve() if full_curve else self
        return paper_figure(result, style)

    def _picture(self) -> str:
        """Return the chart as an element of a page that needs no script and no network; nothing where there is none."""
        # Inside: the renderer takes a second to load, and an answer need not be drawn.
        from borgtrace.report.alttext import describe
        from borgtrace.report.drawable import specification, svg

        chart = self.plot()
        if chart is None:
            return ""
        spec = specification(chart)
        data = b64encode(svg(spec).encode()).decode()
        text = escape(describe(spec, self.question.title), quote=True)
        style = "max-width:100%;background:white"
        return f'<img alt="{text}" style="{style}" src="data:image/svg+xml;base64,{data}">\n'


def drawn(result: Result, full_curve: Callable[[], Result] | None = None) -> StoreAnswer:
    """Return a result as one that a notebook draws.

    Parameters
    ----------
    result
        The answer.
    full_curve
        Asks again for every tenth of a percent, where the answer is a distribution at a few.
    """
    answer = StoreAnswer(
        question=result.question,
        table=result.table,
        provenance=result.provenance,
        findings=result.findings,
        not_applicable=result.not_applicable,
        amounts=result.amounts,
        names=result.names,
    )
    # Results are frozen.
    object.__setattr__(answer, "full_curve", full_curve)
    return answer
