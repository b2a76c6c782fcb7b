"""Every type of DuckDB in every format of `borgtrace sql` and of the explorer; columns of one name in each of them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from borgtrace.cli import main
from tests.explore.conftest import cell, cell_store  # noqa: F401 - the cell, as fixtures


class Value(NamedTuple):
    """A value of a type: in SQL, as the text of CSV and tables, and in JSON; there as its text where not given."""

    type: str
    sql: str
    text: str
    json: Any = "as text"

    @property
    def in_json(self) -> Any:
        return self.text if self.json == "as text" else self.json

    @property
    def in_browser(self) -> Any:
        """A browser would round integers above 2⁵³."""
        is_large = type(self.json) is int and self.json > 2**53
        return str(self.json) if is_large else self.in_json


LARGEST = 2**127 - 1
UNSIGNED = str(2**128 - 1)
VALUES = [
    Value("BOOLEAN", "true", "true", True),
    Value("TINYINT", "(-7)::TINYINT", "-7", -7),
    Value("SMALLINT", "300::SMALLINT", "300", 300),
    Value("INTEGER", "70000", "70000", 70000),
    Value("BIGINT", "9007199254740993", "9007199254740993", 9007199254740993),
    Value("UTINYINT", "200::UTINYINT", "200", 200),
    Value("USMALLINT", "60000::USMALLINT", "60000", 60000),
    Value("UINTEGER", "4000000000::UINTEGER", "4000000000", 4000000000),
    Value("UBIGINT", f"{2**64 - 1}::UBIGINT", str(2**64 - 1), 2**64 - 1),
    Value("HUGEINT", f"{LARGEST}::HUGEINT", str(LARGEST), LARGEST),
    Value("HUGEINT", "(SELECT sum(i) FROM range(3) AS t(i))", "3", 3),
    Value("UHUGEINT", f"{UNSIGNED}::UHUGEINT", UNSIGNED),
    Value("BIGNUM", f"{UNSIGNED}7::BIGNUM", f"{UNSIGNED}7"),
    Value("FLOAT", "0.1::FLOAT", "0.1", 0.1),
    Value("DOUBLE", "1234.123456789::DOUBLE", "1234.123456789", 1234.123456789),
    Value("DOUBLE", "'nan'::DOUBLE", "nan", None),
    Value("DOUBLE", "'-inf'::DOUBLE", "-inf", None),
    Value("DECIMAL", "1.50::DECIMAL(18, 2)", "1.50", 1.5),
    Value(
        "DECIMAL",
        "1234567890123456789012345678.0123456789::DECIMAL(38, 10)",
        "1234567890123456789012345678.0123456789",
    ),
    Value("VARCHAR", "'it''s'", "it's"),
    Value("BLOB", r"'\xAB\x00a'::BLOB", r"\xAB\x00a"),
    Value("BIT", "'0101'::BIT", "0101"),
    Value(
        "UUID",
        "'4ac7a9e9-607c-4c8a-84f3-843f0191e3fd'::UUID",
        "4ac7a9e9-607c-4c8a-84f3-843f0191e3fd",
    ),
    Value("ENUM", "'low'::ENUM('low', 'high')", "low"),
    Value("DATE", "DATE '2011-05-01'", "2011-05-01"),
    Value("DATE", "'infinity'::DATE", "infinity"),
    Value("DATE", "'0044-03-15 (BC)'::DATE", "0044-03-15 (BC)"),
    Value("TIME", "TIME '01:02:03.5'", "01:02:03.5"),
    Value("TIME", "TIME '24:00:00'", "24:00:00"),
    Value("TIME_NS", "'01:02:03.123456789'::TIME_NS", "01:02:03.123456789"),
    Value("TIME WITH TIME ZONE", "'01:02:03+02'::TIMETZ", "01:02:03+02"),
    Value("TIMESTAMP", "TIMESTAMP '2011-05-01 19:00:00.25'", "2011-05-01 19:00:00.25"),
    Value("TIMESTAMP", "'20200-01-02 03:04:05'::TIMESTAMP", "20200-01-02 03:04:05"),
    Value("TIMESTAMP_S", "'2011-05-01 19:00:00'::TIMESTAMP_S", "2011-05-01 19:00:00"),
    Value("TIMESTAMP_MS", "'2011-05-01 19:00:00.25'::TIMESTAMP_MS", "2011-05-01 19:00:00.25"),
    Value(
        "TIMESTAMP_NS",
        "'2011-05-01 19:00:00.000000001'::TIMESTAMP_NS",
        "2011-05-01 19:00:00.000000001",
    ),
    Value(
        "TIMESTAMP WITH TIME ZONE",
        "'2011-05-01 19:00:00+00'::TIMESTAMPTZ",
        "2011-05-01 19:00:00+00",
    ),
    Value(
        "TIMESTAMPTZ_NS",
        "'2011-05-01 19:00:00.000000001+00'::TIMESTAMPTZ_NS",
        "2011-05-01 19:00:00.000000001+00",
    ),
    Value("INTERVAL", "INTERVAL '1 month 2 days 03:04:05.5'", "1 month 2 days 03:04:05.5"),
    Value("LIST", "[1, NULL]", "[1, null]", [1, None]),
    Value("LIST", "[0.5, 1.25]", "[0.5, 1.25]", [0.5, 1.25]),
    Value("LIST", "[0.1::FLOAT, 'nan']", "[0.1, null]", [0.1, None]),
    Value("LIST", "[INTERVAL 1 DAY]", '["1 day"]', ["1 day"]),
    Value("LIST", r"['\xAB'::BLOB]", r'["\\xAB"]', [r"\xAB"]),
    Value("LIST", f"[{UNSIGNED}::UHUGEINT]", f'["{UNSIGNED}"]', [UNSIGNED]),
    Value("ARRAY", "[0.1, 0.2]::FLOAT[2]", "[0.1, 0.2]", [0.1, 0.2]),
    Value("ARRAY", "[DATE '2011-05-01']::DATE[1]", '["2011-05-01"]', ["2011-05-01"]),
    Value(
        "STRUCT",
        "{'a b': 0.1::FLOAT, 'day': DATE '2011-05-01'}",
        '{"a b": 0.1, "day": "2011-05-01"}',
        {"a b": 0.1, "day": "2011-05-01"},
    ),
    Value("TUPLE", "row(1, 2)", '{"element1": 1, "element2": 2}', {"element1": 1, "element2": 2}),
    Value("TUPLE", "row(1, DATE '2011-05-01')", "(1, 2011-05-01)"),
    Value("MAP", "MAP([1, 2], ['x', 'y'])", '[[1, "x"], [2, "y"]]', [[1, "x"], [2, "y"]]),
    Value(
        "MAP",
        "MAP(['k'], [{'a': TIME '01:02:03'}])",
        '[["k", {"a": "01:02:03"}]]',
        [["k", {"a": "01:02:03"}]],
    ),
    Value("UNION", "union_value(num := 2)", "2"),
    Value("VARIANT", "7::VARIANT", "7"),
    Value("GEOMETRY", "'POINT(1 2)'::GEOMETRY", "POINT (1 2)"),
    Value("TYPE", "get_type(1)", "INTEGER"),
]
NAMES = [f"c{number}" for number in range(len(VALUES))]
COLUMNS = ", ".join(f"{value.sql} AS {name}" for name, value in zip(NAMES, VALUES, strict=True))
QUERY = f"""
    SELECT columns('c\\d+')
    FROM (SELECT true AS is_there, {COLUMNS})
    RIGHT JOIN (VALUES (true), (false)) AS r(is_there) USING (is_there)
    ORDER BY is_there DESC
