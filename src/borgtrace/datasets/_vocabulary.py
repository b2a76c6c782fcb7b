"""Which of the known words a text is, a million at a time: a hash table with open addressing.

Words are kept one after the other as bytes; ``ends`` says where each begins and ends, shape (words + 1,).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled

Buffer = NDArray[np.uint8]
Index = NDArray[np.int64]

_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_SLOTS = 2
"""Slots a word, at least: with half of them free a search is short."""


@compiled(inline=True)
def _slot_of(text: Buffer, first: int, last: int, slots: int) -> np.uint64:
    """Return the slot where a search begins (FNV-1a; `slots` is a power of two)."""
    value = _BASIS
    for k in range(np.uint64(first), np.uint64(last)):
        value = (value ^ np.uint64(text[k])) * _PRIME
    return (value ^ value >> np.uint64(32)) & np.uint64(slots - 1)


@compiled()
def table_of(words: Buffer, ends: Index) -> Index:
    """Return the hash table of different words: the number of a word in each slot, −1 in a free one."""
    slots = 2
    while slots < _SLOTS * ends.size:
        slots *= 2
    table = np.full(slots, -1, np.int64)
    for number in range(ends.size - 1):
        slot = _slot_of(words, ends[number], ends[number + 1], slots)
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(slots - 1)
        table[slot] = number
    return table


@compiled(inline=True)
def _is_equal(text: Buffer, at: int, words: Buffer, first: int, last: int) -> bool:
    differing = np.uint8(0)
    for k in range(np.uint64(last - first)):
        differing |= text[np.uint64(at) + k] ^ words[np.uint64(first) + k]
    return differing == 0


@compiled(makes_arrays=False)
def find_words(
    text: Buffer, position: Index, size: Index, words: Buffer, ends: Index, table: Index, numbers: Index
) -> None:
    """Fill `numbers` with the number of each word, −1 where it is not known or there is none.

    Parameters
    ----------
    text
        Bytes that hold the words to find.
    position, size
        Where each begins and how long it is, shape (n,); size −1 where there is none.
    words, ends, table
        The known words, and what :func:`table_of` made of them.
    numbers
        Output, shape (n,).
    """
    for i in range(position.size):
        numbers[i] = -1
        if size[i] < 0:
            continue
        slot = _slot_of(text, position[i], position[i] + size[i], table.size)
        while table[slot] >= 0:
            first, last = ends[table[slot]], ends[table[slot] + 1]
            if last - first == size[i] and _is_equal(text, position[i], words, first, last):
                numbers[i] = table[slot]
                break
            slot = (slot + np.uint64(1)) & np.uint64(table.size - 1)
