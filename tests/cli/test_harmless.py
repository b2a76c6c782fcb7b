"""No command hands a control character of a file to the terminal, or a formula of a file to a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from borgtrace.cli import main
from borgtrace.cli.app import COMMANDS
from borgtrace.cli.console import steps, talk, working
from borgtrace.cli.terminal import harmless_streams, print_traceback
from borgtrace.engine.csv_text import neutral
from borgtrace.errors import StoreError, harmless
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema import TABLES
from borgtrace.schema.tables.shared_columns import WORKLOAD
from borgtrace.store import Store
from tests.cli.hostile_commands import CSV, FOLDER, NO_FOREIGN_TEXT, CommandLine, command_lines
from tests.hostile import TEXT, write_2019
from tests.printed import shown

pytestmark = pytest.mark.wide

NOT_IN_2019 = {
    *(f"collection_events.{column.name}" for column in WORKLOAD),
    *(f"tasks.{column.name}" for column in WORKLOAD),
    "instance_events.end_reason",
    "instance_events.user",
    "machine_power_domains.cell",
    "machine_power_domains.pdu",
    "power_measurements.cell",
    "power_measurements.pdu",
}
"""Columns of text that only other formats fill."""
SHOWN = (
    r"=\u001b[31mred\u001b]0;title\u0007\u009b2J\u202etxt\u2066\u000d\nborgtrace: done\u007f\u0008'"
    '"; --'
)
"""`TEXT` as it is shown in a row."""


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_2019(tmp_path_factory.mktemp("hostile") / "raw")


@pytest.fixture(scope="module")
def store(raw: Path) -> Path:
    path = raw.parent / FOLDER
    ingest([raw], path, IngestOptions(jobs=1))
    return path


@pytest.fixture
def dumb(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal to which Rich writes no control characters of its own."""
    monkeypatch.setenv("TERM", "dumb")


def run(arguments: CommandLine) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


def test_every_column_of_text_is_hostile(store: Path) -> None:
    opened = Store.open(store)
    for table in TABLES.values():
        for column in table.columns:
            name = f"{table.name}.{column.name}"
            if column.type == "string" and name not in NOT_IN_2019:
                rows = opened.sql(f'select distinct "{column.name}" as v from {table.name}')
                assert rows.to_pylist() == [{"v": TEXT}], name


def test_every_command_is_walked_over(store: Path, raw: Path, tmp_path: Path) -> None:
    assert {*command_lines(store, raw, tmp_path), *NO_FOREIGN_TEXT} == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - set(NO_FOREIGN_TEXT)))
def test_no_control_character_reaches_the_terminal(
    name: str,
    store: Path,
    raw: Path,
    tmp_path: Path,
    dumb: None,
) -> None:
    lines = command_lines(store, raw, tmp_path)[name]
    own_files = set(tmp_path.glob("*.csv"))
    for arguments in lines:
        with shown() as printed:
            code = run(arguments)
        out, err = printed.out.text(), printed.err.text()
        assert out or err
        # An error that we expect, or none.
        assert code != 1, err
        assert harmless(out) == out
        assert harmless(err) == err
        # A field of CSV may have several lines; a message has one, and so has a row for people.
        assert "\nborgtrace: done" not in err
        assert "\nborgtrace: done" not in out or CSV in arguments
    for path in set(tmp_path.rglob("*.csv")) - own_files:
        assert_neutral(path.read_text())


def assert_neutral(text: str) -> None:
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            assert neutral(cell) == cell


def test_what_is_shown_says_what_was_there(store: Path, dumb: None) -> None:
    with shown() as printed:
        assert run(["sql", store, 'select distinct "user" from tasks', "--format=json"]) == 0
    assert json.loads(printed.out.text()) == {"user": TEXT}
    with shown() as printed:
        assert run(["machine", store, 1]) == 0
    assert f"platform {SHOWN[:12]}" in " ".join(printed.out.text().split())


@pytest.mark.parametrize(
    "query", ['select "user" from tasks', 'select list("user") as l from tasks']
)
def test_a_program_gets_the_text_as_it_is(store: Path, query: str) -> None:
    """CSV in a pipe holds control characters: they are data, and not for a terminal."""
    with shown(is_terminal=False) as printed:
        assert run(["sql", store, f"{query} limit 1", CSV, "--raw"]) == 0
    _, (cell,) = csv.reader(io.StringIO(printed.out.text(), newline=""))
    assert (json.loads(cell)[0] if cell.startswith("[") else cell) == TEXT


def test_a_spreadsheet_gets_no_formula(store: Path) -> None:
    with shown(is_terminal=False) as printed:
        assert run(["sql", store, 'select "user" as "=1+1", -1 as n from tasks limit 1', CSV]) == 0
    rows = list(csv.reader(io.StringIO(printed.out.text(), newline="")))
    assert rows == [["'=1+1", "n"], [f"'{TEXT}", "-1"]]


def test_parquet_is_not_for_a_terminal(store: Path) -> None:
    with shown() as printed:
        assert run(["sql", store, "select 1", "--format=parquet"]) == 2
    message = "borgtrace: --format: Parquet is no text; name a file: > rows.parquet\n"
    assert (printed.out.text(), printed.err.text()) == ("", message)


def test_an_error_is_one_harmless_line() -> None:
    assert str(StoreError(TEXT, "not a store")) == f"{SHOWN}: not a store"


def test_a_bar_shows_names_and_obeys_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    # It was made where nobody watched.
    monkeypatch.setattr(talk, "is_interactive", True)
    with shown() as printed, harmless_streams():
        with steps() as report:
            report(f"[bold]{TEXT}", 0, 10)
            print(TEXT, file=sys.stderr)
            talk.print(TEXT)
            report(f"[bold]{TEXT}", 1, 10)
        print(TEXT, file=sys.stderr)
    text = printed.err.text()
    # Bars hide the cursor; names do not.
    assert "\x1b[?25l" in text
    for mark in ("\x1b[31m", "\x1b]0;", "\x07", "\x9b", "\u202e", "\x08"):
        assert mark not in text
    assert r"[bold]=\u001b[31mred" in text


def test_work_that_goes_on_shows_names_and_obeys_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(talk, "is_interactive", True)
    with shown() as printed, harmless_streams(), working(f"checking {TEXT}") as status:
        status.update("checking the rest")
        print(TEXT, file=sys.stderr)
    text = printed.err.text()
    # It hides the cursor and writes over its line: neither is shown as text.
    assert "\x1b[?25l" in text
    assert "\r\x1b[2K" in text
    assert "checking the rest" in text
    for mark in ("\x1b[31m", "\x1b]0;", "\x07", "\x9b", "\u202e", "\x08"):
        assert mark not in text
    assert r"\u001b[2K" not in text


def test_an_error_that_nobody_caught_is_harmless() -> None:
    with shown() as printed:
        try:
            raise ValueError(TEXT)
        except ValueError as error:
            print_traceback(type(error), error, error.__traceback__)
    text = printed.err.text()
    assert harmless(text) == text
    assert r"ValueError: =\u001b[31mred" in text
