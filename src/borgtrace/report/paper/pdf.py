"""PDF files as the renderer writes them: the fonts in them, and what they say about themselves.

Only the plain objects of such files are read: no object streams, no encryption.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from borgtrace.report.paper.truetype import TrueTypeFont

ENTRY = re.compile(rb"(\d{10}) \d{5} ([nf])")
TABLE = re.compile(rb"xref\n0 \d+\n(.*?)trailer\n<<.*?/Root (\d+) 0 R.*?startxref", re.DOTALL)
BODY = re.compile(rb"^\d+ 0 obj\n(.*)\nendobj", re.DOTALL)
STREAM = re.compile(rb"\nstream\n(.*)\nendstream", re.DOTALL)
REFERENCE = re.compile(rb"(\d+) 0 R")
# Lines of resources, which are numbered in the order of their use.
RESOURCES = re.compile(rb"(?:^ +/[a-z]+\d+ \[?.*\n){2,}", re.MULTILINE)
# Pairs of a code and the letter that it stands for, one by one or as a range of codes.
LETTER = re.compile(r"<([0-9A-Fa-f]+)> <([0-9A-Fa-f]+)>\n")


@dataclass(frozen=True, slots=True)
class EmbeddedFont:
    """A font in a PDF: its name, its outlines, and the glyph of each letter."""

    name: str
    outlines: TrueTypeFont
    glyphs: Mapping[str, int]

    @property
    def is_bold(self) -> bool:
        """Whether its letters are bold."""
        return "Bold" in self.name

    @property
    def is_italic(self) -> bool:
        """Whether its letters lean."""
        return "Italic" in self.name or "Oblique" in self.name


def embedded_fonts(pdf: bytes) -> list[EmbeddedFont]:
    """Return the fonts that a PDF brings with it."""
    objects, _ = objects_of(pdf)
    fonts = []
    for body in objects.values():
        if b"/Subtype /Type0" not in body:
            continue
        descendant = objects[referred(body, b"DescendantFonts")]
        descriptor = objects[referred(descendant, b"FontDescriptor")]
        file = stream_of(objects[referred(descriptor, b"FontFile2")])
        letters = stream_of(objects[referred(body, b"ToUnicode")]).decode("ascii")
        (name,) = re.findall(rb"/BaseFont /(\S+)", body)
        fonts.append(
            EmbeddedFont(name.decode("ascii"), TrueTypeFont.parse(file), glyphs_of(letters))
        )
    return fonts


def referred(body: bytes, key: bytes) -> int:
    """Return the number of the object that an entry of another refers to."""
    (number,) = re.findall(rb"/" + key + rb"\s+\[?(\d+) 0 R", body)
    return int(number)


def stream_of(body: bytes) -> bytes:
    """Return the bytes of a stream."""
    (data,) = STREAM.findall(body)
    return zlib.decompress(data) if b"/FlateDecode" in body else bytes(data)


def glyphs_of(letters: str) -> dict[str, int]:
    r"""Return the glyph of each letter, from the map of codes to letters.

    Examples
    --------
    >>> glyphs_of("2 beginbfchar\n<0001> <0041>\n<0002> <00E9>\nendbfchar\n")
    {'A': 1, 'é': 2}
    """
    glyphs = {}
    for code, letter in LETTER.findall(letters):
        text = bytes.fromhex(letter).decode("utf-16-be")
        glyphs[text] = int(code, 16)
    return glyphs


def objects_of(pdf: bytes) -> tuple[dict[int, bytes], int]:
    """Return the objects of a PDF by number, and which one is its root."""
    match = TABLE.search(pdf)
    assert match is not None
    places = {}
    for number, (offset, state) in enumerate(ENTRY.findall(match[1])):
        if state == b"n":
            places[number] = int(offset)
    # An object ends where the next one begins, the last one at the table.
    ends = sorted([*places.values(), match.start()])
    objects = {}
    for number, place in places.items():
        end = ends[ends.index(place) + 1]
        body = BODY.match(pdf[place:end])
        assert body is not None
        objects[number] = body[1]
    return objects, int(match[2])


def rewritten(pdf: bytes, information: Mapping[str, str]) -> bytes:
    """Write a PDF anew, always the same way, with what it says about itself.

    The renderer numbers fonts, and lists their letters, in an order that differs each time.

    Parameters
    ----------
    pdf
        As the renderer writes it.
    information
        Entries of its dictionary of information, such as ``Title``.
    """
    objects, root = objects_of(pdf)
    new_numbers: dict[int, int] = {}
    bodies = []
    waiting = [root]
    while waiting:
        number = waiting.pop(0)
        if number in new_numbers:
            continue
        new_numbers[number] = len(new_numbers) + 1
        body = with_sorted_resources(with_sorted_letters(objects[number]))
        bodies.append(body)
        waiting += [int(other) for other in REFERENCE.findall(dictionary_of(body))]
    entries = " ".join(f"/{key} {text_string(value)}" for key, value in information.items())
    renumbered = [with_new_numbers(body, new_numbers) for body in bodies]
    renumbered.append(f"<< {entries} >>".encode("ascii"))
    return file_of(renumbered, pdf.partition(b"\n\n")[0])


def dictionary_of(body: bytes) -> bytes:
    """Return an object without its stream, in which anything may look like a reference."""
    return body.partition(b"\nstream\n")[0]


def with_new_numbers(body: bytes, new_numbers: Mapping[int, int]) -> bytes:
    """Return an object whose references have new numbers."""
    head, stream, data = body.partition(b"\nstream\n")
    head = REFERENCE.sub(lambda match: b"%d 0 R" % new_numbers[int(match[1])], head)
    return head + stream + data


def with_sorted_letters(body: bytes) -> bytes:
    """Return an object; where it is a map of codes to letters, with the codes in order."""
    if b"/Type /CMap" not in dictionary_of(body):
        return body

    def in_order(match: re.Match[bytes]) -> bytes:
        return match[1] + b"".join(sorted(match[2].splitlines(keepends=True))) + match[3]

    return re.sub(rb"(beginbfchar\n)(.*?)(endbfchar)", in_order, body, flags=re.DOTALL)


def with_sorted_resources(body: bytes) -> bytes:
    """Return an object whose lists of resources, such as ``/gs1 8 0 R``, are in the order of their names."""
    head, stream, data = body.partition(b"\nstream\n")

    def in_order(match: re.Match[bytes]) -> bytes:
        lines = match[0].splitlines(keepends=True)
        return b"".join(sorted(lines, key=lambda line: number_of_resource(bytes(line))))

    return RESOURCES.sub(in_order, head + b"\n").removesuffix(b"\n") + stream + data


def number_of_resource(line: bytes) -> int:
    """Return the number in the name of a resource."""
    return int(re.findall(rb"/[a-z]+(\d+)", line)[0])


def file_of(bodies: list[bytes], header: bytes) -> bytes:
    """Return a PDF of objects, of which the first is the root, and the last what it says about itself."""
    file = header + b"\n\n"
    places = []
    for number, body in enumerate(bodies, 1):
        places.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n\n" % (number, body)
    table = b"".join(b"%010d 00000 n\r\n" % place for place in places)
    size = len(bodies) + 1
    return file + (
        b"xref\n0 %d\n0000000000 65535 f\r\n%strailer\n"
        b"<<\n  /Size %d\n  /Root 1 0 R\n  /Info %d 0 R\n>>\nstartxref\n%d\n%%%%EOF\n"
    ) % (size, table, size, size - 1, len(file))


def text_string(text: str) -> str:
    """Write a text for a PDF: as UTF-16 in hex, in which nothing has a meaning of its own.

    Examples
    --------
    >>> text_string("Aé")
    '<FEFF004100E9>'
    """
    return f"<FEFF{text.encode('utf-16-be').hex().upper()}>"
