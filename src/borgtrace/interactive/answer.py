"""The answer to a question as a notebook shows it: its chart above its first rows."""

from __future__ import annotations

from base64 import b64encode
from html import escape

from borgtrace.question import Result


class StoreAnswer(Result):
    """The answer to a question that a store was asked: a table, a chart, and claims with their verdicts.

    A notebook shows the chart and the first rows; ``print`` a few lines.  ``to_pandas()`` and ``to_polars()`` return
    frames, and libraries that read Arrow's C stream take the answer itself.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Show the chart and the first rows in a notebook."""
        # Named: the class that `super` would look for is made anew where a class has slots.
        return self._picture() + Result._repr_html_(self)

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


def drawn(result: Result) -> StoreAnswer:
    """Return a result as one that a notebook draws."""
    return StoreAnswer(
        question=result.question,
        table=result.table,
        provenance=result.provenance,
        findings=result.findings,
        not_applicable=result.not_applicable,
    )
