"""A folder is built once, beside its name, under a lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.errors import StoreError, UsageError
from borgtrace.storage import check_free, new_folder


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as draft:
        assert list(draft.iterdir()) == []
        (draft / "one").touch()
        assert not (tmp_path / "out").exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["one"]


def test_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with new_folder(tmp_path / "out") as draft:
        (draft / "one").touch()
    assert (tmp_path / "out" / "one").exists()


def test_a_folder_that_is_replaced_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "old").touch()
    with new_folder(out, replaces=True) as draft:
        (draft / "new").touch()
        assert [entry.name for entry in out.iterdir()] == ["old"]
    assert [entry.name for entry in out.iterdir()] == ["new"]
    with pytest.raises(RuntimeError), new_folder(out, replaces=True):
        raise RuntimeError
    assert [entry.name for entry in out.iterdir()] == ["new"]
    with new_folder(tmp_path / "nothing", replaces=True):
        pass
    assert (tmp_path / "nothing").is_dir()


def test_a_full_folder_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    begun = []
    with pytest.raises(UsageError, match="holds something else"), new_folder(tmp_path / "out"):
        begun.append(1)
    assert not begun
    assert [entry.name for entry in tmp_path.rglob("*")] == ["out", "old"]


def test_what_killed_processes_left_is_removed_and_only_that(tmp_path: Path) -> None:
    (tmp_path / "out[1].77.incomplete").mkdir()
    (tmp_path / "out[1].77.incomplete" / "file").touch()
    (tmp_path / "out1.77.incomplete").touch()  # what the brackets would match as a pattern
    (tmp_path / "out[1].txt").touch()
    with new_folder(tmp_path / "out[1]"):
        assert not (tmp_path / "out[1].77.incomplete").exists()
    assert sorted(e.name for e in tmp_path.iterdir()) == [
        "out1.77.incomplete",
        "out[1]",
        "out[1].txt",
    ]


def test_a_second_builder_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as draft:
        with (
            pytest.raises(StoreError, match="another process is writing here"),
            new_folder(tmp_path / "out"),
        ):
            pass
        assert draft.is_dir()
    assert (tmp_path / "out").is_dir()


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fail_half_way() -> None:
        with new_folder(tmp_path / "out") as draft:
            (draft / "one").touch()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_free_is_none_or_empty(tmp_path: Path) -> None:
    check_free(tmp_path)
    check_free(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("names", "got"),
    [
        ((), "a file"),
        (("one",), "1 entries"),
        (("one", "two"), "2 entries"),
    ],
)
def test_a_place_that_holds_something_is_refused(
    tmp_path: Path, names: tuple[str, ...], got: str
) -> None:
    out = tmp_path / "out"
    if names:
        out.mkdir()
        for name in names:
            (out / name).touch()
    else:
        out.touch()
    with pytest.raises(UsageError) as refused:
        check_free(out)
    assert str(refused.value) == (
        f"{out}: holds something else: expected a new folder, got {got}; name another folder, or remove this one"
    )
