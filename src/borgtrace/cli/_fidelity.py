"""``borgtrace synth --check``: a synthetic trace, ingested and compared with what is published."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def print_report(out: Path, *, as_json: bool) -> None:
    """Ingest a synthetic trace into a store that goes away again, measure it, print target by target.

    Raises
    ------
    UsageError
        When `out` is not a synthetic trace.
    """
    from borgtrace.errors import UsageError
    from borgtrace.ingest import IngestOptions, ingest
    from borgtrace.recipe import find_recipe

    if not (out / "truth.json").is_file():
        raise UsageError(
            str(out),
            "not a synthetic trace",
            expected="a folder with truth.json",
            way_out="make one with `borgtrace synth`",
        )
    with tempfile.TemporaryDirectory(dir=out.absolute().parent) as folder:
        store = Path(folder) / "store"
        ingest([out], store, IngestOptions())
        result = find_recipe("fidelity").run(store)
        rows = sorted(result.table.to_pylist(), key=_place)
    if result.not_applicable:
        print(f"not applicable: {result.not_applicable}", file=sys.stderr)
    if as_json:
        print(json.dumps(rows, indent=1))
    else:
        _print_table(rows)


def _place(row: dict[str, Any]) -> int:
    """Where a target stands among the targets: what belongs together stays together."""
    from borgtrace.synth.targets import TARGETS, TARGETS_2019

    names = [(target.measure, target.tier) for target in (*TARGETS, *TARGETS_2019)]
    return names.index((row["measure"], row["tier"]))


def _print_table(rows: list[dict[str, Any]]) -> None:
    print(
        f"{'target':<44}{'published':>11}{'measured':>11}{'deviation':>11}  {'95 % interval':<23}{'verdict':<13}source"
    )
    for row in rows:
        name = f"{row['measure']}, {row['tier']}"
        deviation = "" if row["deviation"] is None else f"{row['deviation']:+.1%}"
        interval = "" if row["low"] is None else f"{row['low']:.4g} … {row['high']:.4g}"
        print(
            f"{name:<44}{row['published']:>11.4g}{_number(row['measured']):>11}{deviation:>11}  "
            f"{interval:<23}{row['verdict']:<13}{row['grade']}: {row['reference']}"
        )
    judged = [row["verdict"] for row in rows if row["verdict"] in ("fits", "does not fit")]
    print(f"{judged.count('fits')} of {len(judged)} judged targets fit")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
