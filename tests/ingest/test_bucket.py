"""What is written to a bucket: a store, built here and copied there when it is whole, answers, exports, raw files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.errors import QualityError, StoreError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.ingestion import built_at
from borgtrace.storage import RemotePath
from tests.bucket import Bucket, serving
from tests.ingest.raw import HASH, USAGE, write_cell, write_part

URL, RAW = "s3://cells/store", "s3://cells/raw"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    write_cell(tmp_path / "raw")
    write_part(tmp_path / "raw", "machine_events", [f"0,5,0,{HASH},0.5,0.25"])
    return tmp_path / "raw"


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(tmp_path / "s3", "cells", monkeypatch) as made:
        yield made


def run(*command: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(list(command))
    return ended.value.code


def test_a_store_in_a_bucket_has_the_digest_of_one_here(
    raw: Path,
    bucket: Bucket,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = ingest([raw], tmp_path / "store", IngestOptions(jobs=1)).manifest
    assert run("ingest", str(raw), "--store", URL, "--jobs", "1") == 0
    assert "borgtrace info s3://cells/store" in capsys.readouterr().err
    assert here is not None
    assert borgtrace.open(URL).digest == here.digest
    assert [path.partition("?")[0] for method, path, _ in bucket.requests if method == "PUT"][
        -1
    ] == "/cells/store/manifest.json"
    # Nothing stays here, and a second ingest does not touch it.
    assert not list((tmp_path / "cache" / "borgtrace" / "unpublished").iterdir())
    assert run("ingest", str(raw), "--store", URL) == 2
    expected = "expected a place without one; name another place, or add to a store of this machine"
    assert capsys.readouterr().err.endswith(f"borgtrace: {URL}: holds a store: {expected}\n")


def test_where_a_store_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    held: list[str] = []
    monkeypatch.setattr(RemotePath, "exists", lambda path: str(path) in held)
    assert built_at(tmp_path / "store") == tmp_path / "store"
    found = [built_at(url) for url in (URL, f"{URL}2")]
    assert {path.parent for path in found} == {tmp_path / "cache" / "borgtrace" / "unpublished"}
    assert found[0] != found[1]
    held.append(f"{URL}/manifest.json")
    with pytest.raises(UsageError) as caught:
        built_at(URL)
    way_out = "name another place, or add to a store of this machine"
    assert str(caught.value) == f"{URL}: holds a store: expected a place without one; {way_out}"
    assert built_at(f"{URL}2") == found[1]


def test_a_copy_that_was_cut_off_is_half_published_and_made_whole_by_the_same_command(
    raw: Path,
    bucket: Bucket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from borgtrace.storage import outputs

    class CopyCutError(Exception):
        """Stands for a kill."""

    put = outputs.put_file

    def cut(source: Path, out: Path) -> None:
        if out.name == "manifest.json":
            raise CopyCutError
        put(source, out)

    with monkeypatch.context() as patch:
        patch.setattr(outputs, "put_file", cut)
        with pytest.raises(CopyCutError):
            ingest([raw], URL, IngestOptions(jobs=1))
    with pytest.raises(StoreError) as caught:
        borgtrace.open(URL)
    what = "the store is half-published: expected manifest.json, got tables without it"
    assert str(caught.value) == f"{URL}: {what}; make one: borgtrace ingest SRC --store {URL}"
    result = ingest([raw], URL, IngestOptions(jobs=1))
    assert (len(result.staged), result.known) == (0, len(borgtrace.open(URL).manifest.sources))


def test_staged_files_wait_here_for_the_ingest_that_sorts_them(raw: Path, bucket: Bucket) -> None:
    assert ingest([raw], URL, IngestOptions(jobs=1, stage_only=True)).manifest is None
    assert list(bucket.root.iterdir()) == []
    assert ingest([], URL, IngestOptions(jobs=1)).manifest is not None
    assert borgtrace.open(URL).manifest.tables["machine_events"] == 1


def test_answers_and_exports_are_written_to_a_bucket(
    raw: Path,
    bucket: Bucket,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = str(tmp_path / "store")
    ingest([raw], store, IngestOptions(jobs=1))
    assert run("analyze", store, "machine_shapes", "--out", "s3://cells/answers") == 0
    assert {path.name for path in (bucket.root / "answers").iterdir()} >= {
        "machine_shapes.csv",
        "claims.csv",
    }
    capsys.readouterr()
    assert run("report", store, "s3://cells/page.html", "machine_shapes") == 0
    assert capsys.readouterr().out == "s3://cells/page.html\n"
    assert (bucket.root / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert run("export", store, "s3://cells/raw", "--layout", "raw") == 0
    assert len(list((bucket.root / "raw").rglob("*.gz"))) > 0


def test_strict_puts_the_store_into_its_bucket_and_fails(raw: Path, bucket: Bucket) -> None:
    write_part(raw, "task_usage", [*USAGE, "garbage"])
    with pytest.raises(QualityError) as error:
        ingest([raw], URL, IngestOptions(jobs=1, strict=True))
    assert str(error.value) == (
        f"{URL}: rows were refused: expected none, got 1; look at them: {URL}/quarantine, or omit --strict"
    )
    assert borgtrace.open(URL).manifest.tables["instance_usage"] == len(USAGE)


def test_a_cell_is_generated_into_a_bucket_and_checked_there(
    bucket: Bucket,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["--machines", "4", "--hours", "1", "--seed", "3"]
    for out in (RAW, str(tmp_path / "raw")):
        with pytest.raises(SystemExit) as ended:
            main(["synth", out, *options])
        assert ended.value.code == 0
    assert capsys.readouterr().err.count(f"Next: borgtrace ingest {RAW} --store store\n") == 1
    files = [
        {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        for folder in (bucket.root / "raw", tmp_path / "raw")
    ]
    assert files[0] == files[1]
    with pytest.raises(SystemExit) as ended:
        main(["synth", RAW, *options])
    assert ended.value.code == 2
    refusal = (
        "not an empty folder: expected a new or empty folder; choose another name or remove it"
    )
    assert capsys.readouterr().err == f"borgtrace: {RAW}: {refusal}\n"
    with pytest.raises(SystemExit):
        main(
            [
                "synth",
                RAW,
                "--check",
                "--json",
            ]
        )
    assert {"measure", "measured", "verdict"} <= json.loads(capsys.readouterr().out)[0].keys()
