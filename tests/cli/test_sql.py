"""``borgtrace sql``: its formats, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.cli import main
from borgtrace.cli.query_rows import print_answer

MACHINES = ["0,5,0,P,0.5,0.2493", "0,6,0,P,0.5,", "7,5,1,,,"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from borgtrace.ingest import IngestOptions, ingest

    folder = tmp_path_factory.mktemp("sql")
    (folder / "raw" / "machine_events").mkdir(parents=True)
    (folder / "raw" / "machine_events" / "part-00000-of-00001.csv").write_text(
        "\n".join(MACHINES) + "\n"
    )
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["sql", *map(str, arguments)])
    return int(ended.value.code or 0)


QUERY = (
    "select machine_id, type, memory_capacity, [0.1::float, 2] as list "
    "from machine_events order by time, machine_id"
)


def test_table(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(store, QUERY, "--rows", "2") == 0
    out, err = capfd.readouterr()
    assert [line.split() for line in out.splitlines()] == [
        ["machine_id", "type", "memory_capacity", "list"],
        ["5", "ADD", "0.2493", "[0.1,", "2.0]"],
        ["6", "ADD", "NULL", "[0.1,", "2.0]"],
    ]
    assert err == "first 2 rows; --rows N shows more, --format csv all\n"


def test_csv_writes_floats_as_published_and_lists_as_json(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(store, QUERY, "--format", "csv") == 0
    assert list(csv.reader(io.StringIO(capfd.readouterr().out))) == [
        ["machine_id", "type", "memory_capacity", "list"],
        ["5", "ADD", "0.2493", "[0.1, 2.0]"],
        ["6", "ADD", "", "[0.1, 2.0]"],
        ["5", "REMOVE", "", "[0.1, 2.0]"],
    ]


def test_json_lines(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(store, QUERY, "--format", "json") == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert rows[0] == {
        "machine_id": 5,
        "type": "ADD",
        "memory_capacity": 0.2493,
        "list": [0.1, 2.0],
    }
    assert [row["memory_capacity"] for row in rows] == [0.2493, None, None]


def test_parquet(store: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(store, "from machine_events", "--format", "parquet") == 0
    table = pq.read_table(io.BytesIO(capfdbinary.readouterr().out))
    assert table.num_rows == 3
    assert str(table.schema.field("memory_capacity").type) == "float"


def test_query_from_stdin(
    store: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("select 41 + 1 as answer"))
    assert run(store, "-", "--format", "csv") == 0
    assert capfd.readouterr().out == '"answer"\n42\n'


def test_empty_answers(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for shape, expected in (("csv", '"time"\n'), ("json", ""), ("table", "time\n")):
        assert run(store, "select time from tasks t(time)", "--format", shape) == 0
        assert capfd.readouterr().out == expected


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        (
            "drop view tasks",
            2,
            "query: not a SELECT: expected one SELECT, got DROP; only a query can be answered",
        ),
        (
            "select nothing from tasks",
            2,
            (
                'query: Binder Error: Referenced column "nothing" not found in FROM clause!; '
                'Candidate bindings: "container", "n_machines", "collection_id", "collection_type", '
                '"scheduling_class"; every table and column: borgtrace info --schema'
            ),
        ),
        (
            "select * from '/etc/passwd.csv'",
            7,
            (
                "query: only the store can be read: got Permission Error: Cannot access file "
                '"/etc/passwd.csv" - file system operations are disabled by configuration'
            ),
        ),
    ],
)
def test_refusals(
    store: Path,
    capfd: pytest.CaptureFixture[str],
    query: str,
    code: int,
    message: str,
) -> None:
    assert run(store, query) == code
    out, err = capfd.readouterr()
    assert (out, err) == ("", f"borgtrace: {message}\n")


def test_no_store(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "none", "select 1") == 5
    assert "there is no such store" in capfd.readouterr().err


def test_parameters_are_values_and_never_sql(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    query = "select machine_id, $word as word from machine_events where machine_id = $id and cpu_capacity > $low"
    arguments = ("--param", "id=5", "--param", "low=.4", "--param", "word=x'; drop table tasks; --")
    assert (
        run(
            store,
            query,
            "--format",
            "csv",
            *arguments,
        )
        == 0
    )
    assert capfd.readouterr().out == '"machine_id","word"\n5,"x\'; drop table tasks; --"\n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--param", "low"),
            "--param: no name and value: expected NAME=VALUE, such as job=3418309, got low\n",
        ),
        (
            ("--param", "=3"),
            "--param: no name and value: expected NAME=VALUE, such as job=3418309, got =3\n",
        ),
        (
            (),
            "query: Invalid Input Error: Values were not provided for the following parameters: low\n",
        ),
    ],
)
def test_parameters_that_are_wrong(
    store: Path,
    capfd: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    assert run(store, "select $low", *arguments) == 2
    assert capfd.readouterr().err == f"borgtrace: {message}"


def test_an_unknown_table_is_answered_with_the_nearest_of_the_store(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(store, "select * from instance_usge") == 2
    assert capfd.readouterr().err == (
        "borgtrace: query: table instance_usge does not exist; did you mean instance_usage or instance_events? "
        "every table and column: borgtrace info --schema\n"
    )
    assert run(store, "select * from sequences") == 2
    assert "did you mean" not in capfd.readouterr().err


def test_rows_behind_the_shown_ones_are_not_fetched(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # The third row fails when it is computed: whoever shows one row never gets there.
    query = "select case when i > 100000000 then error('fetched') else i end as i from range(100000002) t(i)"
    assert run(store, query, "--rows", "1") == 0
    out, err = capfd.readouterr()
    assert out.split() == ["i", "0"]
    assert err == "first 1 rows; --rows N shows more, --format csv all\n"


WIDE = "select machine_id as id, 'a text of some thirty characters' as note, " + ", ".join(
    f"{i} as a_column_with_a_name_{i}" for i in range(8)
)


@pytest.mark.parametrize(
    ("width", "heading", "row", "n_shown"),
    [
        (40, "id  …  a_column_with_a_name_7", " 5  …                       7", 2),
        (
            80,  # headings are cut at 16 characters, the text gets the three that are left over; numbers are whole
            "id  note                 a_column_with_a…  …  a_column_with_a…  a_column_with_a…",
            " 5  a text of some thi…                 0  …                 6                 7",
            5,
        ),
    ],
)
def test_a_table_is_as_wide_as_the_terminal(
    store: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    heading: str,
    row: str,
    n_shown: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("borgtrace.cli.grid.sys.stdout.isatty", lambda: True)
    assert run(store, f"{WIDE} from machine_events where machine_id = 5 limit 1") == 0
    out, err = capsys.readouterr()
    assert re.sub(r"\x1b\[\d*m", "", out).splitlines() == [
        heading,
        row,
    ]  # without the bold of the headings
    assert err == f"{n_shown} of 10 columns; select fewer, or use --format csv\n"


THIRTY = "select 3418309 as collection_id, i as instance_index, " + ", ".join(
    (
        f"i * 1000 + {k} as count_{k}",
        f"(i + {k}) / 8 as share_{k}",
        f"'a name that is longer than most ' || i as name_{k}",
        f"if(i > 0, {k}, NULL) as often_null_{k}",
    )[k % 4]
    for k in range(28)
)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_thirty_columns_are_readable_at_every_width(
    store: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
) -> None:
    """The snapshots were read by people: whole numbers, names cut at their ends, "…" for the columns in the middle."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("borgtrace.cli.grid.sys.stdout.isatty", lambda: True)
    assert run(store, f"{THIRTY} from range(5000000) as t(i)", "--rows", "2") == 0
    out, err = capsys.readouterr()
    printed = [line.rstrip() for line in (re.sub(r"\x1b\[\d*m", "", out) + err).splitlines()]
    snapshot = Path(__file__).parent / "snapshots" / f"thirty-columns-{width}.txt"
    assert printed == snapshot.read_text(encoding="utf-8").splitlines()
    assert max(map(len, printed[:3])) <= width


def test_json_is_a_format_too(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(store, "select 1 as a, null as b", "--json") == 0
    assert capsys.readouterr().out == '{"a": 1, "b": null}\n'


@pytest.mark.parametrize(
    ("format", "printed"),
    [
        ("table", "a plan\nof two lines\n"),
        ("csv", '"explain_key","explain_value"\n"plan","a plan\nof two lines"\n'),
        ("json", '{"explain_key": "plan", "explain_value": "a plan\\nof two lines"}\n'),
    ],
)
def test_a_plan_is_printed_as_it_is_drawn(
    format: str, printed: str, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = pa.table({"explain_key": ["plan"], "explain_value": ["a plan\nof two lines"]})
    print_answer(plan.to_reader(), format, 20)
    assert capfd.readouterr().out == printed
