"""Files of strangers are opened by one function: no pipe is waited for, and no device read without an end."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from borgtrace.storage import (
    NotRegularError,
    OpenedFile,
    describe_kind,
    open_regular,
    read_regular,
    read_text,
    readable,
    regular_files_in,
    require_regular,
)


def read_into_new_memory(path: Path) -> bytes:
    with OpenedFile(path) as file:
        memory = bytearray(file.size)
        assert file.read_into(memoryview(memory)) == file.size
    return bytes(memory)


OPENERS = (
    open_regular,
    read_into_new_memory,
    read_regular,
    read_text,
    readable,
    require_regular,
)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(path))


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (make_pipe, "a pipe"),
        (make_socket, "a socket"),
        (make_device, "a device"),
        (Path.mkdir, "a folder"),
    ],
)
def test_what_is_no_file_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: object, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "odd"
    make(path)  # type: ignore[operator]
    for opener in OPENERS:
        with pytest.raises(NotRegularError) as caught:
            opener(path)
        assert str(caught.value) == f"[Errno 22] {kind}, not a file: '{path}'"


def test_what_is_no_file_any_more_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_bytes(b"a")
    (tmp_path / "link").symlink_to("odd")
    (tmp_path / "folder").mkdir()
    assert regular_files_in(tmp_path) == {"odd"}
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(NotRegularError, match="a pipe, not a file"):
        OpenedFile(path, was_regular=True)


def test_a_file_is_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("é".encode())
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link") == "é"
    assert read_regular(tmp_path / "link") == b"\xc3\xa9"
    assert read_into_new_memory(tmp_path / "link") == b"\xc3\xa9"
    with open_regular(tmp_path / "link", buffering=4096) as file:
        assert file.read(1) == b"\xc3"
    (tmp_path / "file").write_bytes(b"caf\xe9")
    assert read_text(tmp_path / "file", errors="replace") == "caf�"


def test_a_file_that_is_cut_short_while_it_is_read_gives_what_is_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    with OpenedFile(path) as file:
        memory = bytearray(file.size)
        os.truncate(path, 2)
        assert file.read_into(memoryview(memory)) == 2
    assert memory == b"ab\0\0\0\0"


def test_what_is_not_there_is_not_there(tmp_path: Path) -> None:
    for opener in OPENERS:
        with pytest.raises(FileNotFoundError):
            opener(tmp_path / "nothing")


def test_kinds_have_names() -> None:
    modes = (stat.S_IFIFO, stat.S_IFDIR, stat.S_IFSOCK, stat.S_IFCHR, stat.S_IFBLK)
    kinds = ["a pipe", "a folder", "a socket", "a device", "a device"]
    assert [describe_kind(mode) for mode in modes] == kinds
