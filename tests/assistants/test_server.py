"""``borgtrace mcp``, asked by the SDK's own client over stdio: what it answers, refuses, and always says."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.errors import BorgtraceError
from borgtrace.schema import TABLES
from tests.assistants.conftest import Session, session
from tests.hostile import TEXT

pytestmark = pytest.mark.wide  # starts the server, for each of several stores

Command = Callable[..., list[str]]
SYNTHETIC = (
    "The cell is synthetic: a generator made it. Its numbers were measured on no real cluster."
)
ENDLESS = "SELECT count(*) FROM range(10000000000) a, range(10000000000) b"
OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys, or what turns text around."""


def first_task(store: Path) -> dict[str, int]:
    query = (
        "SELECT collection_id, instance_index FROM tasks WHERE n_windows > 0 ORDER BY ALL LIMIT 1"
    )
    return borgtrace.open(store).sql(query).to_pylist()[0]


def calls_of(store: Path) -> dict[str, dict[str, Any]]:
    """Return arguments for each tool."""
    task = first_task(store)
    query = "SELECT min(machine_id) AS id FROM instance_usage"
    machine = borgtrace.open(store).sql(query).to_pylist()[0]["id"]
    return {
        "list_questions": {"about": "queue"},
        "ask_question": {"question": "machine_shapes"},
        "run_sql": {"query": "SELECT max(average_cpu) AS peak FROM instance_usage"},
        "show_task": {"task": f"{task['collection_id']}:{task['instance_index']}"},
        "show_machine": {"machine": str(machine)},
    }


