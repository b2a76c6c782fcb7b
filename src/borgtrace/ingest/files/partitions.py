"""Columns that folders name, as Hive and Spark partition tables: ``date=2026-11-01/hour=03``."""

import re
from urllib.parse import unquote

from borgtrace.ingest.files.raw_file import RawFile

_PARTITION = re.compile(r"([A-Za-z_][A-Za-z0-9_. -]*)=([^=]+)")
_NOTHING = "__HIVE_DEFAULT_PARTITION__"
_DATES = ("date", "dt", "ds", "day", "event_date")
_HOURS = ("hour", "hr", "hh")
_DATE_PARTS = ("year", "month", "day")


def partition_columns(file: RawFile) -> dict[str, str]:
    """Return the columns that the folders of a file name; an hour belongs to its date.

    Parameters
    ----------
    file
        The file.

    Examples
    --------
    >>> from pathlib import Path
    >>> partition_columns(RawFile(Path("usage/cluster=a/date=2026-11-01/hour=03/part-0.parquet")))
    {'cluster': 'a', 'date': '2026-11-01 03:00:00', 'hour': '03'}
    >>> partition_columns(RawFile(Path("year=2026/month=11/day=1/part-0.parquet")))["date"]
    '2026-11-01'
    """
    folders = (*file.path.parent.parts, *file.member.split("/")[:-1])
    columns = {}
    for folder in folders:
        match = _PARTITION.fullmatch(folder)
        if match and match[2] != _NOTHING:
            columns[match[1]] = unquote(match[2])
    _join_dates(columns)
    return columns


def _join_dates(columns: dict[str, str]) -> None:
    """Make one column of the parts of a date, and of its hour."""
    parts = [columns.get(part, "") for part in _DATE_PARTS]
    if all(part.isdecimal() for part in parts):
        year, month, day = (int(part) for part in parts)
        columns["date"] = f"{year:04d}-{month:02d}-{day:02d}"
    date = next((name for name in _DATES if "-" in columns.get(name, "")), "")
    hour = next((columns[name] for name in _HOURS if name in columns), "")
    if date and hour.isdecimal():
        columns[date] = f"{columns[date]} {int(hour):02d}:00:00"
