"""Paths that nobody expects, each made in a folder of its own."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

Make = Callable[[Path, Path], str]
"""Makes what a path names in a folder, beside a store, and returns the path."""


def fifo(folder: Path, _: Path) -> str:
    """Return a pipe that nobody writes to."""
    os.mkfifo(folder / "pipe.toml")
    return str(folder / "pipe.toml")


def link_to_fifo(folder: Path, _: Path) -> str:
    """Return a link to such a pipe."""
    os.mkfifo(folder / "pipe")
    return linked(folder, folder / "pipe")


def endless_device(folder: Path, _: Path) -> str:
    """Return a link to a device without an end; a link, since some commands would replace what it names."""
    return linked(folder, Path("/dev/zero"))


def socket_file(folder: Path, _: Path) -> str:
    """Return a socket."""
    here = Path.cwd()
    # The path of a socket is short.
    os.chdir(folder)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    os.chdir(here)
    return str(folder / "socket")


def linked(folder: Path, target: Path) -> str:
    """Return a link to a target."""
    (folder / "link.toml").symlink_to(target)
    return str(folder / "link.toml")


def named(name: str) -> Make:
    """Return a maker of nothing, of that name."""
    return lambda folder, _: str(folder / name)


def words(text: str) -> Make:
    """Return a maker of nothing, whose path is as it stands."""
    return lambda folder, _: text


def file_of(content: bytes, name: str = "file.toml", mode: int = 0o644) -> Make:
    """Return a maker of a file."""

    def make(folder: Path, _: Path) -> str:
        (folder / name).write_bytes(content)
        (folder / name).chmod(mode)
        return str(folder / name)

    return make


def folder_of(mode: int, *names: str) -> Make:
    """Return a maker of a folder with some files in it."""

    def make(folder: Path, _: Path) -> str:
        made = folder / "folder"
        made.mkdir()
        for name in names:
            (made / name).write_text("text")
        made.chmod(mode)
        return str(made)

    return make


def in_folder(mode: int) -> Make:
    """Return a maker of a folder, and the path of nothing in it."""

    def make(folder: Path, _: Path) -> str:
        made = folder / "folder"
        made.mkdir(mode=mode)
        made.chmod(mode)
        return str(made / "new")

    return make


def below_file(folder: Path, _: Path) -> str:
    """Return a path below a file."""
    (folder / "file").write_text("text")
    return str(folder / "file" / "below")


def in_store(*names: str) -> Make:
    """Return a maker of nothing: a path in the store."""
    return lambda _, store: str(store.joinpath(*names))


def link_into_store(folder: Path, store: Path) -> str:
    """Return a link to the manifest of the store."""
    return linked(folder, store / "manifest.json")


def store_of_pipes(folder: Path, store: Path) -> str:
    """Return a store whose manifest is a pipe."""
    made = folder / "store"
    (made / "tasks").mkdir(parents=True)
    os.mkfifo(made / "manifest.json")
    return str(made)


def store_of_zeros(folder: Path, store: Path) -> str:
    """Return a store whose manifest is a device without an end."""
    made = folder / "store"
    (made / "tasks").mkdir(parents=True)
    (made / "manifest.json").symlink_to("/dev/zero")
    return str(made)


def store_with_pipe(folder: Path, store: Path) -> str:
    """Return a store of which one part is a pipe."""
    made = folder / "store"
    for path in sorted(store.rglob("*")):
        target = made / path.relative_to(store)
        if path.is_dir():
            target.mkdir(parents=True)
        elif path.name != "part-00000.parquet" or path.parent.name != "tasks":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    os.mkfifo(made / "tasks" / "part-00000.parquet")
    return str(made)


def not_utf8(folder: Path, _: Path) -> str:
    """Return a name that is no UTF-8."""
    return os.fsdecode(os.fsencode(folder) + b"/caf\xe9.toml")


def file_not_utf8(folder: Path, store: Path) -> str:
    """Return a file of such a name."""
    path = not_utf8(folder, store)
    Path(path).write_text("task,time,cpu\n")
    return path


SECRET = "wJalr/XUtnFEMI/K7MDENG"
"""A secret of the form that Amazon gives, with slashes."""

ODD_PATHS: dict[str, Make] = {
    "pipe": fifo,
    "link to a pipe": link_to_fifo,
    "endless device": endless_device,
    "socket": socket_file,
    "empty folder": folder_of(0o755),
    "folder of other things": folder_of(0o755, "a.txt", "b.csv"),
    "folder named like a file": lambda folder, _: str(
        (folder / "x.toml").mkdir() or folder / "x.toml"
    ),
    "file of text": file_of(b"text\n"),
    "empty file": file_of(b""),
    "binary file": file_of(bytes(range(256))),
    "dangling link": lambda folder, _: linked(folder, folder / "nothing"),
    "link to itself": lambda folder, _: linked(folder, folder / "link.toml"),
    "link into the store": link_into_store,
    "dot": words("."),
    "dot slash": words("./"),
    "dot dot": words(".."),
    "tilde": words("~"),
    "below tilde": words("~/new.toml"),
    "drive": words("x:y"),
    "drive below": words("x:y/new.toml"),
    "empty": words(""),
    "hyphen": words("-"),
    "newline": named("a\nb.toml"),
    "quotes": named('it\'s "quoted".toml'),
    "glob": named("run[1]*?{a,b}.toml"),
    "escape": named("\x1b[31mred\x07.toml"),
    "blank": named(" .toml"),
    "not UTF-8": not_utf8,
    "file not UTF-8": file_not_utf8,
    "255 bytes": named("n" * 250 + ".toml"),
    "256 bytes": named("n" * 251 + ".toml"),
    "4096 bytes": named("/".join(["n" * 200] * 21) + ".toml"),
    "deep": named("a/b/c/d.toml"),
    "unreadable file": file_of(b"text\n", mode=0),
    "unreadable folder": folder_of(0, "a.csv"),
    "in a closed folder": in_folder(0),
    "in a read-only folder": in_folder(0o555),
    "below a file": below_file,
    "file with a slash": lambda folder, store: file_of(b"text\n")(folder, store) + "/",
    "nothing with a slash": lambda folder, _: f"{folder}/new/",
    "the store": in_store(),
    "manifest of the store": in_store("manifest.json"),
    "part of the store": in_store("tasks", "part-00000.parquet"),
    "new in the store": in_store("new.toml"),
    "new in a table": in_store("tasks", "new"),
    "store with a piped manifest": store_of_pipes,
    "store with an endless manifest": store_of_zeros,
    "store with a piped part": store_with_pipe,
    "file URL": lambda folder, _: f"file://{folder}/new.toml",
    "web URL": words("https://example.invalid/new.toml"),
    "bucket without credentials": words("s3://bucket-of-nobody/new.toml"),
    "bucket with a secret": words(f"s3://AKIAEXAMPLE:{SECRET}@bucket/new.toml"),
    "bucket with a query": words(f"s3://bucket/new.toml?secret_key={SECRET}"),
    "web URL with a secret": words(f"https://user:{SECRET}@example.invalid/new.toml"),
}
