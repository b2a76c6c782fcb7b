"""Schedulers by name: which of the machines that take a task it goes to."""

from dataclasses import dataclass

from borgtrace.errors import UsageError
from borgtrace.scheduling.choice import BEST_FIT, DOT_PRODUCT, FIRST_FIT, LEAST_STRANDED, WORST_FIT


@dataclass(frozen=True, slots=True)
class Policy:
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
        return f"{self.name}{f':k={self.k}' if self.k else ''}{'+preempt' if self.preempts else ''}"


_ALL = (
    Policy(
        "least-stranded",
        "least is left, CPU and memory alike: a + b + 2·|a − b| (our reading of Borg's score)",
    ),
    Policy("best-fit", "least is left: a + b", BEST_FIT),
    Policy("worst-fit", "most is left", WORST_FIT),
    Policy("first-fit", "the lowest machine id", FIRST_FIT),
    Policy("dot-product", "what is free matches what the task takes", DOT_PRODUCT),
    Policy(
        "random",
        "the least stranded of the first k in random order (k=10), as Borg's relaxed randomization",
        k=10,
    ),
)
POLICIES = {policy.name: policy for policy in _ALL}


def parse_policy(text: str) -> Policy:
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
    body, plus, extra = text.partition("+")
    name, colon, setting = body.partition(":")
    if name not in POLICIES or (plus and extra != "preempt"):
        expected = f"{', '.join(POLICIES)}, with +preempt or without"
        raise UsageError("--policy", "no such policy", expected=expected, got=text)
    policy = POLICIES[name]
    k = POLICIES[name].k
    if colon:
        digits = setting.removeprefix("k=")
        if not policy.k or digits == setting or not digits.isdecimal() or not int(digits):
            raise UsageError(
                "--policy", "wrong setting", expected="random:k=N with N from 1", got=text
            )
        k = int(digits)
    return Policy(
        policy.name,
        policy.about,
        policy.kind,
        k,
        bool(plus),
    )
