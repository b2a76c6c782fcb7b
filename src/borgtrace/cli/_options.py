"""Arguments and options that several commands have, declared once so that they mean the same everywhere."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """Declare an option with a value: what stands for it, what it says, its name where it is not the parameter's."""
    return Option(*names, metavar=metavar, help=help, **more)


def argument(metavar: str, help: str) -> Any:
    """Declare an argument: what stands for it, and what it says."""
    return Argument(metavar=metavar, help=help)


def flag(name: str, help: str) -> Any:
    """Declare an option without a value; with its name given, there is no second one that denies it."""
    return Option(name, help=help)


Store = Annotated[Path, argument("STORE", "The store.")]
NewFolder = Annotated[Path, argument("OUT", "The folder to create.")]
Questions = Annotated[list[str] | None, argument("[NAME…]", "Questions; all of them by default.")]

Memory = Annotated[str, option("SIZE", "Memory budget; larger work spills to disk.")]
Timeout = Annotated[str, option("TIME", "Stop what takes longer, such as 30s or 5m.")]
Engine = Annotated[str, option("ENGINE", "duckdb, local[N] or spark://HOST:PORT.")]
Workers = Annotated[int | None, option("N", "Parallel workers; one per core by default.", min=1)]
Seed = Annotated[int, option("N", "Random seed; the same seed gives the same result.")]
Cell = Annotated[str, option("CELL", "Cell of 2019: a … h.")]
Tables = Annotated[str, option("A,B", "Tables, separated by commas; all by default.")]

TimeRange = Annotated[str, option("A..B", "Time range, such as 600s..24h, 1h30m.. or ..2d.")]

Json = Annotated[bool, flag("--json", "Print JSON instead of text.")]
AnswerFolder = Annotated[Path | None, option("DIR", "Folder for NAME.parquet, .csv, .svg, .vl.json and claims.csv.")]
Png = Annotated[bool, flag("--png", "With --out: also write NAME.png.")]
List = Annotated[bool, flag("--list", "List the names and stop.")]


def seconds_of(timeout: str) -> float | None:
    """Return a time limit in seconds, None where there is none."""
    from borgtrace.schema.time import SECOND, parse_time

    return parse_time(timeout, "--timeout") / SECOND if timeout else None
