"""Schedulers by name: how each chooses among the machines that take a task."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from borgtrace.errors import UsageError
from borgtrace.extensions import YOUR_OWN, Registry, kind_of
from borgtrace.scheduling.choice import (
    BEST_FIT,
    DOT_PRODUCT,
    FIRST_FIT,
    LAVA,
    LEAST_STRANDED,
    NILAS,
    OWN,
    WORST_FIT,
)
from borgtrace.scheduling.lifetimes import LEARNED, LIFETIMES
from borgtrace.scheduling.scheduler import Scheduler
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
    scheduler
        The scheduler of one's own that chooses; None where the scorer is one of ours.
    lifetimes
        What it knows of how long tasks last, one of :data:`borgtrace.scheduling.lifetimes.LIFETIMES`; empty: nothing.
    """

    name: str
    about: str
    kind: int = LEAST_STRANDED
    k: int = 0
    preempts: bool = False
    scheduler: Scheduler | None = None
    lifetimes: str = ""

    @property
    def label(self) -> str:
        """The policy as ``--policy`` reads it."""
        setting = ""
        if self.k:
            setting = f":k={self.k}"
        if self.lifetimes:
            setting = f":lifetimes={self.lifetimes}"
        suffix = "+preempt" if self.preempts else ""
        return f"{self.name}{setting}{suffix}"

    @classmethod
    def of(cls, scheduler: Scheduler, *, preempts: bool = False) -> PlacementPolicy:
        """Return the policy of a scheduler of one's own.

        Parameters
        ----------
        scheduler
            Who chooses.
        preempts
            Whether tasks evict those of lower tiers where nothing takes them.
        """
        return cls(
            scheduler.name,
            scheduler.about,
            OWN,
            preempts=preempts,
            scheduler=scheduler,
            lifetimes=LEARNED if scheduler.knows_lifetimes else "",
        )


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
"""Our policies that know nothing of lifetimes, by name."""

LIFETIME_POLICIES = {
    policy.name: policy
    for policy in (
        PlacementPolicy(
            "nilas",
            "which it keeps busy least longer, then best fit (lifetimes=learned, learned-once or oracle)",
            NILAS,
            lifetimes=LEARNED,
        ),
        PlacementPolicy(
            "lava",
            "whose gaps it fills without outliving it, then best fit (lifetimes as nilas)",
            LAVA,
            lifetimes=LEARNED,
        ),
    )
}
"""Those that do; only a replay asks them, as a moment has no lifetimes."""


def is_scheduler(value: Any) -> bool:
    """Whether an object is a scheduler of one's own."""
    return isinstance(value, Scheduler)


SCHEDULER_KINDS = Registry[Any](
    "scheduler",
    "borgtrace.schedulers",
    {**POLICIES, **LIFETIME_POLICIES},
    is_scheduler,
    "a value borgtrace.Scheduler(…)",
)
"""Our policies and schedulers of others by name."""


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
    >>> parse_policy("nilas:lifetimes=oracle").lifetimes
    'oracle'
    """
    body, plus, suffix = text.partition("+")
    name, colon, parameter = body.partition(":")
    if name not in SCHEDULER_KINDS or (plus and suffix != "preempt"):
        raise UsageError(
            "--policy",
            "no such policy",
            expected=f"{', '.join(SCHEDULER_KINDS)}, with +preempt or without",
            got=text,
            way_out=way_to_gpu_policy(name) or YOUR_OWN,
        )
    policy = replace(as_policy(SCHEDULER_KINDS[name]), preempts=bool(plus))
    if not colon:
        return policy
    if policy.lifetimes:
        return with_lifetimes(policy, parameter, text)
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


def way_to_gpu_policy(name: str) -> str | None:
    """Return the command that knows a policy, where it is one for GPUs."""
    # Only a mistake leads here: no other command waits for what these import.
    from borgtrace.scheduling.gpus.policies import GPU_POLICIES

    return f"borgtrace simulate gpus STORE --policy {name}" if name in GPU_POLICIES else None


def with_lifetimes(policy: PlacementPolicy, parameter: str, text: str) -> PlacementPolicy:
    """Return a policy with the lifetimes that a parameter names; `text` is all that was given."""
    lifetimes = parameter.removeprefix("lifetimes=")
    if lifetimes == parameter or lifetimes not in LIFETIMES:
        raise UsageError(
            "--policy",
            "wrong setting",
            expected=f"{policy.name}:lifetimes=L with L one of {', '.join(LIFETIMES)}",
            got=text,
        )
    return replace(policy, lifetimes=lifetimes)


def as_policy(value: str | Scheduler | PlacementPolicy) -> PlacementPolicy:
    """Return the policy that a text names, or an object in its place.

    Raises
    ------
    UsageError
        It is neither.
    """
    if isinstance(value, PlacementPolicy):
        return value
    if isinstance(value, Scheduler):
        return PlacementPolicy.of(value)
    if isinstance(value, str):
        return parse_policy(value)
    raise UsageError(
        "policies",
        "not a policy",
        expected="names, and objects of borgtrace.Scheduler",
        got=kind_of(value),
    )


def scores_of(policies: Iterable[PlacementPolicy]) -> dict[str, Callable[..., Any]]:
    """Return the scores of the schedulers among policies, by name: an answer says whose code it was made with.

    Parameters
    ----------
    policies
        Ours have no scheduler, and are left out.
    """
    scores = {}
    for policy in policies:
        if policy.scheduler is not None:
            scores[policy.name] = policy.scheduler.score
    return scores


def attributes_of(policies: Iterable[PlacementPolicy | None]) -> list[str]:
    """Return the names of the attributes of machines that the schedulers among policies read, each once.

    Parameters
    ----------
    policies
        Ours read none; None: what was recorded.
    """
    names: dict[str, None] = {}
    for policy in policies:
        if policy is not None and policy.scheduler is not None:
            names |= dict.fromkeys(policy.scheduler.attributes)
    return list(names)


def label_of(value: str | Scheduler | PlacementPolicy) -> str:
    """Return the name of a policy as tables and records show it.

    Raises
    ------
    UsageError
        It is no policy.
    """
    return value if isinstance(value, str) else as_policy(value).label
