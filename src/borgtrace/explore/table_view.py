"""One table of the store, filtered, sorted and counted as an address asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlencode

import pyarrow as pa

from borgtrace.engine.identifiers import quoted
from borgtrace.errors import EngineError, check_names
from borgtrace.explore import filters
from borgtrace.explore.filters import Filter, is_plain, parameters_of, where_clause, where_text
from borgtrace.explore.order import TableOrder, requested_order, requested_start
from borgtrace.schema import TABLES, Column, Table
from borgtrace.store import Store

ROWS_OF_A_PAGE = 100
VALUES_OF_A_FACET = 20
"""Values whose number a page shows, the most frequent first."""
FACETED_UNASKED = 2_000_000
"""Rows up to which enumerations are counted before anybody asks."""
TIMEOUT_SECONDS = 20.0
"""For what reads a whole table; longer, and the page says so."""
UNKNOWN = "unknown"
FACET = "count"
"""Parameter of an address: a column whose values are counted."""


class FacetValue(NamedTuple):
    """A value with the number of its rows, and the address of these."""

    text: str
    n_rows: int
    href: str


class ColumnFacet(NamedTuple):
    """Counts of a column: values, and why there are none where there are none."""

    column: str
    values: tuple[FacetValue, ...]
    has_more: bool
    refusal: str = ""

    @property
    def is_informative(self) -> bool:
        """Whether it says more than that nothing is known."""
        return bool(self.refusal) or any(value.text != UNKNOWN for value in self.values)


@dataclass(frozen=True)
class TableView:
    """What an address asks of a table.

    Parameters
    ----------
    table
        The table.
    filters
        Conditions that rows must meet.
    order
        Of the rows.
    facets
        Columns whose values are counted.
    start
        Number of the first row that is shown.
    are_usual_facets
        Whether nobody asked for these counts: those of nothing but unknown values are left out.
    """

    table: Table
    filters: tuple[Filter, ...]
    order: TableOrder
    facets: tuple[str, ...]
    start: int = 0
    are_usual_facets: bool = False

    @property
    def named_columns(self) -> set[str]:
        """Columns that the address names: in conditions, counts or the order."""
        return {each.column.name for each in self.filters} | {*self.facets, self.order.column}

    @cached_property
    def _conditions_sql(self) -> str:
        return where_clause(self.filters)

    @property
    def _key(self) -> str:
        return ", ".join(quoted(name) for name in self.table.key)

    def rows(self, store: Store) -> pa.Table:
        """Return the rows of this page and one more, which tells that there are more.

        Parameters
        ----------
        store
            The store.
        """
        # A large table is not sorted by what its files are sorted by.
        is_as_stored = timeout_of(store, self.table) is not None and not self.order.column
        order_sql = self.order.clause_sql(self._key)
        ordered_sql = "" if is_as_stored else f"ORDER BY {order_sql}"
        query = f"""
            SELECT *
            FROM {quoted(self.table.name)}
            {self._conditions_sql}
            {ordered_sql}
            LIMIT {ROWS_OF_A_PAGE + 1} OFFSET {int(self.start)}
        """
        return store.sql(query, parameters_of(self.filters), timeout=timeout_of(store, self.table))

    def count(self, store: Store) -> int:
        """Return how many rows meet the conditions.

        Parameters
        ----------
        store
            The store.
        """
        if not self.filters:
            return store.manifest.tables.get(self.table.name, 0)
        query = f"SELECT count(*) AS n FROM {quoted(self.table.name)} {self._conditions_sql}"
        answer = store.sql(
            query,
            parameters_of(self.filters),
            timeout=timeout_of(store, self.table),
        )
        n_rows: int = answer["n"][0].as_py()
        return n_rows

    def counts(self, store: Store) -> list[ColumnFacet]:
        """Return the numbers of rows of the most frequent values of each faceted column.

        Parameters
        ----------
        store
            The store.
        """
        facets = [self._counts_of(store, column) for column in self.facets]
        return [facet for facet in facets if facet.is_informative or not self.are_usual_facets]

    def _counts_of(self, store: Store, column: str) -> ColumnFacet:
        query = f"""
            SELECT {quoted(column)} AS counted_value, count(*) AS n_rows
            FROM {quoted(self.table.name)}
            {self._conditions_sql}
            GROUP BY counted_value
            ORDER BY n_rows DESC, counted_value NULLS LAST
            LIMIT {VALUES_OF_A_FACET + 1}
        """
        try:
            answer = store.sql(
                query,
                parameters_of(self.filters),
                timeout=timeout_of(store, self.table),
            )
        except EngineError as error:
            return ColumnFacet(column, (), has_more=False, refusal=str(error))
        values = []
        for row in answer.to_pylist()[:VALUES_OF_A_FACET]:
            text = UNKNOWN if row["counted_value"] is None else plain_text(row["counted_value"])
            values.append(
                FacetValue(text, row["n_rows"], self.with_value(column, row["counted_value"]))
            )
        return ColumnFacet(column, tuple(values), has_more=answer.num_rows > len(values))

    @property
    def sql(self) -> str:
        """The first rows as a query that people can read and change."""
        return f"{self.sql_of_all}\nLIMIT {ROWS_OF_A_PAGE}"

    @property
    def sql_of_all(self) -> str:
        """All rows as a query."""
        # For people to read: names of the store's own tables and columns need no quotes.
        table_sql = self.table.name
        order_sql = self.order.clause_sql(", ".join(self.table.key))
        lines = [f"SELECT *\nFROM {table_sql}", where_text(self.filters)]
        lines.append(f"ORDER BY {order_sql}")
        return "\n".join(line for line in lines if line)

    def with_value(self, column: str, value: object) -> str:
        """Return the address of the rows that have a value, NULL among them, in a column."""
        declared = next(each for each in self.table.columns if each.name == column)
        condition = Filter(declared, "is", plain_text(value))
        if value is None:
            condition = Filter(declared, "unknown", "")
        return self.address(filters_=(*self.filters, condition))

    def without(self, condition: Filter) -> str:
        """Return the address without a condition."""
        return self.address(filters_=[each for each in self.filters if each != condition])

    def address(
        self,
        *,
        filters_: Sequence[Filter] | None = None,
        facets: Sequence[str] | None = None,
    ) -> str:
        """Return the address of this view from its first row on, with other conditions or counts.

        Parameters
        ----------
        filters_
            Conditions; those of this view where None.
        facets
            Columns to count; those of this view where None.
        """
        conditions = self.filters if filters_ is None else filters_
        counted = self.facets if facets is None else facets
        return "?" + urlencode(parameters_of_address(conditions, counted, self.order))

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """What the address says of conditions, counts and order."""
        return parameters_of_address(self.filters, self.facets, self.order)


def parameters_of_address(
    conditions: Sequence[Filter],
    facets: Sequence[str],
    order: TableOrder,
) -> list[tuple[str, str]]:
    """Return what an address says of conditions, counts and order."""
    parameters = [(filters.PARAMETER, each.address) for each in conditions]
    # Empty where nothing is counted, which is not the same as not said.
    parameters += [(FACET, name) for name in facets] or [(FACET, "")]
    if order.column:
        minus = "-" if order.is_descending else ""
        parameters.append((order.parameter, f"{minus}{order.column}"))
    return parameters


def requested_view(store: Store, name: str, query: Sequence[tuple[str, str]]) -> TableView:
    """Return the view of a table that an address asks for.

    Parameters
    ----------
    store
        The store.
    name
        Of the table.
    query
        Parameters of the address.

    Raises
    ------
    UsageError
        There is no such table or column, or a condition is none.
    """
    check_names("table", (name,), TABLES, "no such table in this store")
    table = TABLES[name]
    plain_columns = [column.name for column in table.columns if is_plain(column)]
    conditions = [
        filters.parse_filter(table, value) for key, value in query if key == filters.PARAMETER
    ]
    asked_facets = [value for key, value in query if key == FACET]
    facets = [column for column in asked_facets if column]
    check_names(FACET, facets, plain_columns, "no such column")
    if not asked_facets:
        facets = usual_facets(store, table)
    order = requested_order(query, plain_columns)
    others = parameters_of_address(conditions, facets, TableOrder(sortable=()))
    return TableView(
        table,
        tuple(dict.fromkeys(conditions)),
        replace(order, parameters=others),
        tuple(dict.fromkeys(facets)),
        requested_start(query),
        are_usual_facets=not asked_facets,
    )


def usual_facets(store: Store, table: Table) -> list[str]:
    """Return the columns that are counted before anybody asks: enumerations, unless the table is large."""
    if store.manifest.tables.get(table.name, 0) > FACETED_UNASKED:
        return []
    return [column.name for column in table.columns if is_enumeration(column)]


def is_enumeration(column: Column) -> bool:
    """Whether a column has a few values."""
    return column.type in ("enum", "bool")


def timeout_of(store: Store, table: Table) -> float | None:
    """Return the seconds that a query of a table may take: those of a large one run in a process that can be ended."""
    n_rows = store.manifest.tables.get(table.name, 0)
    return TIMEOUT_SECONDS if n_rows > FACETED_UNASKED else None


def plain_text(value: object) -> str:
    """Return a value as an address writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
