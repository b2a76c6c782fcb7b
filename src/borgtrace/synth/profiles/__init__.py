"""Cells to simulate, one profile per trace format: a file of numbers each."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from borgtrace.synth.draws import QuantileCurve
from borgtrace.synth.profiles.profile import CONSTRAINED, LENGTHS, Profile, Tier

_CURVES = ("snapshot_sizes", "duration", "residual", "delay")
_REQUESTS = ("cpu", "memory")
_NUMBERED = ("priorities", "snapshot_priorities", "classes", "snapshot_classes")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


_TIERS_2011 = {tier["name"]: tier for tier in _read("2011")["tiers"]}


def _tier(own: Mapping[str, Any]) -> Tier:
    facts = {**_TIERS_2011.get(own.get("like", ""), {}), **own}
    facts |= {name: QuantileCurve(*map(tuple, facts[name])) for name in _CURVES}
    facts |= {name: dict(zip(*facts[name], strict=True)) for name in _REQUESTS}
    # Names are texts in these files, and priorities are numbers.
    facts |= {name: {int(number): share for number, share in facts[name].items()} for name in _NUMBERED}
    return Tier(**facts)


def _profile(facts: dict[str, Any]) -> Profile:
    jobs, machines = facts["jobs_per_hour"]
    return Profile(**facts | {"tiers": tuple(map(_tier, facts["tiers"])), "jobs_per_hour": jobs / machines})


PROFILES: Mapping[str, Profile] = {name: _profile(_read(name)) for name in ("2011", "2019")}
"""Profiles by dialect."""

__all__ = ["CONSTRAINED", "LENGTHS", "PROFILES", "Profile", "Tier"]
