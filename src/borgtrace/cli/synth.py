"""``borgtrace synth``: a synthetic trace in the raw format of one generation."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from borgtrace.cli._printing import number, print_json


def synth(
    out: Path,
    generation: str = "2011",
    machines: int = 100,
    hours: float = 24.0,
    seed: int = 1,
    cell: str = "a",
    tables: str = "",
    jobs: int = 2,
    anomalies: bool = True,
    file_format: str = "json",
    shared_factor: float = 0.0,
    constrained: float = 0.25,
    like: Path | None = None,
    check: bool = False,
    as_json: bool = False,
) -> None:
    """Make a synthetic trace whose true answers are known.

    The files have the format of Google's. truth.json and truth.parquet hold the known answers and mark the trace as
    synthetic. With --like, the cell has the arrivals, sizes, lives, usage and machines of a store.

    Example: borgtrace synth trace --machines 100 --hours 24 --seed 1

    Example: borgtrace synth twin --like STORE --machines 1000 --hours 24
    """
    options = dict(locals())  # they have the names of the generator's
    from borgtrace.schema.ranges import parse_words

    if check:
        print_check(out, as_json=as_json)
        return
    given = {name: options[name] for name in options.keys() - {"out", "check", "as_json"}}
    make(
        **{
            **given,
            "out": out,
            "tables": parse_words(tables),
            "like": _fit(like, generation) if like else None,
        }
    )


def _fit(store: Path, generation: str) -> Any:
    """Fit the generator to a store, and say what of it is in the trace."""
    import borgtrace
    from borgtrace.analyses.fidelity.likeness import fit
    from borgtrace.cli._console import talk
    from borgtrace.synth.options import SynthOptions

    SynthOptions(generation)  # refused before the fit, which takes seconds
    found = fit(borgtrace.open(store), generation)
    talk.print(found.note)
    return found


_LINE = "{:<44}{:>11}{:>11}{:>11}  {:<23}{:<13}{}"


def make(out: Path, **options: Any) -> None:
    """Generate a trace with a progress bar over its hours, and say what is in it."""
    from rich.progress import TextColumn

    from borgtrace.cli._console import progress, talk
    from borgtrace.synth import generate
    from borgtrace.synth.options import SynthOptions, check_output

    # Built for its checks only; `generate` builds it again.
    SynthOptions(**options)
    check_output(out)  # what is refused is refused before a bar is drawn
    with progress(TextColumn("{task.fields[rate]}")) as bars:
        bar = bars.add_task("synth", total=options["hours"], rate="")

        def report(hours: float, rows: int) -> None:
            # No time has passed at the very first call.
            seconds = bars.tasks[bar].elapsed or 1.0
            bars.update(bar, completed=hours, rate=f"{rows / seconds / 1000:,.0f} k rows/s")

        generate(out, **options, progress=report)
    truth = json.loads((out / "truth.json").read_text())
    for table, rows in sorted(truth["rows"].items()):
        talk.print(f"  {table}: {rows:,} rows")
    talk.print(f"Synthetic trace, seed {truth['seed']}. Known answers: {out / 'truth.json'}")
    talk.print(f"Next: borgtrace ingest {out} --store STORE")


def print_check(out: Path, *, as_json: bool) -> None:
    """Ingest a synthetic trace into a temporary store, measure it, and print target by target.

    Raises
    ------
    UsageError
        When `out` is not a synthetic trace.
    """
    from borgtrace.catalog import find
    from borgtrace.errors import UsageError
    from borgtrace.ingest import IngestOptions, ingest
    from borgtrace.storage import RemotePath
    from borgtrace.synth.model.targets import TARGETS, TARGETS_2019

    if not (out / "truth.json").is_file():
        expected, way_out = "a folder with truth.json", "make one with `borgtrace synth`"
        raise UsageError(str(out), "not a synthetic trace", expected=expected, way_out=way_out)
    # Beside the trace, where there is room for its size; the usual place may be a small disk in memory.
    near = None if isinstance(out, RemotePath) else out.absolute().parent
    with tempfile.TemporaryDirectory(dir=near) as folder:
        store = Path(folder) / "store"
        ingest([out], store, IngestOptions())
        result = find("fidelity").run(store)
    # In the order of the list of targets, where related ones are neighbors.
    places = {
        (target.measure, target.tier): place
        for place, target in enumerate((*TARGETS, *TARGETS_2019))
    }
    rows = sorted(
        result.table.to_pylist(),
        key=lambda row: places.get((row["measure"], row["tier"]), len(places)),
    )
    if result.not_applicable:
        print(f"not applicable: {result.not_applicable}", file=sys.stderr)
    if as_json:
        print_json(rows, indent=1)
    else:
        _print_targets(rows)


def _print_targets(rows: list[dict[str, Any]]) -> None:
    print(
        _LINE.format(
            "target", "published", "measured", "deviation", "95 % interval", "verdict", "source"
        )
    )
    for row in rows:
        print(
            _LINE.format(
                f"{row['measure']}, {row['tier']}",
                number(row["published"], 4),
                number(row["measured"], 4),
                "" if row["deviation"] is None else f"{row['deviation']:+.1%}",
                "" if row["low"] is None else f"{row['low']:.4g} … {row['high']:.4g}",
                row["verdict"],
                f"{row['grade']}: {row['reference']}",
            )
        )
    # Guides and tails are shown without a verdict and do not count.
    judged = [row["verdict"] for row in rows if row["verdict"] in ("fits", "does not fit")]
    print(f"{judged.count('fits')} of {len(judged)} judged targets fit")
