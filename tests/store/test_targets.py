"""No output goes into a store or over an input, whatever it is called there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from borgtrace.errors import UsageError
from borgtrace.storage import as_path
from borgtrace.store.targets import checked_target, is_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """What looks like a store."""
    folder = tmp_path / "store"
    (folder / "tasks").mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    return folder


@pytest.mark.parametrize(
    "name", ["", "manifest.json", "new.html", "tasks/new", "a/b/c", "../store/x"]
)
def test_nothing_goes_into_a_store(store: Path, name: str) -> None:
    with pytest.raises(UsageError) as refused:
        checked_target(store / name)
    assert str(refused.value) == (
        f"{store / name}: lies in a store, which holds nothing else: expected a place outside {store}; "
        "name another place for the output"
    )


def test_a_link_into_a_store_leads_there(store: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store / "tasks")
    with pytest.raises(UsageError, match="lies in a store"):
        checked_target(tmp_path / "link" / "new")


def test_a_store_that_is_added_to_may_be_one_but_not_in_one(store: Path) -> None:
    assert checked_target(store, may_be_store=True) == store
    with pytest.raises(UsageError, match="lies in a store"):
        checked_target(store / "other", may_be_store=True)


def test_a_store_in_a_bucket_holds_nothing_else() -> None:
    store = as_path("s3://cells/store")
    with pytest.raises(UsageError, match="lies in a store"):
        checked_target(as_path("s3://cells/store/out"), [store])
    assert checked_target(as_path("s3://cells/other"), [store]) == as_path("s3://cells/other")


def test_nothing_is_written_over_what_is_read(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("task\n")
    (tmp_path / "link.csv").symlink_to(own)
    for name in ("own.csv", "link.csv"):
        with pytest.raises(UsageError) as refused:
            checked_target(tmp_path / name, [own])
        assert str(refused.value) == (
            f"{tmp_path / name}: is read as well: expected another file; name another place for the output"
        )
    assert checked_target(own, [tmp_path / "else.csv"]) == own


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    for name, target in (("dangling", "nothing"), ("itself", "itself")):
        (tmp_path / name).symlink_to(tmp_path / target)
        with pytest.raises(UsageError) as refused:
            checked_target(tmp_path / name)
        assert str(refused.value) == (
            f"{tmp_path / name}: a link to a place that is not there; remove the link, or name the place itself"
        )


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError) as refused:
        checked_target(tmp_path / "pipe")
    assert str(refused.value) == (
        f"{tmp_path / 'pipe'}: cannot be written to: expected a file or folder, new or old, got a pipe; "
        "name another place"
    )


def test_places_without_a_name_of_their_own_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert checked_target(Path()) == tmp_path / "here"
    assert checked_target(Path("..")) == tmp_path
    assert checked_target(Path("out")) == Path("out")


def test_half_built_stores_are_stores_and_other_folders_are_none(
    tmp_path: Path, store: Path
) -> None:
    assert is_store(store)
    for folders in (("staging", "ledger"), ("next",)):
        half = tmp_path / folders[0] / "store"
        half.joinpath(*folders).mkdir(parents=True)
        if folders == ("next",):
            (half / "next" / "manifest.json").touch()
        assert is_store(half)
    site = tmp_path / "site"
    site.mkdir()
    # A web page has a manifest, too.
    (site / "manifest.json").touch()
    assert not is_store(site)
    assert not is_store(tmp_path / "nothing")
