"""What all questions about GPU scheduling are asked with, and the policies that can be named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from borgtrace.errors import UsageError, check_names
from borgtrace.extensions import YOUR_OWN, Registry, kind_of
from borgtrace.scheduling.gpus.node_kernel import MODEL
from borgtrace.scheduling.gpus.own_policy import policy_of
from borgtrace.scheduling.gpus.policies import GPU_POLICIES
from borgtrace.scheduling.gpus.policy import GpuPolicy
from borgtrace.scheduling.gpus.workload import TIES
from borgtrace.scheduling.policies import SCHEDULER_KINDS, is_scheduler
from borgtrace.scheduling.scheduler import Scheduler
from borgtrace.schema.bounds import PROCESSES, SEED, check_fields

GPU_SCHEDULER_KINDS = Registry[Any](
    SCHEDULER_KINDS.noun,
    SCHEDULER_KINDS.group,
    GPU_POLICIES,
    is_scheduler,
    SCHEDULER_KINDS.wanted,
)
"""Our policies for GPUs and schedulers of others by name."""

NamedPolicy = str | Scheduler
"""One of our policies by name, or a scheduler: both can be sent to another process."""


@dataclass(frozen=True, slots=True)
class GpuOptions:
    """What is simulated.

    Attributes
    ----------
    policies
        Names of policies, or objects of :class:`borgtrace.Scheduler`; all of ours where empty.
    workloads
        Names of lists of pods, of a folder; those of the paper where empty.
    ties
        Rules for ties: ``rank``, ``drawn``, ``file``.
    seed
        Of what is drawn.
    jobs
        Processes.
    """

    policies: Sequence[str | Scheduler] = ()
    workloads: Sequence[str] = ()
    ties: Sequence[str] = ("rank",)
    seed: Annotated[int, SEED] = 42
    jobs: Annotated[int, PROCESSES] = 1

    def __post_init__(self) -> None:
        self.named_policies()
        check_names("--ties", self.ties, TIES, "no such rule for ties")
        check_fields(self)

    def named_policies(self) -> dict[str, NamedPolicy]:
        """Return the policies by name, schedulers of others as objects; refuse unknown ones."""
        policies: dict[str, NamedPolicy] = {}
        for value in self.policies or GPU_POLICIES:
            label = label_of(value)
            policy = value if isinstance(value, Scheduler) else named(label)
            refuse_declarations(policy)
            policies[label] = policy
        return policies


def is_for_gpus(scheduler: Scheduler) -> bool:
    """Whether a scheduler asks for nothing that is unknown where devices are known."""
    return not scheduler.knows_lifetimes and scheduler.attributes in ((), (MODEL,))


def refuse_declarations(policy: NamedPolicy) -> None:
    """Refuse a scheduler that asks for what is not known here.

    Raises
    ------
    UsageError
        It is one.
    """
    if isinstance(policy, Scheduler) and not is_for_gpus(policy):
        raise UsageError(
            "--policy",
            "other attributes and lifetimes are not known where devices are",
            expected=f'a scheduler that asks for none, or for attributes=("{MODEL}",)',
            got=policy.label,
        )


def label_of(value: str | Scheduler) -> str:
    """Return the name of a policy as tables and records show it.

    Raises
    ------
    UsageError
        It is no policy.
    """
    if isinstance(value, Scheduler):
        return value.label
    if isinstance(value, str):
        return value
    raise UsageError(
        "policies",
        "not a policy",
        expected="names, and objects of borgtrace.Scheduler",
        got=kind_of(value),
    )


def named(name: str) -> NamedPolicy:
    """Return what a name stands for: itself where the policy is ours, else the scheduler.

    Raises
    ------
    UsageError
        Nothing has this name.
    """
    check_names("--policy", [name], GPU_SCHEDULER_KINDS, "no such policy for GPUs", YOUR_OWN)
    if name in GPU_POLICIES:
        return name
    scheduler: Scheduler = GPU_SCHEDULER_KINDS[name]
    return scheduler


def gpu_policy(policy: NamedPolicy) -> GpuPolicy:
    """Return the policy that a name of ours or a scheduler stands for.

    Parameters
    ----------
    policy
        As :meth:`GpuOptions.named_policies` returns it.
    """
    return GPU_POLICIES[policy] if isinstance(policy, str) else policy_of(policy)


def named_schedulers(options: GpuOptions) -> Mapping[str, Callable[..., Any]]:
    """Return the scores of schedulers that are not ours, by their names.

    Parameters
    ----------
    options
        Of the simulation.
    """
    scores = {}
    for name, policy in options.named_policies().items():
        if isinstance(policy, Scheduler):
            scores[name] = policy.score
    return scores
