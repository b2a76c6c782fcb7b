"""The trace formats that are known, a TOML file each; beside it the fields of its tables (``.fields``)."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from borgtrace.schema.dialects.converted import converted_dialect
from borgtrace.schema.dialects.rates import rates
from borgtrace.schema.dialects.raw import Flattened, RawTable, read_tables
from borgtrace.schema.dialects.trace_format import Codes, Conversion, Dialect, Publication
from borgtrace.schema.enums import ENUMS
from borgtrace.schema.time import parse_time

Said = Mapping[str, Any]
"""What a file says, or a part of it."""


def read_formats(folder: Path) -> dict[str, Dialect]:
    """Return the formats of a folder by name.

    A file says what a `Dialect` is, and as ``raw`` how its tables are read: whether fields are known by their place,
    and other spellings of names.  Codes are a list from 0 on, a table of numbers or words, or the number from which on
    the names of the enumeration count.  A file that is ``like`` another says in what it differs.
    """
    found: dict[str, Dialect] = {}
    for path in sorted(folder.glob("*.toml")):
        one = _format(path, found)
        found[one.name] = one
    return found


def _format(path: Path, known: Mapping[str, Dialect]) -> Dialect:
    said = _frozen(tomllib.loads(path.read_text("utf-8")))
    base, raw = known.get(said.pop("like", "")), said.pop("raw", {})
    facts = {name: _READ[name](value) if name in _READ else value for name, value in said.items()}
    facts["tables"] = _tables(path.stem, raw, base)
    if base is not None:
        # Published apart, if at all.
        return replace(base, **facts, publication=None)
    if "conversion" in facts:
        return converted_dialect(**facts)
    return Dialect(**facts, trace=facts["name"], anomalies=rates(facts["name"]))


def _frozen(value: Any) -> Any:
    """Make tuples of lists."""
    if isinstance(value, dict):
        return {name: _frozen(item) for name, item in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _tables(name: str, raw: Said, base: Dialect | None) -> dict[str, RawTable]:
    if base is not None and "tables" in raw:
        return {table: base.tables[table] for table in raw["tables"]}
    tables = read_tables(name, is_positional=raw.get("is_positional", False))
    for table, spellings in raw.get("spellings", {}).items():
        tables[table] = replace(tables[table], spellings=tuple(spellings.items()))
    return tables


def _codes(enum: str, said: Any) -> Codes:
    if isinstance(said, Mapping):
        return {int(code) if code.isdecimal() else code: name for code, name in said.items()}
    return dict(enumerate(ENUMS[enum].names, said) if isinstance(said, int) else enumerate(said))


def _flattened(said: Said) -> Flattened:
    renamed = {tuple(field.split(".")): column for field, column in said["renamed"].items()}
    sets = {name: frozenset(said[name]) for name in ("header", "literals")}
    return Flattened(**{**said, **sets, "renamed": renamed})


_READ: Mapping[str, Callable[[Any], Any]] = {
    "codes": lambda said: {enum: _codes(enum, codes) for enum, codes in said.items()},
    "span": lambda text: timedelta(microseconds=parse_time(text)),
    "publication": lambda said: Publication(**said),
    "conversion": lambda said: Conversion(**said),
    "flattened": _flattened,
}
