"""A file or folder appears whole under its name, or what was there before stays."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from borgtrace.storage import INCOMPLETE, incomplete_path, remove, replacing, write_file


def entries(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    page = tmp_path / "deep" / "er" / "page.html"
    with replacing(page) as draft:
        draft.write_text("new")
        assert not page.exists()
        assert draft.parent == page.parent
    assert page.read_text() == "new"
    assert entries(page.parent) == ["page.html"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")

    def fail_half_way() -> None:
        with replacing(page) as draft:
            draft.write_text("half")
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert page.read_text() == "old"
    assert entries(tmp_path) == ["page.html"]


def test_a_draft_that_cannot_be_removed_does_not_hide_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    def fail_half_way() -> None:
        with replacing(tmp_path / "out") as draft:
            draft.mkdir()
            monkeypatch.setattr(os, "rmdir", refuse)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert entries(tmp_path) == [f"out.{os.getpid()}-{threading.get_native_id()}.incomplete"]


def test_the_draft_of_a_dead_process_of_the_same_number_is_removed_first(tmp_path: Path) -> None:
    page = tmp_path / "page"
    incomplete_path(page).mkdir()
    (incomplete_path(page) / "left").touch()
    with replacing(page) as draft:
        assert not draft.exists()
        draft.write_text("a file this time")
    assert page.read_text() == "a file this time"


def test_the_name_of_a_draft_holds_the_process_and_the_thread(tmp_path: Path) -> None:
    writer = f"{os.getpid()}-{threading.get_native_id()}"
    assert incomplete_path(tmp_path / "a.csv") == tmp_path / f"a.csv.{writer}.incomplete"
    assert INCOMPLETE == ".incomplete"


def test_a_folder_appears_with_all_that_is_in_it(tmp_path: Path) -> None:
    with replacing(tmp_path / "out") as draft:
        draft.mkdir()
        (draft / "one").touch()
    assert entries(tmp_path / "out") == ["one"]


@pytest.mark.parametrize(("content", "expected"), [("é", b"\xc3\xa9"), (b"\xff\x00", b"\xff\x00")])
def test_text_is_written_as_utf_8_and_bytes_as_they_are(
    tmp_path: Path, content: str | bytes, expected: bytes
) -> None:
    write_file(tmp_path / "new" / "file", content)
    assert (tmp_path / "new" / "file").read_bytes() == expected


def test_whatever_is_there_is_removed(tmp_path: Path) -> None:
    (tmp_path / "folder" / "in").mkdir(parents=True)
    (tmp_path / "folder" / "in" / "file").touch()
    (tmp_path / "file").touch()
    for name in ("folder", "file", "nothing"):
        remove(tmp_path / name)
    assert entries(tmp_path) == []


def test_a_link_is_removed_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    for target in ("elsewhere", "nowhere"):
        (tmp_path / "link").symlink_to(tmp_path / target)
        remove(tmp_path / "link")
    assert entries(tmp_path) == ["elsewhere"]
    assert entries(tmp_path / "elsewhere") == ["file"]


def test_threads_that_write_one_file_at_a_time_have_drafts_of_their_own(tmp_path: Path) -> None:
    barrier = threading.Barrier(4)

    def write(content: str) -> None:
        with replacing(tmp_path / "page") as draft:
            barrier.wait()
            draft.write_text(content)
            barrier.wait()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "abcd"))
    assert entries(tmp_path) == ["page"]
    assert (tmp_path / "page").read_text() in "abcd"
