"""Measures how often the promise of an advice is kept: of held-out periods, those whose rate is within the target.

``scripts/measure_promises.py STORE…`` walks through each store as ``borgtrace advise`` does: for each period the policy
is chosen by the periods before it, and judged on the period, which it has not seen.  A period is kept where the share
of its windows whose promise was broken is at most the target, whatever its interval.  Periods for which nothing is
chosen but the requests are counted, too, and once more without them; so are those of a day, and shorter ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import borgtrace
from borgtrace.advice import AdviceOptions
from borgtrace.advice.judging import JudgedPolicies, judge_policies, replay_of
from borgtrace.advice.schedule import schedule_of
from borgtrace.overcommit.walk_forward import savings, violation_rate
from borgtrace.question import EngineTables, NotApplicable
from borgtrace.question.store_question import no_report
from borgtrace.question.study_times import usage_span
from borgtrace.schema.time import DAY, write_time

LEAST_SHARE = 0.95
"""Share of the held-out periods that must keep the target."""


@dataclass(frozen=True, slots=True)
class HeldOutPeriod:
    """A period that was judged by a policy chosen before it."""

    store: str
    resource: str
    begin: int
    length: int
    policy: str
    rate: float
    target: float
    savings: float

    @property
    def is_kept(self) -> bool:
        """Whether its rate is within the target."""
        return self.rate <= self.target

    @property
    def is_overcommitted(self) -> bool:
        """Whether less than the requests was promised."""
        return self.policy not in ("limit", "nothing")


def judged_resources(path: Path, options: AdviceOptions) -> Iterator[JudgedPolicies]:
    """Yield what a walk through a store shows of each resource that it can judge."""
    store = borgtrace.open(path)
    schedule = schedule_of(usage_span(store.manifest), options.horizon)
    replay = replay_of(store, EngineTables.of(store), options, schedule, no_report)
    for resource in options.resources:
        try:
            yield judge_policies(replay, resource, options, no_report)
        except NotApplicable as reason:
            print(f"{path} {resource}: not applicable: {reason}")


def held_out_periods(name: str, judged: JudgedPolicies) -> Iterator[HeldOutPeriod]:
    """Yield the periods of one resource."""
    schedule = judged.schedule
    for choice in judged.choices:
        rate = violation_rate(choice.judged, schedule.horizon_slots)
        policy = "nothing" if choice.policy is None else judged.policies[choice.policy].label
        yield HeldOutPeriod(
            store=name,
            resource=judged.resource,
            begin=choice.period * schedule.period,
            length=schedule.period,
            policy=policy,
            rate=rate.value or 0.0,
            target=judged.target,
            savings=savings(choice.judged) or 0.0,
        )


def share_text(periods: Sequence[HeldOutPeriod]) -> str:
    """Say how many periods were kept."""
    n_kept = sum(period.is_kept for period in periods)
    share = f" = {n_kept / len(periods):.1%}" if periods else ""
    return f"{n_kept} of {len(periods)}{share}"


def measure(path: Path, options: AdviceOptions) -> list[HeldOutPeriod]:
    """Return the periods of a store, and print them."""
    measured = []
    for judged in judged_resources(path, options):
        periods = list(held_out_periods(str(path), judged))
        for period in periods:
            mark = "" if period.is_kept else "  BROKEN"
            print(
                f"  {write_time(period.begin)} {period.policy}: {period.rate:.4%} of {period.target:.1%}, "
                f"saves {period.savings:.1%}{mark}"
            )
        saved = savings(judged.walked) or 0.0
        print(
            f"{path} {judged.resource}: kept {share_text(periods)}; saves {saved:.1%}", flush=True
        )
        measured += periods
    return measured


def main() -> None:
    """Walk through stores, and say which share of the periods was kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stores", type=Path, nargs="+")
    parser.add_argument("--target", type=float, help="by default what advise aims at")
    options = parser.parse_args()
    periods = []
    for path in options.stores:
        periods += measure(path, AdviceOptions(target=options.target))
    print(f"kept {share_text(periods)}; asked for: {LEAST_SHARE:.0%}")
    days = [period for period in periods if period.length >= DAY]
    shorter = [period for period in periods if period.length < DAY]
    overcommitted = [period for period in periods if period.is_overcommitted]
    for name, chosen in (
        ("days", days),
        ("shorter periods", shorter),
        ("periods that overcommit", overcommitted),
    ):
        print(f"of the {name}: {share_text(chosen)}")


if __name__ == "__main__":
    main()
