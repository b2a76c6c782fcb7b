"""Texts of an SVG as outlines, so that it looks the same wherever its font is not known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from xml.etree import ElementTree

from borgtrace.report.paper.pdf import EmbeddedFont
from borgtrace.report.paper.truetype import Contour, OutlinePoint

SVG = "http://www.w3.org/2000/svg"
TEXT, SPAN, PATH, GROUP = (f"{{{SVG}}}{name}" for name in ("text", "tspan", "path", "g"))
ANCHORS = {"start": 0.0, "middle": 0.5, "end": 1.0}
"""Which share of a text lies before its place."""
KEPT = ("transform", "fill", "opacity", "fill-opacity")
"""Attributes of a text that its outlines have, too."""
LENGTH = re.compile(r"-?[\d.]+")


def outlined(svg: str, fonts: Sequence[EmbeddedFont]) -> str:
    """Return an SVG whose texts are outlines.

    Parameters
    ----------
    svg
        As the renderer writes it.
    fonts
        Fonts that have all of its letters.
    """
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    # The renderer wrote it: no entities, no external parts.
    root = ElementTree.fromstring(svg)
    parents = {child: parent for parent in root.iter() for child in parent}
    for element in list(root.iter(TEXT)):
        parent = parents[element]
        place = list(parent).index(element)
        parent.remove(element)
        parent.insert(place, outlines_of(element, fonts))
    return ElementTree.tostring(root, encoding="unicode")


def outlines_of(element: ElementTree.Element, fonts: Sequence[EmbeddedFont]) -> ElementTree.Element:
    """Return a group with the outlines of a text, and the text itself as its name."""
    size = float(LENGTH.findall(element.get("font-size", "10"))[0])
    font = font_of(element, fonts)
    anchor = ANCHORS[element.get("text-anchor", "start")]
    attributes = {key: text for key, text in element.attrib.items() if key in KEPT}
    group = ElementTree.Element(GROUP, attributes)
    group.set("aria-label", "".join(element.itertext()))
    y = 0.0
    for text, dy in lines_of(element):
        y += dy
        x = -anchor * width_of(text, font, size)
        ElementTree.SubElement(group, PATH, {"d": path_of(text, font, size, x, y)})
    return group


def lines_of(element: ElementTree.Element) -> Iterable[tuple[str, float]]:
    """Yield the lines of a text, and how far each is below the one before."""
    if element.text:
        yield element.text, 0.0
    for span in element.iter(SPAN):
        yield span.text or "", float(span.get("dy", "0"))


def font_of(element: ElementTree.Element, fonts: Sequence[EmbeddedFont]) -> EmbeddedFont:
    """Return the font of a text: bold or not, leaning or not."""
    is_bold = element.get("font-weight", "normal") in ("bold", "600", "700", "800", "900")
    is_italic = element.get("font-style", "normal") in ("italic", "oblique")
    return min(fonts, key=lambda font: (font.is_bold != is_bold, font.is_italic != is_italic))


def width_of(text: str, font: EmbeddedFont, size: float) -> float:
    """Return the width of a text."""
    return sum(font.outlines.advance(glyph_of(letter, font)) for letter in text) * size


def glyph_of(letter: str, font: EmbeddedFont) -> int:
    """Return the glyph of a letter; that of a missing letter, 0, where the font has none."""
    return font.glyphs.get(letter, 0)


def path_of(
    text: str,
    font: EmbeddedFont,
    size: float,
    x: float,
    y: float,
) -> str:
    """Return the outlines of a text as the data of a path."""
    scale = size / font.outlines.units_per_em
    commands = []
    for letter in text:
        glyph = glyph_of(letter, font)
        for contour in font.outlines.contours(glyph):
            points = [
                OutlinePoint(x + point.x * scale, y - point.y * scale, point.is_on_curve)
                for point in contour
            ]
            commands.append(curve_through(points))
        x += font.outlines.advance(glyph) * size
    return "".join(commands)


def curve_through(contour: Contour) -> str:
    """Return a closed outline as commands of a path.

    Between two points off the curve there is one on it, half-way, that the font leaves out.

    Examples
    --------
    >>> on = [OutlinePoint(0, 0, True), OutlinePoint(1, 0, True), OutlinePoint(1, 1, False)]
    >>> curve_through(on)
    'M0 0L1 0Q1 1 0 0Z'
    """
    points: Contour = []
    for point, following in pairwise([*contour, contour[0]]):
        points.append(point)
        if not point.is_on_curve and not following.is_on_curve:
            middle = OutlinePoint((point.x + following.x) / 2, (point.y + following.y) / 2, True)
            points.append(middle)
    first = next(number for number, point in enumerate(points) if point.is_on_curve)
    points = [*points[first:], *points[:first]]
    commands = [f"M{place(points[0])}"]
    bend: OutlinePoint | None = None
    for point in [*points[1:], points[0]]:
        if not point.is_on_curve:
            bend = point
        elif bend is not None:
            commands.append(f"Q{place(bend)} {place(point)}")
            bend = None
        else:
            commands.append(f"L{place(point)}")
    # The line back to the first point is what closing draws.
    if commands[-1].startswith("L"):
        commands.pop()
    return "".join(commands) + "Z"


def place(point: OutlinePoint) -> str:
    """Write where a point is, to a hundredth of a point."""
    return f"{point.x:.5g} {point.y:.5g}"
