"""Files beside data that hold none: descriptions, checksums, and marks of other programs."""

from borgtrace.storage import INCOMPLETE

SCHEMA = "schema.csv"
_NAMES = (SCHEMA, "README", "MD5SUM", "SHA1SUM", "SHA256SUM", "LICENSE")
# "truth": the generator's account of a synthetic trace; the others: what Spark, Hive and Delta leave in their folders.
_BEGINNINGS = (
    "truth",
    ".",
    "_SUCCESS",
    "_committed_",
    "_started_",
    "_metadata",
    "_common_metadata",
)
_TEXT = ".txt"
"""Descriptions are called so, and what programs such as sacct and kubectl print is, too: its content tells."""
_ENDINGS = (".md", ".pdf", INCOMPLETE, ".schema.json", ".part", ".state", ".crc")
_FOLDERS = ("__MACOSX", "_delta_log", "_temporary")
"""Folders that macOS, Delta and Spark make for themselves."""


def is_beside_data(name: str) -> bool:
    """Return whether a file that a folder or an archive holds is no data.

    Parameters
    ----------
    name
        Its name, with the folders below the one that was named.

    Examples
    --------
    >>> [is_beside_data(name) for name in ("README", "own.parquet/_SUCCESS", "part-00000-of-00500.csv.gz")]
    [True, True, False]
    """
    *folders, file = name.split("/")
    if any(folder in _FOLDERS for folder in folders):
        return True
    return file in _NAMES or file.startswith(_BEGINNINGS) or file.endswith(_ENDINGS)


def may_be_beside_data(name: str) -> bool:
    """Return whether a file may be a description, so that it is none of ours where it is not recognized.

    Parameters
    ----------
    name
        Its name.

    Examples
    --------
    >>> may_be_beside_data("jobs.txt"), may_be_beside_data("jobs.csv")
    (True, False)
    """
    return name.endswith(_TEXT)
