"""Traces for TensorFlow: ``tf.data`` over the files themselves."""

from typing import Any

import numpy as np
import tensorflow as tf

from borgtrace.datasets.formats.arrays import IDENTITY
from borgtrace.datasets.formats.tfrecord import MASK, SERIES
from borgtrace.datasets.trace_files import TraceFiles


def dataset_of(traces: TraceFiles, *, seed: int | None = None, buffer: int = 65_536) -> Any:
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
        return _from_parts(traces, seed, buffer)
    compression = "GZIP" if traces.metadata.is_compressed else ""
    files = tf.data.Dataset.from_tensor_slices([str(path) for path in traces.paths])
    if seed is None:
        return tf.data.TFRecordDataset(files, compression).map(lambda record: parse(record, traces))
    # Files are shuffled whole, then records within a buffer: a buffer alone would mix neighbors only.
    files = files.shuffle(max(len(traces.paths), 1), seed=seed, reshuffle_each_iteration=True)
    records = tf.data.TFRecordDataset(files, compression).shuffle(buffer, seed=seed)
    return records.map(lambda record: parse(record, traces))


def parse(record: Any, traces: TraceFiles) -> dict[str, Any]:
    """Parse one serialized Example of `traces`."""
    names = traces.metadata.names
    shape = (-1, len(names.series))
    parsed = tf.io.parse_single_example(
        record,
        {
            # Of variable length: traces differ, and TensorFlow's fixed length would need one size for all.
            SERIES: tf.io.VarLenFeature(tf.float32),
            MASK: tf.io.VarLenFeature(tf.int64),
            **{name: tf.io.FixedLenFeature([], tf.int64) for name in IDENTITY},
            **{name: tf.io.FixedLenFeature([], tf.float32) for name in names.numbers},
            **{name: tf.io.FixedLenFeature([], tf.string, "") for name in names.words},
        },
    )
    parsed[SERIES] = tf.reshape(tf.sparse.to_dense(parsed[SERIES]), shape)
    parsed[MASK] = tf.reshape(tf.sparse.to_dense(parsed[MASK]), shape)
    return dict(parsed)


def _from_parts(traces: TraceFiles, seed: int | None, buffer: int) -> Any:
    names = traces.metadata.names
    width = len(names.series)
    signature = {
        SERIES: tf.TensorSpec((None, width), tf.float32),
        MASK: tf.TensorSpec((None, width), tf.int64),
        **{name: tf.TensorSpec((), tf.int64) for name in IDENTITY},
        **{name: tf.TensorSpec((), tf.float32) for name in names.numbers},
        **{name: tf.TensorSpec((), tf.string) for name in names.words},
    }
    dataset = tf.data.Dataset.from_generator(lambda: _elements(traces), output_signature=signature)
    return dataset if seed is None else dataset.shuffle(buffer, seed=seed)


def _elements(traces: TraceFiles) -> Any:
    names = traces.metadata.names
    for path in traces.paths:
        arrays = traces.arrays(path)
        for i in range(len(arrays)):
            points = slice(arrays.offsets[i], arrays.offsets[i + 1])
            words = {
                name: words[code] if (code := arrays.codes[i, k]) >= 0 else ""
                for k, (name, words) in enumerate(names.words.items())
            }
            yield {
                SERIES: arrays.values[points],
                MASK: arrays.mask[points].astype(np.int64),
                **dict(zip(IDENTITY, arrays.identity[i], strict=True)),
                **dict(zip(names.numbers, arrays.numbers[i], strict=True)),
                **words,
            }
