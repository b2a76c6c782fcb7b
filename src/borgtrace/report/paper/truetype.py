"""Outlines of the letters of a TrueType font: just the tables that say where their curves are."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

# Flags of a point, as the specification of the table `glyf` names them.
ON_CURVE, X_SHORT, Y_SHORT, REPEAT, X_SAME, Y_SAME = 1, 2, 4, 8, 16, 32
# Flags of a part of a composed letter.
WORDS, OFFSETS, SCALED, MORE, TWO_SCALES, FOUR_SCALES = 1, 2, 8, 32, 64, 128


class OutlinePoint(NamedTuple):
    """A point of an outline; one that is not on the curve bends it."""

    x: float
    y: float
    is_on_curve: bool


Contour = list[OutlinePoint]


@dataclass(frozen=True, slots=True)
class TrueTypeFont:
    """The tables of a font by name, and how many units an em has."""

    tables: dict[str, bytes]
    units_per_em: int

    @classmethod
    def parse(cls, font: bytes) -> TrueTypeFont:
        """Read the directory of a font file."""
        (n_tables,) = struct.unpack_from(">H", font, 4)
        tables = {}
        for number in range(n_tables):
            name, _, offset, length = struct.unpack_from(">4sIII", font, 12 + 16 * number)
            tables[name.decode("ascii")] = font[offset : offset + length]
        (units_per_em,) = struct.unpack_from(">H", tables["head"], 18)
        return cls(tables, units_per_em)

    def advance(self, glyph: int) -> float:
        """Return how far the next letter is from a glyph, in ems."""
        (n_metrics,) = struct.unpack_from(">H", self.tables["hhea"], 34)
        # What comes after the last one is as wide as it.
        place = min(glyph, n_metrics - 1)
        (width,) = struct.unpack_from(">H", self.tables["hmtx"], 4 * place)
        return float(width / self.units_per_em)

    def contours(self, glyph: int) -> list[Contour]:
        """Return the outlines of a glyph, in units of the font, y upward; none for a space."""
        start, end = self._place(glyph)
        if start == end:
            return []
        data = self.tables["glyf"][start:end]
        (n_contours,) = struct.unpack_from(">h", data, 0)
        return simple_contours(data, n_contours) if n_contours >= 0 else self._composed(data)

    def _place(self, glyph: int) -> tuple[int, int]:
        """Return where the outline of a glyph begins and ends."""
        (has_long_places,) = struct.unpack_from(">h", self.tables["head"], 50)
        if has_long_places:
            start, end = struct.unpack_from(">II", self.tables["loca"], 4 * glyph)
        else:
            start, end = (
                2 * half for half in struct.unpack_from(">HH", self.tables["loca"], 2 * glyph)
            )
        return start, end

    def _composed(self, data: bytes) -> list[Contour]:
        """Return the outlines of a letter that is made of others, such as one with an accent."""
        contours: list[Contour] = []
        offset = 10
        flags = MORE
        while flags & MORE:
            flags, glyph = struct.unpack_from(">HH", data, offset)
            offset += 4
            dx, dy = struct.unpack_from(">hh" if flags & WORDS else ">bb", data, offset)
            offset += 4 if flags & WORDS else 2
            if not flags & OFFSETS:
                dx = dy = 0
            a, b, c, d, n_bytes = transformation(flags, data, offset)
            offset += n_bytes
            for contour in self.contours(glyph):
                contours.append(
                    [
                        OutlinePoint(a * x + c * y + dx, b * x + d * y + dy, is_on)
                        for x, y, is_on in contour
                    ]
                )
        return contours


def transformation(flags: int, data: bytes, offset: int) -> tuple[float, float, float, float, int]:
    """Return how a part of a letter is scaled and turned, and how many bytes say so."""
    unit = 1 << 14
    if flags & SCALED:
        (scale,) = struct.unpack_from(">h", data, offset)
        return scale / unit, 0.0, 0.0, scale / unit, 2
    if flags & TWO_SCALES:
        across, along = struct.unpack_from(">hh", data, offset)
        return across / unit, 0.0, 0.0, along / unit, 4
    if flags & FOUR_SCALES:
        a, b, c, d = struct.unpack_from(">hhhh", data, offset)
        return a / unit, b / unit, c / unit, d / unit, 8
    return 1.0, 0.0, 0.0, 1.0, 0


def simple_contours(data: bytes, n_contours: int) -> list[Contour]:
    """Return the outlines of a letter that has some of its own."""
    ends = struct.unpack_from(f">{n_contours}H", data, 10)
    offset = 10 + 2 * n_contours
    (n_instructions,) = struct.unpack_from(">H", data, offset)
    offset += 2 + n_instructions
    n_points = ends[-1] + 1 if ends else 0
    flags: list[int] = []
    while len(flags) < n_points:
        flag = data[offset]
        offset += 1
        flags.append(flag)
        if flag & REPEAT:
            flags += [flag] * data[offset]
            offset += 1
    xs, offset = coordinates(data, offset, flags, X_SHORT, X_SAME)
    ys, _ = coordinates(data, offset, flags, Y_SHORT, Y_SAME)
    points = [
        OutlinePoint(x, y, bool(flag & ON_CURVE)) for x, y, flag in zip(xs, ys, flags, strict=True)
    ]
    return [points[start:end] for start, end in pairwise([0, *(end + 1 for end in ends)])]


def coordinates(
    data: bytes, offset: int, flags: list[int], short: int, same: int
) -> tuple[list[int], int]:
    """Return the coordinates of points in one direction, and where the bytes go on."""
    values = []
    value = 0
    for flag in flags:
        if flag & short:
            # With a short coordinate, the flag of sameness is its sign.
            value += data[offset] if flag & same else -data[offset]
            offset += 1
        elif not flag & same:
            (difference,) = struct.unpack_from(">h", data, offset)
            value += difference
            offset += 2
        values.append(value)
    return values, offset