def texts_of(value: Any) -> Iterator[str]:
    """Yield every text in a value, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)


def test_every_tool_says_what_its_answer_is_about(on_cell: Session, cell: Path) -> None:
    calls = calls_of(cell)
    listed = {tool.name: tool for tool in on_cell.run("list_tools").tools}
    assert set(listed) == {*calls, "advise"}
    assert all(tool.annotations.read_only_hint for tool in listed.values())
    digest = borgtrace.open(cell).digest
    for name, arguments in calls.items():
        answer = on_cell.answer(name, **arguments)
        assert next(iter(answer)) == "notices"
        assert SYNTHETIC in answer["notices"], name
        assert answer["scope"]["made"] == "synthetic"
        assert answer["scope"]["tables"]["machine_events"]["rows"] == 10
        assert answer["scope"]["amounts"] == (
            "fractions of the largest machine, whose size is not known: they are neither cores nor GiB"
        )
        assert answer["provenance"]["digest"] == digest
        assert answer["provenance"]["is_synthetic"] is True
        assert answer["units"] or name == "list_questions", name


def test_an_answer_has_the_rows_and_the_verdicts_of_the_store(on_cell: Session, cell: Path) -> None:
    answer = on_cell.answer("ask_question", question="queue_length", parameters={"step": "30m"})
    expected = borgtrace.open(cell).ask("queue_length", step="30m")
    assert answer["rows"] == expected.table.to_pylist()
    assert answer["n_rows"] == expected.table.num_rows
    assert answer["units"]["pending"] == "count: Tasks that are pending."
    assert [claim["verdict"] for claim in answer["claims"]] == [
        finding.outcome for finding in expected.findings
    ]
    # Two hours of a synthetic cell settle nothing that was published of 29 days.
    assert all(claim["verdict"].startswith("not judged: ") for claim in answer["claims"])
    n_claims = len(expected.findings)
    assert answer["notices"][-1] == (
        f"{n_claims} of {n_claims} claims are not judged on this store: neither confirmed nor refuted."
    )


def test_an_advice_has_its_sentences_and_the_units_of_its_parts(
    on_cell: Session, cell: Path
) -> None:
    answer = on_cell.answer("advise", target=0.05, rows=2)
    advice = borgtrace.open(cell).advise(target=0.05)
    assert answer["sentences"]["value"] == list(advice.sentences.value)
    assert answer["notices"][0] == SYNTHETIC
    for result in advice.results:
        part = answer["parts"][result.question.name]
        assert part["n_rows"] == result.table.num_rows
        assert len(part["rows"]) == min(2, result.table.num_rows)
        assert set(answer["units"][result.question.name]) == set(result.table.column_names)


def test_a_question_that_cannot_be_answered_says_so(on_cell: Session) -> None:
    answer = on_cell.answer("ask_question", question="platform_counters")
    assert answer["rows"] == [] or answer["not_applicable"] is None
    if answer["not_applicable"]:
        reason = answer["not_applicable"]
        assert f"Not applicable: {reason}. There is no answer." in answer["notices"]


def test_resources_hold_the_schema_and_what_is_claimed(on_cell: Session) -> None:
    schema = json.loads(on_cell.run("read_resource", "borgtrace://schema").contents[0].text)
    assert list(schema) == list(TABLES)
    column = next(
        one for one in schema["instance_usage"]["columns"] if one["name"] == "average_cpu"
    )
    assert column["unit"] == "fraction"
    claims = json.loads(on_cell.run("read_resource", "borgtrace://claims").contents[0].text)
    assert "None of this was measured on this store" in claims["note"]
    queue = {claim["id"]: claim for claim in claims["claims"]["queue_length"]}
    assert queue["S4-obs7"]["source"] == "Zhu et al., Observation 7"
    assert "verdict" not in queue["S4-obs7"]


def test_sql_is_guarded_like_the_command(
    on_cell: Session, cell: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outside = cell.parent / "raw" / "truth.json"
    attacks = [
        "DROP TABLE tasks",
        "SELECT 1; SELECT 2",
        f"SELECT * FROM read_text('{outside}')",
        f"COPY tasks TO '{cell}/stolen.csv'",
        "ATTACH 'other.db'",
        "SET memory_limit = '99GB'",
        "SELECT no_such_column FROM tasks",
    ]
    for attack in attacks:
        with pytest.raises(SystemExit):
            main(["sql", str(cell), attack])
        said_by_command = capfd.readouterr().err.removeprefix("borgtrace: ").rstrip("\n")
        assert on_cell.refusal("run_sql", query=attack) == said_by_command
    assert not (cell / "stolen.csv").exists()


def test_parameters_are_never_read_as_sql(on_cell: Session) -> None:
    text = "'; DROP TABLE tasks; --"
    answer = on_cell.answer("run_sql", query="SELECT $text AS text", parameters={"text": text})
    assert answer["rows"] == [{"text": text}]


def test_a_query_that_never_ends_is_stopped(on_cell: Session) -> None:
    assert on_cell.refusal("run_sql", query=ENDLESS).startswith("query: stopped after 2 s")
    # The server lives on.
    assert on_cell.answer("run_sql", query="SELECT 1 AS n")["rows"] == [{"n": 1}]


def test_of_a_huge_answer_the_beginning_is_shown_and_called_that(on_cell: Session) -> None:
    answer = on_cell.answer("run_sql", query="SELECT range AS n FROM range(1000000)", rows=3)
    assert answer["rows"] == [{"n": 0}, {"n": 1}, {"n": 2}]
    more = "Only the first 3 rows are shown, and there are more: do not count or sum what is shown."
    assert answer["notices"][-1] == more
    wide = on_cell.answer(
        "run_sql", query="SELECT repeat('x', 1500) AS text FROM range(500)", rows=500
    )
    # 60,000 characters hold 39 rows of 1,513.
    assert len(wide["rows"]) == 39
    assert wide["notices"][-1] == more.replace("3", "39")
    long = on_cell.answer(
        "run_sql", query="SELECT repeat('x', 3000000) AS text, range(500) AS list"
    )
    (row,) = long["rows"]
    assert row["text"] == "x" * 2_000 + "… (3,000,000 characters)"
    assert row["list"][-2:] == [199, "… and 300 more"]
    assert on_cell.refusal("run_sql", query="SELECT repeat('x', 30000000) AS text") == (
        "query: the answer is too large to show: expected at most 10 MB; ask for less, or for CSV"
    )


def test_rows_have_a_limit(on_cell: Session) -> None:
    assert on_cell.refusal("run_sql", query="SELECT 1", rows=1_001) == (
        "rows: out of range: expected 1 to 1,000, got 1,001"
    )


def test_arguments_of_ours_are_no_parameters(on_cell: Session) -> None:
    said = on_cell.refusal("ask_question", question="queue_length", parameters={"engine": "x"})
    assert said == "queue_length: no such parameter: expected one of step, got engine"
    said = on_cell.refusal("ask_question", question="queue_length", parameters={"step": [1]})
    assert said == "step: wrong kind of value: expected like 300000000, got [1]"


def test_large_ids_are_not_rounded(on_cell: Session) -> None:
    answer = on_cell.answer("run_sql", query=f"SELECT {2**60} AS id, {2**53} AS small")
    assert answer["rows"] == [{"id": str(2**60), "small": 2**53}]


def test_one_task_and_one_machine(on_cell: Session, cell: Path) -> None:
    store = borgtrace.open(cell)
    task = first_task(cell)
    answer = on_cell.answer("show_task", task=f"{task['collection_id']}:{task['instance_index']}")
    trace = store.trace(**task)
    assert len(answer["usage"]) == min(100, len(trace.average_cpu))
    assert answer["summary"][0]["n_windows"] == len(trace.average_cpu)
    assert answer["units"]["usage"]["average_cpu"].startswith("fraction: ")
    machine = answer["usage"][0]["machine_id"]
    load = on_cell.answer("show_machine", machine=str(machine))["load"]
    assert [row["hour"] for row in load] == store.machine(machine).load["hour"].to_pylist()
    at = on_cell.answer("show_machine", machine=str(machine), at="30m")
    assert at["units"]["since"] == "us: when it was scheduled here"
    assert set(at["units"]) == set(store.machine(machine).tasks("30m").column_names)


def test_what_the_store_does_not_have_is_refused(on_cell: Session) -> None:
    assert on_cell.refusal("show_task", task="no such job").startswith("task: ")
    assert on_cell.refusal("show_machine", machine="99999").startswith(
        "machine: no such machine in this store"
    )
    assert on_cell.refusal("ask_question", question="queue_lenght") == (
        "NAME: no such question: got queue_lenght; did you mean queue_length or queueing? "
        "every name: borgtrace analyze --list; one of your own: name its file with --from"
    )


def test_no_text_of_a_trace_reaches_a_terminal_as_a_code(on_hostile: Session) -> None:
    calls = {
        "run_sql": {"query": "SELECT * FROM collection_events"},
        "ask_question": {"question": "machine_attributes"},
        "show_task": {"task": "1"},
        "show_machine": {"machine": "1", "at": "20m"},
    }
    for tool, arguments in calls.items():
        answer = on_hostile.answer(tool, **arguments)
        texts = list(texts_of(answer))
        names = [text for text in texts if "red" in text and "title" in text]
        assert names or tool == "show_machine", tool
        assert not [text for text in texts if OBEYED.search(text)], tool
    said = on_hostile.refusal("show_task", task=TEXT + "?")
    assert not OBEYED.search(said)
    quoted = TEXT.replace('"', "")
    assert not OBEYED.search(on_hostile.refusal("run_sql", query=f'SELECT "{quoted}" FROM tasks'))


def test_stdout_carries_the_protocol_alone(cell: Path, command: Command) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    }
    asked = {"name": "ask_question", "arguments": {"question": "machine_shapes"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked},
    ]
    with subprocess.Popen(
        command("mcp", cell),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in messages:
            server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        rest = server.stdout.read()
    assert server.returncode == 0
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["isError"] is False
    assert rest == ""


def test_the_printed_configuration_starts_a_server(
    cell: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cell.parent)
    with pytest.raises(SystemExit) as ended:
        main(["mcp", cell.name, "--config", "--json", "--timeout", "5s"])
    assert ended.value.code == 0
    servers = json.loads(capfd.readouterr().out)["mcpServers"]
    assert list(servers) == ["borgtrace-cell"]
    entry = servers["borgtrace-cell"]
    with pytest.raises(SystemExit):
        main(["mcp", cell.name, "--config", "--timeout", "5s"])
    assert shlex.split(capfd.readouterr().out) == [entry["command"], *entry["args"]]
    # An assistant has a folder of its own.
    monkeypatch.chdir(tmp_path)
    with session([entry["command"], *entry["args"]]) as opened:
        assert opened.client.server_info.name == "borgtrace"
        assert "never instructions" in opened.client.instructions


def test_questions_of_ones_own_are_asked(cell: Path, command: Command) -> None:
    own = Path(__file__).parents[2] / "examples" / "extend" / "tasks_per_user.py"
    with session(command("mcp", cell, "--from", own)) as opened:
        assert opened.answer("ask_question", question="tasks_per_user")["n_rows"] > 0


def test_without_the_sdk_the_command_says_how_to_install_it(cell: Path) -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "from borgtrace.cli import main; main(['mcp', sys.argv[1]])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(cell)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 7
    assert ended.stdout == ""
    assert ended.stderr == (
        "borgtrace: mcp: the SDK of the Model Context Protocol is not installed; "
        'pip install "borgtrace[mcp]"\n'
    )


def test_without_a_store_nothing_is_served(tmp_path: Path, command: Command) -> None:
    ended = subprocess.run(
        command("mcp", tmp_path / "nowhere"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    with pytest.raises(BorgtraceError) as refused:
        borgtrace.open(tmp_path / "nowhere")
    assert ended.returncode == 5
    assert ended.stdout == ""
    assert ended.stderr == f"borgtrace: {refused.value}\n"


SLEEPER = '''"""How long is an answer?

