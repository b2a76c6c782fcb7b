"""Flat records of JSON as delimited lines: the hot path of own data that is JSON.

Only what the grammar of JSON allows is taken, and of that only records of single values without escapes; anything else
stops the kernel, and the caller reads the file with a general parser. Values stay the texts that they are in the file.
"""

import numpy as np

from borgtrace.kernels.arrays import Bytes, Flags, Index
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.words import (
    are_same_bytes,
    count_digits,
    count_plain,
    load_word,
    store_word,
)

# How scanning ended: more is to come, the list ended, or this is for the general parser.
GOES_ON = 0
ENDED = 1
UNKNOWN = 2
DELIMITER = ord("\t")
"""Between the fields of a line: JSON has none in its texts, but escaped."""
COMMA = ord(",")
LINE_END = ord("\n")
_OPEN = -1
"""Instead of a place: the text ends before it."""
_ODD = -2
"""Instead of a place: what is there is for the general parser."""
_NONE = -1
_WORD = 8
"""Bytes of a word."""
_BLANK, _TAB, _RETURN = ord(" "), ord("\t"), ord("\r")
_QUOTE, _BACKSLASH, _COLON, _POINT = ord('"'), ord("\\"), ord(":"), ord(".")
_BRACE, _END_BRACE, _END_BRACKET = ord("{"), ord("}"), ord("]")
_ZERO, _NINE, _MINUS, _PLUS = ord("0"), ord("9"), ord("-"), ord("+")
_LOWER_E, _UPPER_E = ord("e"), ord("E")
_TRUE = np.frombuffer(b"true", np.uint8)
_FALSE = np.frombuffer(b"false", np.uint8)
_NULL = np.frombuffer(b"null", np.uint8)


@compiled(makes_arrays=False)
def _behind_blanks(text: Bytes, at: int, separator: int) -> int:
    """Return the place of the next byte that is no blank; a line end is one, unless it separates records."""
    while at < len(text):
        letter = text[at]
        is_line_end = letter == LINE_END and separator != LINE_END
        if not (letter == _BLANK or is_line_end or letter == _TAB or letter == _RETURN):
            break
        at += 1
    return at


@compiled(makes_arrays=False)
def _behind_text(text: Bytes, at: int) -> int:
    """Return the place behind a text in quotes, which begins at a place."""
    at += 1
    while at + _WORD <= len(text):
        n_plain = count_plain(load_word(text, at))
        at += n_plain
        if n_plain < _WORD:
            break
    while at < len(text):
        letter = text[at]
        if letter == _QUOTE:
            return at + 1
        if letter == _BACKSLASH or letter < _BLANK:
            return _ODD
        at += 1
    return _OPEN


@compiled(makes_arrays=False)
def _behind_digits(text: Bytes, at: int) -> int:
    while at + _WORD <= len(text):
        n_digits = count_digits(load_word(text, at))
        at += n_digits
        if n_digits < _WORD:
            return at
    while at < len(text) and text[at] >= _ZERO and text[at] <= _NINE:
        at += 1
    return at


@compiled(makes_arrays=False)
def _behind_number(text: Bytes, at: int) -> int:
    """Return the place behind a number; `_OPEN` too where it may go on behind the text."""
    size = len(text)
    at += text[at] == _MINUS
    start = at
    at = _behind_digits(text, at)
    if at < size and (at == start or (text[start] == _ZERO and at > start + 1)):
        return _ODD
    if at < size and text[at] == _POINT:
        start = at + 1
        at = _behind_digits(text, start)
        if at < size and at == start:
            return _ODD
    if at < size and (text[at] == _LOWER_E or text[at] == _UPPER_E):
        at += 1
        at += at < size and (text[at] == _MINUS or text[at] == _PLUS)
        start = at
        at = _behind_digits(text, start)
        if at < size and at == start:
            return _ODD
    return at if at < size else _OPEN


