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
from borgtrace.engine.identifiers import literal, quoted
from borgtrace.lifecycle.derived import Derived
from borgtrace.lifecycle.pieces import PIECE, pieces
from borgtrace.schema import Dialect
from borgtrace.storage import is_writable, remove, replacing_once, write_file
from borgtrace.store.digest import file_digests
from borgtrace.store.layout import part_name

# A connection has one space of names, and parts of a store (`narrowed`) derive tables of the same name in it.
_SERIAL = itertools.count()
_READERS = 4
"""Files whose digests are computed at a time."""


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
    """Where derived tables are kept: files under a directory, or the engine's memory.

    Parameters
    ----------
    directory
        ``STORE/cache``; None keeps them in the engine's memory, for as long as the connection lives.
    digest
        Digest of what they are derived from; together with the code's version it names the folder,
        so another store or another definition never reads an old file.
    piece
        Least number of events that are derived at a time, where lives can be derived one by one.
    """

    directory: Path | None
    digest: str
    piece: int = PIECE

    def narrowed(self, predicate: str) -> Cache:
        """Return the cache of the same store filtered by a predicate."""
        text = f"{self.digest}\n{predicate}"
        return replace(self, digest=hashlib.sha256(text.encode()).hexdigest())

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
        table = derived.table
        target = self._target(table.name, con.name)
        unique_name = f"{table.name}_{next(_SERIAL)}"
        if target is None:
            return hold(derived.build(source, dialect), unique_name)
        # Checking the digest costs less than reading the table will.  A damaged table is computed again: it holds
        # nothing that is not in the store.
        if not _is_whole(target):
            # A file is replaced in one step, unnoticed by a process that reads it; a folder is not.
            if target.is_dir():
                remove(target)
            # Beside the target, then renamed: a killed run leaves nothing that looks whole.
            with replacing_once(target) as draft:
                _compute(
                    con,
                    source,
                    derived,
                    dialect,
                    draft,
                    self.piece,
                )
                # Before the table gets its name: a kill in between leaves no table without a digest.
                write_file(_digest_file(target), json.dumps(_digests(draft)))
        return read_table(
            con,
            table,
            _parts(target),
            name=unique_name,
        )

    def _target(self, name: str, engine: str) -> Path | None:
        """Return where a table is kept; None where nothing can be."""
        if self.directory is None:
            return None
        folder = self.directory / f"{self.digest[:16]}-{code_version()}"
        # Spark writes a folder whatever the name; two names keep the engines from replacing each other's table.
        suffix = "spark" if engine == "pyspark" else "parquet"
        target = folder / f"{name}.{suffix}"
        # Who may not write reads what is kept already; a read-only store still answers.
        return target if target.exists() or is_writable(folder) else None


def _parts(target: Path) -> list[str]:
    """Return the files of a kept table: a large one is a folder of parts, and so is everything that Spark writes."""
    if target.is_dir():
        return sorted(str(part) for part in target.glob("*.parquet"))
    return [str(target)]


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
        con.raw_sql(f"CREATE OR REPLACE TEMP TABLE {quoted(name)} AS {_typed_sql(con, expr)}")
    return con.table(name)


def _typed_sql(con: ibis.backends.BaseBackend, expr: ibis.Table) -> str:
    """Write an expression as DuckDB SQL with its exact types: DuckDB itself adds integers up as HUGEINT."""
    con._run_pre_execute_hooks(expr)  # registers in-memory tables of the expression
    casts = []
    for name, dtype in expr.schema().items():
        column = quoted(name)
        type_name = con.compiler.type_mapper.to_string(dtype)
        casts.append(f"CAST({column} AS {type_name}) AS {column}")
    return f"SELECT {', '.join(casts)} FROM ({con.compile(expr)})"


def _is_whole(target: Path) -> bool:
    """Whether a table is kept and has the bytes that were written."""
    try:
        written = json.loads(_digest_file(target).read_text())
    except (OSError, ValueError):
        return False
    return target.exists() and _digests(target) == written


def _digest_file(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _digests(path: Path) -> dict[str, str]:
    """Return the digests of the file, or of the files of a folder, by relative path."""
    files = [path] if path.is_file() else [part for part in path.rglob("*") if part.is_file()]
    by_name = {part.relative_to(path).as_posix(): part for part in files}
    return file_digests(by_name, _READERS)


def _compute(
    con: ibis.backends.BaseBackend,
    source: ibis.Table,
    derived: Derived,
    dialect: Dialect,
    target: Path,
    piece: int,
) -> None:
    """Write one file, or a folder with a file for each piece of a large table."""
    if con.name == "pyspark":
        from borgtrace.engine.spark import frame

        # Spark cuts and spills by itself: pieces are for DuckDB.
        rows = frame(con, derived.build(source, dialect))
        rows.write.mode("overwrite").parquet(f"file://{target.absolute()}")
        return
    sources = pieces(source, piece) if derived.is_per_life else [source]
    parts = [derived.build(part, dialect) for part in sources]
    if len(parts) == 1:
        _copy(con, parts[0], target)
    elif derived.merge is None:
        _copy_parts(con, parts, target)
    else:
        # Rows of two pieces share keys here (counts per window): the parts are read once more and added up.
        with TemporaryDirectory(dir=target.parent) as folder:
            paths = _copy_parts(con, parts, Path(folder) / "parts")
            copied = read_table(
                con,
                derived.table,
                paths,
                name=f"parts_{next(_SERIAL)}",
            )
            _copy(con, derived.merge(copied), target)


def _copy_parts(
    con: ibis.backends.BaseBackend,
    parts: Sequence[ibis.Table],
    folder: Path,
) -> list[str]:
    """Write a file for each part into a new folder, and return their paths."""
    folder.mkdir()
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
    rows = _typed_sql(con, expr)
    con.raw_sql(f"COPY ({rows}) TO {literal(str(target))} (FORMAT parquet, COMPRESSION zstd)")
