"""What every command shares: URLs become places, and errors, notices and Ctrl-C one line."""

from __future__ import annotations

import errno
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import typer

from borgtrace.cli import command as module
from borgtrace.cli.command import command, places_among, resolve_places
from borgtrace.cli.failures import damage_behind, refusal_to_write
from borgtrace.errors import EngineError, StoreError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from tests.ingest.raw import write_cell

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("command")
    ingest([write_cell(folder / "raw")], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def test_only_unexplained_failures_are_looked_into(store: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(store, tmp_path / "copy")
    (copy / "tasks" / "part-00000.parquet").write_bytes(b"PAR1")
    failure = ValueError("no magic bytes")
    assert isinstance(damage_behind(failure, copy), StoreError)
    # A store that is whole, a folder that is none, no folder at all.
    assert damage_behind(failure, store) is None
    assert damage_behind(failure, tmp_path) is None
    assert damage_behind(failure, None) is None
    # What a command refuses, and what it says of a store itself, needs no further reason.
    assert damage_behind(UsageError("--where", "wrong"), copy) is None
    assert damage_behind(StoreError("store", "damaged"), copy) is None


@pytest.mark.parametrize(
    ("cause", "is_damage"),
    [
        (OSError("truncated"), True),
        (OSError("Binder Error: no column"), False),
        (KeyError("truncated"), False),
    ],
)
def test_an_error_of_an_engine_may_come_from_a_damaged_file(
    store: Path,
    tmp_path: Path,
    cause: Exception,
    is_damage: bool,
) -> None:
    """Unless it is about the query."""
    copy = shutil.copytree(store, tmp_path / "copy")
    (copy / "tasks" / "part-00000.parquet").write_bytes(b"PAR1")
    error = EngineError("query", "failed")
    error.__cause__ = cause
    assert isinstance(damage_behind(error, copy), StoreError) == is_damage


def test_a_store_that_cannot_even_be_verified_is_damaged(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = StoreError(str(store), "the manifest is damaged")

    def refuse(*_: object, **__: object) -> None:
        raise damaged

    monkeypatch.setattr("borgtrace.store.verify.verify", refuse)
    assert damage_behind(ValueError("of a library"), store) is damaged


@pytest.mark.parametrize(
    "number",
    [
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
    ],
)
def test_a_place_that_cannot_be_written_to_is_named(number: int) -> None:
    refusal = refusal_to_write(OSError(number, "Permission denied", "/etc/x"))
    assert str(refusal) == "/etc/x: permission denied; choose another place, or open this one"


def test_other_errors_are_not_about_writing() -> None:
    assert refusal_to_write(OSError(errno.ENOENT, "No such file")) is None
    assert refusal_to_write(ValueError("x")) is None


@pytest.mark.parametrize("place", [Path("gs://bucket/x"), [Path("gs://bucket/x")]])
def test_a_url_is_refused_before_a_command_begins(place: object, capsys: Capture) -> None:
    calls: list[object] = []

    @command()
    def write(**options: object) -> None:
        calls.append(options)

    with pytest.raises(typer.Exit) as ended:
        write(out=place, file=place)
    assert ended.value.exit_code == 2
    assert calls == []
    assert capsys.readouterr().err.count("gs:") == 1


def test_options_that_may_be_urls_become_places_in_buckets() -> None:
    options: dict[str, Any] = {
        "store": Path("gs://b/x"),
        "sources": [Path("s3://b/y"), Path("z")],
        "n": 3,
        "out": Path("o"),
        "none": [],
    }
    places = resolve_places(options, ("store", "sources"))
    assert str(places["store"]) == "gs://b/x"
    assert [str(place) for place in places["sources"]] == ["s3://b/y", "z"]
    assert (places["n"], places["out"], places["none"]) == (3, Path("o"), [])
    remote = places_among(places, ("store", "sources"))
    assert remote == [places["store"], *places["sources"]]
    assert places_among(places, ("store",)) == [places["store"]]


def test_a_url_of_another_option_is_refused() -> None:
    with pytest.raises(UsageError, match="a URL"):
        resolve_places({"sources": [Path("s3://b/y")]}, ("store",))


def test_after_a_closed_pipe_nothing_more_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @command()
    def print_much() -> None:
        raise BrokenPipeError

    replaced: list[int] = []
    with (tmp_path / "pipe").open("w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        monkeypatch.setattr(module.os, "dup2", lambda new, old: replaced.append(old))
        print_much()
        assert replaced == [pipe.fileno()]


def test_ctrl_c_says_what_was_kept(capsys: Capture) -> None:
    @command(on_interrupt="half of it is there")
    def work() -> None:
        raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as ended:
        work()
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == "borgtrace: interrupted: half of it is there\n"


def test_a_mistake_of_ours_keeps_its_traceback() -> None:
    @command()
    def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()


@pytest.mark.filterwarnings("always:rows differ")
def test_a_notice_is_shown_as_errors_are(capsys: Capture) -> None:
    before = warnings.showwarning

    @command()
    def work() -> None:
        warnings.warn("rows differ", UserWarning, stacklevel=1)

    work()
    assert capsys.readouterr().err == "borgtrace: rows differ\n"
    assert warnings.showwarning is before


def test_a_command_keeps_its_signature() -> None:
    def small(n: int, *, name: str = "a") -> None:
        """Do little."""

    decorated = command()(small)
    assert decorated.__wrapped__ is small  # type: ignore[attr-defined]
    assert decorated.__doc__ == "Do little."
