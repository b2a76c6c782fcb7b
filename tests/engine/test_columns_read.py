"""The columns that a statement needs: those without which its answer would be another one."""

from __future__ import annotations

import pytest
import sqlglot

from borgtrace.engine.columns_read import columns_read

TABLES = {"t": ["a", "b", "c", "d"], "u": ["a", "e"]}


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT a FROM t", {"t": "a"}),
        ("SELECT * FROM t", {"t": "abcd"}),
        ("SELECT count(*) AS n FROM t", {"t": ""}),
        ("SELECT count(*) AS n FROM t WHERE b > 1", {"t": "b"}),
        ("SELECT x.a FROM (SELECT t.*, b + c AS s FROM t) AS x WHERE x.d = 1", {"t": "ad"}),
        ("SELECT x.s FROM (SELECT t.*, b + c AS s FROM t) AS x", {"t": "bc"}),
        (
            "SELECT a FROM (SELECT a, row_number() OVER (PARTITION BY b ORDER BY c) AS r FROM t) AS x",
            {"t": "a"},
        ),
        (
            "SELECT a FROM (SELECT a, row_number() OVER (PARTITION BY b ORDER BY c) AS r FROM t) AS x WHERE r = 1",
            {"t": "abc"},
        ),
        ("SELECT a FROM (SELECT DISTINCT a, b FROM t) AS x", {"t": "ab"}),
        (
            "SELECT a FROM (SELECT a, b FROM t UNION ALL SELECT a, e FROM u) AS x",
            {"t": "a", "u": "a"},
        ),
        (
            "SELECT a FROM (SELECT a, b FROM t UNION SELECT a, e FROM u) AS x",
            {"t": "ab", "u": "ae"},
        ),
        ("SELECT t.c FROM t JOIN u ON t.a = u.a", {"t": "ac", "u": "a"}),
        ("SELECT c FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.b)", {"t": "bc", "u": "a"}),
        ("SELECT c FROM t LEFT SEMI JOIN u ON t.a = u.a", {"t": "ac", "u": "a"}),
        (
            "WITH x AS (SELECT * FROM t) SELECT x.a, y.b FROM x JOIN x AS y ON x.c = y.c",
            {"t": "abc"},
        ),
        ("SELECT a FROM (SELECT a, b FROM t ORDER BY d LIMIT 3) AS x", {"t": "ad"}),
    ],
)
def test_what_a_statement_reads(query: str, read: dict[str, str]) -> None:
    tree = sqlglot.parse_one(query, read="spark")
    assert columns_read(tree, TABLES, "spark") == {
        name: set(columns) for name, columns in read.items()
    }
