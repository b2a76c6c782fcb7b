"""Lines of numbers with blanks between them, written with commas: the hot path of the Standard Workload Format."""

from borgtrace.kernels.arrays import Bytes
from borgtrace.kernels.compiled import compiled

HEADING = -1
"""Instead of a number of bytes: a line may name the columns."""
_FIRST_WITH_SIGN = 2
"""The first field in which a negative number is an unknown one; before it are the job and its submission."""
_BLANK, _TAB, _RETURN, _LINE_END = ord(" "), ord("\t"), ord("\r"), ord("\n")
_COMMA, _SEMICOLON = ord(","), ord(";")
_MINUS, _POINT = ord("-"), ord(".")
_ZERO, _ONE, _NINE = ord("0"), ord("1"), ord("9")
_LOWER_I, _LOWER_J = ord("i"), ord("j")
_CASE = 0x20


@compiled(inline=True)
def _is_blank(letter: int) -> bool:
    """Whether a byte separates fields or lines, as `bytes.split` has it."""
    return letter == _BLANK or (letter >= _TAB and letter <= _RETURN)


@compiled(makes_arrays=False)
def _behind_negative(text: Bytes, at: int) -> int:
    """Return the place behind a field that is a number below zero; the place itself where it is none."""
    start = at
    at += 1
    has_value = False
    while (text[at] >= _ZERO and text[at] <= _NINE) or text[at] == _POINT:
        has_value = has_value or text[at] > _ZERO
        at += 1
    return at if has_value and _is_blank(text[at]) else start


@compiled(makes_arrays=False)
def write_fields(text: Bytes, lines: Bytes) -> int:
    """Write the fields of whole lines with a comma between them.

    Comments, and lines without fields, are left out; a negative number behind the second field becomes −1; a comma in
    a field becomes a semicolon.

    Parameters
    ----------
    text
        Bytes, shape (n,); the last one is a line end.
    lines
        Room for as many.

    Returns
    -------
    int
        Bytes written, or `HEADING`.
    """
    written = 0
    at = 0
    field = 0
    while at < len(text):
        letter = text[at]
        if letter == _LINE_END:
            if field:
                lines[written] = _LINE_END
                written += 1
            field = 0
            at += 1
            continue
        if _is_blank(letter):
            at += 1
            continue
        if field:
            lines[written] = _COMMA
            written += 1
        elif letter == _SEMICOLON or letter == _COMMA:
            while text[at] != _LINE_END:
                at += 1
            continue
        elif letter | _CASE == _LOWER_I or letter | _CASE == _LOWER_J:
            return HEADING
        end = at
        if letter == _MINUS and field >= _FIRST_WITH_SIGN:
            end = _behind_negative(text, at)
        if end > at:
            lines[written] = _MINUS
            lines[written + 1] = _ONE
            written += 2
            at = end
        while not _is_blank(text[at]):
            lines[written] = _SEMICOLON if text[at] == _COMMA else text[at]
            written += 1
            at += 1
        field += 1
    return written
