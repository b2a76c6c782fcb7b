"""The disk of a part of a file is given back; its length and all other bytes stay."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace

import pytest

from borgtrace.storage import can_free_blocks, flush, free_blocks

BLOCK = 4096


@pytest.fixture
def numbered(tmp_path: Path) -> Path:
    """Write a file of ten blocks, of which each byte has the number of its block, from 1."""
    if not can_free_blocks(tmp_path):
        pytest.skip("needs a file system that frees parts of a file: ext4, XFS, Btrfs, tmpfs")
    path = tmp_path / "file"
    path.write_bytes(b"".join(bytes([number]) * BLOCK for number in range(1, 11)))
    flush(path)
    return path


def blocks(path: Path) -> int:
    return path.stat().st_blocks * 512 // BLOCK


def test_whole_blocks_are_freed_and_halves_stay(numbered: Path) -> None:
    before = blocks(numbered)
    content = numbered.read_bytes()
    # From the last byte of block 2 to the first of block 5; within one block; two whole blocks.
    ranges = [(2 * BLOCK - 1, 4 * BLOCK + 1), (6 * BLOCK + 1, 7 * BLOCK), (8 * BLOCK, 10 * BLOCK)]
    free_blocks(numbered, ranges)
    flush(numbered)
    assert blocks(numbered) == before - 4
    expected = content[: 2 * BLOCK] + bytes(2 * BLOCK) + content[4 * BLOCK : 8 * BLOCK]
    assert numbered.read_bytes() == expected + bytes(2 * BLOCK)


@pytest.mark.parametrize("system", [SimpleNamespace(), SimpleNamespace(fallocate=lambda *_: -1)])
def test_where_the_system_refuses_all_stays(
    numbered: Path, monkeypatch: pytest.MonkeyPatch, system: SimpleNamespace
) -> None:
    content = numbered.read_bytes()
    monkeypatch.setattr(ctypes, "CDLL", lambda *_: system)
    assert not can_free_blocks(numbered.parent)
    free_blocks(numbered, [(0, 10 * BLOCK)])
    assert numbered.read_bytes() == content


def test_the_trial_leaves_nothing(tmp_path: Path) -> None:
    can_free_blocks(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert not can_free_blocks(tmp_path / "missing")
