"""``borgtrace simulate``: the trace scheduled again, by other policies."""

from typing import Annotated, Any

from borgtrace.cli._options import AnswerFolder, Json, Memory, Png, Seed, Store, flag, option


def simulate(
    store: Store,
    policy: Annotated[
        list[str] | None, option("POLICY", "recorded, or a policy such as best-fit+preempt or random:k=5; repeatable.")
    ] = None,
    factor: Annotated[
        float, option("SHARE", "What tasks below production take of their requests; 0: calibrated.")
    ] = 0.0,
    plan: Annotated[
        str, option("ESTIMATOR", "Plan all tasks by their usage, such as gpa:0.01, instead of a factor.")
    ] = "",
    each_constraint: Annotated[
        bool, flag("--each-constraint", "Also drop the constraints on each attribute in turn.")
    ] = False,
    add_machines: Annotated[
        list[str] | None, option("N:CPU:MEMORY", "Also with so many machines more, such as 100:0.5:0.25; repeatable.")
    ] = None,
    upgrade_machines: Annotated[
        list[str] | None, option("OLD=NEW", "Also with other machines instead, such as 0.5:0.25=0.5:0.5; repeatable.")
    ] = None,
    event_log: Annotated[str, option("DIR", "Write the schedule as a store of its own, for one policy.")] = "",
    seed: Seed = 0,
    memory: Memory = "4GB",
    out: AnswerFolder = None,
    png: Png = False,
    as_json: Json = False,
    list_names: Annotated[bool, flag("--list", "List the policies, and stop.")] = False,
) -> None:
    """Schedule the trace again: its arrivals, run times, machines and priorities, under other policies.

    Example: borgtrace simulate cell-2011 --policy recorded --policy least-stranded+preempt
    """
    from dataclasses import replace

    import borgtrace
    from borgtrace.cli._answers import check_png, publish, say
    from borgtrace.cli._console import steps, talk
    from borgtrace.scheduling import POLICIES, SIMULATE

    if list_names:
        for each in POLICIES.values():
            print(f"{each.name:<22}{each.about}")
        return
    check_png(png, out)
    given: dict[str, Any] = {"factor": factor, "seed": seed, **({"policies": tuple(policy)} if policy else {})}
    given |= {"plan": plan, "upgrade_machines": tuple(upgrade_machines or ())}
    given |= {"each_constraint": each_constraint, "add_machines": tuple(add_machines or ()), "event_log": event_log}
    opened = borgtrace.open(store, memory=memory)
    with steps() as report:
        result = replace(SIMULATE, report=report, said=talk.print).run(opened, **given)
    say(result)
    publish([result], out=out, png=png, as_json=as_json)
