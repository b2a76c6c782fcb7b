"""Servers of others: an S3 server that knows its keys, and one that answers as Azure's blobs do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.errors import StoreError
from borgtrace.storage import RemotePath, as_path, remote, upload
from borgtrace.store.columns import DEFAULT_COLUMNS
from tests.node_servers import azurite, s3rver, started

pytestmark = pytest.mark.scale

S3, ABFS = "s3://cells/store", "abfs://cells@devstoreaccount1.dfs.core.windows.net/store"
AZURITE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
"""The key that everybody's Azurite has."""


def put(store: Path, url: str) -> None:
    out = as_path(url)
    assert isinstance(out, RemotePath)
    upload(store, out)


def same(store: Path, url: str) -> None:
    """Compare tables and traces of a store with those at a URL."""
    here = borgtrace.open(store)
    there = borgtrace.open(url)
    for name in here.manifest.tables:
        query = f"SELECT * FROM {name}"
        assert there.sql(query).equals(here.sql(query))
    theirs = there.traces()
    ours = here.traces()
    for name in DEFAULT_COLUMNS:
        assert theirs.columns[name].tobytes() == ours.columns[name].tobytes()


def run(*words: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


@pytest.fixture
def s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # It knows no trailing checksums, which the client sends unless it is told.
    monkeypatch.setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "S3RVER")
    with started(*s3rver(tmp_path / "s3")) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
        yield
    remote.open_file_system.cache_clear()


def key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", name)
    remote.open_file_system.cache_clear()


def test_a_key_that_the_server_does_not_know_is_refused_and_the_right_one_is_let_in(
    s3: None,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    key("S3RVER", monkeypatch)
    put(small, S3)
    same(small, S3)
    key("nobody", monkeypatch)
    way_out = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to an account that may do this"
    assert run("sql", S3, "SELECT 1") == 5
    message = f"borgtrace: {S3}: access denied: got INVALID_ACCESS_KEY_ID; {way_out}\n"
    assert capsys.readouterr() == ("", message)
    with pytest.raises(StoreError) as caught:
        put(small, S3)
    assert str(caught.value).endswith(f": access denied: got INVALID_ACCESS_KEY_ID; {way_out}")
    assert run("export", str(small), "s3://cells/out", "--layout", "jobs") == 5


def azure(address: str, account_key: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let URLs of a container lead to a server that has no TLS, which no URL can say along with a key."""
    from pyarrow.fs import AzureFileSystem

    hosts = {f"{kind}_storage_authority": address for kind in ("blob", "dfs")}
    schemes = {f"{kind}_storage_scheme": "http" for kind in ("blob", "dfs")}
    system = AzureFileSystem(
        "devstoreaccount1",
        account_key=account_key,
        **hosts,
        **schemes,
    )

    def open_file_system(url: str) -> tuple[Any, str]:
        container = url.removeprefix("abfs://").partition("@")[0]
        # As `FileSystem.from_uri` has it, with the slash.
        return system, f"{container}/"

    monkeypatch.setattr(remote, "open_file_system", open_file_system)
    return system


def test_a_store_in_a_container_of_azure_answers_as_here_and_refusals_are_one_line(
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with started(*azurite(tmp_path / "azure")) as address:
        azure(address, AZURITE_KEY, monkeypatch).create_dir("cells")
        put(small, ABFS)
        same(small, ABFS)
        assert run("verify", ABFS) == 0
        assert run("dataset", ABFS, ABFS.replace("/store", "/set"), "--min-length", "1") == 0
        assert run("export", str(small), ABFS.replace("/store", "/jobs"), "--layout", "jobs") == 0
        capsys.readouterr()
        nobody = ABFS.replace("cells", "nobody")
        with pytest.raises(StoreError) as caught:
            put(small / "manifest.json", f"{nobody}/x")
        missing = (
            "there is no such container: got ContainerNotFound; check its name and the account"
        )
        assert str(caught.value) == f"{nobody}/x: {missing}"
        azure(address, f"AAAA{AZURITE_KEY[4:]}", monkeypatch)
        assert run("sql", ABFS, "SELECT 1") == 5
        way_out = "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or run az login"
        denied = f"access denied: got AuthorizationFailure; {way_out}"
        assert capsys.readouterr() == ("", f"borgtrace: {ABFS}: {denied}\n")
    assert run("sql", ABFS, "SELECT 1") == 5
    unreached = (
        "it cannot be reached: got NETWORK_CONNECTION; check the network, and AWS_ENDPOINT_URL"
    )
    assert capsys.readouterr() == ("", f"borgtrace: {ABFS}: {unreached}\n")
