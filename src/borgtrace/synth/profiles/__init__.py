"""Cells to simulate, one profile per trace format: a file of numbers each."""

import tomllib
from collections.abc import Mapping
from functools import reduce
from operator import truediv
from pathlib import Path
from typing import Any

from borgtrace.synth.classes import CLASSES, CLASSES_2019, Classes
from borgtrace.synth.draws import QuantileCurve
from borgtrace.synth.profiles.profile import CONSTRAINED, LENGTHS, Likeness, Profile, Tier

_CURVES = ("snapshot_sizes", "duration", "residual", "delay")
_REQUESTS = ("cpu", "memory")
_NUMBERED = ("priorities", "snapshot_priorities", "classes", "snapshot_classes")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


_2011 = _read("2011")
_TIERS_2011 = {tier["name"]: tier for tier in _2011["tiers"]}


def _tier(own: Mapping[str, Any]) -> Tier:
    facts = {**_TIERS_2011.get(own.get("like", ""), {}), **own}
    facts |= {name: QuantileCurve(*map(tuple, facts[name])) for name in _CURVES}
    facts |= {name: dict(zip(*facts[name], strict=True)) for name in _REQUESTS}
    # Names are texts in these files, and priorities are numbers.
    facts |= {
        name: {int(number): share for number, share in facts[name].items()} for name in _NUMBERED
    }
    return Tier(**facts)


def _profile(own: Mapping[str, Any], classes: Classes) -> Profile:
    facts = {**_2011, **own, "classes": classes}
    facts |= {name: reduce(truediv, facts[name]) for name in ("jobs_per_hour", "removals")}
    return Profile(
        **facts
        | {
            "tiers": tuple(map(_tier, facts["tiers"])),
            "downtime": QuantileCurve(*facts["downtime"]),
        }
    )


PROFILES: Mapping[str, Profile] = {
    "2011": _profile(_2011, CLASSES),
    "2019": _profile(_read("2019"), CLASSES_2019),
}
"""Profiles by dialect."""

__all__ = ["CONSTRAINED", "LENGTHS", "PROFILES", "Likeness", "Profile", "Tier"]
