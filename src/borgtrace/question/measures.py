"""How a claim is measured on an answer: by SQL over its columns, or by a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa

from borgtrace.engine.embedded import ask
from borgtrace.question.answer import Row
from borgtrace.question.notapplicable import NotApplicable

Measure: TypeAlias = Callable[[pa.Table], Any]
"""From an answer to a number, a text or an interval; raises :class:`NotApplicable` where there is none."""
NOTHING = "nothing to measure it on"
"""Why there is no number, where a claim does not say it."""


def sql(query: str, *, otherwise: str = NOTHING) -> Measure:
    """Measure the first value of a query over ``answer``.

    Parameters
    ----------
    query
        SQL of DuckDB.  Where the value is NULL, a second column may say why there is none.
    otherwise
        Why there is no value, where the query does not say it.

    Examples
    --------
    >>> share = sql("select max(n) / sum(n) from answer", otherwise="there is no task")
    >>> share(pa.table({"n": [1, 3]}))
    0.75
    """

    def measure(answer: pa.Table) -> Any:
        rows = query_answer(answer, query)
        if not rows:
            raise NotApplicable(otherwise)
        value, *reasons = rows[0].values()
        if value is None:
            raise NotApplicable(reasons[0] if reasons else otherwise)
        return value

    return measure


def query_answer(answer: pa.Table, query: str) -> list[Row]:
    """Return the rows of a query over an answer, which it calls ``answer``.

    Parameters
    ----------
    answer
        The answer of a question.
    query
        SQL of DuckDB.  Rows come in the order of the answer where it names none.

    Examples
    --------
    >>> query_answer(pa.table({"n": [1, 2]}), "select n, sum(n) over () as total from answer")
    [{'n': 1, 'total': 3}, {'n': 2, 'total': 3}]
    """
    return ask(answer, query)
