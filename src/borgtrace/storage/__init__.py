"""Paths, files and folders, local or in a bucket: whatever is written appears whole or not at all."""

from borgtrace.storage.folder import check_free, is_free, is_writable, new_folder, replacing_once
from borgtrace.storage.freed_blocks import can_free_blocks, flush, free_blocks
from borgtrace.storage.lock import locked
from borgtrace.storage.outputs import download, upload, uploading
from borgtrace.storage.paths import (
    BUCKETS,
    as_local_path,
    as_path,
    is_utf8,
    printable_name,
)
from borgtrace.storage.plain_paths import plain_path
from borgtrace.storage.regular_files import (
    NotRegularError,
    OpenedFile,
    describe_kind,
    open_regular,
    read_regular,
    read_text,
    readable,
    regular_files_in,
    require_regular,
)
from borgtrace.storage.remote import RemotePath, expect_unchanged, translate_bucket_errors
from borgtrace.storage.replacing import (
    INCOMPLETE,
    incomplete_path,
    remove,
    replacing,
    require_replaceable,
    write_file,
)
from borgtrace.storage.scratch import new_scratch, scratch_folder
from borgtrace.storage.shortage import (
    DISK_FULL,
    NOT_WRITABLE,
    disk_full,
    refuse_shortage,
    reserve,
    shortage_behind,
    shortage_error,
)
from borgtrace.user_cache import user_cache

__all__ = [
    "BUCKETS",
    "DISK_FULL",
    "INCOMPLETE",
    "NOT_WRITABLE",
    "NotRegularError",
    "OpenedFile",
    "RemotePath",
    "as_local_path",
    "as_path",
    "can_free_blocks",
    "check_free",
    "describe_kind",
    "disk_full",
    "download",
    "expect_unchanged",
    "flush",
    "free_blocks",
    "incomplete_path",
    "is_writable",
    "is_free",
    "is_utf8",
    "locked",
    "new_folder",
    "new_scratch",
    "open_regular",
    "plain_path",
    "printable_name",
    "read_regular",
    "read_text",
    "readable",
    "refuse_shortage",
    "regular_files_in",
    "remove",
    "replacing",
    "replacing_once",
    "require_regular",
    "require_replaceable",
    "reserve",
    "scratch_folder",
    "shortage_behind",
    "shortage_error",
    "translate_bucket_errors",
    "upload",
    "uploading",
    "user_cache",
    "write_file",
]
