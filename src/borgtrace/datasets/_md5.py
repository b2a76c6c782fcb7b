"""MD5 of short texts made of identifiers, a million at a time (RFC 1321).

The grouping of traces into folders and files uses the leading bytes of an MD5, as the learning pipeline of
2017 did, so that names of files agree with it.  It is a way to spread, not to protect: only the first 32
bits are returned.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled

_SINES = np.floor(np.abs(np.sin(np.arange(1, 65))) * 2.0**32).astype(np.uint32)
_TURNS = np.repeat(
    np.array([[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]], np.uint32), 4, axis=0
).ravel()
_ROUND = np.arange(64)
_WORD = np.concatenate(
    [_ROUND[:16], (5 * _ROUND[16:32] + 1) % 16, (3 * _ROUND[32:48] + 5) % 16, (7 * _ROUND[48:]) % 16]
)
_START = np.array([0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476], np.uint32)
_EXTENSION = np.frombuffer(b".sqlite3,", np.uint8)
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_COMMA, _ZERO, _SLASH, _STOP = np.frombuffer(b",0/\x80", np.uint8)
_BLOCK, _LANES = 64, 16
_TEN = np.uint64(10)

Identifiers = NDArray[np.int64]
Prefixes = NDArray[np.uint32]


@compiled(inline=True)
def _turned(value: np.uint32, bits: np.uint32) -> np.uint32:
    return np.uint32(np.uint32(value << bits) | np.uint32(value >> np.uint32(np.uint32(32) - bits)))


@compiled(makes_arrays=False)
def _absorb(words: NDArray[np.uint32], first: int, state: NDArray[np.uint32]) -> None:
    """Mix one block of sixteen words into the state (RFC 1321, step 4)."""
    a, b, c, d = state[0], state[1], state[2], state[3]
    for i in range(64):
        if i < 16:
            f = np.uint32((b & c) | (~b & d))
        elif i < 32:
            f = np.uint32((d & b) | (~d & c))
        elif i < 48:
            f = np.uint32(b ^ c ^ d)
        else:
            f = np.uint32(c ^ (b | np.uint32(~d)))
        total = np.uint32(np.uint32(a + f) + np.uint32(_SINES[i] + words[first + _WORD[i]]))
        a, d, c, b = d, c, b, np.uint32(b + _turned(total, _TURNS[i]))
    state[0] += a
    state[1] += b
    state[2] += c
    state[3] += d


@compiled(inline=True)
def _big_endian(a: np.uint32) -> np.uint32:
    return np.uint32(
        np.uint32(a << np.uint32(24))
        | np.uint32(np.uint32(a & np.uint32(0xFF00)) << np.uint32(8))
        | np.uint32(np.uint32(a >> np.uint32(8)) & np.uint32(0xFF00))
        | np.uint32(a >> np.uint32(24))
    )


@compiled()
def _prefix(text: NDArray[np.uint8], words: NDArray[np.uint32], length: int, state: NDArray[np.uint32]) -> np.uint32:
    """First 32 bits, as a big-endian number, of the MD5 of ``text[:length]``; `words` is a view of `text`."""
    blocks = (length + 8) // _BLOCK + 1
    text[length] = _STOP
    text[length + 1 : blocks * _BLOCK] = 0
    words[blocks * 16 - 2] = np.uint32(length * 8)
    state[:] = _START
    for block in range(blocks):
        _absorb(words, block * 16, state)
    return _big_endian(state[0])


@compiled(makes_arrays=False)
def _write_number(text: NDArray[np.uint8], at: int, number: int) -> int:
    """Write a non-negative number as decimal text at `at`; return where it ends."""
    digits, rest = 1, np.uint64(number) // _TEN
    while rest > 0:
        digits += 1
        rest //= _TEN
    rest = np.uint64(number)
    for k in range(digits):
        quotient = rest // _TEN
        text[at + digits - 1 - k] = np.uint8(rest - quotient * _TEN) + _ZERO
        rest = quotient
    return at + digits


@compiled()
def job_prefixes(jobs: Identifiers, out: Prefixes) -> None:
    """Fill `out` with the first 32 bits of the MD5 of each job id as decimal text; both of shape (n,)."""
    text = np.zeros(2 * _BLOCK, np.uint8)
    words, state = text.view(np.uint32), np.empty(4, np.uint32)
    for i in range(jobs.size):
        out[i] = _prefix(text, words, _write_number(text, 0, jobs[i]), state)


@compiled(makes_arrays=False)
def _absorb_lanes(words: NDArray[np.uint32], state: NDArray[np.uint32]) -> None:
    """Mix one block each of `_LANES` messages: words (16, lanes), state (4, lanes), all lanes in step."""
    for i in range(64):
        a, b, c, d = state[-i % 4], state[(1 - i) % 4], state[(2 - i) % 4], state[(3 - i) % 4]
        word, sine, turn = words[_WORD[i]], _SINES[i], _TURNS[i]
        back = np.uint32(np.uint32(32) - turn)
        for k in range(_LANES):
            if i < 16:
                f = np.uint32((b[k] & c[k]) | (~b[k] & d[k]))
            elif i < 32:
                f = np.uint32((d[k] & b[k]) | (~d[k] & c[k]))
            elif i < 48:
                f = np.uint32(b[k] ^ c[k] ^ d[k])
            else:
                f = np.uint32(c[k] ^ (b[k] | np.uint32(~d[k])))
            total = np.uint32(np.uint32(np.uint32(a[k] + f) + sine) + word[k])
            a[k] = np.uint32(b[k] + np.uint32(np.uint32(total << turn) | np.uint32(total >> back)))


@compiled()
def task_prefixes(jobs: Identifiers, tasks: Identifiers, out: Prefixes) -> None:
    """Fill `out` with the first 32 bits of the MD5 of ``"job,task"``; all of shape (n,).

    Sixteen messages go through the rounds side by side: each is one block, and there are many.
    """
    text, words = np.zeros((_LANES, _BLOCK), np.uint8), np.empty((16, _LANES), np.uint32)
    state = np.empty((4, _LANES), np.uint32)
    for first in range(0, jobs.size, _LANES):
        last = min(first + _LANES, jobs.size)
        _digest_lanes(jobs[first:last], tasks[first:last], text, words, state, out[first:last])


@compiled(makes_arrays=False)
def _digest_lanes(
    jobs: Identifiers,
    tasks: Identifiers,
    text: NDArray[np.uint8],
    words: NDArray[np.uint32],
    state: NDArray[np.uint32],
    out: Prefixes,
) -> None:
    """Do as :func:`task_prefixes` for at most `_LANES` messages; `text`, `words` and `state` are scratch."""
    by_lane = text.view(np.uint32)
    text[:] = 0
    for k in range(jobs.size):
        end = _write_number(text[k], 0, jobs[k])
        text[k, end] = _COMMA
        end = _write_number(text[k], end + 1, tasks[k])
        text[k, end] = _STOP
        by_lane[k, 14] = np.uint32(8 * end)
    for i in range(16):
        for k in range(_LANES):
            words[i, k] = by_lane[k, i]
    for i in range(4):
        state[i, :] = _START[i]
    _absorb_lanes(words, state)
    for k in range(jobs.size):
        out[k] = _big_endian(np.uint32(state[0, k] + _START[0]))


@compiled()
def path_prefixes(jobs: Identifiers, tasks: Identifiers, out: Prefixes) -> None:
    """Fill `out` with the first 32 bits of the MD5 of ``"hh/job.sqlite3,job,task"``; all of shape (n,).

    ``hh`` are the first two hex digits of the MD5 of the job id: the path that the job has in an export of
    one file per job.
    """
    text = np.zeros(2 * _BLOCK, np.uint8)
    words, state = text.view(np.uint32), np.empty(4, np.uint32)
    for i in range(jobs.size):
        folder = _prefix(text, words, _write_number(text, 0, jobs[i]), state) >> np.uint32(24)
        text[0], text[1], text[2] = _HEX[folder >> np.uint32(4)], _HEX[folder & np.uint32(15)], _SLASH
        end = _write_number(text, 3, jobs[i])
        text[end : end + _EXTENSION.size] = _EXTENSION
        end = _write_number(text, end + _EXTENSION.size, jobs[i])
        text[end] = _COMMA
        out[i] = _prefix(text, words, _write_number(text, end + 1, tasks[i]), state)
