"""Of a file in a bucket the blocks that are needed are fetched, once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from borgtrace.errors import StoreError
from borgtrace.storage import RemotePath, as_path, sparse_copy
from borgtrace.storage.sparse_copy import SparseCopy, fetch_all, local_copies
from tests.bucket import Bucket

CONTENT = np.random.default_rng(0).bytes(1000)


@pytest.fixture
def remote(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> RemotePath:
    """A file of four blocks, the last one of 232 bytes; two blocks to a request."""
    monkeypatch.setattr(sparse_copy, "BLOCK", 256)
    monkeypatch.setattr(sparse_copy, "LARGEST_REQUEST", 512)
    monkeypatch.setattr(sparse_copy, "LARGEST_GAP", 1)
    (bucket.root / "x.npy").write_bytes(CONTENT)
    path = as_path(f"{bucket.url}/x.npy")
    assert isinstance(path, RemotePath)
    return path


def ranges(bucket: Bucket) -> list[str]:
    """Ranges of bytes that were requested since the last call."""
    requested = [range_ for method, _, range_ in bucket.requests if method == "GET" and range_]
    bucket.requests.clear()
    return sorted(requested)


def fetch(copy: SparseCopy, *spans: tuple[int, int]) -> None:
    starts, stops = np.array(spans).T
    copy.fetch(starts, stops)


def test_blocks_that_a_span_touches_are_fetched_and_no_others(
    remote: RemotePath, bucket: Bucket
) -> None:
    copy = SparseCopy(remote)
    fetch(copy, (255, 256))
    assert ranges(bucket) == ["bytes=0-255"]
    # From the last byte of a block to the first of the next; then a block that is here beside one that is not.
    fetch(copy, (511, 513))
    assert ranges(bucket) == ["bytes=256-767"]
    fetch(copy, (0, 1000))
    assert ranges(bucket) == ["bytes=768-999"]
    assert copy.path.read_bytes() == CONTENT
    fetch(copy, (0, 1000))
    assert bucket.requests == []


def test_empty_spans_fetch_nothing(remote: RemotePath, bucket: Bucket) -> None:
    copy = SparseCopy(remote)
    bucket.requests.clear()
    fetch(copy, (300, 300), (0, 0), (1000, 1000))
    assert bucket.requests == []


def test_many_spans_share_blocks_and_long_runs_are_cut(remote: RemotePath, bucket: Bucket) -> None:
    copy = SparseCopy(remote)
    fetch(copy, (0, 1), (10, 20), (900, 901))
    assert ranges(bucket) == ["bytes=0-255", "bytes=768-999"]
    assert SparseCopy(remote).fetch_whole().read_bytes() == CONTENT
    assert ranges(bucket) == ["bytes=256-767"]


def test_a_block_between_two_comes_with_them_unless_there_are_more(
    remote: RemotePath, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse_copy, "LARGEST_REQUEST", 2048)
    copy = SparseCopy(remote)
    # SparseCopy 0 and 3: two lie between.
    fetch(copy, (0, 1), (900, 901))
    assert ranges(bucket) == ["bytes=0-255", "bytes=768-999"]
    (bucket.root / "y.npy").write_bytes(CONTENT)
    copy = SparseCopy(RemotePath(f"{bucket.url}/y.npy"))
    # SparseCopy 0 and 2: one lies between, which is here from then on.
    fetch(copy, (0, 1), (513, 514))
    assert ranges(bucket) == ["bytes=0-767"]
    fetch(copy, (256, 512))
    assert ranges(bucket) == []
    assert copy.path.read_bytes()[:768] == CONTENT[:768]


def test_a_round_is_the_bytes_and_one_look_whether_they_are_still_those(
    remote: RemotePath, bucket: Bucket
) -> None:
    copy = SparseCopy(remote)
    bucket.requests.clear()
    fetch_all([(copy, np.array([0]), np.array([1]))])
    assert bucket.asked("x.npy") == ["GET", "HEAD"]


def test_what_was_fetched_is_there_for_the_next_process(remote: RemotePath, bucket: Bucket) -> None:
    (here,) = local_copies([remote])
    bucket.requests.clear()
    assert local_copies([remote, Path("other")]) == [here, Path("other")]
    assert bucket.asked("x.npy") == ["HEAD"]


def test_another_version_is_another_copy_and_the_earlier_one_goes(
    remote: RemotePath, bucket: Bucket
) -> None:
    (before,) = local_copies([remote])
    (bucket.root / "x.npy").write_bytes(CONTENT[::-1])
    (after,) = local_copies([remote])
    assert after.read_bytes() == CONTENT[::-1]
    assert not before.exists()


def test_a_file_that_changes_while_it_is_read_is_refused_and_not_kept(
    remote: RemotePath, bucket: Bucket
) -> None:
    copy = SparseCopy(remote)
    (bucket.root / "x.npy").write_bytes(CONTENT[::-1])
    for _ in range(2):
        with pytest.raises(StoreError) as caught:
            copy.fetch_whole()
        assert (
            str(caught.value)
            == f"{remote}: the file has changed while it was read; run the command again"
        )


def test_an_empty_file_is_copied_too(remote: RemotePath, bucket: Bucket) -> None:
    (bucket.root / "x.npy").write_bytes(b"")
    assert SparseCopy(remote).fetch_whole().read_bytes() == b""
