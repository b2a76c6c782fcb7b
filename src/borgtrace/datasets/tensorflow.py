"""Traces for TensorFlow: ``tf.data`` over the files themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from borgtrace.datasets.formats import IDENTITY
from borgtrace.datasets.formats.tfrecord import MASK, SERIES

if TYPE_CHECKING:
    from borgtrace.datasets.dataset import TraceSet


def dataset_of(traces: TraceSet, *, seed: int | None = None, buffer: int = 65_536) -> Any:
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
    if traces.meta.format != "tfrecord":
        return _from_parts(traces, seed, buffer)
    compression = "GZIP" if traces.meta.is_compressed else ""
    files = tf.data.Dataset.from_tensor_slices([str(path) for path in traces.paths])
    if seed is None:
        return tf.data.TFRecordDataset(files, compression).map(lambda record: parse(record, traces))
    files = files.shuffle(max(len(traces.paths), 1), seed=seed, reshuffle_each_iteration=True)
    records = tf.data.TFRecordDataset(files, compression).shuffle(buffer, seed=seed)
    return records.map(lambda record: parse(record, traces))


def parse(record: Any, traces: TraceSet) -> dict[str, Any]:
    """Parse one serialized Example of `traces`."""
    names = traces.meta.names
    shape = (-1, len(names.features))
    parsed = tf.io.parse_single_example(
        record,
        {
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


def _from_parts(traces: TraceSet, seed: int | None, buffer: int) -> Any:
    names = traces.meta.names
    width = len(names.features)
    signature = {
        SERIES: tf.TensorSpec((None, width), tf.float32),
        MASK: tf.TensorSpec((None, width), tf.int64),
        **{name: tf.TensorSpec((), tf.int64) for name in IDENTITY},
        **{name: tf.TensorSpec((), tf.float32) for name in names.numbers},
        **{name: tf.TensorSpec((), tf.string) for name in names.words},
    }
    dataset = tf.data.Dataset.from_generator(lambda: _elements(traces), output_signature=signature)
    return dataset if seed is None else dataset.shuffle(buffer, seed=seed)


def _elements(traces: TraceSet) -> Any:
    names = traces.meta.names
    for path in traces.paths:
        part = traces.part(path)
        for i in range(len(part)):
            points = slice(part.offsets[i], part.offsets[i + 1])
            words = {
                name: words[code] if (code := part.codes[i, k]) >= 0 else ""
                for k, (name, words) in enumerate(names.words.items())
            }
            yield {
                SERIES: part.values[points],
                MASK: part.mask[points].astype(np.int64),
                **dict(zip(IDENTITY, part.identity[i], strict=True)),
                **dict(zip(names.numbers, part.numbers[i], strict=True)),
                **words,
            }
