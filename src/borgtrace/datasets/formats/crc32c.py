"""CRC-32C (Castagnoli, RFC 3720 B.4) and TFRecord's masked form of it, over slices of one buffer.

Eight bytes a step by eight tables ("slicing by 8"; Kounavis & Berry, ISCC 2005).  One call checks a million
records, where a call per record of any C library costs more than the sums themselves.
"""

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.words import load_word

_ONES = np.uint32(0xFFFFFFFF)
_MASK_DELTA = np.uint32(0xA282EAD8)
_LOW = np.uint32(0xFF)
_S8 = np.uint32(8)
_S15 = np.uint32(15)
_S16 = np.uint32(16)
_S17 = np.uint32(17)
_S24 = np.uint32(24)

Buffer = NDArray[np.uint8]


# Table k is the sum of a byte followed by k zero bytes, begun at 0: a library's sum without its inversions.
_TABLES = ~np.array(
    [
        [google_crc32c.extend(0xFFFFFFFF, bytes((byte, *k * (0,)))) for byte in range(256)]
        for k in range(8)
    ],
    np.uint32,
)


@compiled(makes_arrays=False)
def crc32c(buffer: Buffer, start: int, stop: int) -> np.uint32:
    """CRC-32C of ``buffer[start:stop]``.

    Examples
    --------
    >>> hex(crc32c(np.frombuffer(b"123456789", np.uint8), 0, 9))
    '0xe3069283'
    """
    crc = _ONES
    at = start
    while at + 8 <= stop:
        word = load_word(buffer, at) ^ np.uint64(crc)
        low = np.uint32(word)
        high = np.uint32(word >> np.uint64(32))
        crc = (
            _TABLES[7, low & _LOW]
            ^ _TABLES[6, (low >> _S8) & _LOW]
            ^ _TABLES[5, (low >> _S16) & _LOW]
            ^ _TABLES[4, low >> _S24]
            ^ _TABLES[3, high & _LOW]
            ^ _TABLES[2, (high >> _S8) & _LOW]
            ^ _TABLES[1, (high >> _S16) & _LOW]
            ^ _TABLES[0, high >> _S24]
        )
        at += 8
    while at < stop:
        crc = np.uint32(crc >> _S8) ^ _TABLES[0, np.uint32(crc ^ np.uint32(buffer[at])) & _LOW]
        at += 1
    return np.uint32(crc ^ _ONES)


@compiled(makes_arrays=False)
def masked_crc32c(
    buffer: Buffer,
    start: int,
    stop: int,
) -> np.uint32:
    """CRC-32C of ``buffer[start:stop]``, rotated and offset as TFRecord stores it."""
    # TFRecord masks it, because a CRC over data that holds CRCs itself is problematic (TensorFlow's `crc32c.h`).
    crc = crc32c(buffer, start, stop)
    return np.uint32(np.uint32(np.uint32(crc >> _S15) | np.uint32(crc << _S17)) + _MASK_DELTA)
