"""``borgtrace forecast``: back-test forecasters, count the machines that they save, and score them on public boards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.completion import complete_boards, complete_forecasters, complete_resources
from borgtrace.cli.option_effects import NoEffectWith
from borgtrace.cli.options import (
    FromOption,
    JsonOption,
    MemoryOption,
    OutOption,
    PngOption,
    RawOption,
    SeedOption,
    required_store,
)
from borgtrace.errors import UsageError
from borgtrace.schema.bounds import FOLDS, SAMPLE_SIZE

SourceArgument = Annotated[
    Path | None,
    Argument(
        metavar="STORE",
        help="The store: a folder, or a URL such as s3://bucket/store; with --board its files; none with --list.",
    ),
]
ForecasterOption = Annotated[
    list[str] | None,
    Option(
        "--forecaster",
        metavar="NAME",
        help="A forecaster of --list, repeatable; by default all that train in seconds, or a board's baselines.",
        autocompletion=complete_forecasters,
    ),
]
BoardOption = Annotated[
    str | None,
    Option(
        "--board",
        metavar="NAME",
        help="Score forecasters on a public board: bitbrains_fast_storage/5T/short or bitbrains_rnd/5T/short.",
        autocompletion=complete_boards,
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
        help="Where lstm and anchors learn: cpu, cuda, cuda:1, mps, or auto, the fastest that there is.",
    ),
]
ListForecastersOption = Annotated[bool, Option("--list", help="List the forecasters, and stop.")]


@command(
    writes_here=["save"],
    effects=[
        NoEffectWith("model", ["forecaster", "sources", "save"]),
        NoEffectWith("board", ["pack", "resource", "tasks", "folds", "save", "model", "memory"]),
    ],
)
def forecast(
    store: SourceArgument = None,
    forecaster: ForecasterOption = None,
    sources: FromOption = None,
    board: BoardOption = None,
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
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.forecast import FORECAST, FORECASTER_KINDS, PACKED, ForecastOptions
    from borgtrace.forecast.board import BASELINES, BOARD, BoardOptions
    from borgtrace.report.answer_files import check_png

    own_forecasters = names_in_own_code(sources, FORECASTER_KINDS)
    if list_names:
        print_forecasters()
        return
    check_png(png, out)
    if board is not None:
        on_board = BoardOptions(
            board=board,
            forecasters=tuple(forecaster or [*BASELINES, *own_forecasters]),
            examples=examples,
            seed=seed,
            device=device,
        )
        files: Any = required_files(store)
        ask(BOARD, files, on_board, out=out, png=png, as_json=as_json, raw=raw)
        return
    names = forecaster or names_by_default(own_forecasters, is_trained=model is None)
    options = ForecastOptions(
        forecasters=tuple(names),
        resources=tuple(resource or ("cpu",)),
        tasks=tasks,
        folds=folds,
        examples=examples,
        save=str(save or ""),
        model=str(model or ""),
        seed=seed,
        device=device,
    )
    question = PACKED if pack else FORECAST
    opened = borgtrace.open(required_store(store), memory=memory)
    ask(question, opened, options, out=out, png=png, as_json=as_json, raw=raw)


def required_files(files: Path | None) -> Path:
    """Return the files of a board.

    Raises
    ------
    UsageError
        There are none.
    """
    if files is None:
        raise UsageError(
            "STORE",
            "no files named",
            expected="with --board, those that the board is made of",
            way_out="name a folder of GWA-T-12, such as fastStorage/2013-8",
        )
    return files


def names_by_default(own_forecasters: list[str], *, is_trained: bool) -> list[str]:
    """Return the forecasters that are judged where none is named; say what is left out.

    Parameters
    ----------
    own_forecasters
        Of the user's code, which are judged beside ours.
    is_trained
        Whether forecasters are trained; otherwise a file says which they are.
    """
    from borgtrace.cli.console import print_prose
    from borgtrace.forecast.choice import default_forecasters
    from borgtrace.forecast.forecasters import Boosting
    from borgtrace.kernels.scikit_learn import WAY_OUT

    names = [*default_forecasters(), *own_forecasters]
    if is_trained and Boosting.name not in names:
        print_prose(f"{Boosting.name} is left out: it needs {Boosting.needs}; {WAY_OUT}")
    return names


def print_forecasters() -> None:
    """Print the forecasters with a sentence about each, what some need, and where those of others are from."""
    from borgtrace.forecast import FORECASTER_KINDS
    from borgtrace.forecast.board import BASELINES

    for name in FORECASTER_KINDS:
        forecaster = FORECASTER_KINDS[name]
        notes = [f"needs the package {forecaster.needs}"] if forecaster.needs else []
        if name not in FORECASTER_KINDS.own:
            notes.append(f"from {FORECASTER_KINDS.origin(name)}")
        suffix = f" ({'; '.join(notes)})" if notes else ""
        print(f"{name:<18}{forecaster.about}{suffix}")
    for name, baseline in BASELINES.items():
        print(f"{name:<18}{baseline.about} (with --board)")
