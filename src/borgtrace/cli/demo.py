"""``borgtrace demo``: from nothing to a report, by the commands anyone would type."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    folder: Annotated[Path, typer.Argument(help="Folder for everything the demo makes.", metavar="[DIR]")] = Path(
        "borgtrace-demo"
    ),
    machines: Annotated[int, typer.Option(help="Machines of the synthetic cell.", min=10)] = 100,
    hours: Annotated[int, typer.Option(help="Hours of the synthetic cell.", min=1)] = 24,
    seed: Annotated[int, typer.Option(help="Seed of the synthetic cell.")] = 1,
) -> None:
    """Make a synthetic cell and take it all the way: store, answers, dataset, packing, report.

    Every step prints the command it runs, so that you can repeat it on a trace of your own. The last
    line is the path of the report.

    Example: borgtrace demo demo-out
    """
    from borgtrace.cli import _demonstrating

    _demonstrating.run(folder, machines, hours, seed)
