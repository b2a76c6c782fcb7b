"""Kinds of input that people have, each with what becomes of it: the tables in the documentation, and their tests."""

from tests.ingest.kinds import (
    formats,
    forms,
    own_columns,
    several_files,
    unread_answers,
    unread_prints,
)
from tests.ingest.kinds.kind import InputKind

KINDS: tuple[InputKind, ...] = (
    *own_columns.KINDS,
    *forms.KINDS,
    *several_files.KINDS,
    *unread_prints.KINDS,
    *unread_answers.KINDS,
    *formats.KINDS,
)
"""All kinds of files, in the order of the page."""

__all__ = ["KINDS", "InputKind"]
