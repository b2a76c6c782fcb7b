"""What ``borgtrace synth`` says while it works and afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def make(out: Path, **options: Any) -> None:
    """Generate a trace with a progress bar over its hours, and say what is in it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from borgtrace.synth import generate
    from borgtrace.synth.options import Options, check_output

    Options(**options)
    check_output(out)  # what is refused is refused before a bar is drawn
    talk = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Progress(*columns, console=talk) as bars:
        bar = bars.add_task("synth", total=options["hours"], rate="")

        def progress(hours: float, rows: int) -> None:
            speed = bars.tasks[bar].elapsed or 1.0
            bars.update(bar, completed=hours, rate=f"{rows / speed / 1000:,.0f} k rows/s")

        generate(out, **options, progress=progress)
    truth = json.loads((out / "truth.json").read_text())
    for table, rows in sorted(truth["rows"].items()):
        talk.print(f"  {table}: {rows:,} rows", markup=False)
    talk.print(f"synthetic, seed {truth['seed']}; what is true of it: {out / 'truth.json'}", markup=False)
    talk.print(f"next: borgtrace ingest {out} --store STORE", markup=False, soft_wrap=True)


def print_check(out: Path, *, as_json: bool) -> None:
    """Measure a synthetic trace against the published facts and print the comparison."""
    from borgtrace.cli import _fidelity

    _fidelity.print_report(out, as_json=as_json)
