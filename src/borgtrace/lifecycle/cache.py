"""Derived tables are computed once per store and kept: beside it, or in the user's cache."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import ibis

from borgtrace.engine import read_table
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.engine.typed_sql import typed_sql
from borgtrace.lifecycle.derived import Derived
from borgtrace.lifecycle.pieces import PIECE, pieces
from borgtrace.schema import Dialect
from borgtrace.store.kept_folders import Build, Keeper
from borgtrace.store.layout import part_name

# A connection has one space of names, and parts of a store (`narrowed`) derive tables of the same name in it.
_SERIAL = itertools.count()


@cache
def code_version() -> str:
    """Return the version of the code that defines the derived tables: release and digest of its sources."""
    return version_of_sources(Path(__file__).parent)


def version_of_sources(folder: Path) -> str:
    """Return the release and the digest of the files in a folder, subfolders left out.

    With the release number alone, a changed definition would read what the old one wrote.

    Parameters
    ----------
    folder
        Where the sources are.
    """
    digest = hashlib.sha256()
    for path in sorted(filter(Path.is_file, folder.iterdir())):
        digest.update(path.read_bytes())
    return f"{version('borgtrace')}+{digest.hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Cache:
    """Where derived tables are kept: files beside the store or in the user's cache, or the engine's memory.

    Parameters
    ----------
    keeper
        Keeps them under what they are derived from and the code's version, so another store or another definition
        never reads an old file. None keeps them in the engine's memory, for as long as the connection lives.
    part
        Digest of the predicates by which the store is filtered; empty for the whole one.
    piece
        Least number of events that are derived at a time, where lives can be derived one by one.
    """

    keeper: Keeper | None
    part: str = ""
    piece: int = PIECE

    def narrowed(self, predicate: str) -> Cache:
        """Return the cache of the same store filtered by a predicate."""
        text = f"{self.part}\n{predicate}"
        return replace(self, part=hashlib.sha256(text.encode()).hexdigest()[:32])

    def keep(
        self,
        source: ibis.Table,
        derived: Derived,
        dialect: Dialect,
    ) -> ibis.Table:
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
        unique_name = f"{derived.table.name}_{next(_SERIAL)}"

        def build(folder: Path) -> None:
            _compute(
                con,
                source,
                derived,
                dialect,
                folder,
                self.piece,
            )

        folder = self._find_or_keep(self._kind(derived, con.name), build)
        if folder is None:
            return hold(derived.build(source, dialect), unique_name)
        return read_table(
            con,
            derived.table,
            sorted(str(part) for part in folder.rglob("*.parquet")),
            name=unique_name,
        )

    def _kind(self, derived: Derived, engine: str) -> str:
        """Return the kind of a kept table: two engines would replace each other's."""
        kind = f"{derived.table.name}-{engine}"
        # No kind may begin like another: an earlier state's folders are removed by the beginning of their names.
        return f"part-{self.part}-{kind}" if self.part else kind

    def _find_or_keep(self, kind: str, build: Build) -> Path | None:
        """Return the folder of a kept table; None where none can be kept."""
        if self.keeper is None:
            return None
        version = code_version()
        return self.keeper.find(kind, version) or self.keeper.keep(kind, version, build)


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
        from borgtrace.engine import spark

        spark.hold(con, expr, name)
    else:
        con.raw_sql(f"CREATE OR REPLACE TEMP TABLE {quoted(name)} AS {typed_sql(con, expr)}")
    return con.table(name)


def drop(table: ibis.Table) -> None:
    """Remove what :func:`hold` has computed; nothing reads it afterward.

    Parameters
    ----------
    table
        From :func:`hold`.
    """
    con = ibis.get_backend(table)
    name = table.get_name()
    if con.name == "pyspark":
        from borgtrace.engine import spark

        spark.drop(con, name)
    else:
        con.raw_sql(f"DROP TABLE {quoted(name)}")


def _compute(
    con: ibis.backends.BaseBackend,
    source: ibis.Table,
    derived: Derived,
    dialect: Dialect,
    folder: Path,
    piece: int,
) -> None:
    """Write a file into a folder, or one for each piece of a large table."""
    if con.name == "pyspark":
        from borgtrace.engine.spark import frame

        # Spark cuts and spills by itself: pieces are for DuckDB.
        rows = frame(con, derived.build(source, dialect))
        rows.write.mode("overwrite").parquet(f"file://{folder.absolute()}/rows")
        return
    sources = pieces(source, piece) if derived.is_per_life else [source]
    parts = [derived.build(part, dialect) for part in sources]
    if len(parts) == 1 or derived.merge is None:
        _copy_parts(con, parts, folder)
        return
    # Rows of two pieces share keys here (counts per window): the parts are read once more and added up.
    with TemporaryDirectory(dir=folder.parent) as unmerged:
        paths = _copy_parts(con, parts, Path(unmerged))
        copied = read_table(
            con,
            derived.table,
            paths,
            name=f"parts_{next(_SERIAL)}",
        )
        _copy(con, derived.merge(copied), folder / part_name(0))


def _copy_parts(
    con: ibis.backends.BaseBackend,
    parts: Sequence[ibis.Table],
    folder: Path,
) -> list[str]:
    """Write a file for each part into a folder, and return their paths."""
    paths = []
    for number, part in enumerate(parts):
        path = folder / part_name(number)
        _copy(con, part, path)
        paths.append(str(path))
    return paths


def _copy(
    con: ibis.backends.BaseBackend,
    expr: ibis.Table,
    target: Path,
) -> None:
    rows = typed_sql(con, expr)
    con.raw_sql(f"COPY ({rows}) TO {literal(str(target))} (FORMAT parquet, COMPRESSION zstd)")
