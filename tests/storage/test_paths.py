"""URLs are refused by name, by every command and every function that cannot read or write there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.errors import UsageError
from borgtrace.storage import as_local_path, as_path, write_file

REFUSAL = (
    "a URL: expected a file or folder of this machine; copy it here first, or mount the bucket"
)


@pytest.mark.parametrize("place", ["store", "/data/a:b/store", "./s3", "data/~/c:d"])
def test_a_path_is_a_path(place: str) -> None:
    assert as_local_path(place) == Path(place)


@pytest.mark.parametrize("place", ["~", "~/store", "x:y", "a: b/c", "c:/store", "time=00:10/part"])
def test_a_path_that_libraries_take_for_something_else_is_absolute(place: str) -> None:
    """Of the home directory or a URL."""
    assert as_local_path(place) == Path.cwd() / place


def test_a_name_that_is_not_utf_8_is_refused() -> None:
    for refuse in (as_local_path, as_path):
        with pytest.raises(UsageError) as caught:
            refuse(Path(os.fsdecode(b"store/caf\xe9")))
        assert str(caught.value) == (
            "store/caf\\xe9: the name is not UTF-8: expected a name that all programs can read; "
            "rename it, or make a link to it"
        )


@pytest.mark.parametrize(
    "url", ["s3://b/store", "gs://b", "abfs://c@a.dfs.core.windows.net/s", "file:///d", "S3://b/s"]
)
def test_a_url_is_refused_by_its_name(url: str) -> None:
    for place in (url, Path(url)):
        with pytest.raises(UsageError) as caught:
            as_local_path(place)
        assert str(caught.value) in (
            f"{url}: {REFUSAL}",
            f"{url.replace(':///', '://')}: {REFUSAL}",
        )


def test_only_the_scheme_of_a_url_gets_its_second_slash_back() -> None:
    with pytest.raises(UsageError) as caught:
        as_local_path(Path("s3://b/gs://c"))
    assert str(caught.value) == f"s3://b/gs:/c: {REFUSAL}"


@pytest.mark.parametrize(
    "command",
    [
        ["ingest", "hdfs://b/raw", "--store", "store"],
        ["ingest", "raw", "ftp://b/raw", "--store", "store"],
        ["synth", "hdfs://b/raw"],
        ["synth", "raw", "--like", "hdfs://b/store"],
        ["info", "hdfs://b/raw"],
        ["fetch", "2011", "raw", "--store", "s3://b/raw"],
        ["fetch", "2011", "hdfs://b/raw"],
        ["subset", "hdfs://b/raw", "part"],
        ["subset", "store", "hdfs://b/raw"],
        ["colocate", "store", "--pool", "s3://b/raw"],
    ],
)
def test_no_command_makes_a_folder_of_a_url(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 2
    url = next(word for word in command if "://" in word)
    assert capsys.readouterr() == ("", f"borgtrace: {url}: {REFUSAL}\n")
    assert not list(tmp_path.iterdir())


def test_no_function_makes_a_folder_of_a_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = "hdfs://b/x"
    for call in (
        lambda: borgtrace.ingest.ingest([url], "store"),
        lambda: borgtrace.datasets.open(url),
        lambda: borgtrace.synth.generate(url),
        lambda: write_file(Path(url), ""),
    ):
        with pytest.raises(UsageError) as caught:
            call()
        assert str(caught.value) == f"{url}: {REFUSAL}"
    assert not list(tmp_path.iterdir())
