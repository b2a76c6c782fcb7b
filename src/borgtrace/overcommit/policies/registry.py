"""The list of policies that users can name, and how a name with its parameters is read."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from borgtrace.extensions import Registry
from borgtrace.overcommit.policies.distributions import ConvolutionPolicy, SaddlepointPolicy
from borgtrace.overcommit.policies.forecast import Forecast
from borgtrace.overcommit.policies.gaussian import GpaPolicy, OnlineGpa
from borgtrace.overcommit.policies.kubernetes import (
    KatalystHourly,
    KatalystRealtime,
    KoordinatorBatch,
    KoordinatorProd,
)
from borgtrace.overcommit.policies.machines import MachinePercentile, NSigma
from borgtrace.overcommit.policies.policy import BorgDefault, Limit, Maximum, PeakPolicy
from borgtrace.overcommit.policies.tasks import AveragePolicy, Highest, Reservation, TaskPercentile
from borgtrace.overcommit.rule import parse_rule

OURS: list[type[PeakPolicy]] = [
    Limit,
    BorgDefault,
    Highest,
    AveragePolicy,
    TaskPercentile,
    MachinePercentile,
    NSigma,
    GpaPolicy,
    OnlineGpa,
    ConvolutionPolicy,
    SaddlepointPolicy,
    Reservation,
    Forecast,
    KoordinatorBatch,
    KoordinatorProd,
    KatalystRealtime,
    KatalystHourly,
]
"""All of borgtrace's but :class:`~borgtrace.overcommit.policies.policy.Maximum`, which users write ``A+B``."""


def is_policy(value: Any) -> bool:
    """Whether an object is a class of policies."""
    return isinstance(value, type) and issubclass(value, PeakPolicy)


POLICY_KINDS = Registry[type[PeakPolicy]](
    "policy",
    "borgtrace.policies",
    {kind.name: kind for kind in sorted(OURS, key=lambda kind: kind.name)},
    is_policy,
    "a class derived from borgtrace.PeakPolicy",
)
"""Classes of policies by name, those of others included."""


def policies() -> Mapping[str, type[PeakPolicy]]:
    """Return the policy classes by name: ours sorted by name, then those of others.

    Examples
    --------
    >>> policies()["limit"].about
    'the sum of the limits'
    """
    return POLICY_KINDS


def parse_policy(
    text: str,
    units: Mapping[str, float] = MappingProxyType({}),
    *,
    is_literal: bool = False,
    most_warmup: int = 0,
) -> PeakPolicy:
    """Return the policy that a text such as ``nsigma:n=3,history=10h`` names; ``+`` takes the maximum of several.

    Parameters
    ----------
    text
        What the user wrote.
    units
        ``cores`` and ``gib`` of the largest machine, for the policies that need them and do not name them.
    is_literal
        Whether defaults are those of Google's simulator; these keep their warm-up.
    most_warmup
        Longest warm-up, in slots, of policies that name none; 0 leaves each its own.

    Raises
    ------
    UsageError
        For an unknown policy or parameter, or a value out of range.
    """
    kinds = policies()
    parsed = []
    for part in text.split("+"):
        values = dict(units)
        kind = kinds.get(part.partition(":")[0].strip())
        if is_literal and kind is not None:
            values |= kind.literal
        elif most_warmup and kind is not None:
            # A class without a warm-up has no such parameter, and takes no notice.
            values["warmup"] = min(most_warmup, getattr(kind, "warmup", most_warmup))
        parsed.append(parse_rule(part, kinds, PeakPolicy.option, values))
    return parsed[0] if len(parsed) == 1 else Maximum(tuple(parsed))
