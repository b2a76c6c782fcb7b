"""What is written to a bucket is made here first, and arrives whole: last what says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.errors import StoreError, UsageError
from borgtrace.storage import (
    RemotePath,
    as_path,
    new_folder,
    outputs,
    replacing,
    upload,
    write_file,
)
from borgtrace.storage.outputs import put_file
from tests.bucket import Bucket


def put(bucket: Bucket) -> list[str]:
    """Return what was written, without the mark of an unfinished folder and the folder that Arrow keeps."""
    names = []
    for method, path, _ in bucket.requests:
        name = path.partition("?")[0].removeprefix("/cells/")
        if method == "PUT" and not name.endswith(("/upload.incomplete", "/")):
            names.append(name)
    return names


def test_a_file_is_copied_when_it_is_whole(bucket: Bucket) -> None:
    write_file(as_path(f"{bucket.url}/out/page.html"), "ä")
    assert (bucket.root / "out" / "page.html").read_text() == "ä"
    page = as_path(f"{bucket.url}/out/page.html")
    with pytest.raises(ZeroDivisionError), replacing(page) as draft:
        draft.write_text(str(1 / 0))
    assert (bucket.root / "out" / "page.html").read_text() == "ä"


@pytest.mark.parametrize("last", ["manifest.json", "meta.json", "index.csv"])
def test_a_folder_arrives_with_what_vouches_for_it_at_the_end(last: str, bucket: Bucket) -> None:
    with new_folder(as_path(f"{bucket.url}/store")) as draft:
        (draft / "tasks").mkdir()
        for name in (last, "tasks/b", "tasks/a", f"tasks/{last}", "zzz"):
            (draft / name).write_text(name)
    assert put(bucket)[-1] == f"store/{last}"
    for name in (last, "tasks/b", "tasks/a", f"tasks/{last}", "zzz"):
        assert (bucket.root / "store" / name).read_text() == name


@pytest.mark.parametrize("name", ["a.csv.gz", "a.zst", "a.bz2", "a"])
def test_a_file_arrives_as_it_is_whatever_its_name(name: str, bucket: Bucket) -> None:
    write_file(as_path(f"{bucket.url}/{name}"), b"bytes")
    assert (bucket.root / name).read_bytes() == b"bytes"


def test_what_says_that_files_are_synthetic_arrives_before_them(bucket: Bucket) -> None:
    with new_folder(as_path(f"{bucket.url}/raw")) as draft:
        for name in ("machine_events", "truth.json", "a"):
            (draft / name).write_text(name)
    assert put(bucket)[0] == "raw/truth.json"
    assert len(put(bucket)) == 3


def test_a_place_that_holds_something_is_refused_before_any_work(bucket: Bucket) -> None:
    (bucket.root / "out").mkdir()
    (bucket.root / "out" / "x").write_text("")
    with pytest.raises(UsageError) as caught, new_folder(as_path(f"{bucket.url}/out")):
        pytest.fail("began")
    got = "expected a new folder, got 1 entries; name another folder, or remove this one"
    assert str(caught.value) == f"s3://cells/out: holds something else: {got}"
    assert put(bucket) == []


def test_nothing_is_left_of_a_folder_that_failed(bucket: Bucket) -> None:
    with pytest.raises(ZeroDivisionError), new_folder(as_path(f"{bucket.url}/out")) as draft:
        (draft / "x").write_text(str((draft / "y").write_text("") / 0))
    assert list(bucket.root.iterdir()) == []


@pytest.mark.parametrize("ends", [OSError, KeyboardInterrupt])
def test_what_was_copied_of_a_folder_that_failed_is_removed(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, ends: type[BaseException]
) -> None:
    """The command can be run again: the place is free."""
    copied = []

    def cut_off(source: Path, out: RemotePath) -> None:
        copied.append(out.name)
        if len(copied) == 3:
            raise ends
        put_file(source, out)

    out = as_path(f"{bucket.url}/out")
    with monkeypatch.context() as patched:
        patched.setattr(outputs, "put_file", cut_off)
        with pytest.raises(ends):
            write_three(out)
    assert not [path for path in bucket.root.rglob("*") if path.is_file()]
    with new_folder(out) as draft:
        (draft / "a").write_text("again")
    assert files_of(bucket) == ["out/a"]


def write_three(out: Path) -> None:
    with new_folder(out) as draft:
        for name in ("a", "b", "c"):
            (draft / name).write_text(name)


def test_what_a_killed_command_left_is_replaced(bucket: Bucket) -> None:
    """Nobody could clean up, so the mark tells whose it is."""
    (bucket.root / "out").mkdir()
    for name in ("upload.incomplete", "old"):
        (bucket.root / "out" / name).write_text(name)
    with new_folder(as_path(f"{bucket.url}/out")) as draft:
        (draft / "new").write_text("")
    assert files_of(bucket) == ["out/new"]


def files_of(bucket: Bucket) -> list[str]:
    paths = bucket.root.rglob("*")
    return sorted(path.relative_to(bucket.root).as_posix() for path in paths if path.is_file())


def test_a_bucket_that_cannot_be_written_to_is_named(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    out = as_path("s3://nobody/x")
    assert isinstance(out, RemotePath)
    with pytest.raises(StoreError) as caught:
        upload(tmp_path / "x", out)
    assert str(caught.value) == (
        "s3://nobody/x: there is no such bucket: got NO_SUCH_BUCKET; "
        "check its name, and AWS_ENDPOINT_URL"
    )
