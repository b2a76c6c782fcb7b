"""Policies by what users write: ``nsigma:n=3,history=10h``, or ``A+B`` for the larger of two."""

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType

from borgtrace.errors import UsageError, did_you_mean
from borgtrace.overcommit.policies.policy import KINDS, Policy
from borgtrace.overcommit.policies.several import Maximum


def parse_policy(text: str, units: Mapping[str, float] = MappingProxyType({})) -> Policy:
    """Return the policy that a text such as ``nsigma:n=3,history=10h`` names; ``+`` takes the maximum of several.

    Parameters
    ----------
    text
        What the user wrote.
    units
        ``cores`` and ``gib`` of the largest machine, for the policies that need them and do not name them.

    Raises
    ------
    UsageError
        For an unknown policy or parameter, or a value out of range.
    """
    parts = text.split("+")
    policies = tuple(_parse_one(part, units) for part in parts)
    return policies[0] if len(parts) == 1 else Maximum(policies)


def _parse_one(text: str, units: Mapping[str, float]) -> Policy:
    name, _, rest = text.strip().partition(":")
    if name not in KINDS:
        raise UsageError(
            "--policy",
            "no such policy",
            expected="one of " + ", ".join(sorted(KINDS)),
            got=name,
            way_out=did_you_mean(name, KINDS),
        )
    names = {item.name for item in fields(KINDS[name])}
    known = {unit: f"{value:g}" for unit, value in units.items() if unit in names and value > 0}
    pairs = (part.partition("=") for part in rest.split(",") if part)
    return KINDS[name].parse(known | {key.strip(): value.strip() for key, _, value in pairs}, text)
