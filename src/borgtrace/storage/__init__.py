"""Paths, files and folders: how anything of borgtrace is put on disk whole or not at all."""

from borgtrace.storage.folder import check_free, is_writable, new_folder, replacing_once
from borgtrace.storage.local import BUCKETS, local, place, user_cache
from borgtrace.storage.lock import locked
from borgtrace.storage.outputs import download, upload, uploading
from borgtrace.storage.remote import RemotePath, readable, told, unchanged
from borgtrace.storage.replacing import (
    INCOMPLETE,
    NOT_WRITABLE,
    incomplete_path,
    remove,
    replacing,
    write_file,
)

__all__ = [
    "BUCKETS",
    "INCOMPLETE",
    "NOT_WRITABLE",
    "RemotePath",
    "check_free",
    "download",
    "incomplete_path",
]
__all__ += [
    "is_writable",
    "local",
    "locked",
    "new_folder",
    "place",
    "readable",
    "remove",
    "replacing",
]
__all__ += [
    "replacing_once",
    "told",
    "unchanged",
    "upload",
    "uploading",
    "user_cache",
    "write_file",
]
