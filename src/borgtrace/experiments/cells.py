"""A cell of an experiment: one policy on one store with one seed, as sums over what intervals are over.

What a cell is computed from makes its key; its file has the key as its name. So a cell that is there need not be
computed again, whatever stopped the experiment, and a cell of another store, policy or version is another file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet

from borgtrace.errors import UsageError
from borgtrace.extensions import digest_of_code
from borgtrace.storage import replacing
from borgtrace.store.kept_folders import code_digest
from borgtrace.version import __version__


class Cell(NamedTuple):
    """A combination of an experiment.

    Attributes
    ----------
    store, family
        Their labels.
    policy
        With its parameters, as it was named.
    seed
        Of what is random.
    key
        Digest of all that it is computed from, in hexadecimal digits.
    """

    store: str
    family: str
    policy: str
    seed: int
    key: str


CellSums: TypeAlias = Sequence[tuple[Cell, pa.Table]]
"""Cells, each with its sums."""


def key_from(facts: Mapping[str, Any], folders: Sequence[str]) -> str:
    """Return the key of a cell.

    Parameters
    ----------
    facts
        All that its sums depend on, but for the code of borgtrace.
    folders
        Folders of the package whose modules decide what it holds.
    """
    described = {**facts, "borgtrace": __version__, "code": own_code(tuple(folders))}
    text = json.dumps(described, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def own_code(folders: tuple[str, ...]) -> str:
    """Return a digest of the code of borgtrace that computes cells."""
    package = Path(__file__).parents[1]
    return code_digest([package / folder for folder in folders])


def code_of_extension(name: str, code: Any) -> str:
    """Return the digest of the code of a class or a function of others, with what it imports of its own folder.

    Parameters
    ----------
    name
        What users call it.
    code
        The class, the function, or an object of the class.

    Raises
    ------
    UsageError
        It has no file: then cells of other code could be taken for its own.
    """
    digest = digest_of_code(code)
    if not digest:
        raise UsageError(
            "policies",
            f"the code of {name} is in no file, which tells finished cells from those of other code",
            way_out="put it into a file, and import it",
        )
    return digest


def write_cell(folder: Path, cell: Cell, sums: pa.Table) -> None:
    """Write the sums of a cell; the file is there whole, or not at all."""
    with replacing(folder / f"{cell.key}.parquet") as draft:
        pa.parquet.write_table(sums, draft, compression="zstd", write_page_checksum=True)


def read_cell(folder: Path, cell: Cell, schema: pa.Schema) -> pa.Table | None:
    """Return the sums of a cell that was computed before; None where it was not, or its file is damaged.

    Parameters
    ----------
    folder, cell
        Where it would be.
    schema
        Of its sums.
    """
    path = folder / f"{cell.key}.parquet"
    if not path.is_file():
        return None
    try:
        sums = pa.parquet.read_table(path, page_checksum_verification=True)
    except (OSError, pa.ArrowInvalid):
        return None
    return sums if sums.schema.equals(schema) else None
