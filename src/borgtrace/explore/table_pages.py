"""Pages of tables: machines, jobs, groups, every table of the store, and the SQL box."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import pyarrow as pa

from borgtrace.errors import BorgtraceError
from borgtrace.explore import facets, machine_list, snippets, sql_box
from borgtrace.explore.charts import to_json
from borgtrace.explore.filters import OPERATORS
from borgtrace.explore.order import page_links, requested_order, requested_start
from borgtrace.explore.page_maker import VIEWS, PageMaker
from borgtrace.explore.rows import PageTable, page_table
from borgtrace.explore.table_view import ROWS_OF_A_PAGE, TableView, is_enumeration
from borgtrace.schema import TABLES, Column

Parameters = Sequence[tuple[str, str]]
"""Parameters of an address in their order."""


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """A table of the store as the panel of tables shows it."""

    name: str
    grain: str
    columns: Sequence[Column]
    n_rows: int


class TablePages(PageMaker):
    """Makes the pages of tables of one store."""

    def facets(self, query: Parameters = ()) -> str:
        """Return the page of users, priorities and constraints."""
        tables = []
        for name, facet in facets.FACETS.items():
            tables.append((name, facet.title, self._groups_of(name, query)))
        return self.render(
            "facets",
            title=VIEWS["/facets"],
            here="/facets",
            tables=tables,
            limit=facets.MOST_ROWS,
        )

    def _groups_of(self, name: str, query: Parameters) -> PageTable:
        # Such as /jobs?name={name}&relation={relation}&value={value}.
        parameters = [f"{column}={{{column}}}" for column in facets.FACETS[name].key]
        address = "/jobs?" + "&".join(parameters)
        order = facets.order_of_groups(name, query)
        rows = facets.groups(self.explored, name, order)
        return page_table(rows, {"n_jobs": address}, order, notation=self.explored.notation)

    def machines(self, query: Parameters = ()) -> str:
        """Return all machines."""
        order = requested_order(query, machine_list.COLUMNS)
        start = requested_start(query)
        rows = machine_list.machines(self.explored, order, start, ROWS_OF_A_PAGE + 1)
        return self.render(
            "machines",
            title="Machines",
            here="/machines",
            n_all=len(self.explored.pyramid.machines),
            rows=page_table(
                rows.slice(0, ROWS_OF_A_PAGE),
                order=order,
                notation=self.explored.notation,
            ),
            start=start,
            links=page_links(query, start, ROWS_OF_A_PAGE, rows.num_rows),
        )

    def jobs(self, criteria: Mapping[str, str], query: Parameters = ()) -> str:
        """Return the jobs of a group."""
        order = facets.order_of_jobs(query)
        start = requested_start(query)
        rows = facets.jobs(self.explored, criteria, order, start, ROWS_OF_A_PAGE + 1)
        return self.render(
            "jobs",
            title="Jobs",
            here="/jobs",
            chosen=criteria,
            query=urlencode(criteria),
            jobs=page_table(
                rows.slice(0, ROWS_OF_A_PAGE),
                order=order,
                notation=self.explored.notation,
            ),
            start=start,
            links=page_links(query, start, ROWS_OF_A_PAGE, rows.num_rows),
        )

    def tables(self) -> str:
        """Return the tables of the store with their columns."""
        return self.render(
            "tables",
            title="Tables",
            here="/tables",
            tables=self._described_tables(),
        )

    def _described_tables(self) -> list[DescribedTable]:
        n_rows = self.explored.store.manifest.tables
        tables = []
        for table in TABLES.values():
            tables.append(
                DescribedTable(
                    table.name,
                    table.grain,
                    table.columns,
                    n_rows.get(table.name, 0),
                )
            )
        return tables

    def table(self, view: TableView) -> str:
        """Return rows of a table, with counts of values."""
        store = self.explored.store
        columns = {column.name: column for column in view.table.columns}
        rows = view.rows(store)
        first_rows = rows.slice(0, ROWS_OF_A_PAGE)
        unknown = columns_without_values(first_rows, view.named_columns)

        def filtered(name: str, value: object) -> str | None:
            # Of a number, nobody asks for the rows that have exactly this one.
            column = columns[name]
            is_name = column.type == "string" or is_enumeration(column)
            return view.with_value(name, value) if is_name and value is not None else None

        return self.render(
            "table",
            title=view.table.name,
            here="/tables",
            view=view,
            n_all=store.manifest.tables.get(view.table.name, 0),
            n_rows=view.count(store),
            rows=page_table(first_rows.drop_columns(unknown), order=view.order, link=filtered),
            unknown=unknown,
            facets=view.counts(store),
            operators=OPERATORS,
            links=page_links(view.parameters, view.start, ROWS_OF_A_PAGE, rows.num_rows),
            all_rows=view.sql_of_all,
            python=snippets.python_of_query(store.path, view.sql),
        )

    def sql(self, parameters: Parameters) -> str:
        """Return the SQL box, with the answer to a query where there is one."""
        query = dict(parameters).get("q", "").strip()
        answer = None
        is_cut = False
        error = None
        if query:
            try:
                sort = dict(parameters).get("sort", "")
                asked_query = sql_box.in_order(query, sort)
                first_rows = self.explored.sql_box.answer(asked_query, sql_box.SHOWN_ROWS)
                columns = first_rows.table.column_names
                sortable = columns if sql_box.can_be_sorted(query) else ()
                order = requested_order([("q", query), ("sort", sort)], sortable)
                answer = page_table(first_rows.table, order=order)
                is_cut = first_rows.is_cut
            except BorgtraceError as refusal:
                error = str(refusal)
        return self.render(
            "sql",
            title="SQL",
            here="/sql",
            query=query or sql_box.EXAMPLE,
            asked=bool(query),
            answer=answer,
            is_cut=is_cut,
            error=error,
            names=to_json(sql_box.WORDS).decode(),
            tables=self._described_tables(),
            python=snippets.python_of_query(self.explored.store.path, query),
        )


def columns_without_values(table: pa.Table, named: Collection[str]) -> list[str]:
    """Return the columns of a table in which nothing is known, but for those that its reader named."""
    columns = []
    for name in table.column_names:
        if table[name].null_count == table.num_rows and name not in named:
            columns.append(name)
    return columns if table.num_rows else []
