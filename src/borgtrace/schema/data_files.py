"""Files of data that stand beside the code: tables of rows, and paragraphs of lines; lines with # are comments.

Read with paths and no package resources, because every command reads some of them when it starts.
"""

import csv
from pathlib import Path


def read_rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file, by column."""
    return list(csv.DictReader(_lines(file)))


def read_paragraphs(file: Path) -> list[list[str]]:
    """Return the paragraphs of a file, which empty lines divide: the lines of each."""
    return [paragraph.splitlines() for paragraph in "\n".join(_lines(file)).strip().split("\n\n")]


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text("utf-8").splitlines() if not line.startswith("#")]
