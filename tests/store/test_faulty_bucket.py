"""A server that fails now and then costs patience and no number; one that fails for good is one line with the URL."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.errors import StoreError
from tests.bucket import serving
from tests.faulty import FAULTS, Proxy, behind_proxy

pytestmark = pytest.mark.wide

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
    with behind_proxy(monkeypatch, is_patient=False) as proxy:
        yield proxy


def as_bytes(arrays: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in arrays.items()}


def answers(path: Path | str) -> list[Any]:
    """Return an answer of SQL, a trace, and an epoch over all traces in an order of its own."""
    store = borgtrace.open(path)
    n_tasks = len(store.offsets) - 1
    order = np.random.default_rng(0).permutation(n_tasks)
    return [
        store.sql(SUM),
        as_bytes(store.trace(10, 0)),
        as_bytes(store.traces(order).columns),
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
        assert answers(URL) == answers(small)
    assert proxy.done.count(fault) > 3


@pytest.mark.parametrize("fault", FAULTS[:-1])
def test_what_fails_for_good_is_one_line_with_the_url(fault: str, proxy: Proxy) -> None:
    # One whose views are made, and one that was only opened.
    ready = borgtrace.open(URL)
    ready.sql("SELECT 1")
    opened = borgtrace.open(URL)
    proxy.every(1, fault)
    of_get = GETS[fault]
    # A HEAD cannot be cut: it has no body.
    of_head = GETS[fault] if fault == "cut" else HEADS[fault]
    assert refusal(lambda: borgtrace.open(URL)) == f"{URL}/manifest.json: {of_head}"
    assert refusal(lambda: opened.trace(10, 0)) == f"{URL}: {of_get}"
    assert refusal(lambda: opened.sql(SUM)) == f"{URL}: {of_get}"
    assert refusal(lambda: ready.sql(SUM)) == f"{URL}: {of_head}"


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(StoreError) as caught:
        action()
    return str(caught.value)


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
        """Exit code, output and messages of the command, which writes to a folder of that name."""
        out = str(tmp_path / name)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache-{name}"))
        with pytest.raises(SystemExit) as ended:
            main([out if word == "OUT" else word for word in COMMANDS[command]])
        captured = capsys.readouterr()
        code: Any = ended.value.code
        return code, captured.out.replace(out, "OUT"), captured.err

    right_code, right_output, _ = run("whole")
    assert right_code == 0
    n_requests = len(proxy.done)
    for share in (0.1, 0.5, 0.9):
        first = len(proxy.done) + int(share * n_requests)
        proxy.fault = lambda number, *_, first=first: "503" if number >= first else ""  # type: ignore[misc]
        code, output, messages = run(f"at-{share}")
        assert (code, output) in ((5, ""), (0, right_output))
        if code:
            lines = [line for line in messages.splitlines() if line.startswith("borgtrace: ")]
            assert lines in (
                [f"borgtrace: {URL}: {GETS['503']}"],
                [f"borgtrace: {URL}: {HEADS['503']}"],
            )
            assert "Traceback" not in messages
            assert not (tmp_path / f"at-{share}").exists()
