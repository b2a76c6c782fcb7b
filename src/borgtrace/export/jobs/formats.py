"""File formats of an export: each writer names its files and writes them batch by batch."""

from borgtrace.export.jobs.csv import CsvFiles
from borgtrace.export.jobs.sqlite import SqliteFiles

FORMATS: dict[str, type[CsvFiles | SqliteFiles]] = {"csv": CsvFiles, "sqlite": SqliteFiles}