"""
"""A row of values, and one of NULLs."""


def test_every_type_has_a_value() -> None:
    types = duckdb.sql("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()
    # A column of the last is NULL and nothing else: every column has such a row.
    known = {value.type for value in VALUES} | {"NULL"}
    assert {name for (name,) in types} <= known


class Cells(HTMLParser):
    """Texts of the cells of a page's tables."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._is_in_cell = False
        self._is_in_aside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._is_in_aside = self._is_in_aside or tag == "aside"
        # Beside the answer stand the columns of all tables.
        self._is_in_cell = tag == "td" and not self._is_in_aside
        if self._is_in_cell:
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_in_cell = self._is_in_cell and tag != "td"
        self._is_in_aside = self._is_in_aside and tag != "aside"

    def handle_data(self, data: str) -> None:
        if self._is_in_cell:
            self.texts[-1] += data


def cells_of(page: str) -> list[str]:
    parser = Cells()
    parser.feed(page)
    return parser.texts


@pytest.fixture
def ask(
    cell_store: Path,  # noqa: F811
    cell: TestClient,  # noqa: F811
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Callable[[str, str], bytes]:
    """Return a function that has a query answered in a format: of the command, or of the explorer's pages."""

    def answer(query: str, format: str) -> bytes:
        if format.startswith("/"):
            page = cell.get(format, params={"q": query})
            assert page.status_code == 200, page.text
            return page.content
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["sql", str(cell_store), query, "--format", format])
        assert ended.value.code in (0, None)
        return capfdbinary.readouterr().out

    return answer


