"""Paths, files and folders, local or in a bucket: whatever is written appears whole or not at all."""

from borgtrace.storage.folder import check_free, is_writable, new_folder, replacing_once
from borgtrace.storage.lock import locked
from borgtrace.storage.outputs import download, upload, uploading
from borgtrace.storage.paths import BUCKETS, as_local_path, as_path, user_cache
from borgtrace.storage.remote import RemotePath, expect_unchanged, readable, translate_bucket_errors
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
    "as_local_path",
    "as_path",
    "check_free",
    "download",
    "expect_unchanged",
    "incomplete_path",
    "is_writable",
    "locked",
    "new_folder",
    "readable",
    "remove",
    "replacing",
    "replacing_once",
    "translate_bucket_errors",
    "upload",
    "uploading",
    "user_cache",
    "write_file",
]