@compiled(makes_arrays=False)
def _behind_word(text: Bytes, at: int, word: Bytes) -> int:
    for place in range(len(word)):
        if at + place == len(text):
            return _OPEN
        if text[at + place] != word[place]:
            return _ODD
    return at + len(word)


@compiled(makes_arrays=False)
def _behind_value(text: Bytes, at: int) -> int:
    """Return the place behind a single value."""
    letter = text[at]
    if letter == _QUOTE:
        return _behind_text(text, at)
    if letter == _MINUS or (letter >= _ZERO and letter <= _NINE):
        return _behind_number(text, at)
    if letter == _TRUE[0]:
        return _behind_word(text, at, _TRUE)
    if letter == _FALSE[0]:
        return _behind_word(text, at, _FALSE)
    if letter == _NULL[0]:
        return _behind_word(text, at, _NULL)
    return _ODD


@compiled(makes_arrays=False)
def _number_of_name(text: Bytes, start: int, end: int, names: Bytes, name_ends: Index) -> int:
    """Return which of the names a key is; `_NONE` where it is none of them."""
    name_start = 0
    for number in range(len(name_ends)):
        if name_ends[number] - name_start == end - start:
            place = 0
            while place < end - start and text[start + place] == names[name_start + place]:
                place += 1
            if place == end - start:
                return number
        name_start = name_ends[number]
    return _NONE


@compiled(makes_arrays=False)
def _note_value(text: Bytes, at: int, end: int, span: Index, may_be_empty: bool) -> bool:
    """Note where the text of a value is; return whether it is the first of its key, and a text that lines can have."""
    if span[0] >= 0:
        return False
    span[0], span[1] = at, end
    if text[at] == _QUOTE:
        span[0], span[1] = at + 1, end - 1
        # What is missing is empty in a line.
        return may_be_empty or end - at > 2
    if text[at] == _NULL[0]:
        span[1] = at
    return True


@compiled(makes_arrays=False)
def _behind_key(
    text: Bytes, at: int, is_first: bool, names: Bytes, name_ends: Index, key: Index, separator: int
) -> int:
    """Return the place of the value of the key that comes next; `key` says which of the names it is."""
    size = len(text)
    if not is_first:
        if at < size and text[at] != COMMA:
            return _ODD
        at = _behind_blanks(text, at + 1, separator)
    if at >= size:
        return _OPEN
    end = _behind_text(text, at) if text[at] == _QUOTE else _ODD
    if end < 0:
        return end
    key[2] = _number_of_name(text, at + 1, end - 1, names, name_ends)
    at = _behind_blanks(text, end, separator)
    if at < size and text[at] != _COLON:
        return _ODD
    at = _behind_blanks(text, at + 1, separator)
    return at if at < size else _OPEN


@compiled(inline=True)
def _is_like_before(text: Bytes, at: int, key: Index) -> bool:
    """Whether what leads to a value is what led to that of the same place in a record before."""
    size = key[1] - key[0]
    return size > 0 and at + size + _WORD <= len(text) and are_same_bytes(text, at, key[0], size)


@compiled(makes_arrays=False)
def _behind_record(
    text: Bytes,
    at: int,
    names: Bytes,
    name_ends: Index,
    may_be_empty: Flags,
    spans: Index,
    keys: Index,
    separator: int,
) -> int:
    """Return the place behind a record, whose brace is at a place; `spans` says where its values are."""
    size = len(text)
    n_keys = 0
    at += 1
    while True:
        # Most records have the keys of the one before: comparing what leads to a value is half of the work.
        key = keys[min(n_keys, len(keys) - 1)]
        if _is_like_before(text, at, key):
            at = _behind_blanks(text, at + key[1] - key[0], separator)
            if at == size:
                return _OPEN
        else:
            start = at
            at = _behind_blanks(text, at, separator)
            if at < size and text[at] == _END_BRACE:
                return at + 1
            at = _behind_key(text, at, n_keys == 0, names, name_ends, key, separator)
            if at < 0:
                return at
            key[0], key[1] = start, at
        end = _behind_value(text, at)
        if end < 0:
            return end
        number = key[2]
        if number != _NONE and not _note_value(text, at, end, spans[number], may_be_empty[number]):
            return _ODD
        at = end
        n_keys += 1


