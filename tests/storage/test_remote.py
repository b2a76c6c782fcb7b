"""A file of a bucket is read as a path; what goes wrong is one line that names the place."""

from __future__ import annotations

import pickle
from pathlib import Path, PosixPath
from types import SimpleNamespace

import pytest

from borgtrace.errors import StoreError, UsageError
from borgtrace.storage import RemotePath, as_path, remote
from borgtrace.storage.remote import expect_unchanged
from tests.bucket import KEY, SECRET, Bucket

pytestmark = pytest.mark.wide

WHERE = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://b/store", "s3://b/store"),
        ("S3://b/Store", "s3://b/Store"),
        ("s3:/b/store", "s3://b/store"),
        ("gs://b", "gs://b"),
        ("abfs://c@a.dfs.core.windows.net/s", "abfs://c@a.dfs.core.windows.net/s"),
        ("s3://b/gs://c", "s3://b/gs:/c"),
    ],
)
def test_a_url_of_a_bucket_is_a_remote_path_which_shows_as_it_was_written(
    text: str, shown: str
) -> None:
    for place in (text, Path(text)):
        path = as_path(place)
        assert type(path) is RemotePath
        assert str(path) == shown
        assert str(path / "tasks") == f"{shown}/tasks"
        assert pickle.loads(pickle.dumps(path)) == path


def test_a_bucket_of_google_that_cannot_be_reached_is_waited_for_for_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    urls: list[str] = []

    def from_uri(url: str) -> tuple[None, str]:
        urls.append(url)
        return None, "b"

    monkeypatch.setattr("pyarrow.fs.FileSystem", SimpleNamespace(from_uri=from_uri))
    for scheme in ("gs", "s3", "abfs"):
        remote.open_file_system.cache_clear()
        assert as_path(f"{scheme}://b/store").located == (None, "b/store")  # type: ignore[attr-defined]
    remote.open_file_system.cache_clear()
    assert urls == ["gs://b?retry_limit_seconds=20", "s3://b", "abfs://b"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("file:///d/x", "/d/x"),
        ("d/x", "d/x"),
        ("/d/x", "/d/x"),
        ("./s3", "s3"),
    ],
)
def test_any_other_place_is_a_path_of_this_machine(text: str, path: str) -> None:
    place = as_path(text)
    assert type(place) is PosixPath
    assert str(place) == path


def test_a_url_that_holds_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(UsageError) as caught:
        as_path(f"s3://{KEY}:{SECRET}@b/store")
    assert str(caught.value) == (
        f"s3://…: the URL holds credentials; leave them to the environment: {WHERE}"
    )


def test_what_is_in_a_bucket_is_found_and_read(bucket: Bucket) -> None:
    (bucket.root / "store" / "tasks").mkdir(parents=True)
    (bucket.root / "store" / "a.json").write_text("ä")
    (bucket.root / "store" / "tasks" / "b.parquet").write_bytes(b"12345")
    store = as_path(f"{bucket.url}/store")
    assert (store / "a.json").exists()
    assert (store / "tasks").exists()
    assert not (store / "none").exists()
    assert (store / "a.json").read_text() == "ä"
    with (store / "tasks" / "b.parquet").open("rb") as file:
        assert file.read() == b"12345"
    assert (store / "tasks" / "b.parquet").stat().st_size == 5
    with pytest.raises(FileNotFoundError):
        (store / "none").stat()
    assert isinstance(store, RemotePath)
    sizes = {path.name: entry.size for path, entry in store.listing().items()}
    assert sizes == {
        "a.json": 2,
        "tasks": None,
        "b.parquet": 5,
    }
    assert [str(path) for path in store.glob("*/*.parquet")] == ["s3://cells/store/tasks/b.parquet"]
    assert list(store.glob("*.parquet")) == []
    (path,) = (store / "tasks").glob("b.*")
    assert path.relative_to(store).as_posix() == "tasks/b.parquet"


def test_a_whole_folder_takes_one_request(bucket: Bucket) -> None:
    for number in range(20):
        (bucket.root / "store" / f"t{number}").mkdir(parents=True)
        (bucket.root / "store" / f"t{number}" / "x").write_bytes(b"")
    paths = list(as_path(f"{bucket.url}/store").glob("*/x"))
    assert len(paths) == 20
    assert len(bucket.requests) == 1


def test_an_empty_bucket_is_no_missing_one(bucket: Bucket) -> None:
    assert list(as_path(f"{bucket.url}/none").glob("*")) == []
    with pytest.raises(StoreError) as caught:
        list(as_path("s3://nobody/none").glob("*"))
    assert str(caught.value) == (
        "s3://nobody/none: there is no such bucket: got NO_SUCH_BUCKET; "
        "check its name, and AWS_ENDPOINT_URL"
    )


def test_a_refusal_names_the_place_and_no_key(bucket: Bucket) -> None:
    bucket.key = "another"
    for ask in (
        lambda path: path.exists(),
        lambda path: list(path.glob("*")),
        lambda path: path.open(),
    ):
        with pytest.raises(StoreError) as caught:
            ask(as_path(f"{bucket.url}/store"))
        way_out = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to an account that may do this"
        assert str(caught.value) == f"s3://cells/store: access denied: got ACCESS_DENIED; {way_out}"
        assert KEY not in str(caught.value)


@pytest.mark.parametrize("fault", [None, ValueError("damaged")])
def test_what_changes_while_it_is_read_is_refused_whatever_else_was_found(
    fault: Exception | None, bucket: Bucket
) -> None:
    folder = as_path(bucket.url)
    assert isinstance(folder, RemotePath)

    def read(*, is_changing: bool) -> None:
        with expect_unchanged(folder):
            if is_changing:
                (bucket.root / "a").write_bytes(b"1")
            if fault:
                raise fault

    with pytest.raises(StoreError) as caught:
        read(is_changing=True)
    way_out = "run the command again when nobody writes there"
    assert str(caught.value) == f"s3://cells: the bucket has changed meanwhile; {way_out}"
    if fault:
        with pytest.raises(ValueError, match="damaged"):
            read(is_changing=False)
    else:
        read(is_changing=False)


def test_a_folder_that_may_change_is_left_out(bucket: Bucket) -> None:
    folder = as_path(bucket.url)
    assert isinstance(folder, RemotePath)
    own = folder / "cache"
    (bucket.root / "cache").mkdir()
    with expect_unchanged(folder, own):
        (bucket.root / "cache" / "a").write_bytes(b"1")
    (bucket.root / "cache-2").mkdir()
    with (
        pytest.raises(StoreError, match="the bucket has changed meanwhile"),
        expect_unchanged(folder, own),
    ):
        (bucket.root / "cache-2" / "a").write_bytes(b"1")
