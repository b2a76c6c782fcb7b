"""Paths, files and folders: how anything of borgtrace is put on disk whole or not at all."""

from borgtrace.storage.folder import check_free, is_writable, new_folder, replacing_once
from borgtrace.storage.local import local
from borgtrace.storage.lock import locked
from borgtrace.storage.replacing import INCOMPLETE, NOT_WRITABLE, incomplete_path, remove, replacing, write_file

__all__ = ["INCOMPLETE", "NOT_WRITABLE", "check_free", "incomplete_path", "is_writable", "local", "locked"]
__all__ += ["new_folder", "remove", "replacing", "replacing_once", "write_file"]