Ask = Callable[[str, str], bytes]


def test_csv_holds_every_type(ask: Ask) -> None:
    answer = ask(QUERY, "csv").decode()
    assert list(csv.reader(io.StringIO(answer))) == [
        NAMES,
        [value.text for value in VALUES],
        [""] * len(VALUES),
    ]
    assert ask(QUERY, "/data/sql.csv").decode() == answer


def test_json_holds_every_type(ask: Ask) -> None:
    rows = [json.loads(line) for line in ask(QUERY, "json").splitlines()]
    assert rows == [
        dict(zip(NAMES, [value.in_json for value in VALUES], strict=True)),
        dict.fromkeys(NAMES),
    ]


def test_the_browsers_json_holds_every_type(ask: Ask) -> None:
    columns = json.loads(ask(QUERY, "/data/sql.json"))
    assert columns == {
        name: [value.in_browser, None] for name, value in zip(NAMES, VALUES, strict=True)
    }


def test_tables_show_every_type(ask: Ask) -> None:
    lines = ask(QUERY, "table").decode().splitlines()
    python_text = {"true": "True", "1234.123456789": "1234.12345679"}
    # Two blanks stand between columns, and none of the texts has two.
    assert [re.split(" {2,}", line.strip()) for line in lines] == [
        NAMES,
        [python_text.get(value.text, value.text) for value in VALUES],
        ["NULL"] * len(VALUES),
    ]


def test_pages_show_every_type(ask: Ask) -> None:
    cells = cells_of(ask(QUERY, "/sql").decode())
    six_digits = {"true": "True", "1234.123456789": "1234.12"}
    expected = [six_digits.get(value.text, value.text).replace(",", "") for value in VALUES]
    assert [text.replace(",", "") for text in cells] == expected + ["–"] * len(VALUES)


def test_parquet_holds_every_type(ask: Ask) -> None:
    table = pq.read_table(io.BytesIO(ask(QUERY, "parquet")))
    assert table.column_names == NAMES
    duckdb.register("answer", table)
    for name, value in zip(NAMES, VALUES, strict=True):
        shown, missing = duckdb.sql(f"SELECT {name}::VARCHAR FROM answer").fetchall()
        # DuckDB writes nested values in its own way.
        if value.type not in ("LIST", "ARRAY", "STRUCT", "TUPLE", "MAP"):
            assert shown == (value.text,)
        assert missing == (None,)


SAME_NAMES = "SELECT 1 AS n, 2 AS n, 3 AS n_1, 4 AS n"
DISTINCT_NAMES = ["n", "n_2", "n_1", "n_3"]


def test_columns_of_one_name_are_numbered(ask: Ask, cell_store: Path) -> None:  # noqa: F811
    import borgtrace

    assert ask(SAME_NAMES, "csv").decode().splitlines() == ['"n","n_2","n_1","n_3"', "1,2,3,4"]
    assert ask(SAME_NAMES, "/data/sql.csv").decode().splitlines() == [
        '"n","n_2","n_1","n_3"',
        "1,2,3,4",
    ]
    assert json.loads(ask(SAME_NAMES, "json")) == {"n": 1, "n_2": 2, "n_1": 3, "n_3": 4}
    assert json.loads(ask(SAME_NAMES, "/data/sql.json")) == {
        "n": [1],
        "n_2": [2],
        "n_1": [3],
        "n_3": [4],
    }
    assert ask(SAME_NAMES, "table").decode().split() == [*DISTINCT_NAMES, "1", "2", "3", "4"]
    assert pq.read_table(io.BytesIO(ask(SAME_NAMES, "parquet"))).column_names == DISTINCT_NAMES
    assert cells_of(ask(SAME_NAMES, "/sql").decode()) == ["1", "2", "3", "4"]
    assert borgtrace.open(cell_store).sql(SAME_NAMES).column_names == DISTINCT_NAMES
    assert borgtrace.open(cell_store).sql(SAME_NAMES, timeout=60).column_names == DISTINCT_NAMES