@compiled(makes_arrays=False)
def _copy(text: Bytes, start: int, end: int, lines: Bytes, written: int) -> None:
    """Copy a piece of a text; what is written behind it is of no use."""
    if end + _WORD > len(text) or written + end - start + _WORD > len(lines):
        for place in range(start, end):
            lines[written + place - start] = text[place]
        return
    for place in range(start, end, _WORD):
        store_word(lines, written + place - start, load_word(text, place))


@compiled(makes_arrays=False)
def _write_line(text: Bytes, spans: Index, fields: Index, lines: Bytes, written: int) -> int:
    """Write a line of fields; return the place behind it, `_ODD` where there is no room for it."""
    n_bytes = len(fields)
    for field in fields:
        n_bytes += spans[field, 1] - spans[field, 0]
    if written + n_bytes > len(lines):
        return _ODD
    for field in fields:
        start, end = spans[field, 0], spans[field, 1]
        _copy(text, start, end, lines, written)
        written += end - start
        lines[written] = DELIMITER
        written += 1
    lines[written - 1] = LINE_END
    return written


@compiled(inline=True)
def _has_all(spans: Index, keys: Index) -> bool:
    """Whether a record has some keys, at least one."""
    n_present = 0
    for key in keys:
        n_present += spans[key, 0] >= 0
    return n_present == len(keys) and n_present > 0


@compiled(makes_arrays=False)
def scan_records(  # noqa: PLR0911 - each step may find what is for the general parser
    text: Bytes,
    separator: int,
    names: Bytes,
    name_ends: Index,
    may_be_empty: Flags,
    fields: Index,
    repeated: Index,
    spans: Index,
    keys: Index,
    lines: Bytes,
) -> tuple[int, int, int]:
    """Write whole records of a text as lines of tab-separated fields, an empty one where a value is missing.

    Parameters
    ----------
    text
        Bytes, shape (n,), from the beginning of a record.
    separator
        `COMMA` in a list, which a bracket ends, or `LINE_END`.
    names, name_ends
        The keys that are wanted, one behind the other in UTF-8, and where each ends.
    may_be_empty
        Of each key, whether an empty text is as good as a missing value.
    fields
        The key of each field of a line.
    repeated
        Keys of records of which some may repeat an earlier one: what has all of them is for the general parser.
    spans
        Room for places, shape (names, 2).
    keys
        Room for what leads to each value of a record, shape (k, 3): where in the text, and which of the names.
    lines
        Room for the lines.

    Returns
    -------
    status, consumed, written
        `GOES_ON`, `ENDED` or `UNKNOWN`; bytes of whole records, and of lines.
    """
    size = len(text)
    consumed = 0
    written = 0
    # Places in another text.
    keys[:, :2] = 0
    while True:
        at = _behind_blanks(text, consumed, separator)
        if at == size:
            return GOES_ON, consumed, written
        if text[at] != _BRACE:
            return UNKNOWN, consumed, written
        for number in range(len(spans)):
            spans[number, 0] = spans[number, 1] = _NONE
        at = _behind_record(text, at, names, name_ends, may_be_empty, spans, keys, separator)
        if at == _ODD or _has_all(spans, repeated):
            return UNKNOWN, consumed, written
        at = _behind_blanks(text, at, separator) if at >= 0 else size
        # Until it is known what follows, the record comes again with the next block.
        if at == size:
            return GOES_ON, consumed, written
        is_last = text[at] == _END_BRACKET and separator == COMMA
        if not is_last and text[at] != separator:
            return UNKNOWN, consumed, written
        written_now = _write_line(text, spans, fields, lines, written)
        if written_now == _ODD:
            return UNKNOWN, consumed, written
        written = written_now
        consumed = at + 1
        if is_last:
            return ENDED, consumed, written
