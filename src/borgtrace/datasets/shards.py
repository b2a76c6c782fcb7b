"""Choose the file of a set that holds a trace: by a hash, so that files are even and shuffling files shuffles data."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.datasets.options import SHARDS_OF_2017
from borgtrace.datasets.trace_index import PATH_OF_2017, TraceIndex
from borgtrace.engine.guard import open_values
from borgtrace.kernels.hashing import task_keys

TRACES_PER_SHARD = 4096


def default_shards(n: int) -> int:
    """Return the number of files for n traces: a power of two, at most 256.

    Examples
    --------
    >>> default_shards(10), default_shards(10_000), default_shards(10_000_000)
    (1, 4, 256)
    """
    return min(SHARDS_OF_2017, 1 << max(0, (n - 1) // TRACES_PER_SHARD).bit_length())


def shard_prefixes(traces: TraceIndex, *, is_original: bool = False) -> NDArray[np.uint32]:
    """Return 32 even bits for each trace, the same in every dataset: a mix of job and task, shape (n,).

    The pipeline of 2017 takes the first bits of the MD5 of ``path,job,task``.
    """
    if not is_original:
        # Not MD5, which took a sixth of the CPU of a whole build.
        keys = task_keys(0, traces.collection_id, traces.instance_index)
        return (keys >> np.uint64(32)).astype(np.uint32)
    # In DuckDB: 0.4 s of CPU for a million on all cores, where a call of hashlib for each takes a second on one.
    tasks = pa.table(
        {
            "collection_id": traces.collection_id,
            "instance_index": traces.instance_index,
        }
    )
    query = f"""
        select ('0x' || left(md5(task), 8))::uinteger as prefix
        from (select concat({PATH_OF_2017}, ',', collection_id, ',', instance_index) as task from tasks)
    """
    with open_values(threads=None) as connection:
        connection.register("tasks", tasks)
        prefixes = connection.sql(query).to_arrow_table().column("prefix")
        return prefixes.to_numpy()


def shard_numbers(prefixes: NDArray[np.uint32], shards: int) -> NDArray[np.uint16]:
    """Spread prefixes evenly over files; with 256 files the number is the first two hex digits.

    Examples
    --------
    >>> shard_numbers(np.array([0x00FFFFFF, 0xFF000000], np.uint32), 256).tolist()
    [0, 255]
    """
    # Multiplied and shifted, not a remainder: with 256 files the number is then the first two hex digits, as in 2017.
    scaled = prefixes.astype(np.uint64) * np.uint64(shards)
    return (scaled >> np.uint64(32)).astype(np.uint16)


def shard_name(
    number: int,
    shards: int,
    suffix: str,
    *,
    is_original: bool = False,
) -> str:
    """Return the name of a file.

    Parameters
    ----------
    number, shards
        Which file of how many.
    suffix
        Ending of the format's files.
    is_original
        Two hex digits, as in 2017.

    Examples
    --------
    >>> shard_name(12, 256, ".tfrecord"), shard_name(12, 256, ".tfrecord", is_original=True)
    ('00012-of-00256.tfrecord', '0c.tfrecords')
    """
    return f"{number:02x}.tfrecords" if is_original else f"{number:05d}-of-{shards:05d}{suffix}"
