"""The raw files of an ingest, in a known format, a declared one, or (own data) a guessed one."""

import errno
import os
import tomllib
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from borgtrace.errors import SourceError, UsageError, shell_word
from borgtrace.ingest.files.garbage import without_collection
from borgtrace.ingest.files.limits import read_side_file
from borgtrace.ingest.files.partitions import partition_columns
from borgtrace.ingest.find.discovery import Discovery, discover, first_data_files
from borgtrace.ingest.find.draft import Draft, DraftedColumn
from borgtrace.ingest.find.guessed_values import columns_with_values
from borgtrace.ingest.find.joint_drafts import sniff_all
from borgtrace.ingest.find.known_columns import NOT_A_TRACE
from borgtrace.ingest.find.sniffed_table import NoTableError
from borgtrace.schema.dialects import (
    DIALECT_KINDS,
    DIALECTS,
    Dialect,
    declare,
    declare_python,
    declare_stored,
    dialect,
)
from borgtrace.storage import as_path

_MOST_SNIFFED = 20
"""Files of a folder whose columns are looked at: they are mostly parts of one table."""


@dataclass(frozen=True)
class RawFiles:
    """Raw files, and how their format is known.

    Parameters
    ----------
    discovery
        The files, each with its format and table.
    declaration
        What a file says of their format, or what was guessed of it; None for a known format.
    guesses
        What was guessed, in sentences.
    columns
        What each column was taken for, where the format was guessed.
    """

    discovery: Discovery
    declaration: dict[str, Any] | None = None
    guesses: tuple[str, ...] = field(default=())
    columns: tuple[DraftedColumn, ...] = ()


def find_raw_files(
    places: Sequence[Path],
    cell: str = "",
    format: str | Dialect = "",
    *,
    time_zone: str = "",
    may_guess: bool = True,
    declaration: Mapping[str, Any] | None = None,
) -> RawFiles:
    """Find raw files, and recognize, read or guess their format.

    Parameters
    ----------
    places
        Files, or folders that are searched whole.
    cell
        As for `discover`.
    format
        A format, its name, or a file that says one: TOML (also a URL) or Python; the files tell where it is empty.
    time_zone
        As for `discover`.
    may_guess
        Whether files of no known format may be taken for usage by their columns.
    declaration
        What the store that they join says of its format, for files of no known one.

    Raises
    ------
    SourceError
        As `discover`.
    UsageError
        The format is unknown or its declaration wrong.
    SchemaError
        Python code describes a format that does not fit the tables of a store.
    """
    with without_collection():
        return _find(places, cell, format, time_zone, may_guess, declaration)


def _find(
    places: Sequence[Path],
    cell: str,
    format: str | Dialect,
    time_zone: str,
    may_guess: bool,
    declaration: Mapping[str, Any] | None,
) -> RawFiles:
    said = _said_format(format) if format else None
    if said is None and declaration is not None:
        said = declare_stored(declaration, "the store"), dict(declaration)
    if said is not None:
        said_dialect, said_declaration = said
        discovery = discover(places, cell, said_dialect, time_zone)
        # Of a known format nothing is to be said.
        remarks = _remarks(discovery) if said_declaration else ()
        return RawFiles(discovery, said_declaration, remarks)
    try:
        return RawFiles(discover(places, cell, time_zone=time_zone))
    except SourceError as not_a_trace:
        if not may_guess:
            raise
        return _guess_format(places, cell, time_zone, not_a_trace)


def _said_format(format: str | Dialect) -> tuple[Dialect, dict[str, Any] | None]:
    """Return the format that the user says, with what a store has to keep of it; None for a known one."""
    if isinstance(format, Dialect):
        is_ours = DIALECTS.get(format.name) is format
        return (format, None) if is_ours else declare_python(format, format.name)
    if format.endswith(".toml"):
        declaration = read_declaration(as_path(format))
        return declare(declaration, format), declaration
    if format.endswith(".py"):
        return declare_python(DIALECT_KINDS[_only_name(format)], format)
    if format in DIALECT_KINDS and format not in DIALECTS:
        return declare_python(DIALECT_KINDS[format], DIALECT_KINDS.origin(format))
    return dialect(format), None


