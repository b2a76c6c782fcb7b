"""Columns that several tables share, written once."""

from __future__ import annotations

from borgtrace.schema.types import Absent, Column, ColumnType, Source

IMPLICIT_JOB = Absent("2011 has jobs only: every row is of type JOB")
NO_ALLOCS = Absent("2011 has no alloc sets")
NOT_IN_2011 = Absent("not published in 2011")
NOT_IN_2019 = Absent("not published in 2019")
FLAG = Absent("derived: true where the raw machine id is −1")


def column(
    name: str,
    type: ColumnType,
    unit: str,
    doc: str,
    in_2011: Source,
    in_2019: Source,
    *,
    nullable: bool = True,
    enum: str | None = None,
    length: int | None = None,
) -> Column:
    """Declare a column with its two sources."""
    return Column(name, type, unit, doc, nullable, {"2011": in_2011, "2019": in_2019}, enum, length)


def key(name: str, type: ColumnType, unit: str, doc: str, in_2011: Source, in_2019: Source) -> Column:
    """Declare a column that may not be NULL."""
    return column(name, type, unit, doc, in_2011, in_2019, nullable=False)


SOURCE_PART = Column(
    "source_part",
    "int32",
    "id",
    "Number in the raw file's name, else the rank of the file by content digest.",
    nullable=False,
    source={"2011": Absent("given at ingest"), "2019": Absent("given at ingest")},
)
SOURCE_ROW = Column(
    "source_row",
    "int64",
    "id",
    "Data row in the raw file, counted from 0.",
    nullable=False,
    source={"2011": Absent("given at ingest"), "2019": Absent("given at ingest")},
)
PROVENANCE = (SOURCE_PART, SOURCE_ROW)
