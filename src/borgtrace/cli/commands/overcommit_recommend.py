"""``borgtrace overcommit recommend``: which limits recommenders would have set, back-tested."""

from typing import Annotated, Any

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_recommenders
from borgtrace.cli.options import (
    FromOption,
    JsonOption,
    MemoryOption,
    OutOption,
    PngOption,
    RawOption,
    StoreOrListArgument,
    required_store,
)
from borgtrace.cli.replay_options import CoresOption, GibOption, ResourceOption

RecommenderOption = Annotated[
    list[str] | None,
    Option(
        "--recommender",
        metavar="NAME",
        help="A recommender, such as autopilot:margin=0.1; repeatable; all by default.",
        autocompletion=complete_recommenders,
    ),
]
ListRecommendersOption = Annotated[bool, Option("--list", help="List the recommenders, and stop.")]


@command()
def overcommit_recommend(
    store: StoreOrListArgument = None,
    recommender: RecommenderOption = None,
    sources: FromOption = None,
    resource: ResourceOption = None,
    cores_per_unit: CoresOption = 0.0,
    gib_per_unit: GibOption = 0.0,
    memory: MemoryOption = "4GB",
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
    list_names: ListRecommendersOption = False,
) -> None:
    """Back-test recommenders of limits: what they waste, throttle and kill.

    Example: borgtrace overcommit recommend cell-2011 --recommender vpa --cores-per-unit 64 --gib-per-unit 256
    """
    import borgtrace
    from borgtrace.cli.answers import ask
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.cli.replays import print_kinds
    from borgtrace.overcommit.recommenders import RECOMMENDER_KINDS, RECOMMENDERS
    from borgtrace.overcommit.recommenders.table import RecommenderOptions
    from borgtrace.report.answer_files import check_png

    own_recommenders = names_in_own_code(sources, RECOMMENDER_KINDS)
    if list_names:
        print_kinds(RECOMMENDER_KINDS)
        return
    check_png(png, out)
    options: dict[str, Any] = {"cores": cores_per_unit, "gib": gib_per_unit}
    # What was not set is left to the library.
    if recommender:
        options["recommenders"] = tuple(recommender)
    elif own_recommenders:
        options["recommenders"] = (*RECOMMENDER_KINDS.own, *own_recommenders)
    if resource:
        options["resources"] = tuple(resource)
    ask(
        RECOMMENDERS,
        borgtrace.open(required_store(store), memory=memory),
        RecommenderOptions(**options),
        out=out,
        png=png,
        as_json=as_json,
        raw=raw,
    )
