"""Colours: one for a tier everywhere, none for two things, all of them seen on light and on dark ground."""

from __future__ import annotations

import itertools

import pytest

from borgtrace.explore.tiers import tier_colors
from borgtrace.question import charts, colours
from borgtrace.report.theme import themed
from borgtrace.schema.dialects import DIALECTS, dialect

PAPER = {"light": "#ffffff", "dark": "#14171c"}


def luminance(shade: str) -> float:
    """The relative luminance of WCAG 2."""
    channels = []
    for place in (1, 3, 5):
        value = int(shade[place : place + 2], 16) / 255
        channels.append(value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4)
    red, green, blue = channels
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("ground", PAPER)
@pytest.mark.parametrize(
    "colour", [*colours.SERIES, *colours.TIERS.values()], ids=lambda colour: colour.name
)
def test_a_colour_stands_out_from_its_ground(colour: colours.Colour, ground: str) -> None:
    """At least 3 : 1, as WCAG 2 asks of graphics."""
    light, dark = sorted((luminance(getattr(colour, ground)), luminance(PAPER[ground])))
    assert (dark + 0.05) / (light + 0.05) >= 3


def test_no_colour_of_a_tier_has_another_meaning() -> None:
    shades = {colour.light.lower() for colour in colours.TIERS.values()}
    others = [*(colour.light for colour in colours.SERIES), *colours.ESTIMATORS.values()]
    assert shades.isdisjoint(shade.lower() for shade in [*others, *colours.OTHER_NAMES])
    # "beb" and "other" are one tier under two names.
    names = set(colours.TIERS) - {"other"}
    assert len({colours.TIERS[name].light for name in names}) == len(names)


@pytest.mark.parametrize("name", DIALECTS)
def test_each_tier_of_each_format_has_its_colour_everywhere(name: str) -> None:
    """In the charts of questions and in the explorer, whatever the year."""
    for tier, variable in tier_colors(dialect(name)).items():
        assert tier in colours.TIERS
        assert variable == colours.TIERS[tier].name
        channel = {"color": charts.TIER_COLORS[tier]}
        assert themed({"mark": channel})["mark"]["color"] == f"var(--{variable})"


def test_however_many_policies_there_are_each_has_a_colour_of_its_own() -> None:
    rows = [{"policy": f"policy {number}"} for number in range(200)]
    channel = charts.color(rows, "policy", {"policy 7": "#1f6fb4"}).to_dict()
    assert len(set(channel["scale"]["range"])) == 200
    taken = list(itertools.islice(colours.distinct(["#1f6fb4"]), 50))
    assert "#1f6fb4" not in taken


def test_the_style_sheet_defines_each_colour_for_each_ground() -> None:
    css = colours.stylesheet()
    for colour in (*colours.SERIES, *colours.TIERS.values()):
        assert css.count(f"--{colour.name}: {colour.light};") == 2  # on screens, on paper
        assert css.count(f"--{colour.name}: {colour.dark};") == 1
        assert f".{colour.name} {{ --c: var(--{colour.name}); }}" in css
