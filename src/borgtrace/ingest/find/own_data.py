"""Own data: which format its files are in, as a file says, or as the files themselves let guess."""

import errno
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest.find.discovery import Discovery, discover
from borgtrace.ingest.find.sniffing import sniff
from borgtrace.schema.dialects import declare, dialect
from borgtrace.schema.dialects.units import MEMORY
from borgtrace.storage import place

_ITEM = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")


@dataclass(frozen=True)
class Found:
    """Raw files, and what was declared or guessed of their format."""

    discovery: Discovery
    declaration: dict[str, Any] | None = None
    guesses: tuple[str, ...] = field(default=())


def find(
    places: Sequence[Path], cell: str = "", format: str = "", *, may_guess: bool = True
) -> Found:
    """Find raw files: of a known format, of one that a file declares, or (own data) of one that is guessed.

    Parameters
    ----------
    places
        Files, or folders that are searched whole.
    cell
        As for `discover`.
    format
        Name of a format, or path or URL of a file that declares one; the files tell where it is empty.
    may_guess
        Whether a single file of no known format may be taken for usage by its columns.

    Raises
    ------
    SourceError
        As `discover`.
    UsageError
        The format is unknown or its declaration wrong.
    """
    if format.endswith(".toml"):
        declaration = read_declaration(place(format))
        return Found(discover(places, cell, declare(declaration, format)), declaration)
    if format:
        return Found(discover(places, cell, dialect(format)))
    try:
        return Found(discover(places, cell))
    except SourceError as unknown:
        if not may_guess or len(places) != 1 or not places[0].is_file():
            raise
        try:
            draft = sniff(places[0])
        # It is no table at all: what is wrong with it as a trace says more.
        except SourceError:
            raise unknown from None
    try:
        guessed = declare(draft.declaration, str(places[0]))
    except UsageError as open_question:
        # There is no file yet in which to add what is left open.
        write = f"borgtrace dialect sniff {places[0]} > own.toml, {open_question.way_out}, and --dialect own.toml"
        parts = {"expected": open_question.expected, "got": open_question.got, "way_out": write}
        raise UsageError(open_question.where, open_question.what, **parts) from None
    return Found(discover(places, cell, guessed), draft.declaration, draft.guesses)


def read_declaration(path: Path) -> dict[str, Any]:
    """Read a file that declares a format.

    Raises
    ------
    SourceError
        It is not there, or not TOML.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        way_out = "write a first draft: borgtrace dialect sniff FILE > own.toml"
        raise SourceError(
            str(path), os.strerror(error.errno or errno.EIO).lower(), way_out=way_out
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SourceError(str(path), f"not TOML ({error})", way_out="mend the line") from error


def parse_capacity(text: str) -> tuple[float | None, float | None]:
    """Read the size of the largest machine.

    Parameters
    ----------
    text
        Such as ``8cores``, ``8cores,32GiB``; empty where nothing is said.

    Returns
    -------
    tuple of float or None
        Cores and bytes.

    Raises
    ------
    UsageError
        It is neither.

    Examples
    --------
    >>> parse_capacity("8cores,32GiB"), parse_capacity("")
    ((8.0, 34359738368.0), (None, None))
    """
    found: dict[str, float] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = _ITEM.fullmatch(item)
        resource = "cores" if match and match[2] in ("core", "cores") else "bytes"
        factor = 1.0 if resource == "cores" else MEMORY.get(match[2] if match else "", (0.0, ""))[0]
        amount = float(match[1]) * factor if match else 0.0
        if amount <= 0 or resource in found:
            raise UsageError(
                "--capacity", "not the size of a machine", expected="such as 8cores,32GiB", got=text
            )
        found[resource] = amount
    return found.get("cores"), found.get("bytes")
