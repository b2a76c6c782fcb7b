"""``borgtrace compact``: how few machines would hold the workload of one moment."""

from typing import Annotated, Any

from borgtrace.cli._options import AnswerFolder, Json, Memory, Png, Seed, Store, flag, option


def compact(
    store: Store,
    at: Annotated[str, option("TIME", "The moment, such as 12h or 2d3h; 0 is its start.")],
    what_if: Annotated[list[str] | None, option("NAME", "A row of the table, repeatable; all by default.")] = None,
    policy: Annotated[str, option("POLICY", "Which machine a task goes to, such as best-fit.")] = "least-stranded",
    margin: Annotated[float, option("SHARE", "Reservations are usage and this share more.")] = 0.25,
    plan: Annotated[str, option("ESTIMATOR", "What tasks take in the row planned, such as gpa:0.01.")] = "",
    cores_per_unit: Annotated[float, option("CORES", "Cores of the largest machine.")] = 0.0,
    gib_per_unit: Annotated[float, option("GIB", "GiB of memory of the largest machine.")] = 0.0,
    seeds: Annotated[int, option("N", "Orders of machines and jobs that are tried.", min=1)] = 11,
    seed: Seed = 0,
    jobs: Annotated[int, option("N", "Processes.", min=1)] = 1,
    memory: Memory = "4GB",
    out: AnswerFolder = None,
    png: Png = False,
    as_json: Json = False,
    list_names: Annotated[bool, flag("--list", "List the what-ifs and policies, and stop.")] = False,
) -> None:
    """Pack the workload of one moment onto fewer and fewer machines: Borg's cell compaction, with what-ifs.

    Example: borgtrace compact cell-2011 --at 1h --what-if limits --what-if segregated
    """
    from dataclasses import replace

    import borgtrace
    from borgtrace.cli._answers import check_png, publish, say
    from borgtrace.cli._console import steps
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
        **{
            "at": parse_time(at, "--at"),
            "policy": policy,
            "margin": margin,
            "plan": plan,
            "seeds": seeds,
            "seed": seed,
        },
        **{"cores": cores_per_unit, "gib": gib_per_unit, "jobs": jobs},
        **({"what_ifs": tuple(what_if)} if what_if else {}),
    }
    with steps() as report:
        result = replace(COMPACT, report=report).run(borgtrace.open(store, memory=memory), **given)
    say(result)
    publish([result], out=out, png=png, as_json=as_json)
