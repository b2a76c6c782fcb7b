"""Read data files that stand beside the code: tables of rows, and paragraphs of lines.

Lines that begin with # are comments. Files are read by path rather than as package resources, because every command
reads some of them when it starts.
"""

import csv
from pathlib import Path


def read_rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file, by column."""
    return list(csv.DictReader(_lines(file)))


def read_paragraphs(file: Path) -> list[list[str]]:
    """Return the lines of each paragraph of a file; empty lines stand between paragraphs."""
    text = "\n".join(_lines(file)).strip()
    return [paragraph.splitlines() for paragraph in text.split("\n\n")]


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text("utf-8").splitlines() if not line.startswith("#")]
