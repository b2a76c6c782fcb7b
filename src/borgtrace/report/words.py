"""Names of columns as words for people."""

from __future__ import annotations

_SAID = {"cpu": "CPU", "cpi": "CPI", "mai": "MAI", "id": "ID", "io": "I/O", "us": "µs", "gpa": "GPA", "sql": "SQL"}


def words(name: str) -> str:
    """Write the name of a column in words; `n_` (number of) goes without saying.

    Examples
    --------
    >>> words("n_jobs"), words("cpu_request"), words("collection_id"), words("wait_p90"), words("n")
    ('jobs', 'CPU request', 'collection ID', 'wait p90', 'n')
    """
    parts = name.removeprefix("n_").split("_")
    return " ".join(_SAID.get(part, part) for part in parts)