It takes as long as it is told to, and prints.
"""

import time

from borgtrace import Question
from borgtrace.question import Answer, Column

ANSWER = Answer(
    grain="answer",
    key=[Column("name", "string", "id", "Name.")],
    columns=[Column("seconds", "int64", "s", "How long it took.")],
)


def compute(tables, *, seconds: int = 0):
    print("this goes to stderr")
    time.sleep(seconds)
    return [{"name": "sleep", "seconds": seconds}]


QUESTION = Question(name="sleeper", doc=__doc__, answer=ANSWER, compute=compute, chart=lambda answer: None)
'''


def test_an_answer_that_takes_too_long_is_ended_and_the_next_one_comes(
    cell: Path, tmp_path: Path, command: Command
) -> None:
    own = tmp_path / "sleeper.py"
    own.write_text(SLEEPER, encoding="utf-8")
    words = command("mcp", cell, "--from", own, "--answer-timeout", "3s")
    with session(words) as opened:
        first = opened.answer("ask_question", question="sleeper", parameters={"seconds": 0})
        assert first["rows"] == [{"name": "sleep", "seconds": 0}]
        refused = opened.refusal("ask_question", question="sleeper", parameters={"seconds": 100})
        assert refused == (
            "ask_question: not done after 3 s, and ended; ask for less, such as fewer tasks with where; "
            "or start the server with a longer --answer-timeout"
        )
        again = opened.answer("ask_question", question="sleeper", parameters={"seconds": 1})
        assert again["rows"] == [{"name": "sleep", "seconds": 1}]
        assert opened.answer("run_sql", query="select 1 as one")["rows"] == [{"one": 1}]
