"""Machine code is kept where this user can write, found where others put it for all, never taken from strangers."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kernels.kernel_scripts import OTHER_USER, code_files, run_script, write_script

pytestmark = pytest.mark.wide

IS_ROOT = os.geteuid() == 0
VISITOR = OTHER_USER if IS_ROOT else None
"""A user who cannot write what is read-only: root can."""
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can give files to another user")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that other users can enter: those of pytest are closed to them."""
    folder = Path(tempfile.mkdtemp(prefix="borgtrace-test-"))
    folder.chmod(0o755)
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(folder)


def own_folder(path: Path) -> Path:
    """Make a folder that the visitor owns."""
    path.mkdir(mode=0o700)
    if VISITOR is not None:
        os.chown(path, VISITOR, VISITOR)
    return path


def read_only(path: Path) -> Path:
    """Make a folder that the visitor cannot write to."""
    path.mkdir(exist_ok=True)
    path.chmod(0o555)
    return path


def installed_script(place: Path) -> Path:
    """Write a script where only the administrator can write."""
    script = write_script(place / "site-packages")
    read_only(script.parent)
    return script


def runs_of_visitor(script: Path, **environment: str) -> list[str]:
    """Run a script twice as the visitor."""
    return [run_script(script, user=VISITOR, **environment) for _ in range(2)]


def test_a_package_that_cannot_be_written_to_is_kept_in_the_cache_of_the_user(place: Path) -> None:
    script = installed_script(place)
    home = own_folder(place / "home")
    own = own_folder(place / "tmp")
    runs = runs_of_visitor(script, HOME=str(home), TMPDIR=str(own))
    assert runs == ["42 compiled", "42 found"]
    assert len(code_files(home / ".cache" / "borgtrace" / "machine-code")) == 1
    assert code_files(own) == []


@pytest.mark.parametrize("home", ["missing", "read-only", "nowhere"])
def test_without_a_home_it_is_kept_in_a_private_folder_among_temporary_files(
    place: Path, home: str
) -> None:
    script = installed_script(place)
    own = own_folder(place / "tmp")
    environment = {
        "missing": {},
        "read-only": {"HOME": str(read_only(place / "home"))},
        "nowhere": {"HOME": "/nonexistent"},
    }[home]
    runs = runs_of_visitor(script, TMPDIR=str(own), **environment)
    assert runs == ["42 compiled", "42 found"]
    (file,) = code_files(own)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert not file.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def test_what_the_administrator_compiled_is_found_by_all(place: Path) -> None:
    script = write_script(place / "site-packages")
    assert run_script(script) == "42 compiled"
    read_only(script.parent / "__pycache__")
    read_only(script.parent)
    home = own_folder(place / "home")
    assert runs_of_visitor(script, HOME=str(home)) == ["42 found", "42 found"]
    assert code_files(home) == []


@pytest.mark.parametrize("trap", ["open to all", "a link", "a file"])
def test_a_temporary_folder_that_others_can_write_to_is_not_used(place: Path, trap: str) -> None:
    script = installed_script(place)
    own = own_folder(place / "tmp")
    visitor = os.geteuid() if VISITOR is None else VISITOR
    prepared = own / f"borgtrace-machine-code-{visitor}"
    if trap == "open to all":
        own_folder(prepared).chmod(0o777)
    elif trap == "a link":
        prepared.symlink_to(own_folder(place / "elsewhere"))
    else:
        prepared.touch()
    runs = runs_of_visitor(script, TMPDIR=str(own))
    assert runs == ["42 compiled", "42 compiled"]
    assert code_files(place) == []


@needs_root
def test_a_temporary_folder_of_somebody_else_is_not_used(place: Path) -> None:
    script = installed_script(place)
    own = own_folder(place / "tmp")
    prepared = own / f"borgtrace-machine-code-{OTHER_USER}"
    prepared.mkdir(mode=0o700)
    os.chown(prepared, 1, 1)
    assert runs_of_visitor(script, TMPDIR=str(own)) == ["42 compiled", "42 compiled"]


@pytest.mark.parametrize("stranger", ["writable by all", pytest.param("owner", marks=needs_root)])
def test_a_file_that_somebody_else_could_have_written_is_not_run(
    place: Path, stranger: str
) -> None:
    script = write_script(place / "mine")
    script.chmod(0o644)
    cache = place / "cache"
    environment = {"NUMBA_CACHE_DIR": str(cache)}
    assert run_script(script, **environment) == "42 compiled"
    (file,) = code_files(cache)
    assert run_script(script, **environment) == "42 found"
    if stranger == "owner":
        os.chown(file, OTHER_USER, OTHER_USER)
    else:
        file.chmod(0o666)
    # It is compiled anew, and replaced by a file of ours.
    assert run_script(script, **environment) == "42 compiled"
    assert run_script(script, **environment) == "42 found"


@pytest.mark.parametrize("damage", ["empty", "short", "changed", "another function", "a pipe"])
def test_a_damaged_file_is_compiled_anew(place: Path, damage: str) -> None:
    script = write_script(place / "mine")
    environment = {"NUMBA_CACHE_DIR": str(place / "cache")}
    run_script(script, **environment)
    (file,) = code_files(place)
    content = file.read_bytes()
    if damage == "a pipe":
        file.unlink()
        os.mkfifo(file)
    elif damage == "another function":
        write_script(place / "mine", added=3)
        assert run_script(script, **environment) == "43 compiled"
        (other,) = {*code_files(place)} - {file}
        other.replace(file)
        write_script(place / "mine")
    else:
        middle = len(content) // 2
        changed = bytes([content[middle] ^ 1])
        file.write_bytes(
            {
                "empty": b"",
                "short": content[:middle],
                "changed": content[:middle] + changed + content[middle + 1 :],
            }[damage]
        )
    assert run_script(script, **environment) == "42 compiled"
    assert run_script(script, **environment) == "42 found"


def test_code_of_an_earlier_source_is_removed_after_a_month(place: Path) -> None:
    script = write_script(place / "mine")
    environment = {"NUMBA_CACHE_DIR": str(place / "cache")}
    run_script(script, **environment)
    (first,) = code_files(place)
    write_script(place / "mine", added=3)
    run_script(script, **environment)
    # Another version of the package may still use the first.
    assert first in code_files(place)
    eldest = first.stat().st_mtime - 31 * 24 * 3600
    os.utime(first, (eldest, eldest))
    write_script(place / "mine", added=4)
    assert run_script(script, **environment) == "44 compiled"
    assert first not in code_files(place)
    assert len(code_files(place)) == 2
