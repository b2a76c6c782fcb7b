"""Arguments and options that several commands have, declared once so that they mean the same everywhere."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

Store = Annotated[Path, Argument(help="The store.", metavar="STORE")]
NewFolder = Annotated[Path, Argument(help="The folder to create.", metavar="OUT")]
Questions = Annotated[list[str] | None, Argument(help="Questions; all of them by default.", metavar="[NAME…]")]

Memory = Annotated[str, Option(help="Memory budget; larger work spills to disk.", metavar="SIZE")]
Timeout = Annotated[str, Option(help="Stop what takes longer, such as 30s or 5m.", metavar="TIME")]
Engine = Annotated[str, Option(help="duckdb, local[N] or spark://HOST:PORT.", metavar="ENGINE")]
Workers = Annotated[int | None, Option(help="Parallel workers; one per core by default.", min=1, metavar="N")]
Seed = Annotated[int, Option(help="Random seed; the same seed gives the same result.", metavar="N")]
Cell = Annotated[str, Option(help="Cell of 2019: a … h.", metavar="CELL")]
Tables = Annotated[str, Option(help="Tables, separated by commas; all by default.", metavar="A,B")]

TimeRange = Annotated[str, Option(help="Time range, such as 600s..24h, 1h30m.. or ..2d.", metavar="A..B")]

Json = Annotated[bool, Option("--json", help="Print JSON instead of text.")]
AnswerFolder = Annotated[
    Path | None, Option(help="Folder for NAME.parquet, .csv, .svg, .vl.json and claims.csv.", metavar="DIR")
]
Png = Annotated[bool, Option("--png", help="With --out: also write NAME.png.")]
List = Annotated[bool, Option("--list", help="List the names and stop.")]


def seconds_of(timeout: str) -> float | None:
    """Return a time limit in seconds, None where there is none."""
    from borgtrace.schema.time import SECOND, parse_time

    return parse_time(timeout, "--timeout") / SECOND if timeout else None
