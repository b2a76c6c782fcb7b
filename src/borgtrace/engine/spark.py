"""The scale-out engine: PySpark, on local threads or on a cluster."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import httpx
import ibis
import pyarrow as pa
import sqlglot
from ibis.expr.operations import PhysicalTable

from borgtrace.engine.columns_read import columns_read
from borgtrace.engine.dtypes import ibis_schema
from borgtrace.engine.memory import parse_memory
from borgtrace.engine.refusal import IN_BUCKET, refusal
from borgtrace.engine.stored import stored_names
from borgtrace.errors import EngineError, first_line
from borgtrace.schema import Table
from borgtrace.schema.data_files import read_rows
from borgtrace.storage import BUCKETS

if TYPE_CHECKING:
    from ibis.backends.pyspark import Backend
    from pyspark.sql import DataFrame, SparkSession

_INSTALL = "install it with: pip install borgtrace[spark]"
_JAVA = "install Java 17 or later and set JAVA_HOME"
_SHARED = {
    row["property"]: row["value"] for row in read_rows(Path(__file__).with_name("spark.csv"))
}
PATIENCE = 20.0
"""Seconds that a worker has to start an executor: Java starts in two."""
_ON_DEMAND = "spark.dynamicAllocation.enabled"
_PATTERN = re.compile(r"([*?\[\]{}\\,])")
_REMOTE: dict[str, tuple[Table, list[str], dict[str, str | None]]] = {}
"""Views of tables in a bucket: what each is, its files, and what they call its columns."""
_SHOWN = Lock()


def connect(
    url: str = "local[2]", memory: str = "4GB", temp_directory: Path | None = None, **conf: str
) -> Backend:
    """Open an Ibis connection on Spark; see :func:`open_session`.

    Notes
    -----
    Spark runs in ANSI mode: what DuckDB answers by NULL or infinity (a division by zero, a cast
    out of range) is an error here, so expressions guard their divisors with ``nullif(0)``.
    """
    # First: without pyspark, Ibis's own message has no way out.
    session = open_session(url, memory, temp_directory, **conf)
    return ibis.pyspark.connect(session)


def open_session(
    url: str, memory: str = "4GB", temp_directory: Path | None = None, **conf: str
) -> SparkSession:
    """Open a session on Spark, or return the one that this process has.

    Parameters
    ----------
    url
        A Spark master: ``local[n]`` or ``spark://host:port``.
    memory
        Memory of the driver where the master is local, of each executor elsewhere.
    temp_directory
        Where Spark spills; the system's temporary directory where None.
    conf
        Further Spark properties, dots written as ``__`` (``spark__executor__cores="1"``).

    Raises
    ------
    EngineError
        Without pyspark, without Java, where the master does not answer, or no worker has the memory.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise EngineError(url, "pyspark is not installed", way_out=_INSTALL) from error
    # Kernels run inside the workers, which need this environment; pyspark reads only the variable.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    for key, value in (_configuration(url, memory, temp_directory) | conf).items():
        builder = builder.config(key.replace("__", "."), value)
    session = _start(builder.master(url).appName("borgtrace"), url)
    # A page of Java for each task that fails, and warnings about the host, would drown what the command itself says.
    session.sparkContext.setLogLevel("FATAL")
    if url.startswith("local"):
        # Spark's 200 are meant for clusters; on a few threads most of them would be empty.
        session.conf.set(
            "spark.sql.shuffle.partitions", 2 * session.sparkContext.defaultParallelism
        )
    else:
        _await_executor(session, url)
    return session


def register(con: Backend, table: Table, paths: Sequence[str], name: str) -> None:
    """Register Parquet files as the view `name` with a table's declared columns; no files, no rows.

    Parameters
    ----------
    con
        Connection from :func:`connect`.
    table
        What the files hold.
    paths
        Parquet files.
    name
        Name in SQL.
    """
    from ibis.backends.pyspark.datatypes import PySparkSchema

    session, schema = spark_session(con), ibis_schema(table)
    _REMOTE.pop(name, None)
    if paths and paths[0].startswith(BUCKETS):
        _REMOTE[name] = table, list(paths), stored_names(table, paths)
        _show(session, name, table.names)
        return
    if paths:
        # Spark itself reads columns that the files lack as NULL.
        names = stored_names(table, paths)
        stored = ibis.schema({names[column] or column: dtype for column, dtype in schema.items()})
        frame = session.read.schema(PySparkSchema.from_ibis(stored)).parquet(*map(_location, paths))
        # By position: the schema above was written in the order of the declared columns.
        frame = frame.toDF(*schema.names)
    else:
        frame = session.createDataFrame([], PySparkSchema.from_ibis(schema))
    frame.createOrReplaceTempView(name)


def put(con: Backend, name: str, rows: pa.Table) -> None:
    """Register rows in memory as the view `name`; see :func:`borgtrace.engine.put_table`."""
    spark_session(con).createDataFrame(rows).createOrReplaceTempView(name)


def collect(con: Backend, expr: ibis.Table) -> pa.Table:
    """Run an expression and return its rows; see :func:`borgtrace.engine.to_arrow`."""
    return frame_to_arrow(frame(con, expr)).cast(expr.schema().to_pyarrow())


