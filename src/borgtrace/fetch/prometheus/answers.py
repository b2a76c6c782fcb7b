"""Answers to queries: read to their end and judged before they are kept."""

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from borgtrace.fetch.prometheus.refusals import Overloaded, ServerRefusal, parse_refusal
from borgtrace.fetch.retry import BrokenTransfer, Fault
from borgtrace.storage import open_regular

MOST_PLAIN_BYTES = 64 << 20
"""Bytes of an answer, unpacked: a larger one is asked for in halves."""
_BLOCK = 1 << 18
_WRONG_ANSWER_COST = 3
"""Of eight attempts."""
_GZIP = 16 + zlib.MAX_WBITS
_ONE_AT_A_TIME = Lock()
"""An answer takes some six times its length in memory while it is read."""


class NotAnAnswer(Exception):  # noqa: N818 - a signal between threads, not an error of the user's
    """The body is an error of the API.

    Parameters
    ----------
    refusal
        What it says.
    """

    def __init__(self, refusal: ServerRefusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """What an answer holds.

    Attributes
    ----------
    n_series, n_samples
        How many.
    first
        Time of the earliest sample, in seconds since 1970; None without any.
    warnings
        What the server says beside.
    """

    n_series: int
    n_samples: int
    first: float | None
    warnings: tuple[str, ...]


def read_answer(path: Path) -> AnswerFacts:
    """Read an answer that was received, and judge it.

    Parameters
    ----------
    path
        The packed answer.

    Raises
    ------
    Fault
        It is no whole answer to a range query.
    NotAnAnswer
        The API answers with an error.
    Overloaded
        It is too large.
    """
    with _ONE_AT_A_TIME:
        return judge_answer(unpack(path))


def unpack(path: Path) -> bytes:
    """Return the content of a gzip file of one member, of bounded size.

    Raises
    ------
    Fault
        It is damaged, or ends early.
    Overloaded
        It is too large.
    """
    unpacker = zlib.decompressobj(_GZIP)
    blocks = []
    n_bytes = 0
    with open_regular(path) as file:
        while packed := file.read(_BLOCK):
            while packed:
                try:
                    block = unpacker.decompress(packed, _BLOCK)
                except zlib.error as error:
                    raise Fault(
                        f"the answer is packed wrongly ({error})", cost=_WRONG_ANSWER_COST
                    ) from error
                blocks.append(block)
                n_bytes += len(block)
                if n_bytes > MOST_PLAIN_BYTES:
                    raise Overloaded(f"the answer has more than {MOST_PLAIN_BYTES >> 20} MiB")
                packed = unpacker.unconsumed_tail
                if unpacker.eof:
                    break
    if not unpacker.eof:
        raise BrokenTransfer("the answer ends early", cost=_WRONG_ANSWER_COST)
    return b"".join(blocks)


def parse_answer(content: bytes) -> dict[str, Any]:
    """Return an answer of the API as Python objects.

    Raises
    ------
    Fault
        It is something else.
    NotAnAnswer
        It is an error.
    """
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError) as error:
        got = parse_refusal(content[:1000]).text or "nothing"
        raise Fault(f"expected an answer as JSON, got {got}", cost=_WRONG_ANSWER_COST) from error
    if not isinstance(answer, dict) or answer.get("status") != "success":
        refusal = parse_refusal(content)
        if refusal.is_from_api:
            raise NotAnAnswer(refusal)
        raise Fault("expected an answer with its status, got other JSON", cost=_WRONG_ANSWER_COST)
    if answer.get("isPartial"):
        raise Fault("the answer is partial: a part of the server's storage is away")
    return answer


def judge_answer(content: bytes) -> AnswerFacts:
    """Count the series and samples of an answer to a range query.

    Raises
    ------
    Fault
        It is no answer to a range query.
    NotAnAnswer
        It is an error.

    Examples
    --------
    >>> judge_answer(b'''{"status": "success", "data": {"resultType": "matrix", "result": [
    ...     {"metric": {"pod": "web"}, "values": [[60, "1"], [120, "2"]]}]}}''')
    AnswerFacts(n_series=1, n_samples=2, first=60.0, warnings=())
    """
    answer = parse_answer(content)
    try:
        kind = answer["data"]["resultType"]
        series = answer["data"]["result"]
        n_samples = sum(len(one["values"]) for one in series)
        first = min((float(one["values"][0][0]) for one in series), default=None)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise Fault(
            "expected series with their values, got other JSON", cost=_WRONG_ANSWER_COST
        ) from error
    if kind != "matrix":
        raise Fault(f"expected a matrix, got {str(kind)[:40]!r}", cost=_WRONG_ANSWER_COST)
    notes = answer.get("warnings") or []
    warnings = tuple(" ".join(str(note).split())[:300] for note in notes)
    return AnswerFacts(len(series), n_samples, first, warnings)
