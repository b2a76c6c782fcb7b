"""File formats of an export: each names its files and writes them batch by batch."""

from typing import NamedTuple

from borgtrace.export.jobs.csv import CsvFiles
from borgtrace.export.jobs.sqlite import SqliteFiles


class Format(NamedTuple):
    """Ending of the files, and what makes their writer from the folder and the titles of the columns."""

    suffix: str
    writer: type[CsvFiles | SqliteFiles]


FORMATS: dict[str, Format] = {"csv": Format(".csv", CsvFiles), "sqlite": Format(".sqlite3", SqliteFiles)}
