"""Names and texts in SQL: whatever they hold, DuckDB reads them back as they were."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from borgtrace.engine.identifiers import literal, number, quoted

NASTY = [
    "plain",
    "two words",
    "cpu\"\") FROM raw; COPY (SELECT 1) TO 'x' --",
    'a"b',
    '"',
    '""',
    "it's",
    "''",
    "; DROP TABLE tasks; --",
    "/* remark */",
    "line\nbreak\r\n\ttab",
    "back\\slash\\n",
    "$1 ? :name {brace} %s",
    "ünïcödé ☃ 名",
    "select",
    "a.b",
    "nul\0byte",
]
# A lone surrogate cannot be encoded, so no file and no user can hand one over.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        yield connection


def name_read_back(connection, name):
    return connection.execute(f"SELECT 1 AS {quoted(name)}").description[0][0]


def text_read_back(connection, text):
    return connection.execute(f"SELECT {literal(text)}").fetchone()[0]


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_name_is_a_name(connection, name):
    assert name_read_back(connection, name) == name


@pytest.mark.parametrize("text", NASTY)
def test_a_nasty_text_is_a_text(connection, text):
    assert text_read_back(connection, text) == text


# DuckDB has no empty names.
@given(name=TEXTS.filter(bool))
def test_any_name_is_a_name(connection, name):
    assert name_read_back(connection, name) == name


@given(text=TEXTS)
def test_any_text_is_a_text(connection, text):
    assert text_read_back(connection, text) == text


@pytest.mark.parametrize("name", NASTY)
def test_a_qualified_name_finds_the_column_of_its_table(connection, name):
    table = quoted("memory", "main", name)
    connection.execute(f"CREATE OR REPLACE TABLE {table} ({quoted(name)} INTEGER)")
    connection.execute(f"INSERT INTO {table} VALUES (7)")
    query = f"SELECT {quoted(name, name)} FROM {table}"
    assert connection.execute(query).fetchall() == [(7,)]


def test_a_name_of_another_dialect_has_its_quotes():
    assert quoted("project.a`b", dialect="bigquery") == r"`project.a\`b`"


@pytest.mark.parametrize("value", ["1", "1); DROP TABLE tasks; --", None, b"1"])
def test_a_text_is_no_number(value):
    with pytest.raises(TypeError, match="not a number"):
        number(value)
