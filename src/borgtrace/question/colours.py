"""The one home of colours: what each stands for, on light and on dark ground.

A chart names a colour as it is on light ground.  On a page, where the ground may be dark, each is a CSS variable:
:func:`stylesheet` defines them, and :data:`VARIABLES` says which one stands for which colour.
"""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Literal


@dataclass(frozen=True, slots=True)
class Colour:
    """A colour: its name as a CSS variable, and its shade on light and on dark ground."""

    name: str
    light: str
    dark: str


SERIES = (
    Colour("c1", "#1f6fb4", "#6db3f2"),
    Colour("c2", "#c4540a", "#f59e5b"),
    Colour("c3", "#1b7f5c", "#58c69a"),
    Colour("c4", "#8a4fb0", "#c39be8"),
    Colour("c5", "#b3263f", "#f2808f"),
    Colour("c6", "#6b6b12", "#c9c45a"),
    Colour("c7", "#0d7d8c", "#55c6d6"),
    Colour("c8", "#7a5230", "#cfa27a"),
)
"""Of the series of a chart that have no color of their own, in this order."""
USED, REQUESTED = SERIES[:2]
"""What is used, and what is requested or allocated, wherever they are drawn beside each other."""
CAPACITY = Colour("capacity", "#22272e", "#e6eaef")
"""What machines have."""
TIERS: Mapping[str, Colour] = {
    "free": Colour("tier-free", "#64748b", "#9fb0c6"),
    # Best-effort batch, which the papers on 2011 call "other".
    "beb": Colour("tier-batch", "#0b7fa8", "#3fc1ea"),
    "other": Colour("tier-batch", "#0b7fa8", "#3fc1ea"),
    "mid": Colour("tier-mid", "#6247d6", "#a99bff"),
    "production": Colour("tier-production", "#c2185b", "#ff7fae"),
    "monitoring": Colour("tier-monitoring", "#4a6b00", "#a3cf3c"),
    "unknown": Colour("tier-unknown", "#8a8f98", "#767d88"),
    "all": CAPACITY,
}
"""Of each tier, in the order in which legends list them; no other meaning has one of these."""
ESTIMATORS: Mapping[str, str] = {
    "average": "#4c78a8",
    "percentile": "#72b7b2",
    "cantelli": "#b279a2",
    "gpa": "#e45756",
    "gpa-calibrated": "#ff9da6",
    "gpa-covariance": "#d67195",
    "convolution": "#54a24b",
    "saddlepoint": "#eeca3b",
    "chernoff": "#9d755d",
    "bernstein": "#bab0ac",
    "hoeffding": "#888888",
    "cornish-fisher": "#f58518",
    "request": "#222222",
}
"""Of each estimator."""
OTHER_NAMES = ("#d67195", "#17becf", "#b6992d", "#1f5f3f", "#6b4c9a", "#e377c2")
"""Of names that a chart does not list."""
VARIABLES: Mapping[str, str] = {
    colour.light: f"var(--{colour.name})" for colour in (*SERIES, *TIERS.values())
}
"""The CSS variable of each colour of a page, by its shade on light ground."""

GROUND = (
    Colour("paper", "#ffffff", "#14171c"),
    Colour("panel", "#f5f6f8", "#1d2128"),
    Colour("ink", "#1b1f24", "#e8ebef"),
    Colour("muted", "#59636e", "#a3adb9"),
    Colour("grid", "#dfe3e8", "#303741"),
    Colour("line", "#c8ced6", "#434c58"),
    Colour("link", "#0b5cad", "#8ec5ff"),
    Colour("good", "#156a3f", "#6fd6a0"),
    Colour("bad", "#a4232c", "#ff9aa0"),
    Colour("warn", "#8a4b00", "#f0b46a"),
)
"""Of a page itself: its ground and its ink, what is said quietly, links, and what is good or bad."""
_GOLDEN_ANGLE = 0.381966
"""Part of the circle of hues between two colours that follow each other: no two hues ever meet."""


def tier(name: str) -> Colour:
    """Return the colour of a tier; that of an unknown one where the name is not listed.

    Examples
    --------
    >>> tier("production").name, tier("best effort").name
    ('tier-production', 'tier-unknown')
    """
    return TIERS.get(name, TIERS["unknown"])


def distinct(taken: Iterable[str] = ()) -> Iterator[str]:
    """Yield colours without end, each another one: those of :data:`SERIES`, then hue after hue.

    Parameters
    ----------
    taken
        Colours that are left out.

    Examples
    --------
    >>> from itertools import islice
    >>> first_hundred = list(islice(distinct(), 100))
    >>> first_hundred[:2], len(set(first_hundred))
    (['#1f6fb4', '#c4540a'], 100)
    """
    seen = {colour.lower() for colour in taken}
    for colour in SERIES:
        if colour.light not in seen:
            seen.add(colour.light)
            yield colour.light
    for number in count():
        # Three rings of lightness, so that neighbours in hue differ in it.
        lightness = (0.42, 0.62, 0.3)[number % 3]
        channels = colorsys.hls_to_rgb(number * _GOLDEN_ANGLE % 1, lightness, 0.6)
        shade = "#" + "".join(f"{round(channel * 255):02x}" for channel in channels)
        if shade not in seen:
            seen.add(shade)
            yield shade


def stylesheet() -> str:
    """Return the CSS that defines the colours: light, dark where the reader's screen is, light again on paper."""
    colours = {colour.name: colour for colour in (*SERIES, *TIERS.values())}
    light = definitions((*colours.values(), *GROUND), "light")
    dark = definitions((*colours.values(), *GROUND), "dark")
    classes = "\n".join(f".{name} {{ --c: var(--{name}); }}" for name in colours)
    return (
        f":root {{ {light} }}\n"
        "@media (prefers-color-scheme: dark) {\n"
        f'  :root:not([data-theme="paper"]) {{ {dark} }}\n'
        "}\n"
        f"@media print {{ :root {{ {light} }} }}\n"
        f"{classes}\n"
    )


def picture_style(picture: str) -> str:
    """Return the CSS of a picture that follows the reader's screen: the colours that it uses, light and dark.

    Parameters
    ----------
    picture
        An SVG that names colours as variables.

    Examples
    --------
    >>> picture_style('<svg fill="var(--ink)"/>')
    ':root{--ink: #1b1f24;}@media (prefers-color-scheme: dark){:root{--ink: #e8ebef;}}'
    """
    colours = {colour.name: colour for colour in (*SERIES, *TIERS.values(), *GROUND)}
    used = [colour for name, colour in colours.items() if f"var(--{name})" in picture]
    light = definitions(used, "light")
    dark = definitions(used, "dark")
    return f":root{{{light}}}@media (prefers-color-scheme: dark){{:root{{{dark}}}}}"


def definitions(colours: Iterable[Colour], ground: Literal["light", "dark"]) -> str:
    """Return CSS that defines colours as variables, in their shades on light or on dark ground."""
    return " ".join(f"--{colour.name}: {getattr(colour, ground)};" for colour in colours)
