"""``borgtrace forecast``: back-test forecasters, and count the machines that they save."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_forecasters, complete_resources
from borgtrace.cli.option_effects import NoEffectWith
from borgtrace.cli.options import (
    JsonOption,
    MemoryOption,
    OutOption,
    PngOption,
    RawOption,
    SeedOption,
    StoreOrListArgument,
    required_store,
)
from borgtrace.schema.bounds import FOLDS, SAMPLE_SIZE

if TYPE_CHECKING:
    from borgtrace.forecast import ForecastOptions

ForecasterOption = Annotated[
    list[str] | None,
    Option(
        "--forecaster",
        metavar="NAME",
        help="A forecaster of --list, repeatable; by default all that train in seconds.",
        autocompletion=complete_forecasters,
    ),
]
PackOption = Annotated[
    bool,
    Option(
        "--pack",
        help="Pack the tasks that run at each cut by the forecasts, and count machines instead of errors.",
    ),
]
ForecastResourceOption = Annotated[
    list[str] | None,
    Option(
        "--resource",
        metavar="NAME",
        help="cpu or memory; cpu by default.",
        autocompletion=complete_resources,
    ),
]
ForecastTasksOption = Annotated[
    int,
    SAMPLE_SIZE,
    Option("--tasks", metavar="N", help="Size of the random sample of tasks."),
]
FoldsOption = Annotated[
    int,
    FOLDS,
    Option(
        "--folds",
        metavar="N",
        help="Cuts between training and judging, spread over the second half of the trace.",
    ),
]
ExamplesOption = Annotated[
    int,
    SAMPLE_SIZE,
    Option(
        "--examples", metavar="N", help="Most examples for training, and for judging, at each cut."
    ),
]
SaveOption = Annotated[
    Path | None,
    Option(
        "--save",
        metavar="FILE",
        help="Save the forecasters that were trained before the last cut.",
    ),
]
ModelOption = Annotated[
    Path | None,
    Option(
        "--model",
        metavar="FILE",
        help="Judge the forecasters of such a file instead of training; the file holds no code.",
    ),
]
DeviceOption = Annotated[
    str,
    Option(
        "--device",
        metavar="NAME",
        help="Where lstm computes: cpu, cuda, cuda:1, mps, or auto, the fastest that there is.",
    ),
]
ListForecastersOption = Annotated[bool, Option("--list", help="List the forecasters, and stop.")]


@command(
    writes_here=["save"],
    effects=[NoEffectWith("model", ["forecaster", "save"])],
)
def forecast(
    store: StoreOrListArgument = None,
    forecaster: ForecasterOption = None,
    pack: PackOption = False,
    resource: ForecastResourceOption = None,
    tasks: ForecastTasksOption = 10_000,
    folds: FoldsOption = 3,
    examples: ExamplesOption = 50_000,
    save: SaveOption = None,
    model: ModelOption = None,
    seed: SeedOption = 0,
    device: DeviceOption = "cpu",
    memory: MemoryOption = "4GB",
    out: OutOption = None,
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
    list_names: ListForecastersOption = False,
) -> None:
    """Train forecasters of usage, and judge them on later hours.

    Example: borgtrace forecast cell-2011 --forecaster persistence --forecaster boosting --folds 2
    """
    import borgtrace
    from borgtrace.cli.answers import ask
    from borgtrace.forecast import FORECAST, PACKED, ForecastOptions
    from borgtrace.report.answer_files import check_png

    if list_names:
        print_forecasters()
        return
    check_png(png, out)
    options = ForecastOptions(
        tasks=tasks,
        folds=folds,
        examples=examples,
        save=str(save or ""),
        model=str(model or ""),
        seed=seed,
        device=device,
    )
    options = with_named(options, forecaster, resource)
    question = PACKED if pack else FORECAST
    opened = borgtrace.open(required_store(store), memory=memory)
    ask(question, opened, options, out=out, png=png, as_json=as_json, raw=raw)


def with_named(
    options: ForecastOptions,
    forecasters: list[str] | None,
    resources: list[str] | None,
) -> ForecastOptions:
    """Return options with the forecasters and resources that are named; of the default ones, say what is left out."""
    from dataclasses import replace

    if forecasters:
        options = replace(options, forecasters=tuple(forecasters))
    if resources:
        options = replace(options, resources=tuple(resources))
    if not forecasters and not options.model:
        print_left_out(options)
    return options


def print_left_out(options: ForecastOptions) -> None:
    """Say where boosting is not among the forecasters, since what it needs is missing."""
    from borgtrace.cli.console import print_prose
    from borgtrace.forecast.forecasters import Boosting
    from borgtrace.kernels.scikit_learn import WAY_OUT

    if Boosting.name not in options.forecasters:
        print_prose(f"{Boosting.name} is left out: it needs {Boosting.needs}; {WAY_OUT}")


def print_forecasters() -> None:
    """Print the forecasters with a sentence about each, and the package that some need."""
    from borgtrace.forecast import FORECASTERS

    for name, kind in FORECASTERS.items():
        condition = f" (needs the package {kind.needs})" if kind.needs else ""
        print(f"{name:<16}{kind.about}{condition}")
