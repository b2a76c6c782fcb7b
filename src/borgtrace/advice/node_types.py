"""Node types that a workload may be packed on: their cores, memory and price."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from borgtrace.errors import UsageError
from borgtrace.storage import read_text

COLUMNS = ("type", "cores", "gib", "price_per_hour")
BUILT_IN = Path(__file__).parent / "node_types.csv"
BUILT_IN_SOURCE = "AWS list prices, on demand, Linux, us-east-1, in US$, as of 2024"
"""Where the built-in table comes from: a month's bill has discounts that no list knows."""
LARGEST_AMOUNT = 1e6


@dataclass(frozen=True, slots=True)
class NodeType:
    """A kind of node.

    Attributes
    ----------
    name
        As its seller calls it.
    cores, gib
        What it has.
    price
        Of an hour, in whatever currency the table is in.
    """

    name: str
    cores: float
    gib: float
    price: float


def read_node_types(path: Path | None = None) -> list[NodeType]:
    """Return the node types of a table; of the built-in one where none is named.

    Parameters
    ----------
    path
        CSV with a header and the columns of `COLUMNS`, in any order; others are ignored.

    Raises
    ------
    UsageError
        Where there is no such file, a column is missing, or a number is none.

    Examples
    --------
    >>> next(kind for kind in read_node_types() if kind.name == "m6i.large")
    NodeType(name='m6i.large', cores=2.0, gib=8.0, price=0.096)
    """
    source = path or BUILT_IN
    try:
        text = read_text(source).removeprefix("\ufeff")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError("--prices", f"cannot read {source.name}: {reason}") from None
    reader = csv.DictReader(text.splitlines())
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise UsageError(
            "--prices",
            f"{source.name} lacks {', '.join(missing)}",
            expected=f"a header with {', '.join(COLUMNS)}",
            got=", ".join(reader.fieldnames or ()) or "an empty file",
        )
    types = [node_type_of(row, reader.line_num, source.name) for row in reader]
    if not types:
        raise UsageError("--prices", f"{source.name} has no node type", expected="a line for each")
    check_unique(types, source.name)
    return types


def node_type_of(row: dict[str, str | None], line: int, file: str) -> NodeType:
    """Return the node type of one line."""
    amounts = []
    for name in COLUMNS[1:]:
        text = row[name] or ""
        try:
            amount = float(text)
        except ValueError:
            amount = math.nan
        if not 0 < amount <= LARGEST_AMOUNT:
            raise UsageError(
                "--prices",
                f"{file}, line {line}: {name} is no amount",
                expected=f"a number above 0, at most {LARGEST_AMOUNT:,.0f}",
                got=text or "nothing",
            )
        amounts.append(amount)
    return NodeType((row["type"] or "").strip(), *amounts)


def check_unique(types: Sequence[NodeType], file: str) -> None:
    """Refuse a table in which a type stands twice: which of its prices holds?"""
    seen: set[str] = set()
    for kind in types:
        if kind.name in seen:
            raise UsageError("--prices", f"{file} has {kind.name or 'a type without a name'} twice")
        seen.add(kind.name)