def frame(con: Backend, expr: ibis.Table) -> DataFrame:
    """Return an expression as a data frame of Spark that reads of tables in a bucket only the columns it needs."""
    con._run_pre_execute_hooks(expr)  # registers in-memory tables and functions of the expression
    session, query = spark_session(con), con.compile(expr)
    tables = {table.name: table.schema.names for table in expr.op().find(PhysicalTable)}
    # The frame keeps the views that it was made of, which other threads may then replace.
    with _SHOWN:
        if remote := tables.keys() & _REMOTE:
            read = columns_read(sqlglot.parse_one(query, read=con.dialect), tables, con.dialect)
            for name in remote:
                _show(session, name, read[name])
        return session.sql(query)


def _show(session: SparkSession, name: str, columns: Collection[str]) -> None:
    """Make the view of a table in a bucket with some of its columns, or its first one."""
    from ibis.backends.pyspark.datatypes import PySparkSchema
    from pyspark.sql import functions

    from borgtrace.engine.bucket_source import BucketSource

    table, files, names = _REMOTE[name]
    schema = PySparkSchema.from_ibis(ibis_schema(table))
    kept = [field for field in schema if field.name in (columns or table.names[:1])]
    # A file for each task, or a share of its row groups where files are fewer than cores.
    pieces = -(-session.sparkContext.defaultParallelism // len(files))
    session.dataSource.register(BucketSource)
    source = session.read.format(BucketSource.name()).schema(type(schema)(kept))
    rows = source.option("made_of", json.dumps([files, names, pieces])).load()
    # Spark drops the others, as nothing needs them; should anything do, this is an error, not a NULL.
    absent = functions.raise_error(functions.lit(f"a column of {name} that is not read"))
    columns = [
        field.name if field in kept else absent.cast(field.dataType).alias(field.name)
        for field in schema
    ]
    rows.select(*columns).createOrReplaceTempView(name)


def spark_session(con: Backend) -> SparkSession:
    """Return the Spark session under an Ibis connection, which Ibis keeps to itself."""
    return con._session


def frame_to_arrow(frame: Any) -> pa.Table:
    """Collect a Spark data frame; pyspark leaves its socket to the garbage collector, which complains."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            return frame.toArrow()
        except Exception as error:  # Py4J and pyspark raise unrelated classes
            if IN_BUCKET in str(error):
                raise refusal(frame.sparkSession.sparkContext.master, str(error)) from error
            raise


def _configuration(url: str, memory: str, temp_directory: Path | None) -> dict[str, str]:
    directory = temp_directory or Path(tempfile.gettempdir())
    # Spark refuses to start a driver with less than 450 MB.
    megabytes = f"{max(parse_memory(memory) // 2**20, 512)}m"
    shared = _SHARED | {
        "spark.local.dir": str(directory),
        # Otherwise Spark makes a folder ``spark-warehouse`` wherever the user happens to stand.
        "spark.sql.warehouse.dir": str(directory / "borgtrace-spark-warehouse"),
    }
    if not url.startswith("local"):
        return shared | {"spark.executor.memory": megabytes}
    return shared | {
        "spark.driver.memory": megabytes,
        # A laptop's own host name often resolves to nothing, or to a network that is not up.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def _start(builder: Any, url: str) -> SparkSession:
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:  # Py4J and pyspark raise unrelated classes
        got = first_line(error)
        missing = "JAVA_GATEWAY_EXITED" in str(error) or "Java" in got
        way_out = _JAVA if missing else "check the address of the master and that it runs"
        raise EngineError(url, "Spark cannot start", got=got, way_out=way_out) from error
    return session


def _await_executor(session: SparkSession, url: str) -> None:
    """Wait until a worker runs an executor; Spark itself would wait forever, and not say for what."""
    context: Any = session.sparkContext
    asked, limit = dict(context.getConf().getAll()), time.monotonic() + PATIENCE
    # The driver counts as one.  Where executors come with the first task, there is nothing to wait for.
    while (
        context._jsc.sc().getExecutorMemoryStatus().size() < 2 and asked.get(_ON_DEMAND) != "true"
    ):
        if time.monotonic() > limit:
            session.stop()
            what, memory = (
                f"no worker started an executor within {PATIENCE:g} s",
                asked["spark.executor.memory"],
            )
            way_out = "choose a smaller --memory, or start workers with more"
            raise EngineError(
                url, what, expected=f"one with {memory} free", got=_workers(url), way_out=way_out
            )
        time.sleep(0.1)


def _workers(url: str) -> str:
    """Say what the page of the master tells of its workers."""
    page = f"http://{re.split('[/,:]+', url)[1]}:{os.environ.get('SPARK_MASTER_WEBUI_PORT', '8080')}/json/"
    with suppress(httpx.HTTPError, ValueError, KeyError):
        told = httpx.get(page, timeout=2).json()
        # Another master may have the usual port.
        if told["url"] == url:
            return (
                ", ".join(
                    f"{one['memoryfree']}m" for one in told["workers"] if one["state"] == "ALIVE"
                )
                or "no worker"
            )
    return f"nothing from {page}"


def _location(path: str) -> str:
    """Name one local file to Hadoop, which would take brackets and braces for a pattern."""
    return "file://" + _PATTERN.sub(r"\\\1", str(Path(path).absolute()))
