"""Paths, files and folders: how anything of borgtrace is put on disk whole or not at all."""

from borgtrace.storage.folder import check_free, is_writable, new_folder, replacing_once
from borgtrace.storage.local import BUCKETS, local, place, user_cache
from borgtrace.storage.lock import locked
from borgtrace.storage.outputs import upload
from borgtrace.storage.remote import RemotePath, readable, told, unchanged
from borgtrace.storage.replacing import INCOMPLETE, NOT_WRITABLE, incomplete_path, remove, replacing, write_file

__all__ = ["BUCKETS", "INCOMPLETE", "NOT_WRITABLE", "RemotePath", "check_free", "incomplete_path", "is_writable"]
__all__ += ["local", "locked", "new_folder", "place", "readable", "remove", "replacing", "replacing_once", "told"]
__all__ += ["unchanged", "upload", "user_cache", "write_file"]
