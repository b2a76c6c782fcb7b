"""Which file of a set holds a trace: by MD5, so that files are even and shuffling files shuffles data."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from borgtrace.datasets._md5 import path_prefixes, task_prefixes
from borgtrace.datasets.traces import Traces

MOST = 256
"""Files of a large set: one for each pair of leading hex digits."""
TRACES_PER_FILE = 4096
_PART = 1 << 16


def default_shards(n: int) -> int:
    """Return the number of files for n traces: a power of two, at most 256.

    Examples
    --------
    >>> default_shards(10), default_shards(10_000), default_shards(10_000_000)
    (1, 4, 256)
    """
    return min(MOST, 1 << max(0, (n - 1) // TRACES_PER_FILE).bit_length())


def shard_prefixes(traces: Traces, threads: int, *, is_original: bool = False) -> NDArray[np.uint32]:
    """Return the first 32 bits of the MD5 of ``job,task`` (``path,job,task`` as in 2017) of each trace."""
    kernel = path_prefixes if is_original else task_prefixes
    out = np.empty(len(traces), np.uint32)

    def fill(first: int) -> None:
        part = slice(first, first + _PART)
        kernel(traces.collection_id[part], traces.instance_index[part], out[part])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(0, len(traces), _PART)))
    return out


def shard_numbers(prefixes: NDArray[np.uint32], shards: int) -> NDArray[np.uint16]:
    """Spread prefixes evenly over files; with 256 files the number is the first two hex digits.

    Examples
    --------
    >>> shard_numbers(np.array([0x00FFFFFF, 0xFF000000], np.uint32), 256).tolist()
    [0, 255]
    """
    return (prefixes.astype(np.uint64) * np.uint64(shards) >> np.uint64(32)).astype(np.uint16)


def shard_name(number: int, shards: int, suffix: str, *, is_original: bool = False) -> str:
    """Return the name of a file.

    Examples
    --------
    >>> shard_name(12, 256, ".tfrecord"), shard_name(12, 256, ".tfrecord", is_original=True)
    ('00012-of-00256.tfrecord', '0c.tfrecords')
    """
    return f"{number:02x}.tfrecords" if is_original else f"{number:05d}-of-{shards:05d}{suffix}"
