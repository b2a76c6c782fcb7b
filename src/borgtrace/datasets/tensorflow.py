"""Hand traces to TensorFlow: ``tf.data`` over the files themselves."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from borgtrace.datasets.formats.arrays import IDENTITY
from borgtrace.datasets.formats.tfrecord import MASK, SERIES
from borgtrace.datasets.trace_files import TraceFiles


def dataset_of(
    traces: TraceFiles,
    *,
    seed: int | None = None,
    buffer: int = 65_536,
) -> Any:
    """Return a ``tf.data.Dataset`` whose elements are dictionaries, one per trace.

    Parameters
    ----------
    traces
        The set.
    seed
        Shuffle files and, within `buffer`, traces — differently in each epoch; None keeps the order.
    buffer
        Traces that are shuffled together.

    Notes
    -----
    ``data`` and ``mask`` have shape (points, features); numbers are scalars, an unknown word is ``""``.
    TFRecord is read by TensorFlow itself, other formats through this package.
    """
    if traces.metadata.format != "tfrecord":
        return dataset_from_arrays(traces, seed, buffer)
    compression = "GZIP" if traces.metadata.is_compressed else ""
    files = tf.data.Dataset.from_tensor_slices([str(path) for path in traces.paths])
    if seed is not None:
        # Files are shuffled whole, then records within a buffer: a buffer alone would mix neighbors only.
        n_files = max(len(traces.paths), 1)
        files = files.shuffle(
            n_files,
            seed=seed,
            reshuffle_each_iteration=True,
        )
    records = tf.data.TFRecordDataset(files, compression)
    if seed is not None:
        records = records.shuffle(buffer, seed=seed)
    return records.map(lambda record: parse(record, traces))


def parse(record: Any, traces: TraceFiles) -> dict[str, Any]:
    """Parse one serialized Example of `traces`."""
    names = traces.metadata.names
    # Of variable length: traces differ, and TensorFlow's fixed length would need one size for all.
    features = {
        SERIES: tf.io.VarLenFeature(tf.float32),
        MASK: tf.io.VarLenFeature(tf.int64),
    }
    for name in IDENTITY:
        features[name] = tf.io.FixedLenFeature([], tf.int64)
    for name in names.numbers:
        features[name] = tf.io.FixedLenFeature([], tf.float32)
    for name in names.words:
        features[name] = tf.io.FixedLenFeature([], tf.string, "")
    parsed = dict(tf.io.parse_single_example(record, features))
    for name in (SERIES, MASK):
        parsed[name] = tf.reshape(tf.sparse.to_dense(parsed[name]), (-1, len(names.series)))
    return parsed


def dataset_from_arrays(
    traces: TraceFiles,
    seed: int | None,
    buffer: int,
) -> Any:
    """Return a ``tf.data.Dataset`` of files that this package reads."""
    names = traces.metadata.names
    width = len(names.series)
    signature = {
        SERIES: tf.TensorSpec((None, width), tf.float32),
        MASK: tf.TensorSpec((None, width), tf.int64),
    }
    for name in IDENTITY:
        signature[name] = tf.TensorSpec((), tf.int64)
    for name in names.numbers:
        signature[name] = tf.TensorSpec((), tf.float32)
    for name in names.words:
        signature[name] = tf.TensorSpec((), tf.string)
    dataset = tf.data.Dataset.from_generator(
        lambda: elements_of(traces),
        output_signature=signature,
    )
    if seed is None:
        return dataset
    return dataset.shuffle(buffer, seed=seed)


def elements_of(traces: TraceFiles) -> Iterator[dict[str, Any]]:
    """Yield one dictionary per trace."""
    names = traces.metadata.names
    for path in traces.paths:
        arrays = traces.arrays(path)
        for i in range(len(arrays)):
            points = slice(arrays.offsets[i], arrays.offsets[i + 1])
            element = {
                SERIES: arrays.values[points],
                MASK: arrays.mask[points].astype(np.int64),
            }
            element |= dict(zip(IDENTITY, arrays.identity[i], strict=True))
            element |= dict(zip(names.numbers, arrays.numbers[i], strict=True))
            for (name, words), code in zip(names.words.items(), arrays.codes[i], strict=True):
                element[name] = words[code] if code >= 0 else ""
            yield element
