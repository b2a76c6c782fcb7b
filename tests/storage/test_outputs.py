"""What is written to a bucket is made here first, and arrives whole: last what says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.errors import StoreError, UsageError
from borgtrace.storage import RemotePath, as_path, new_folder, replacing, upload, write_file
from tests.bucket import Bucket


def put(bucket: Bucket) -> list[str]:
    return [
        path.partition("?")[0].removeprefix("/cells/")
        for method, path, _ in bucket.requests
        if method == "PUT"
    ]


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
