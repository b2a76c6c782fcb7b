"""A server that fails now and then costs patience and no number; one that fails for good is one line with the URL."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.errors import StoreError
from tests.bucket import serving
from tests.faulty import FAULTS, Proxy, behind_proxy

URL = "s3://cells/store"
SUM = "SELECT type, count(*), sum(average_cpu) AS cpu FROM instance_usage, machine_events GROUP BY type ORDER BY type"
LATER = "run the command again later"
UNREACHED = "it cannot be reached: got NETWORK_CONNECTION; check the network, and AWS_ENDPOINT_URL"
GETS = {
    "500": f"the server fails: got INTERNAL_FAILURE; {LATER}",
    "503": f"the server is busy: got SLOW_DOWN; {LATER}",
    **dict.fromkeys(("drop", "lose", "cut"), UNREACHED),
}
"""What is said of a GET that fails for good."""
HEADS = GETS | {
    fault: f"the server fails: got HTTP status {fault}; {LATER}" for fault in ("500", "503")
}
"""Answers to HEAD have no body, which would say more."""


@pytest.fixture
def place(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A bucket that holds the small store."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(tmp_path / "s3", "cells", monkeypatch) as bucket:
        shutil.copytree(small, bucket.root / "store")
        yield


@pytest.fixture
def proxy(place: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy before that bucket, whose clients try everything once."""
    with behind_proxy(monkeypatch, is_patient=False) as made:
        yield made


def asked(store: Path | str) -> list[Any]:
    """Return an answer of SQL, a trace, and an epoch over all traces in an order of its own."""
    opened = borgtrace.open(store)
    epoch = opened.traces(np.random.default_rng(0).permutation(len(opened.offsets) - 1))
    trace = {name: column.tobytes() for name, column in opened.trace(10, 0).items()}
    return [
        opened.sql(SUM),
        trace,
        {name: column.tobytes() for name, column in epoch.columns.items()},
    ]


@pytest.mark.parametrize("fault", FAULTS)
def test_answers_are_the_same_when_requests_fail_on_the_way(
    fault: str,
    place: None,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with behind_proxy(monkeypatch) as proxy:
        proxy.every(19, fault)
        assert asked(URL) == asked(small)
    assert proxy.done.count(fault) > 3


@pytest.mark.parametrize("fault", FAULTS[:-1])
def test_what_fails_for_good_is_one_line_with_the_url(fault: str, proxy: Proxy) -> None:
    # One whose views are made, and one that was only opened.
    ready, opened = borgtrace.open(URL), borgtrace.open(URL)
    ready.sql("SELECT 1")
    proxy.every(1, fault)
    for ask, said in (
        (
            lambda: borgtrace.open(URL),
            f"{URL}/manifest.json: {GETS[fault] if fault == 'cut' else HEADS[fault]}",
        ),
        (lambda: opened.trace(10, 0), f"{URL}: {GETS[fault]}"),
        (lambda: opened.sql(SUM), f"{URL}: {GETS[fault]}"),
        (lambda: ready.sql(SUM), f"{URL}: {GETS[fault] if fault == 'cut' else HEADS[fault]}"),
    ):
        with pytest.raises(StoreError) as caught:
            ask()
        assert str(caught.value) == said


COMMANDS: dict[str, list[str]] = {
    "sql": ["sql", URL, SUM],
    "trace": ["trace", URL, "10", "0"],
    "analyze": ["analyze", URL, "run_times"],
    "dataset": ["dataset", URL, "OUT", "--min-length", "1"],
    "export": ["export", URL, "OUT", "--layout", "jobs"],
}


@pytest.mark.parametrize(
    "command",
    [
        *list(COMMANDS)[:2],
        *(pytest.param(name, marks=pytest.mark.scale) for name in list(COMMANDS)[2:]),
    ],
)
def test_a_command_ends_with_its_answer_or_with_one_line_wherever_the_server_begins_to_fail(
    command: str,
    proxy: Proxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(name: str) -> tuple[int, str, str]:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache-{name}"))
        with pytest.raises(SystemExit) as ended:
            main([str(tmp_path / name) if word == "OUT" else word for word in COMMANDS[command]])
        captured = capsys.readouterr()
        return ended.value.code, captured.out.replace(str(tmp_path / name), "OUT"), captured.err  # type: ignore[return-value]

    answer, whole = run("whole"), len(proxy.done)
    assert answer[0] == 0
    for share in (0.1, 0.5, 0.9):
        first = len(proxy.done) + int(share * whole)
        proxy.fault = lambda number, *_, first=first: "503" if number >= first else ""  # type: ignore[misc]
        code, out, said = run(f"at-{share}")
        assert (code, out) in ((5, ""), answer[:2])
        if code:
            assert [line for line in said.splitlines() if line.startswith("borgtrace: ")] in (
                [f"borgtrace: {URL}: {GETS['503']}"],
                [f"borgtrace: {URL}: {HEADS['503']}"],
            )
            assert "Traceback" not in said
            assert not (tmp_path / f"at-{share}").exists()
