"""``borgtrace overcommit``: which policy may promise how much of a machine, replayed over a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.option_effects import NoEffectWith, NoEffectWithout
from borgtrace.cli.options import (
    JsonOption,
    MemoryOption,
    OutOption,
    PngOption,
    ProcessesOption,
    RawOption,
    SeedOption,
    StoreOrListArgument,
    required_store,
)
from borgtrace.schema.bounds import PROBABILITY, SAMPLE_OR_ALL, UNIT_SIZE

if TYPE_CHECKING:
    from borgtrace.interactive import Store
    from borgtrace.overcommit import ReplayQuestion
    from borgtrace.overcommit.recommenders.table import RecommenderOptions
    from borgtrace.question import Result


REPLAY_OPTIONS = (
    "policy",
    "sweep",
    "tasks",
    "horizon",
    "machines",
    "metric",
    "shapes",
    "uncapped",
    "compat",
    "target",
    "model",
    "reclaim",
    "explain",
    "at",
    "seed",
    "jobs",
)
"""Parameters of a replay of policies: a back-test of recommenders has none of them."""


@command(
    on_interrupt="what was dealt to machines stays if it was finished",
    effects=[
        NoEffectWithout(["recommend"], ["recommender"]),
        NoEffectWithout(["explain"], ["at"]),
        NoEffectWith("recommend", REPLAY_OPTIONS),
        NoEffectWith(
            "explain",
            ["target", "reclaim", "shapes", "out", "png", "raw"],
        ),
        # What is reclaimed depends on reservations, which are fixed policies of all tasks.
        NoEffectWith("reclaim", ["policy", "sweep", "tasks", "shapes", "target", "model"]),
        NoEffectWith("target", ["shapes"]),
    ],
)
def overcommit(
    store: StoreOrListArgument = None,
    policy: Annotated[
        list[str] | None,
        Option(
            "--policy",
            metavar="POLICY",
            help="A policy, such as nsigma:n=3,history=10h; repeatable; A+B takes the larger.",
        ),
    ] = None,
    sweep: Annotated[
        bool, Option("--sweep", help="Add history × parameter of every family.")
    ] = False,
    resource: Annotated[
        list[str] | None,
        Option("--resource", metavar="NAME", help="cpu or memory; both by default."),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        Option("--tasks", metavar="NAME", help="all, high (high priority) or a tier; repeatable."),
    ] = None,
    horizon: Annotated[
        str,
        Option(
            "--horizon",
            metavar="TIME",
            help="How far ahead the peak is predicted; by default what suits the span of the usage.",
        ),
    ] = "",
    machines: Annotated[
        int,
        SAMPLE_OR_ALL,
        Option("--machines", metavar="N", help="A random sample of so many machines; 0 takes all."),
    ] = 0,
    metric: Annotated[
        list[str] | None,
        Option(
            "--metric",
            metavar="NAME",
            help="What is taken as usage, such as maximum_cpu or maximum_memory; repeatable.",
        ),
    ] = None,
    shapes: Annotated[bool, Option("--shapes", help="Add rows for each shape of machine.")] = False,
    uncapped: Annotated[
        bool, Option("--uncapped", help="Let policies see usage above its limit.")
    ] = False,
    compat: Annotated[
        str,
        Option(
            "--compat",
            metavar="NAME",
            help="crf: samples, history and oracle as Google's simulator has them.",
        ),
    ] = "",
    cores_per_unit: Annotated[
        float,
        UNIT_SIZE,
        Option(
            "--cores-per-unit",
            metavar="CORES",
            help="Cores of the largest machine, where the store does not know them.",
        ),
    ] = 0.0,
    gib_per_unit: Annotated[
        float,
        UNIT_SIZE,
        Option(
            "--gib-per-unit",
            metavar="GIB",
            help="GiB of memory of the largest machine, where the store does not know them.",
        ),
    ] = 0.0,
    target: Annotated[
        float | None,
        PROBABILITY,
        Option(
            "--target",
            metavar="RATE",
            help="Advise a policy for each day that keeps this violation rate, by the days before.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        Option(
            "--model",
            metavar="FILE",
            help="Trained forecasters for the policy forecast (borgtrace forecast --save).",
        ),
    ] = None,
    reclaim: Annotated[
        bool,
        Option(
            "--reclaim",
            help="Show what best-effort work finds room in what production does not reserve.",
        ),
    ] = False,
    recommend: Annotated[
        bool, Option("--recommend", help="Back-test recommenders of limits instead; see --list.")
    ] = False,
    recommender: Annotated[
        list[str] | None,
        Option(
            "--recommender",
            metavar="NAME",
            help="With --recommend: one of them, such as autopilot:margin=0.1; repeatable; all by default.",
        ),
    ] = None,
    explain: Annotated[
        str,
        Option(
            "--explain",
            metavar="MACHINE",
            help="Show the terms of each policy for a machine (its name or id), and stop; needs --at.",
        ),
    ] = "",
    at: Annotated[
        str,
        Option(
            "--at",
            metavar="TIME",
            help="With --explain: a time, such as 12h, 2d3h or 2026-11-01T12:00.",
        ),
    ] = "",
    seed: SeedOption = 0,
    jobs: ProcessesOption = 1,
    memory: MemoryOption = "4GB",
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
    list_names: Annotated[
        bool, Option("--list", help="List the policies and recommenders, and stop.")
    ] = False,
) -> None:
    """Replay overcommit policies on the machines of a trace, and print the one table.

    Usage is first sorted by machine and kept beside the store.

    Example: borgtrace overcommit cell-2011 --horizon 2h --policy limit --policy nsigma:n=3,history=2h
    """
    import borgtrace
    from borgtrace.cli.answer_files import check_png
    from borgtrace.cli.answers import ask, publish, say
    from borgtrace.cli.console import talk
    from borgtrace.errors import UsageError, check_names
    from borgtrace.lifecycle.by_machine import expected_size
    from borgtrace.overcommit import DEFAULTS, REPLAY, SWEEP, ReplayOptions
    from borgtrace.overcommit.recommenders import RECOMMENDERS
    from borgtrace.question.study_times import study_times
    from borgtrace.schema.time import parse_time

    if list_names:
        print_policies_and_recommenders()
        return
    check_names("--compat", [compat] if compat else [], ("crf",), "no such simulator")
    check_png(png, out)
    opened = borgtrace.open(required_store(store), memory=memory)
    if recommend:
        back_test = recommender_options(recommender, resource, cores_per_unit, gib_per_unit)
        ask(RECOMMENDERS, opened, back_test, out=out, png=png, as_json=as_json, raw=raw)
        return
    times = study_times(opened)
    if not horizon and not reclaim:
        talk.print(times.sentence)
    megabytes = expected_size(opened) / 1e6
    talk.print(f"Sorting usage by machine: up to {megabytes:,.1f} MB of disk, half of it kept.")
    policies = tuple(policy or DEFAULTS)
    options: dict[str, Any] = {
        "policies": policies + SWEEP if sweep else policies,
        "machines": machines,
        "horizon": parse_time(horizon, "--horizon") if horizon else times.horizon,
        "period": times.horizon,
        # Google's simulator has warm-ups of its own.
        "most_warmup": 0 if compat else times.warmup,
        "metrics": tuple(metric or ()),
        "shapes": shapes,
        "is_capped": not uncapped,
        "is_literal": bool(compat),
        "model": str(model or ""),
        "seed": seed,
        "jobs": jobs,
        "cores": cores_per_unit,
        "gib": gib_per_unit,
    }
    if resource:
        options["resources"] = tuple(resource)
    if tasks:
        options["tasks"] = tuple(tasks)
    if explain:
        if compat:
            raise UsageError("--explain", "not with --compat, which renumbers the slots")
        if not at:
            raise UsageError("--at", "no time named", way_out="--explain needs one: --at 12h")
        print_explanation(opened, options, explain, at, as_json=as_json)
        return
    if target is not None:
        options["target"] = target
    question = question_of(reclaim=reclaim, has_target=target is not None)
    result = replay(question, opened, options)
    plain = None
    if compat and question == REPLAY:
        # The same policies without the simulator's habits, to say what these change.
        labels = tuple(policy.label for policy in ReplayOptions(**options).parsed())
        plain = replay(question, opened, options | {"is_literal": False, "policies": labels})
    say(result)
    if plain is not None:
        print_difference(result, plain)
    publish(
        [result],
        out=out,
        png=png,
        as_json=as_json,
        raw=raw,
    )


def recommender_options(
    recommenders: list[str] | None, resources: list[str] | None, cores: float, gib: float
) -> RecommenderOptions:
    """Return the options of a back-test of recommenders; what was not given is left to the library."""
    from borgtrace.overcommit.recommenders.table import RecommenderOptions

    options: dict[str, Any] = {"cores": cores, "gib": gib}
    if recommenders:
        options["recommenders"] = tuple(recommenders)
    if resources:
        options["resources"] = tuple(resources)
    return RecommenderOptions(**options)


def print_explanation(
    store: Store,
    options: Mapping[str, Any],
    machine: str,
    at: str,
    *,
    as_json: bool,
) -> None:
    """Print the terms of policies at one machine and time."""
    from borgtrace.cli.console import steps
    from borgtrace.cli.policy_terms import print_terms
    from borgtrace.cli.printing import print_json
    from borgtrace.forecast import walks
    from borgtrace.notation import WallClock
    from borgtrace.overcommit import ReplayOptions, explain_prediction

    time = WallClock.of(store.manifest).parse(at, "--at")
    with steps() as report:
        terms = explain_prediction(store, ReplayOptions(**options), machine, time, report, walks)
    if as_json:
        print_json(terms)
    else:
        print_terms(store, terms, machine, time)


def question_of(*, reclaim: bool, has_target: bool) -> ReplayQuestion:
    """Return what is asked: what can be reclaimed, which policy keeps a target, or how each policy does."""
    from borgtrace.overcommit import ADVICE, RECLAIMED, REPLAY

    if reclaim:
        return RECLAIMED
    return ADVICE if has_target else REPLAY


def replay(question: ReplayQuestion, store: Store, options: Mapping[str, Any]) -> Result:
    """Answer a question about policies, with a bar."""
    from borgtrace.cli.console import steps
    from borgtrace.forecast import walks

    with steps() as report:
        return replace(question, forecasts=walks, report=report).run(store, **options)


def print_difference(literal: Result, plain: Result) -> None:
    """Say on stderr what samples, history and oracle as in Google's simulator change."""
    from borgtrace.cli.console import talk

    key = ("resource", "tasks", "shape", "policy")
    plain_rows = {tuple(row[name] for name in key): row for row in plain.table.to_pylist()}
    for row in literal.table.to_pylist():
        other = plain_rows.get(tuple(row[name] for name in key))
        if other is None or row["shape"] != "all":
            continue
        replayed = f"{row['resource']} of {row['tasks']} tasks, {row['policy']}"
        violations = f"violations {row['rate']:.4f} as in crf, {other['rate']:.4f} by default"
        savings = f"savings {row['savings'] or 0:.4f} and {other['savings'] or 0:.4f}"
        talk.print(f"{replayed}: {violations}; {savings}")


def print_policies_and_recommenders() -> None:
    """Print the policies and the recommenders, each with a sentence and its parameters."""
    from borgtrace.overcommit.policies import policies
    from borgtrace.overcommit.recommenders import recommenders

    print_kinds(policies())
    print("\nrecommenders (--recommend):")
    print_kinds(recommenders())


def print_kinds(kinds: Mapping[str, Any]) -> None:
    """Print classes of policies with a sentence about each, and their parameters."""
    for name, kind in sorted(kinds.items()):
        parameters = ", ".join(item.name for item in fields(kind))
        suffix = f" ({parameters})" if parameters else ""
        print(f"{name:<27}{kind.about}{suffix}")
