"""Names of columns and tasks that try to be SQL, and files and folders that hold them."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.errors import harmless

PIECES = [
    *("'", '"', '""', "\\", "\\'", "`", "--", "/*", "*/", ";", "$$", "$tag$", "$1", "?", "%s"),
    *("(", ")", "[", "]", "{", "}", "{0}", ",", ".", "*", "=", "@", "|", "#", "&", "<b>"),
    *(
        " ",
        "\t",
        "\x01",
        "\x07",
        "\x1b[31m",
        "\x7f",
        "\x9b2J",
        "\u2028",
        "\u202e",
        "\ufeff",
        "\u200b",
    ),
    *(
        "＇",
        "＂",
        "ʼ",
        "‘",
        "’",
        "；",
        "＿",
        "Ａ",
        "é",
        "e\u0301",
        "ß",
        "İ",
        "日本",
        "😀",
        "\U000e0041",
    ),
    *("select", "FROM raw", "NULL", "true", "AS", "file_row_number", "source_row", "rowid", "line"),
    *(
        "COPY",
        "ATTACH",
        "INSTALL httpfs",
        "LOAD",
        "PRAGMA",
        "SET",
        "read_text",
        "../..",
        "~",
        "%2e",
    ),
]
LINE_BREAKS = ["\n", "\r\n", "\r"]
ATTACKS = [
    """') FROM raw; COPY (SELECT 1) TO '{out}' --""",
    """") FROM raw; COPY (SELECT 1) TO '{out}' --""",
    """"") FROM raw; COPY (SELECT 1) TO '{out}' --""",
    """' || (SELECT content FROM read_text('{secret}')) || '""",
    """" || (SELECT content FROM read_text('{secret}')) || \"""",
    """', (SELECT content FROM read_text('{secret}')), '""",
    """$$); ATTACH '{out}' AS evil; --""",
    """\\"; COPY (SELECT 1) TO '{out}'; --""",
    """*/ ; EXPORT DATABASE '{out}'; /*""",
    """'}}; INSTALL httpfs; LOAD httpfs; SET allowed_directories = ['/']; --""",
]
"""Texts that leave a file behind, or read one, where they get out of their quotes."""
SECRET = "n0b0dy-reads-this"


class Names(NamedTuple):
    """Hostile names of the columns that are declared."""

    task: str
    time: str
    cpu: str
    machine: str


def hostile_name(chance: random.Random, folder: Path, *, has_line_breaks: bool = True) -> str:
    """Return a name of a few pieces, every third one an attack; one in a hundred has 10 kB.

    Parameters
    ----------
    chance
        The seeded generator.
    folder
        Where an attack would write, and where it finds the secret.
    has_line_breaks
        Whether line breaks and NUL may be among the pieces.
    """
    pieces = [*PIECES, *LINE_BREAKS, "\0"] if has_line_breaks else PIECES
    chosen = chance.choices(pieces, k=chance.randrange(1, 8))
    if chance.random() < 1 / 3:
        attack = chance.choice(ATTACKS)
        chosen.append(attack.format(out=folder / "written", secret=folder / "secret"))
    name = "".join(chosen)
    if chance.random() < 0.01:
        name = name * (10_000 // len(name) + 1)
    # A name of blanks alone is none.
    return name if name.strip() else f"x{name}"


def distinct_names(
    chance: random.Random,
    folder: Path,
    count: int,
    *,
    has_line_breaks: bool = True,
) -> list[str]:
    """Return names for the columns of a file, no two of which are the same to SQL."""
    names: dict[str, str] = {}
    while len(names) < count:
        name = hostile_name(chance, folder, has_line_breaks=has_line_breaks)
        names.setdefault(name.casefold(), name)
    return list(names.values())


Row = Sequence[Any]


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Write CSV with every text in quotes."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8", newline="")


def write_json(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Write lines of JSON."""
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_parquet(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Write Parquet."""
    arrays = [pa.array(list(values)) for values in zip(*rows, strict=True)]
    pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), path)


WRITERS: dict[str, Callable[[Path, Sequence[str], Sequence[Row]], None]] = {
    "own.csv": write_csv,
    "own.json": write_json,
    "own.parquet": write_parquet,
}


def declaration(names: Names) -> str:
    """Return TOML that declares a file of these names."""
    texts = {field: toml_text(name) for field, name in names._asdict().items()}
    return (
        'clock = "relative"\nstep = "300s"\n[usage]\n'
        f"task = {texts['task']}\n"
        f'time = {{ column = {texts["time"]}, unit = "s" }}\n'
        f"machine = {texts['machine']}\n"
        f'cpu = {{ column = {texts["cpu"]}, unit = "cores", kind = "average" }}\n'
    )


def toml_text(text: str) -> str:
    """Write a text as TOML, by escapes of its own where it needs them."""
    escapes = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\t"): "\\t"}
    return f'"{harmless(text.translate(escapes))}"'
