"""Open a session on Spark: its properties, and what can fail until a worker runs."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from borgtrace.engine.memory import parse_memory
from borgtrace.errors import EngineError, first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INSTALL = "install it with: pip install 'pyspark>=4.0,<4.1'"
_JAVA = "install Java 17 or later and set JAVA_HOME"
_SHARED_PROPERTIES = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A session takes the machine's own zone by default, and with it results would depend on where it runs.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.enableVectorizedReader": "true",
    # A task takes one core: its kernels must not start a thread for each.
    "spark.executorEnv.NUMBA_NUM_THREADS": "1",
}
_COMPILED_LIGHTLY = "-XX:TieredStopAtLevel=1"
"""Of a command, Java would spend more on making its code fast than on running it, in each executor again.

`spark.executor.extraJavaOptions` of the user comes later, and counts."""
_LEAST_MEGABYTES = 512
"""Spark refuses to start a driver with less than 450 MB."""
PATIENCE = 20.0
"""Seconds that a worker has to start an executor: Java starts in two."""
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_ROWS_OF_PARTITION = 2_000_000
"""Rows of usage of which a partition has some columns: about 100 MB."""
_ON_DEMAND = "spark.dynamicAllocation.enabled"
_KEEPS_CORE_PROPERTIES = "spark.sql.legacy.setCommandRejectsSparkCoreConfs"
_OF_STARTED_JAVA = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
"""Spark writes its own options there: 2 kB, which it sends with each task of a query, as all that a session knows."""


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
    properties = session_properties(url, memory, temp_directory)
    for key, value in conf.items():
        properties[key.replace("__", ".")] = value
    builder: Any = SparkSession.builder
    for key, value in properties.items():
        builder = builder.config(key, value)
    session = start_session(builder.master(url).appName("borgtrace"), url)
    # A page of Java for each failed task, and warnings about the host, would drown what the command itself prints.
    session.sparkContext.setLogLevel("FATAL")
    _forget_java_options(session)
    if not url.startswith("local"):
        await_executor(session, url)
    return session


def _forget_java_options(session: SparkSession) -> None:
    """Take from a session what it will not need again; the application, which starts executors, keeps it."""
    session.conf.set(_KEEPS_CORE_PROPERTIES, "false")
    for name in _OF_STARTED_JAVA:
        session.conf.unset(name)
    session.conf.unset(_KEEPS_CORE_PROPERTIES)


def divide_shuffles(session: SparkSession, n_rows: int) -> None:
    """Divide what is shuffled by its size, unless the user has set into how many partitions.

    With Spark's 200 most are empty for a small cell, while each that is held in memory costs every query a task; for a
    large one each is more than a task can hold.

    Parameters
    ----------
    session
        The session.
    n_rows
        Rows of the largest table that will be read.
    """
    context = session.sparkContext
    if context.getConf().get(_SHUFFLE_PARTITIONS) is None:
        by_size = -(-n_rows // _ROWS_OF_PARTITION)
        session.conf.set(_SHUFFLE_PARTITIONS, max(2 * context.defaultParallelism, by_size))


def session_properties(url: str, memory: str, temp_directory: Path | None) -> dict[str, str]:
    """Return the properties of a session.

    Parameters
    ----------
    url, memory, temp_directory
        As for `open_session`.
    """
    directory = temp_directory or Path(tempfile.gettempdir())
    megabytes = max(parse_memory(memory) // 2**20, _LEAST_MEGABYTES)
    properties = {
        **_SHARED_PROPERTIES,
        "spark.local.dir": str(directory),
        # Otherwise Spark makes a folder ``spark-warehouse`` wherever the user happens to stand.
        "spark.sql.warehouse.dir": str(directory / "borgtrace-spark-warehouse"),
    }
    if not url.startswith("local"):
        properties["spark.executor.memory"] = f"{megabytes}m"
        for process in ("driver", "executor"):
            properties[f"spark.{process}.defaultJavaOptions"] = _COMPILED_LIGHTLY
        return properties
    properties["spark.driver.memory"] = f"{megabytes}m"
    # A laptop's own host name often resolves to nothing, or to a network that is not up.
    properties["spark.driver.host"] = "127.0.0.1"
    properties["spark.driver.bindAddress"] = "127.0.0.1"
    return properties


def start_session(builder: Any, url: str) -> SparkSession:
    """Start a session.

    Parameters
    ----------
    builder
        Spark's builder, with its properties set.
    url
        The master, for the message.

    Raises
    ------
    EngineError
        Spark does not start.
    """
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:  # Py4J and pyspark raise unrelated classes
        got = first_line(error)
        is_java_missing = "JAVA_GATEWAY_EXITED" in str(error) or "Java" in got
        way_out = _JAVA if is_java_missing else "check the address of the master and that it runs"
        raise EngineError(
            url,
            "Spark cannot start",
            got=got,
            way_out=way_out,
        ) from error
    return session


def await_executor(session: SparkSession, url: str) -> None:
    """Wait until a worker runs an executor; Spark itself would wait forever, and not say for what.

    Parameters
    ----------
    session
        The session; it is stopped where no executor comes.
    url
        The master.

    Raises
    ------
    EngineError
        No worker started an executor in time.
    """
    context: Any = session.sparkContext
    properties = dict(context.getConf().getAll())
    # Where executors come with the first task, there is nothing to wait for.
    is_on_demand = properties.get(_ON_DEMAND) == "true"
    end = time.monotonic() + PATIENCE
    while not _has_executor(context) and not is_on_demand:
        if time.monotonic() > end:
            session.stop()
            raise EngineError(
                url,
                f"no worker started an executor within {PATIENCE:g} s",
                expected=f"one with {properties['spark.executor.memory']} free",
                got=_describe_workers(url),
                way_out="choose a smaller --memory, or start workers with more",
            )
        time.sleep(0.1)


def _has_executor(context: Any) -> bool:
    # The driver counts as one.
    return bool(context._jsc.sc().getExecutorMemoryStatus().size() >= 2)


def _describe_workers(url: str) -> str:
    """Return the free memory of each worker, as the page of the master shows it."""
    host = re.split("[/,:]+", url)[1]
    port = os.environ.get("SPARK_MASTER_WEBUI_PORT", "8080")
    page = f"http://{host}:{port}/json/"
    with suppress(httpx.HTTPError, ValueError, KeyError):
        status = httpx.get(page, timeout=2).json()
        # Another master may have the usual port.
        if status["url"] == url:
            alive = [worker for worker in status["workers"] if worker["state"] == "ALIVE"]
            return ", ".join(f"{worker['memoryfree']}m" for worker in alive) or "no worker"
    return f"nothing from {page}"
