"""Paths, files and folders: how anything of borgtrace is put on disk whole or not at all."""

from borgtrace.storage.blocks import Blocks, fetch_all, on_this_machine, user_cache
from borgtrace.storage.folder import check_free, is_writable, new_folder, replacing_once
from borgtrace.storage.local import BUCKETS, local, place
from borgtrace.storage.lock import locked
from borgtrace.storage.outputs import upload
from borgtrace.storage.remote import RemotePath, unchanged
from borgtrace.storage.replacing import INCOMPLETE, NOT_WRITABLE, incomplete_path, remove, replacing, write_file

__all__ = ["BUCKETS", "INCOMPLETE", "NOT_WRITABLE", "Blocks", "RemotePath", "check_free", "fetch_all"]
__all__ += ["incomplete_path", "is_writable", "local", "locked", "new_folder", "on_this_machine", "place", "remove"]
__all__ += ["replacing", "replacing_once", "unchanged", "upload", "user_cache", "write_file"]
