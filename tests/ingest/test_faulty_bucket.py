"""What goes to a bucket through faults arrives whole, or nothing vouches for it; and the same command mends it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.errors import StoreError
from borgtrace.ingest import IngestOptions, ingest
from tests.bucket import KEY, SECRET, serving
from tests.faulty import FAULTS, Mortal, Proxy, behind_proxy
from tests.ingest.raw import write_cell

pytestmark = pytest.mark.wide

URL = "s3://cells/store"
UNREACHED = "it cannot be reached: got NETWORK_CONNECTION; check the network, and AWS_ENDPOINT_URL"


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    write_cell(folder)
    return folder


@pytest.fixture(scope="module")
def here(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("here") / "store"
    ingest([raw], store, IngestOptions(jobs=1))
    return store


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a bucket."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(tmp_path / "s3", "cells", monkeypatch) as bucket:
        yield bucket.root


def run(*words: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("fault", FAULTS)
def test_an_export_whose_requests_fail_now_and_then_is_whole(
    fault: str,
    here: Path,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with behind_proxy(monkeypatch) as proxy:
        # Not the POST that ends an upload: a server may have forgotten it when it is asked again.
        proxy.every(2, fault, "PUT")
        assert run("export", str(here), "s3://cells/out", "--layout", "jobs") == 0
    assert fault in proxy.done
    assert run("export", str(here), str(tmp_path / "out"), "--layout", "jobs") == 0
    assert files(root / "out") == files(tmp_path / "out")


def broken(proxy: Proxy, nth: int) -> None:
    """Let nothing arrive from the `nth` request on that writes."""
    writes = 0

    def fault(_: int, method: str, path: str) -> str:
        nonlocal writes
        writes += method in ("PUT", "POST")
        return "drop" if writes > nth else ""

    proxy.fault = fault


@pytest.mark.parametrize("nth", [0, pytest.param(7, marks=pytest.mark.scale), 25])
def test_a_store_whose_copy_fails_has_no_manifest_and_the_same_command_makes_it_whole(
    nth: int,
    raw: Path,
    here: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with behind_proxy(monkeypatch, is_patient=False) as proxy:
        broken(proxy, nth)
        assert run("ingest", str(raw), "--store", URL, "--jobs", "1") == 5
        said = capsys.readouterr().err.splitlines()[-1]
        assert said.startswith(f"borgtrace: {URL}/")
        assert said.endswith(f": {UNREACHED}")
        assert not (root / "store" / "manifest.json").exists()
        proxy.fault = lambda *_: ""
        with pytest.raises(StoreError, match=r"half-published|there is no such store"):
            borgtrace.open(URL)
        assert run("ingest", str(raw), "--store", URL, "--jobs", "1") == 0
        assert borgtrace.open(URL).digest == borgtrace.open(here).digest
    written, whole = files(root / "store"), files(here)
    del written["manifest.json"], whole["manifest.json"]
    assert written == whole


def test_a_manifest_that_cannot_be_written_leaves_none(
    raw: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with behind_proxy(monkeypatch, is_patient=False) as proxy:
        proxy.fault = lambda _, method, path: (
            "503" if path.endswith("manifest.json") and method in ("PUT", "POST") else ""
        )
        assert run("ingest", str(raw), "--store", URL, "--jobs", "1") == 5
        busy = "the server is busy: got SLOW_DOWN; run the command again later"
        assert capsys.readouterr().err.splitlines()[-1] == f"borgtrace: {URL}/manifest.json: {busy}"
        assert not (root / "store" / "manifest.json").exists()
        proxy.fault = lambda *_: ""
        assert run("ingest", str(raw), "--store", URL, "--jobs", "1") == 0


@pytest.fixture
def mortal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Mortal, Proxy]]:
    """A server that can be killed, and the proxy before it."""
    pytest.importorskip(
        "localbucket",
        reason="localbucket, an S3 server for tests, is not installed",
    )
    (tmp_path / "s3" / "cells").mkdir(parents=True)
    server = Mortal(tmp_path / "s3")
    for name, value in {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "AWS_ENDPOINT_URL": f"http://{server.address}",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    with behind_proxy(monkeypatch, is_patient=False) as proxy:
        yield server, proxy
    server.kill()


def kill_at(server: Mortal, proxy: Proxy, nth: int) -> None:
    """Kill the server when the `nth` request from now on comes."""
    first = len(proxy.done)

    def fault(number: int, *_: str) -> str:
        if number == first + nth:
            server.kill()
        return ""

    proxy.fault = fault


def bring_back(server: Mortal, proxy: Proxy) -> None:
    server.start()
    proxy.server, proxy.fault = server.address, lambda *_: ""


def test_a_server_that_is_killed_is_one_line_and_the_same_command_goes_on_when_it_is_back(
    mortal: tuple[Mortal, Proxy],
    raw: Path,
    here: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server, proxy = mortal
    command = ("ingest", str(raw), "--store", URL, "--jobs", "1")
    for nth in (12, 40):
        kill_at(server, proxy, nth)
        assert run(*command) == 5
        assert capsys.readouterr().err.splitlines()[-1].endswith(f": {UNREACHED}")
        assert not (tmp_path / "s3" / "cells" / "store" / "manifest.json").exists()
        bring_back(server, proxy)
    assert run(*command) == 0
    assert borgtrace.open(URL).digest == borgtrace.open(here).digest
    capsys.readouterr()
    question = ("sql", URL, "SELECT count(*), sum(average_cpu) FROM instance_usage")
    assert run("sql", str(here), *question[2:]) == 0
    answer = capsys.readouterr().out
    kill_at(server, proxy, 30)
    assert run(*question) == 5
    assert capsys.readouterr() == ("", f"borgtrace: {URL}: {UNREACHED}\n")
    bring_back(server, proxy)
    assert run(*question) == 0
    assert capsys.readouterr().out == answer
