"""Read the data files beside the code: rows of measured or published values.

Files are read by path rather than as package resources, because every command reads some of them when it starts.
"""

import csv
from pathlib import Path


def read_rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file, by column; lines that begin with # are comments."""
    lines = file.read_text("utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))
