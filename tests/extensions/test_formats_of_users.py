"""A trace format in a Python file of the user's: its rows in a store, which others read and add to without the file."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import SchemaError, StoreError, UsageError
from borgtrace.extensions import import_source
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.merge import merge
from borgtrace.schema import TRACE_TABLES
from borgtrace.schema.dialects import DIALECTS
from borgtrace.schema.dialects.dialect_data import data_of, dialect_from
from borgtrace.schema.time import SECOND
from tests.extensions.conftest import Run
from tests.extensions.own_code import install, write

EXAMPLE = Path(__file__).parents[2] / "examples" / "extend" / "acme_log.py"
LOG = """ts,job,task,event,cpu_percent,comment
0,7,0,new,50,first
1.5,7,0,start,50,
900,7,0,done,50,
"""
LOAD = """begin,end,job,task,cpu_percent
0,300,7,0,12.5
300,600,7,0,25
600,500,7,0,25
"""
LATER = """begin,end,job,task,cpu_percent
600,900,7,0,50
"""
# 600 s is time zero of a store; percent are shares of a machine.
EVENTS = [
    (600 * SECOND, "SUBMIT", 0.5),
    (601 * SECOND + SECOND // 2, "SCHEDULE", 0.5),
    (1500 * SECOND, "FINISH", 0.5),
]
USAGE = [(600 * SECOND, 900 * SECOND, 0.125), (900 * SECOND, 1200 * SECOND, 0.25)]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    write(tmp_path / "raw", "task_log.csv", LOG)
    write(tmp_path / "raw", "task_load.csv", LOAD)
    return tmp_path / "raw"


@pytest.fixture
def acme(tmp_path: Path, name: str) -> Path:
    """The example under a name of the test's own, for a process remembers formats."""
    text = EXAMPLE.read_text(encoding="utf-8").replace('"acme-log"', f'"{name}"')
    return write(tmp_path, "acme.py", text)


def run_apart(folder: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    """Run lines of Python in another process, which has imported nothing of others."""
    code = "\n".join([f"import sys; sys.path.append({str(folder)!r})", *lines])
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)


def command_line(*words: object) -> str:
    """Return lines of Python that run a command and go on after it."""
    texts = [str(word) for word in words]
    return f"""
from borgtrace.cli import main
try:
    main({texts!r})
except SystemExit as end:
    assert not end.code, end.code
"""


def rows(store: Path, query: str) -> list[tuple[object, ...]]:
    table = borgtrace.open(store).sql(query)
    return [tuple(row.values()) for row in table.to_pylist()]


def assert_holds_the_rows(store: Path) -> None:
    events = "select time, type, cpu_request from instance_events order by time"
    usage = "select start_time, end_time, average_cpu from instance_usage order by start_time"
    assert rows(store, events) == EVENTS
    assert rows(store, usage) == USAGE
    # The third window ends before it begins.
    assert borgtrace.open(store).manifest.counters == {"instance_usage": {"end_before_start": 1}}


@pytest.mark.parametrize("words", [["--dialect"], ["--from"]])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_format_of_a_file_is_read(
    raw: Path, acme: Path, tmp_path: Path, run: Run, words: list[str], jobs: int
) -> None:
    store = tmp_path / "store"
    code, _, err = run("ingest", raw, *words, acme, "--store", store, "--jobs", jobs)
    assert code == 0, err
    assert_holds_the_rows(store)


def test_a_format_is_an_object_in_python(raw: Path, acme: Path, tmp_path: Path) -> None:
    own = import_source(str(acme)).DIALECT
    ingest([raw], tmp_path / "store", IngestOptions(jobs=1, dialect=own))
    assert_holds_the_rows(tmp_path / "store")


def test_the_store_says_which_code_described_it(raw: Path, acme: Path, tmp_path: Path) -> None:
    ingest([raw], tmp_path / "store", IngestOptions(jobs=1, dialect=str(acme)))
    kept = borgtrace.open(tmp_path / "store").manifest.declaration
    assert kept["source"] == "acme.py"
    assert kept["sha256"] == hashlib.sha256(acme.read_bytes()).hexdigest()


