"""The table of what was guessed of own data, and the question before anything is stored."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from borgtrace.cli.guesses import show_guess
from borgtrace.cli.harmless_console import HarmlessConsole
from borgtrace.ingest.find.guessed_values import columns_with_values
from borgtrace.ingest.find.raw_files import find_raw_files
from borgtrace.ingest.find.sniffing import sniff

USAGE = """\
namespace,pod,timestamp,cpu_usage,cpu_request,memory,note
web,web-0,2026-11-01T00:00:00Z,250m,500m,1Gi,x\x1b[2J
web,web-0,2026-11-01 00:05:00,1,500m,512Mi,y
web,web-1,2026-11-01T00:00:00Z,50m,500m,131072,
"""


@pytest.fixture
def usage(tmp_path: Path) -> Path:
    """A file whose columns are guessed."""
    path = tmp_path / "usage.csv"
    path.write_text(USAGE)
    return path


def test_a_guess_as_a_table(usage: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_guess(find_raw_files([usage], time_zone="Europe/Berlin"), HarmlessConsole(width=120))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[:15] == [
        "column       role         unit      kind     values",
        "namespace    task                            web",
        "pod          task                            web-0",
        "                                             web-1",
        "timestamp    time         iso                2026-11-01T00:00:00Z → 2026-11-01 01:00:00 CET",
        "                                             2026-11-01 00:05:00 → 2026-11-01 00:05:00 CET",
        "cpu_usage    cpu          quantity  average  250m → 0.25 cores",
        "                                             1 → 1 core",
        "                                             50m → 0.05 cores",
        "cpu_request  cpu_request  quantity           500m → 0.5 cores",
        "memory       memory       quantity  average  1Gi → 1 GiB",
        "                                             512Mi → 512 MiB",
        "                                             131072 → 128 KiB",
        "note         (not read)                      x\\u001b[2J",
        "                                             y",
    ]
    assert (
        "column cpu_usage: guessed to be the mean over each step in amounts that name their unit"
        in lines
    )


def test_columns_of_several_files_are_told_apart(
    tmp_path: Path, usage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = tmp_path / "pods.csv"
    pods.write_text("pod,memory_request\nweb-0,1Gi\n")
    show_guess(find_raw_files([usage, pods]), HarmlessConsole(width=120))
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "pod usage: task web-0" in lines
    assert "pod tasks: task web-0" in lines
    assert "memory_request tasks: memory_request quantity 1Gi → 1 GiB" in lines


@pytest.mark.parametrize(
    ("header", "rows", "samples"),
    [
        # Seconds from a start of their own, and millicores.
        (
            "task,time,cpu_m",
            ["a,0,250", "a,300,1500"],
            {
                "time": [("0", "0us"), ("300", "5m")],
                "cpu_m": [("250", "0.25 cores"), ("1500", "1.5 cores")],
            },
        ),
        # Seconds since 1970: 1,793,491,200 s are 20,758 days, 2026-11-01; a counter of CPU seconds.
        (
            "pod,ts,container_cpu_usage_seconds_total",
            ["a,1793491200,0", "a,1793491500,7.5"],
            {
                "ts": [
                    ("1793491200", "2026-11-01 00:00:00 UTC"),
                    ("1793491500", "2026-11-01 00:05:00 UTC"),
                ],
                "container_cpu_usage_seconds_total": [("0", "0 s of CPU"), ("7.5", "7.5 s of CPU")],
            },
        ),
        # What will be refused, and what is missing.
        (
            "task,time,cpu",
            ["a,0,-1", "a,300,NaN", "a,600,0.5"],
            {"cpu": [("-1", "refused"), ("NaN", "no value"), ("0.5", "0.5 cores")]},
        ),
    ],
)
def test_what_texts_become(
    tmp_path: Path, header: str, rows: list[str], samples: dict[str, list[tuple[str, str]]]
) -> None:
    path = tmp_path / "own.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    columns = columns_with_values(sniff(path))
    assert {
        column.name: list(column.samples) for column in columns if column.name in samples
    } == samples


def test_texts_of_an_open_question_become_nothing_yet(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("task,time,cpu_percent\na,0,50\na,300,60\n")
    columns = columns_with_values(sniff(path))
    assert columns[2].samples == (("50", ""), ("60", ""))


OnATerminal = Callable[..., tuple[int, str]]
"""From the words of a command, and what is typed, to its exit code and what the terminal shows."""


@pytest.fixture
def on_a_terminal(command: Callable[..., list[str]]) -> OnATerminal:
    """Return a function that runs borgtrace on a terminal of its own."""

    def run(*words: str | Path, answer: str = "") -> tuple[int, str]:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command(*words),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "COLUMNS": "120", "TERM": "xterm"},
        )
        os.close(theirs)
        os.write(ours, answer.encode())
        shown = b""
        # At its end a terminal gives an error.
        with suppress(OSError):
            while piece := os.read(ours, 4096):
                shown += piece
        os.close(ours)
        return process.wait(), shown.decode("utf-8", "replace")

    return run


def test_a_terminal_is_asked_before_anything_is_stored(
    tmp_path: Path, usage: Path, on_a_terminal: OnATerminal
) -> None:
    store = tmp_path / "store"
    code, shown = on_a_terminal(
        "ingest", usage, "--capacity", "8cores,32GiB", "--store", store, answer="\n"
    )
    assert code == 1
    assert "250m → 0.25 cores" in shown
    assert "Ingest like this? [y/N]" in shown
    assert (
        f"Nothing was stored. To correct the guess: borgtrace dialect sniff {usage} > own.toml, "
        "then --dialect own.toml" in shown
    )
    assert not store.exists()


@pytest.mark.parametrize(("options", "answer"), [(["--yes"], ""), ([], "y\n")])
def test_an_accepted_guess_is_ingested(
    tmp_path: Path, usage: Path, on_a_terminal: OnATerminal, options: list[str], answer: str
) -> None:
    store = tmp_path / "store"
    code, shown = on_a_terminal(
        "ingest", usage, "--capacity", "8cores,32GiB", "--store", store, *options, answer=answer
    )
    assert code == 0, shown
    assert "250m → 0.25 cores" in shown
    assert ("Ingest like this?" in shown) == (not options)
    assert (store / "manifest.json").exists()


@pytest.mark.wide
@pytest.mark.parametrize(
    ("answer", "code"),
    [("n\n", 1), ("\n", 1)],
)
def test_a_command_of_own_usage_asks_as_well(
    usage: Path, on_a_terminal: OnATerminal, answer: str, code: int
) -> None:
    exit_code, shown = on_a_terminal("colocate", "--usage", usage, "--capacity", "8", answer=answer)
    assert exit_code == code
    assert "250m → 0.25 cores" in shown
    assert "Go on like this? [y/N]:" in shown
    assert "Nothing was stored." in shown
