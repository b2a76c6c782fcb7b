"""Derived tables are computed once per store and kept beside it."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import ibis

from borgtrace.engine import read_table
from borgtrace.lifecycle.derived import Derived
from borgtrace.lifecycle.pieces import pieces
from borgtrace.schema import Dialect
from borgtrace.schema.sql import literal
from borgtrace.storage import is_writable, remove, replacing_once, write_file
from borgtrace.store.digest import file_digests
from borgtrace.store.layout import part_name

# A connection has one space of names, and parts of a store (`narrowed`) derive tables of the same name in it.
_SERIAL = itertools.count()
_READERS = 4
"""Files whose digests are taken at a time."""


@cache
def code_version() -> str:
    """Return the version of the code that defines the derived tables: release and digest of its sources."""
    # A release number alone would let a changed definition read what the old one wrote.
    sources = hashlib.sha256()
    for path in sorted(filter(Path.is_file, Path(__file__).parent.iterdir())):
        sources.update(path.read_bytes())
    return f"{version('borgtrace')}+{sources.hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Cache:
    """Where derived tables are kept: files under a directory, or the engine's memory.

    Parameters
    ----------
    directory
        ``STORE/cache``; None keeps them in the engine's memory, for as long as the connection lives.
    digest
        Digest of what they are derived from; together with the code's version it names the folder,
        so that another store or another definition never meets an old file.
    """

    directory: Path | None
    digest: str

    def narrowed(self, predicate: str) -> Cache:
        """Return the cache of the same store filtered by a predicate."""
        digest = hashlib.sha256(f"{self.digest}\n{predicate}".encode()).hexdigest()
        return replace(self, digest=digest)

    def keep(self, source: ibis.Table, derived: Derived, dialect: Dialect) -> ibis.Table:
        """Compute a derived table from `source` unless it is kept already, and return it as read back.

        Parameters
        ----------
        source
            The table it is derived from, on the engine that computes.
        derived
            What is computed.
        dialect
            Trace format of the rows.

        Returns
        -------
        ibis.Table
            The kept table, under a new name on the connection.
        """
        con = ibis.get_backend(source)
        table = derived.table
        target = self._target(table.name, con.name)
        if target is None:
            return hold(derived.build(source, dialect), f"{table.name}_{next(_SERIAL)}")
        # Its digest costs less than reading it will; what is damaged is made again, since it holds nothing of its own.
        if not _is_whole(target):
            # A file is replaced in one step, which a process that reads it meanwhile does not notice; a folder is not.
            if target.is_dir():
                remove(target)
            # Beside the target, then renamed: a killed run leaves nothing that looks whole.
            with replacing_once(target) as draft:
                _compute(con, source, derived, dialect, draft)
                # Before the table gets its name: a kill in between leaves no table that nothing vouches for.
                write_file(_digest_file(target), json.dumps(_digests(draft)))
        # A large table is a folder of parts, and so is everything that Spark writes.
        paths = sorted(map(str, target.glob("*.parquet"))) if target.is_dir() else [str(target)]
        return read_table(con, table, paths, name=f"{table.name}_{next(_SERIAL)}")

    def _target(self, name: str, engine: str) -> Path | None:
        if self.directory is None:
            return None
        folder = self.directory / f"{self.digest[:16]}-{code_version()}"
        # Spark writes a folder whatever the name; two names keep the engines from replacing each other's table.
        target = folder / (f"{name}.spark" if engine == "pyspark" else f"{name}.parquet")
        # A folder that exists already is found by everybody; those who may not write read what is kept there.
        # A read-only store still answers.
        return target if target.exists() or is_writable(folder) else None


def hold(expr: ibis.Table, name: str) -> ibis.Table:
    """Compute an expression into the engine's memory, for as long as the connection lives.

    Ibis's own ``cache()`` drops its tables from finalizers, which fail noisily when the interpreter ends.

    Parameters
    ----------
    expr
        A relational expression.
    name
        Name of the table or view on the connection; one of the same name is replaced.
    """
    con = ibis.get_backend(expr)
    if con.name == "pyspark":
        # pyspark is an extra: it is imported only where Spark is the engine.
        from borgtrace.engine.spark import frame

        frame(con, expr).cache().createOrReplaceTempView(name)
    else:
        con.raw_sql(f'CREATE OR REPLACE TEMP TABLE "{name}" AS {_typed(con, expr)}')
    return con.table(name)


def _typed(con: ibis.backends.BaseBackend, expr: ibis.Table) -> str:
    """Write an expression as DuckDB SQL with its very types: DuckDB itself adds integers up as HUGEINT."""
    con._run_pre_execute_hooks(expr)  # registers in-memory tables of the expression
    types = con.compiler.type_mapper
    values = ", ".join(
        f'CAST("{name}" AS {types.to_string(dtype)}) AS "{name}"'
        for name, dtype in expr.schema().items()
    )
    return f"SELECT {values} FROM ({con.compile(expr)})"


def _is_whole(target: Path) -> bool:
    """Whether a table is kept, byte for byte as it was written."""
    try:
        written = json.loads(_digest_file(target).read_text())
    except (OSError, ValueError):
        return False
    return target.exists() and _digests(target) == written


def _digest_file(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _digests(path: Path) -> dict[str, str]:
    files = [path] if path.is_file() else [part for part in path.rglob("*") if part.is_file()]
    return file_digests({part.relative_to(path).as_posix(): part for part in files}, _READERS)


def _compute(
    con: ibis.backends.BaseBackend,
    source: ibis.Table,
    derived: Derived,
    dialect: Dialect,
    target: Path,
) -> None:
    """Write one file, or a folder with a file for each piece of a large table."""
    if con.name == "pyspark":
        from borgtrace.engine.spark import frame

        # Spark cuts and spills by itself: pieces are for DuckDB.
        frame(con, derived.build(source, dialect)).write.mode("overwrite").parquet(
            f"file://{target.absolute()}"
        )
        return
    parts = [
        derived.build(part, dialect)
        for part in (pieces(source) if derived.is_per_life else [source])
    ]
    if len(parts) == 1:
        _copy(con, parts[0], target)
    elif derived.merge is None:
        _copy_parts(con, parts, target)
    else:
        # Rows of two pieces share keys here (counts per window): the parts are read once more and added up.
        with TemporaryDirectory(dir=target.parent) as folder:
            paths = _copy_parts(con, parts, Path(folder) / "parts")
            _copy(
                con,
                derived.merge(read_table(con, derived.table, paths, name=f"parts_{next(_SERIAL)}")),
                target,
            )


def _copy_parts(
    con: ibis.backends.BaseBackend, parts: Sequence[ibis.Table], folder: Path
) -> list[str]:
    folder.mkdir()
    paths = [folder / part_name(number) for number in range(len(parts))]
    for part, path in zip(parts, paths, strict=True):
        _copy(con, part, path)
    return [str(path) for path in paths]


def _copy(con: ibis.backends.BaseBackend, expr: ibis.Table, target: Path) -> None:
    con.raw_sql(
        f"COPY ({_typed(con, expr)}) TO {literal(target)} (FORMAT parquet, COMPRESSION zstd)"
    )