@pytest.mark.wide
def test_others_read_the_store_and_add_to_it_without_the_file(
    raw: Path, acme: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    ingest([raw], store, IngestOptions(jobs=1, dialect=str(acme)))
    acme.unlink()
    later = write(tmp_path / "later", "task_load_2.csv", LATER)
    result = run_apart(
        tmp_path,
        command_line("info", store),
        command_line("ingest", later, "--store", store),
        "import borgtrace",
        f"opened = borgtrace.open({str(store)!r})",
        "dialect = opened.manifest.dialect",
        "print(dialect.title, dialect.licence, dialect.origin, dialect.span.days)",
        "print(dialect.source('instance_usage', 'average_cpu'), dialect.tie_order)",
        "print(opened.manifest.tables['instance_usage'], 'acme' in sys.modules)",
    )
    assert result.returncode == 0, result.stderr
    assert f"{store}: Acme cluster trace 2024, UTC" in result.stdout
    assert result.stdout.splitlines()[-3:] == [
        "Acme cluster trace 2024 CC-BY 4.0 2024-03-01 00:00:00+00:00 7",
        "task_load.cpu_percent file",
        "3 False",
    ]


@pytest.mark.wide
def test_others_analyze_report_and_advise_without_the_file(
    raw: Path, acme: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    ingest([raw], store, IngestOptions(jobs=1, dialect=str(acme)))
    acme.unlink()
    result = run_apart(
        tmp_path,
        command_line("analyze", store, "transitions"),
        command_line("report", store, tmp_path / "page.html"),
        command_line("advise", store, "--out", tmp_path / "advice.html"),
        command_line("subset", store, tmp_path / "part", "--fraction", "1"),
        command_line("info", tmp_path / "part"),
    )
    assert result.returncode == 0, result.stderr
    assert "Acme cluster trace 2024" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "part: Acme cluster trace 2024, UTC" in result.stdout


def test_stores_of_one_format_are_merged(raw: Path, acme: Path, tmp_path: Path) -> None:
    options = IngestOptions(jobs=1, dialect=str(acme))
    later = write(tmp_path / "later", "task_load_2.csv", LATER)
    ingest([raw], tmp_path / "first", options)
    ingest([later], tmp_path / "second", options)
    merge([tmp_path / "first", tmp_path / "second"], tmp_path / "both")
    both = borgtrace.open(tmp_path / "both").manifest
    assert both.dialect.title == "Acme cluster trace 2024"
    assert both.tables["instance_usage"] == 3


@pytest.mark.wide
def test_rows_staged_by_another_process_are_sorted_without_the_file(
    raw: Path, acme: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    ingest([raw], store, IngestOptions(jobs=1, dialect=str(acme), stage_only=True))
    acme.unlink()
    result = run_apart(
        tmp_path, "import borgtrace.ingest", f"borgtrace.ingest.ingest([], {str(store)!r})"
    )
    assert result.returncode == 0, result.stderr
    assert_holds_the_rows(store)


def test_a_format_that_changed_is_another_one(raw: Path, acme: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest([raw], store, IngestOptions(jobs=1, dialect=str(acme)))
    first = borgtrace.open(store).manifest.generation
    changed = acme.read_text(encoding="utf-8").replace("scale=0.01", "scale=0.001")
    second_file = write(tmp_path, "changed.py", changed.replace("acme", "other"))
    own = import_source(str(second_file)).DIALECT
    with pytest.raises(StoreError) as raised:
        ingest([raw], store, IngestOptions(jobs=1, dialect=own))
    assert raised.value.what == "the store holds another generation"
    assert raised.value.expected == first


def test_a_comment_in_the_file_changes_nothing(raw: Path, acme: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest([raw], store, IngestOptions(jobs=1, dialect=str(acme)))
    text = acme.read_text(encoding="utf-8") + "# another line\n"
    own = import_source(str(write(tmp_path, "again.py", text))).DIALECT
    assert ingest([raw], store, IngestOptions(jobs=1, dialect=own)).known == 2


FAULTS = [
    (
        "x = 1",
        "{file}: no trace format in it: expected DIALECT = borgtrace.Dialect(…); borgtrace check lists what a file has",
    ),
    (
        "raise RuntimeError('no')",
        "{file}:1: the code of this extension failed: got RuntimeError: no",
    ),
    (
        "from borgtrace import Dialect\nA = Dialect(name='{name}-a', title='A', tables={{}})\n"
        "B = Dialect(name='{name}-b', title='B', tables={{}})",
        "{file}: several trace formats in it: got {name}-a, {name}-b; "
        "say which: --from {file} --dialect {name}-a",
    ),
    (
        "from borgtrace import Dialect\nDIALECT = Dialect(name='{name}', title=len, tables={{}})",
        "DIALECT.title: a store cannot keep this: expected numbers, texts, tuples, mappings and "
        "what borgtrace.schema offers, got builtin_function_or_method len",
    ),
    (
        "from borgtrace import Dialect\nclass Mine(Dialect):\n    pass\n"
        "DIALECT = Mine(name='{name}', title='A', tables={{}})",
        "DIALECT: a store keeps data, not methods: expected an object of the class Dialect itself, "
        "got one of Mine",
    ),
    (
        "from borgtrace import Dialect\nfrom datetime import datetime\n"
        "DIALECT = Dialect(name='{name}', title='A', tables={{}}, origin=datetime(2024, 1, 1))",
        "{file}: DIALECT.origin: a time without a time zone: got 2024-01-01T00:00:00; "
        "add tzinfo=UTC to it",
    ),
    (
        "from borgtrace import Dialect\n"
        "DIALECT = Dialect(name='{name}', title='A', tables={{}}, tie_order='files')",
        "{file}: DIALECT.tie_order: not one of what it may be: expected file or life_cycle, got files",
    ),
    (
        "from borgtrace import Dialect\nDIALECT = Dialect(name='{name}', title='A', tables={{}})",
        "{file}: {name}: not a sound trace format: got it has no tables",
    ),
    (
        "from borgtrace import Dialect\nfrom borgtrace.schema import RawField, RawTable\n"
        "LOAD = RawTable('load', 'power_measurements', (RawField('t', 'time', scale='1'),))\n"
        "DIALECT = Dialect(name='{name}', title='A', tables={{'load': LOAD}})",
        "{file}: DIALECT.tables['load'].fields[0].scale: not what a format takes here: "
        "expected a number, got '1'",
    ),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_a_file_that_describes_no_format_is_refused(
    raw: Path, tmp_path: Path, name: str, run: Run, text: str, message: str
) -> None:
    file = write(tmp_path, "own.py", text.format(name=name))
    store = tmp_path / "store"
    code, out, err = run("ingest", raw, "--dialect", file, "--store", store)
    assert err == f"borgtrace: {message.format(file=file, name=name)}\n"
    assert code in (UsageError.exit_code, SchemaError.exit_code)
    assert out == ""
    assert not store.exists()


def test_a_file_that_is_not_there_is_named_with_its_neighbours(
    raw: Path, acme: Path, tmp_path: Path, run: Run
) -> None:
    wrong = acme.with_name("acm.py")
    code, _, err = run("ingest", raw, "--dialect", wrong, "--store", tmp_path / "store")
    assert (code, err) == (
        2,
        f"borgtrace: --dialect: no such file: got {wrong}; did you mean {acme}?\n",
    )


def test_a_trace_of_ours_in_another_layout_stays_that_trace(tmp_path: Path, name: str) -> None:
    text = f"""from borgtrace import Dialect
from borgtrace.schema import RawField, RawTable
NODES = RawTable("nodes", "machine_events", (
    RawField("t", "time", is_mandatory=True), RawField("node", "machine_id", is_mandatory=True),
    RawField("what", "type", is_mandatory=True), RawField("cpu", "cpu_capacity"),
))
DIALECT = Dialect(name="{name}", title="Mine", tables={{"nodes": NODES}}, trace="2019",
                  codes={{"machine_event_type": {{"up": "ADD"}}}})
"""
    file = write(tmp_path, "own.py", text)
    raw = write(tmp_path / "raw", "nodes.csv", "t,node,what,cpu\n0,1,up,0.5\n")
    ingest([raw], tmp_path / "store", IngestOptions(jobs=1, dialect=str(file)))
    manifest = borgtrace.open(tmp_path / "store").manifest
    assert (manifest.generation, manifest.tables["machine_events"]) == ("2019", 1)


HOSTILE = [
    (("name",), "../../etc"),
    (("title",), "\x1b[31mred"),
    (("tables", 0, 1, "name"), "../x"),
    (("tables", 0, 1, "table"), "pg_catalog"),
    (("tables", 0, 1, "fields", 0, "pattern"), "("),
    (("tables", 0, 1, "fields", 0, "scale"), "1; drop table x"),
    (("tables", 0, 1, "fields", 0, "code"), "import os"),
    (("origin",), "yesterday"),
    (("span",), 2**80),
    (("trace",), "openb"),
]


@pytest.mark.parametrize(("place", "value"), HOSTILE, ids=[str(place[-1]) for place, _ in HOSTILE])
def test_what_a_store_of_others_says_is_data_that_is_checked(
    raw: Path, acme: Path, tmp_path: Path, place: tuple[str | int, ...], value: object
) -> None:
    store = tmp_path / "store"
    ingest([raw], store, IngestOptions(jobs=1, dialect=str(acme)))
    file = store / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    # One without a digest of itself, as earlier versions wrote it.
    manifest = {key: item for key, item in manifest.items() if key != "sha256"}
    part = manifest["declaration"]["dialect"]
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    file.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(StoreError) as raised:
        borgtrace.open(store)
    assert raised.value.what == "store of an unknown trace format"
    assert "\x1b" not in str(raised.value)


OFFERED = "[borgtrace.dialects]\nacme-log = acme_formats:DIALECT\n"


@pytest.mark.wide
def test_a_format_of_a_package_is_listed_and_named(raw: Path, tmp_path: Path) -> None:
    install(tmp_path, "acme_formats", EXAMPLE.read_text(encoding="utf-8"), OFFERED)
    store = tmp_path / "store"
    result = run_apart(
        tmp_path,
        command_line("dialect", "list"),
        command_line("ingest", raw, "--dialect", "acme-log", "--store", store),
    )
    assert result.returncode == 0, result.stderr
    listed = "acme-log: Acme cluster trace 2024 (from package acme_formats 1.2)"
    assert listed in result.stdout.splitlines()
    assert_holds_the_rows(store)
    assert borgtrace.open(store).manifest.declaration["source"] == "acme_formats"


@pytest.mark.wide
def test_a_package_is_imported_only_when_its_format_is_named(raw: Path, tmp_path: Path) -> None:
    install(tmp_path, "acme_formats", "raise ValueError", OFFERED)
    own = write(tmp_path, "own.csv", "task,time,cpu\nweb-1,1700000000,0.5\nweb-1,1700000300,0.25\n")
    words = ("ingest", own, "--capacity", "8cores", "--yes", "--store", tmp_path / "own")
    unasked = run_apart(tmp_path, command_line(*words))
    assert unasked.returncode == 0, unasked.stderr
    named = run_apart(
        tmp_path,
        command_line("ingest", raw, "--dialect", "acme-log", "--store", tmp_path / "store"),
    )
    assert f"{tmp_path}/acme_formats.py:1: the code of this extension failed: got ValueError" in (
        named.stderr
    )


def test_the_list_says_where_a_format_comes_from(acme: Path, name: str, run: Run) -> None:
    code, out, _ = run("dialect", "list", "--from", acme)
    assert code == 0
    assert f"{name}: Acme cluster trace 2024 (from {acme})" in out.splitlines()


@pytest.mark.parametrize("name_of_ours", DIALECTS)
def test_known_formats_are_data_too(name_of_ours: str) -> None:
    known = DIALECTS[name_of_ours]
    data = json.loads(json.dumps(data_of(known)))
    again = dialect_from(data, name_of_ours)
    sources = {
        (table.name, column): known.source(table.name, column)
        for table in TRACE_TABLES.values()
        for column in table.names
    }
    assert {place: again.source(*place) for place in sources} == sources
    for part in ("codes", "none", "tiers", "origin", "time_zones", "span", "conversion"):
        assert getattr(again, part) == getattr(known, part), part
    assert (again.citations, again.unread) == (known.citations, known.unread)


def test_the_plan_of_an_ingest_has_the_title_of_the_format(
    raw: Path, acme: Path, tmp_path: Path, run: Run
) -> None:
    store = tmp_path / "store"
    code, out, err = run("ingest", raw, "--dialect", acme, "--store", store, "--dry-run")
    assert code == 0, err
    assert out.splitlines()[0] == f"Acme cluster trace 2024: 2 files, {len(LOG) + len(LOAD)} bytes"
    code, _, err = run("ingest", raw, "--dialect", acme, "--store", store)
    assert code == 0, err
    assert err.startswith(f"Acme cluster trace 2024: 2 files, {len(LOG) + len(LOAD)} bytes; ")


def test_a_clock_that_begins_at_0_is_noticed(
    raw: Path, acme: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    text = acme.read_text(encoding="utf-8").replace(", offset=600_000_000", "")
    write(tmp_path, "acme.py", text)
    store = tmp_path / "store"
    note = (
        "The first time is 0 s, but the clock of a store begins at 600 s: what lies before counts as before the trace. "
        "If the clock of the files begins at 0, add offset=600_000_000 to their fields of time."
    )
    code, out, err = run("ingest", raw, "--dialect", acme, "--store", store)
    assert code == 0, err
    assert note in out.splitlines()
    assert borgtrace.open(store).manifest.notes == (note,)
    # The second time it is known.
    write(raw, "task_load.csv", LATER)
    code, _, err = run("ingest", raw, "--dialect", acme, "--store", store, "--replace")
    assert code == 0, err
    assert borgtrace.open(store).manifest.notes == (note,)
