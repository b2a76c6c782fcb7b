"""The citation that ``borgtrace dataset`` and ``borgtrace export`` write beside their files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from borgtrace.errors import UsageError
from borgtrace.storage import as_path, write_file
from borgtrace.store.citation import CITATION_FILE


def write_citation(
    out: Path,
    record_of: Callable[..., dict[str, Any]],
    creators: Sequence[str],
    publisher: str,
) -> None:
    """Write ``datacite.json`` into a folder.

    Parameters
    ----------
    out
        The folder.
    record_of
        Returns the record, given creators, publisher and year.
    creators, publisher
        Who publishes the files, and where; this year.
    """
    year = datetime.now(UTC).year
    record = record_of(creators=creators, publisher=publisher, year=year)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    write_file(as_path(out) / CITATION_FILE, f"{text}\n")


def check_creators(creators: Sequence[str]) -> None:
    """Refuse creators without a name; before anything is written.

    Raises
    ------
    UsageError
        One is empty.
    """
    if any(not name.strip() for name in creators):
        raise UsageError("--creator", "no name", expected='a name such as "Lovelace, Ada"')
