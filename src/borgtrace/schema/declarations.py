"""Read tables from a file of declarations: a paragraph for each, a line for each column."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from borgtrace.schema.checks import (
    AMOUNT_NOT_NEGATIVE,
    INTEGER_NOT_NEGATIVE,
    Check,
    code_at_most,
    not_before,
)
from borgtrace.schema.data_files import read_paragraphs
from borgtrace.schema.types import Column, Table

_CHECKS = {
    check.reason: check
    for check in (INTEGER_NOT_NEGATIVE, AMOUNT_NOT_NEGATIVE, code_at_most(0), not_before(""))
}


def read_declarations(file: Path, known: Iterable[Table] = ()) -> dict[str, Table]:
    """Read the tables that a file declares, in its order.

    Parameters
    ----------
    file
        The declarations.
    known
        Other tables: a line ``table.column`` takes a column of theirs.
    """
    groups: dict[str, list[Column]] = {}
    for table in known:
        for column in table.columns:
            groups[f"{table.name}.{column.name}"] = [column]
    tables: dict[str, Table] = {}
    for head, *declared in read_paragraphs(file):
        columns: list[Column] = []
        for line in declared:
            columns += groups.get(line) or [_column(*line.split("|"))]
        if head.startswith("@"):
            groups[head] = columns
        else:
            name, grain, key = head.split("|")
            tables[name] = Table(name, grain, tuple(key.split()), tuple(columns))
    return tables


def _column(name: str, kind: str, unit: str, doc: str, checks: str = "") -> Column:
    type_name, _, detail = kind.removesuffix("!").partition(":")
    details: dict[str, Any] = {"checks": tuple(map(_check, checks.split()))}
    if type_name == "enum":
        details["enum"] = detail
    elif detail:
        details["length"] = int(detail)
    is_nullable = not kind.endswith("!")
    return Column(name, cast(Any, type_name), cast(Any, unit), doc, nullable=is_nullable, **details)


def _check(text: str) -> Check:
    reason, _, argument = text.partition(":")
    if argument.isdecimal():
        return replace(_CHECKS[reason], bound=int(argument))
    return replace(_CHECKS[reason], minus=argument)