def _only_name(file: str) -> str:
    """Return the name of the one format that a Python file describes."""
    names = DIALECT_KINDS.add_from(file, "--dialect")
    if len(names) == 1:
        return names[0]
    if not names:
        raise UsageError(
            file,
            "no trace format in it",
            expected=DIALECT_KINDS.wanted,
            way_out="borgtrace check lists what a file has",
        )
    raise UsageError(
        file,
        "several trace formats in it",
        got=", ".join(names),
        way_out=f"say which: --from {shell_word(file)} --dialect {names[0]}",
    )


def _guess_format(
    places: Sequence[Path],
    cell: str,
    time_zone: str,
    not_a_trace: SourceError,
) -> RawFiles:
    """Take files of no known format for own data, as far as their columns say enough."""
    paths = first_data_files(places, _MOST_SNIFFED)
    # A place that is not there, or cannot be read, is named as that.
    if not paths or not_a_trace.what != NOT_A_TRACE:
        raise not_a_trace
    try:
        joint = sniff_all(paths)
    except NoTableError:
        # The fault as a trace is the better message.
        raise not_a_trace from None
    draft = joint.draft
    readable = [path for path in paths if path not in joint.faults]
    names = " ".join(str(path) for path in readable)
    words = " ".join(shell_word(path) for path in readable)
    if draft.questions:
        raise _open_questions(names, words, draft)
    guessed_dialect = _declared(draft, names, words)
    discovery = discover(places, cell, guessed_dialect, time_zone)
    discovery.faults = [_fault_of_own_data(fault, joint.faults) for fault in discovery.faults]
    guesses = (*draft.guesses, *_remarks(discovery))
    return RawFiles(
        discovery,
        draft.declaration,
        guesses,
        columns_with_values(draft, time_zone),
    )


def _declared(draft: Draft, names: str, words: str) -> Dialect:
    """Return the format that a draft declares; refuse one that leaves something open."""
    try:
        return declare(draft.declaration, names)
    except UsageError as open_question:
        # There is no file yet in which to add what is left open.
        raise UsageError(
            open_question.where,
            open_question.what,
            expected=open_question.expected,
            got=open_question.got,
            way_out=f"borgtrace dialect sniff {words} > own.toml, {open_question.way_out}, "
            "and --dialect own.toml",
        ) from None


def _remarks(discovery: Discovery) -> tuple[str, ...]:
    """Return what is to be known of single files, in sentences."""
    remarks = [
        f"{source.file_name}: {source.remark}" for source in discovery.sources if source.remark
    ]
    unread: dict[str, None] = {}
    for source in discovery.sources:
        names = source.dialect.tables[source.table].names if source.dialect.conversion else ()
        for column in partition_columns(source) if names else ():
            if column not in names:
                unread[column] = None
    if unread:
        remarks.append(f"columns in the names of folders that are not read: {', '.join(unread)}")
    return tuple(dict.fromkeys(remarks))


def _fault_of_own_data(fault: SourceError, faults: Mapping[Path, SourceError]) -> SourceError:
    """Return what a file lacks as own data, where that is why it was not read."""
    if fault.what != NOT_A_TRACE:
        return fault
    return faults.get(Path(fault.where), fault)


def _open_questions(names: str, words: str, draft: Draft) -> UsageError:
    """Return the error for files that could be read in two ways."""
    asked = [f"column {question.about}: {question.asked}" for question in draft.questions]
    lines = [question.line for question in draft.questions]
    return UsageError(
        names,
        "; ".join(asked),
        way_out=f"borgtrace dialect sniff {words} > own.toml, add {', and '.join(lines)}, "
        "and --dialect own.toml",
    )


def read_declaration(path: Path) -> dict[str, Any]:
    """Read a file that declares a format.

    Raises
    ------
    SourceError
        It is not there, or not TOML.
    """
    try:
        text = read_side_file(path).removeprefix(BOM_UTF8).decode("utf-8")
        return tomllib.loads(text)
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO).lower()
        way_out = "write a first draft: borgtrace dialect sniff FILE > own.toml"
        raise SourceError(str(path), reason, way_out=way_out) from error
    # Lists in lists in lists … end in the limit of Python.
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(str(path), f"not TOML ({error})", way_out="correct the line") from error
