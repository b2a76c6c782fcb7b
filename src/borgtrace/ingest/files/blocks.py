"""Streams that are read by blocks."""

import io
from typing import Any


class Blocks(io.RawIOBase):
    """A stream of the blocks that `read` returns."""

    def readable(self) -> bool:
        """Whether there is something to read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with the next bytes."""
        block = self.read(len(buffer)) or b""
        buffer[: len(block)] = block
        return len(block)
