"""``borgtrace forecast``: forecasters, back-tested; and what they buy in machines."""

from pathlib import Path
from typing import Any


def forecast(
    store: Path,
    forecaster: list[str] | None = None,
    pack: bool = False,
    resource: list[str] | None = None,
    tasks: int = 10_000,
    folds: int = 3,
    examples: int = 50_000,
    save: Path | None = None,
    model: Path | None = None,
    seed: int = 0,
    memory: str = "4GB",
    out: Path | None = None,
    png: bool = False,
    as_json: bool = False,
    list_names: bool = False,
) -> None:
    """Train forecasters of the tasks' usage on earlier hours, and judge them on later ones.

    Example: borgtrace forecast cell-2011 --forecaster persistence --forecaster boosting --folds 2
    """
    import borgtrace
    from borgtrace.cli._answers import ask, check_png
    from borgtrace.forecast import FORECAST, FORECASTERS, PACKED

    if list_names:
        for name, kind in FORECASTERS.items():
            print(
                f"{name:<16}{kind.about}" + f" (needs borgtrace[{kind.extra}])" * bool(kind.extra)
            )
        return
    check_png(png, out)
    given: dict[str, Any] = {"tasks": tasks, "folds": folds, "examples": examples, "seed": seed}
    given |= {"save": str(save or ""), "model": str(model or "")}
    given |= {"forecasters": tuple(forecaster)} if forecaster else {}
    given |= {"resources": tuple(resource)} if resource else {}
    question = PACKED if pack else FORECAST
    ask(question, borgtrace.open(store, memory=memory), given, out=out, png=png, as_json=as_json)
