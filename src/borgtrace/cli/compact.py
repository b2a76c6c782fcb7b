"""``borgtrace compact``: how few machines would hold the workload of one moment."""

from pathlib import Path
from typing import Any


def compact(
    store: Path,
    at: str,
    what_if: list[str] | None = None,
    policy: str = "least-stranded",
    margin: float = 0.25,
    plan: str = "",
    cores_per_unit: float = 0.0,
    gib_per_unit: float = 0.0,
    seeds: int = 11,
    seed: int = 0,
    jobs: int = 1,
    memory: str = "4GB",
    out: Path | None = None,
    png: bool = False,
    as_json: bool = False,
    list_names: bool = False,
) -> None:
    """Pack the workload of one moment onto fewer and fewer machines: Borg's cell compaction, with what-ifs.

    Example: borgtrace compact cell-2011 --at 1h --what-if limits --what-if segregated
    """
    import borgtrace
    from borgtrace.cli._answers import ask, check_png
    from borgtrace.scheduling import COMPACT, POLICIES
    from borgtrace.scheduling.whatifs import WHAT_IFS
    from borgtrace.schema.time import parse_time

    if list_names:
        for each in WHAT_IFS:
            print(f"{each.name:<22}{each.note or each.published}".rstrip())
        for each_policy in POLICIES.values():
            print(f"{each_policy.name:<22}{each_policy.about}")
        return
    check_png(png, out)
    given: dict[str, Any] = {
        "at": parse_time(at, "--at"),
        "policy": policy,
        "margin": margin,
        "plan": plan,
    }
    given |= {
        "seeds": seeds,
        "seed": seed,
        "cores": cores_per_unit,
        "gib": gib_per_unit,
        "jobs": jobs,
    }
    given |= {"what_ifs": tuple(what_if)} if what_if else {}
    ask(COMPACT, borgtrace.open(store, memory=memory), given, out=out, png=png, as_json=as_json)
