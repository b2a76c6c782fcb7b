"""A JSON document read piece by piece: its outer objects and lists are walked, and only what is inside is read whole.

An answer of a monitoring system may be one value of gigabytes; as objects of Python it would take twenty times that.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

_PIECE = 1 << 18
_BLANKS = " \t\n\r"
_BETWEEN_OBJECTS = "},"
_OF_NUMBERS = "0123456789+-.eE"
_FIRST_KEY = re.compile(r'\{\s*"([^"\\]{0,100})"\s*:')


class JsonFormError(ValueError):
    """The document is no JSON, or not of the expected form; the message says where and what."""


class NumberText(str):
    """A number as it is written: neither rounded, nor limited in its digits."""

    __slots__ = ()


class JsonWalker:
    """Reads a document from its start; each value must be taken before the next one.

    Examples
    --------
    >>> import io
    >>> walker = JsonWalker(io.BytesIO(b'{"a": [1, {"b": 2}], "c": null}'), largest=100)
    >>> for key in walker.entries():
    ...     print(key, list(walker.items()) if key == "a" else walker.value())
    a ['1', {'b': '2'}]
    c None
    """

    def __init__(self, stream: BinaryIO, largest: int) -> None:
        self._stream = stream
        self._largest = largest
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = json.JSONDecoder(
            parse_int=NumberText,
            parse_float=NumberText,
            parse_constant=NumberText,
        )
        self._text = ""
        self._at = 0
        self._is_at_end = False
        self._n_before = 0
        self._looked_at = 0

    @property
    def place(self) -> str:
        """Where the next value begins."""
        return f"character {self._n_before + self._at + 1:,}"

    def peek(self) -> str:
        """Return the next character that is no blank; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if self._is_at_end:
                return ""
            self._read_on(_PIECE)

    def entries(self) -> Iterator[str]:
        """Yield the keys of an object.

        Raises
        ------
        JsonFormError
            The next value is no object, or it is damaged.
        """
        self._take("{", "an object")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            key = self.value() if self.peek() == '"' else None
            if not isinstance(key, str):
                raise self._fault("a key")
            self._take(":", "a colon")
            yield key
            if self._ends("}"):
                return

    def places(self) -> Iterator[None]:
        """Stop at each item of a list, which must be taken before the next one.

        Raises
        ------
        JsonFormError
            The next value is no list, or it is damaged.
        """
        self._take("[", "a list")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield
            if self._ends("]"):
                return

    def items(self) -> Iterator[Any]:
        """Yield the items of a list.

        Raises
        ------
        JsonFormError
            The next value is no list, or it is damaged.
        """
        for _ in self.places():
            # All that are here but the last one at once: one by one they take three times as long.
            yield from self._items_here()
            yield self.value()

    def _items_here(self) -> list[Any]:
        """Take the objects of a list that are in memory and are not its last; none where that is unclear."""
        end_in_document = self._n_before + len(self._text)
        end = self._text.rfind(_BETWEEN_OBJECTS)
        # Once for what is in memory: what cannot be taken together now cannot be after its first item either.
        if end <= self._at or end_in_document == self._looked_at:
            return []
        self._looked_at = end_in_document
        # The last mark between two objects may be one in a text, or in an object: then this is no list.
        listed = f"[{self._text[self._at : end + 1]}]"
        try:
            objects = self._decoder.decode(listed)
        except (ValueError, RecursionError):
            return []
        if not all(type(item) is dict for item in objects):
            return []
        self._at = end + 1
        self._take(",", "a comma")
        return list(objects)

    def first_key(self) -> str:
        """Return the first key of the object that comes next, which is not taken; empty where there is none."""
        if self.peek() != "{":
            return ""
        match = _FIRST_KEY.match(self._text, self._at)
        if match is None and not self._is_at_end and len(self._text) - self._at < _PIECE:
            self._read_on(_PIECE)
            match = _FIRST_KEY.match(self._text, self._at)
        return match[1] if match else ""

    def value(self) -> Any:
        """Return the next value; numbers are `NumberText`.

        Raises
        ------
        JsonFormError
            It is damaged, or longer than the largest one allowed.
        """
        self.peek()
        while True:
            n_characters = len(self._text) - self._at
            try:
                found, end = self._decoder.raw_decode(self._text, self._at)
                if self._is_at_end or not self._may_go_on(found, end):
                    self._at = end
                    return found
            except RecursionError as error:
                raise self._fault("a value that is less nested") from error
            except json.JSONDecodeError as error:
                if self._is_at_end:
                    raise self._fault("a whole value") from error
            if n_characters > self._largest:
                raise self._fault(f"a value of at most {self._largest >> 20} MiB")
            # Twice as much each time, so that a long value is not tried again and again.
            self._read_on(max(_PIECE, n_characters))

    def end(self) -> None:
        """Require that nothing follows.

        Raises
        ------
        JsonFormError
            Something does.
        """
        if self.peek():
            raise self._fault("the end")

    def _may_go_on(self, found: Any, end: int) -> bool:
        """Whether more of a value may stand in what was not read yet: of a number, there may be."""
        if end == len(self._text):
            return True
        return isinstance(found, NumberText) and self._text[end] in _OF_NUMBERS

    def _ends(self, bracket: str) -> bool:
        """Take the comma before the next entry, or the bracket after the last one; return whether it was that."""
        if self.peek() == bracket:
            self._at += 1
            return True
        self._take(",", f"a comma or {bracket}")
        return False

    def _take(self, mark: str, what: str) -> None:
        if self.peek() != mark:
            raise self._fault(what)
        self._at += 1

    def _fault(self, expected: str) -> JsonFormError:
        shown = self._text[self._at : self._at + 20]
        got = repr(shown) if shown else "the end"
        return JsonFormError(f"{expected} at {self.place}, got {got}")

    def _read_on(self, n_bytes: int) -> None:
        block = self._stream.read(n_bytes)
        self._is_at_end = not block
        self._n_before += self._at
        self._text = self._text[self._at :] + self._utf8.decode(block, final=not block)
        self._at = 0
