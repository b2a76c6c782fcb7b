"""Paths, files and folders: how anything of borgtrace is put on disk whole or not at all."""

from borgtrace.storage.folder import check_free, new_folder
from borgtrace.storage.local import local
from borgtrace.storage.lock import locked
from borgtrace.storage.replacing import (
    INCOMPLETE,
    NOT_WRITABLE,
    incomplete_path,
    remove,
    replacing,
    replacing_once,
    write_file,
)

__all__ = ["INCOMPLETE", "NOT_WRITABLE", "check_free", "incomplete_path", "local", "locked", "new_folder", "remove"]
__all__ += ["replacing", "replacing_once", "write_file"]
