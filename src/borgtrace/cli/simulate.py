"""``borgtrace simulate``: the trace scheduled again, by other policies."""

from pathlib import Path
from typing import Any


def simulate(
    store: Path,
    policy: list[str] | None = None,
    factor: float = 0.0,
    plan: str = "",
    whole_jobs: bool = False,
    each_constraint: bool = False,
    add_machines: list[str] | None = None,
    upgrade_machines: list[str] | None = None,
    event_log: str = "",
    by_hour: bool = False,
    seed: int = 0,
    jobs: int = 1,
    memory: str = "4GB",
    out: Path | None = None,
    png: bool = False,
    as_json: bool = False,
    list_names: bool = False,
) -> None:
    """Schedule the trace again: its arrivals, run times, machines and priorities, under other policies.

    Example: borgtrace simulate cell-2011 --policy recorded --policy least-stranded+preempt
    """
    from dataclasses import replace

    import borgtrace
    from borgtrace.cli._answers import ask, check_png
    from borgtrace.cli._console import talk
    from borgtrace.scheduling import POLICIES, SIMULATE, SIMULATE_HOURS

    if list_names:
        for each in POLICIES.values():
            print(f"{each.name:<22}{each.about}")
        return
    check_png(png, out)
    given: dict[str, Any] = {
        "factor": factor,
        "seed": seed,
        "plan": plan,
        "whole_jobs": whole_jobs,
        "jobs": jobs,
    }
    given |= {"policies": tuple(policy)} if policy else {}
    given |= {"upgrade_machines": tuple(upgrade_machines or ())}
    given |= {
        "each_constraint": each_constraint,
        "add_machines": tuple(add_machines or ()),
        "event_log": event_log,
    }
    question = replace(SIMULATE_HOURS if by_hour else SIMULATE, said=talk.print)
    opened = borgtrace.open(store, memory=memory)
    ask(question, opened, given, out=out, png=png, as_json=as_json)
