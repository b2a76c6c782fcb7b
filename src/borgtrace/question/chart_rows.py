"""The rows of a chart, which Altair hands on as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from borgtrace.question.answer import Row

_PLAIN = frozenset({bool, float, int, str, type(None)})
"""Types of values that stand in JSON as they are."""


class PlainRows(alt.Data):
    """Rows of plain values: Altair copies the chart around them with each layer, and these never change.

    Copied and searched for values to convert as Altair does it, rows took half of the time of drawing a report.
    """

    def __deepcopy__(self, memo: Any = None) -> PlainRows:
        """Return other data of the same rows: layers share their data only where it is one object."""
        return PlainRows(values=self["values"])

    def to_dict(self, validate: bool = True, **_: Any) -> dict[str, Any]:
        """Return the rows as Vega-Lite has them.

        Parameters
        ----------
        validate
            Without effect, as are the other options: plain rows are what the schema asks for.
        """
        return {"values": self["values"]}


def data_of(rows: Sequence[Row]) -> alt.Data:
    """Return rows as the data of a chart.

    Parameters
    ----------
    rows
        Of values by field; what is neither a number, a text nor nothing is left to Altair.

    Examples
    --------
    >>> data_of([{"hour": 0, "n": 3}]).to_dict()
    {'values': [{'hour': 0, 'n': 3}]}
    """
    listed = list(rows)
    if all(type(value) in _PLAIN for row in listed for value in row.values()):
        return PlainRows(values=listed)
    return alt.Data(values=listed)
