"""``borgtrace dialect``: a first draft of the format of own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument

ON_INTERRUPT = "nothing was written"


def dialect(
    action: Annotated[Literal["sniff", "list"], Argument(help="sniff a file, or list the known formats.")],
    file: Annotated[Path | None, Argument(help="Usage as CSV, Parquet or JSON lines.", metavar="[FILE]")] = None,
) -> None:
    """Write a first draft of the format of a file, which says what was guessed; or list the known formats.

    Correct the draft, then: borgtrace ingest FILE --dialect own.toml --store STORE

    Example: borgtrace dialect sniff own.csv > own.toml
    """
    from borgtrace.errors import SourceError, UsageError
    from borgtrace.ingest.sniffing import sniff
    from borgtrace.schema.dialects import DIALECTS

    if action == "list":
        for name, known in DIALECTS.items():
            print(f"{name}: {known.title}")
        return
    if file is None:
        raise UsageError("FILE", "no file named", way_out="borgtrace dialect sniff FILE > own.toml")
    if not file.is_file():
        raise SourceError(str(file), "no such file", way_out="check the path")
    print(sniff(file).text(), end="")
