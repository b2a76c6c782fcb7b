"""Paths, files and folders: how anything of borgtrace is put on disk whole or not at all."""

from __future__ import annotations

from borgtrace.storage.file import write_file
from borgtrace.storage.folder import INCOMPLETE, check_free, new_folder

__all__ = ["INCOMPLETE", "check_free", "new_folder", "write_file"]
