"""Schedulers by name: how each chooses among the machines that take a task."""

import re
from dataclasses import dataclass, replace

from borgtrace.errors import UsageError
from borgtrace.scheduling.choice import BEST_FIT, DOT_PRODUCT, FIRST_FIT, LEAST_STRANDED, WORST_FIT
from borgtrace.schema.bounds import Bounds

CANDIDATES = Bounds(1, 1_000_000)
"""Machines that a policy looks at for a task."""


@dataclass(frozen=True, slots=True)
class PlacementPolicy:
    """How to choose among the machines that take a task.

    Attributes
    ----------
    name, about
        How users call it, and what it does.
    kind
        Its scorer.
    k
        Look at machines in random order until so many take the task; 0 looks at all.
    preempts
        Whether tasks evict those of lower tiers where nothing takes them.
    """

    name: str
    about: str
    kind: int = LEAST_STRANDED
    k: int = 0
    preempts: bool = False

    @property
    def label(self) -> str:
        """The policy as ``--policy`` reads it."""
        number = f":k={self.k}" if self.k else ""
        suffix = "+preempt" if self.preempts else ""
        return f"{self.name}{number}{suffix}"


POLICIES = {
    policy.name: policy
    for policy in (
        PlacementPolicy(
            "least-stranded",
            "least is left, CPU and memory alike: a + b + 2·|a − b| (our reading of Borg's score)",
        ),
        PlacementPolicy("best-fit", "least is left: a + b", BEST_FIT),
        PlacementPolicy("worst-fit", "most is left", WORST_FIT),
        PlacementPolicy("first-fit", "the lowest machine id", FIRST_FIT),
        PlacementPolicy("dot-product", "what is free matches what the task takes", DOT_PRODUCT),
        PlacementPolicy(
            "random",
            "the least stranded of the first k in random order (k=10), as Borg's relaxed randomization",
            k=10,
        ),
    )
}
"""Policies by name."""


def parse_policy(text: str) -> PlacementPolicy:
    """Read a policy such as ``best-fit``, ``random:k=5`` or ``least-stranded+preempt``.

    Raises
    ------
    UsageError
        For another name or number.

    Examples
    --------
    >>> parse_policy("random:k=5+preempt").label
    'random:k=5+preempt'
    """
    body, plus, suffix = text.partition("+")
    name, colon, parameter = body.partition(":")
    if name not in POLICIES or (plus and suffix != "preempt"):
        raise UsageError(
            "--policy",
            "no such policy",
            expected=f"{', '.join(POLICIES)}, with +preempt or without",
            got=text,
        )
    policy = replace(POLICIES[name], preempts=bool(plus))
    if not colon:
        return policy
    digits = parameter.removeprefix("k=")
    is_number = digits != parameter and re.fullmatch(r"[0-9]{1,100}", digits) is not None
    if not policy.k or not is_number or not CANDIDATES.contain(int(digits)):
        raise UsageError(
            "--policy",
            "wrong setting",
            expected=f"random:k=N with N from {CANDIDATES.describe()}",
            got=text,
        )
    return replace(policy, k=int(digits))
