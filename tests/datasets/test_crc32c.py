"""CRC-32C agrees with RFC 3720's vectors and with Google's library."""

from __future__ import annotations

import google_crc32c
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from borgtrace.datasets.formats.crc32c import crc32c, masked_crc32c


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"", 0),
    ],
)
def test_vectors_of_rfc_3720(data: bytes, expected: int) -> None:
    assert crc32c(np.frombuffer(data, np.uint8), 0, len(data)) == expected


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=200), st.integers(0, 20))
def test_any_slice_agrees_with_google(data: bytes, start: int) -> None:
    start = min(start, len(data))
    assert crc32c(np.frombuffer(data, np.uint8), start, len(data)) == google_crc32c.value(
        data[start:]
    )


def test_the_mask_is_that_of_tfrecord() -> None:
    crc = google_crc32c.value(b"123456789")
    expected = ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF
    assert masked_crc32c(np.frombuffer(b"123456789", np.uint8), 0, 9) == expected
