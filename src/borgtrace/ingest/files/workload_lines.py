"""Lines of the Standard Workload Format as delimited ones: without comments, and with a comma for blanks."""

import io
import re
from collections.abc import Iterator, Sequence

import numpy as np

from borgtrace.ingest.files.blocks import Blocks
from borgtrace.ingest.files.workload_fields import HEADING, write_fields

_BLOCK = 1 << 20
_NEGATIVE = re.compile(rb"-(?=[0-9.]*[1-9])[0-9.]+")


class WorkloadLines(Blocks):
    """A stream of delimited lines.

    Parameters
    ----------
    stream
        The file.
    names
        Names of the fields. Where there are more than the 18 of the format, missing last ones are unknown and what is
        behind them is left out: programs add fields of their own.
    """

    def __init__(self, stream: io.RawIOBase, names: Sequence[str] = ()) -> None:
        self._stream = stream
        self._n_fields = len(names) if len(names) > N_STANDARD else 0
        self._for_comma = b"|" if self._n_fields else b";"
        self._open_line = b""
        self._rest = b""
        self._is_at_end = False

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes of the delimited lines."""
        pieces = [self._rest]
        n_bytes = len(self._rest)
        while not self._is_at_end and (size < 0 or n_bytes < size):
            lines = self._delimited(self._next_lines())
            pieces.append(lines)
            n_bytes += len(lines)
        text = b"".join(pieces)
        end = len(text) if size < 0 else size
        self._rest = text[end:]
        return text[:end]

    def _next_lines(self) -> bytes:
        """Return the next whole lines; a last one without its line end gets one."""
        block = self._stream.read(_BLOCK) or b""
        if not block:
            self._is_at_end = True
            last = self._open_line
            self._open_line = b""
            return last + b"\n" if last else b""
        end = block.rfind(b"\n") + 1
        if not end:
            self._open_line += block
            return b""
        lines = self._open_line + block[:end]
        self._open_line = block[end:]
        return lines

    def _delimited(self, lines: bytes) -> bytes:
        if self._n_fields:
            return self._line_by_line(lines)
        delimited = np.empty(len(lines), np.uint8)
        n_bytes = write_fields(np.frombuffer(lines, np.uint8), delimited)
        if n_bytes == HEADING:
            return self._line_by_line(lines)
        return delimited[:n_bytes].tobytes()

    def _line_by_line(self, lines: bytes) -> bytes:
        delimited = bytearray()
        for line in lines.split(b"\n"):
            # A comma would make two fields of one.
            fields = line.replace(b",", self._for_comma).split()
            if not _is_row(fields):
                continue
            if self._n_fields:
                fields = self._with_all_fields(fields)
            # Any negative number is an unknown one: some logs have a run time of minus the start.
            fields[2:] = [b"-1" if _NEGATIVE.fullmatch(field) else field for field in fields[2:]]
            delimited += b",".join(fields) + b"\n"
        return bytes(delimited)

    def _with_all_fields(self, fields: list[bytes]) -> list[bytes]:
        n_missing = self._n_fields - len(fields)
        if len(fields) >= N_STANDARD and n_missing > 0:
            fields = fields + [b""] * n_missing
        # Braces around a list say no more.
        return [field.strip(b"{}") for field in fields[: self._n_fields]]


def numbers_of_rows(stream: io.RawIOBase) -> Iterator[int]:
    r"""Yield the numbers of the lines of a file, from 1, that are rows.

    Examples
    --------
    >>> list(numbers_of_rows(io.BytesIO(b"; MaxNodes: 8\n1 0 5\n\n2 7 5\n")))
    [2, 4]
    """
    for number, line in enumerate(io.BufferedReader(stream), 1):
        if _is_row(line.split()):
            yield number


def _is_row(fields: Sequence[bytes]) -> bool:
    # A comment, or a line without fields, is no row; nor is a heading, which no format has but some files.
    return bool(fields) and not fields[0].startswith(b";") and fields[0].lower() not in _HEADINGS


N_STANDARD = 18
"""Fields of the format."""
_HEADINGS = (b"id", b"job_id", b"jobid", b"job")
