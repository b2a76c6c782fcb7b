"""The forecasters of a public board: their scores, and the time that they take.

Needs the readings of GWA-T-12 fastStorage, as a Parquet file or the folder of CSV files.

    python benchmarks/forecast_board.py [FILES] [--board NAME] [--forecaster NAME …]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))
from borgtrace.forecast.board import BOARD, BOARDS

ROOT = Path(__file__).parent.parent
FILES = ROOT / "shared" / "trace" / "bitbrains-1250" / "bitbrains-1250.parquet"
"""Where the files are, if they are not named."""
NAIVE_SECONDS = 30.0
"""Bar of naive, with reading the files, on two cores."""


def main() -> None:
    """Score each forecaster in a run of its own, and print a row of a table for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="?", default=FILES)
    parser.add_argument("--board", default=next(iter(BOARDS)), choices=BOARDS)
    parser.add_argument("--forecaster", action="append")
    arguments = parser.parse_args()
    if not arguments.files.exists():
        print(f"no files of the board at {arguments.files}: skipped")
        return
    print(f"{os.cpu_count()} cores\n")
    print(
        "| forecaster | CRPS | MASE | MAE | sMAPE | learns | CPU s: fit, forecast, all | wall s |"
    )
    print("|---|--:|--:|--:|--:|---|--:|--:|")
    for name in arguments.forecaster or ["naive", "seasonal-naive"]:
        began, cpu = time.perf_counter(), time.process_time()
        result = BOARD.run(arguments.files, board=arguments.board, forecasters=(name,))
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        (row,) = (row for row in result.table.to_pylist() if row["source"] == "measured")
        seconds = f"{row['fit_seconds']:.1f}, {row['forecast_seconds']:.1f}, {cpu:.1f}"
        print(
            f"| {name} | {row['crps']:.6f} | {row['mase']:.5f} | {row['mae']:.4f} | {row['smape']:.6f} "
            f"| {row['learns']} | {seconds} | {wall:.1f} |"
        )
        if name == "naive" and wall > NAIVE_SECONDS:
            print(f"missed: naive took {wall:.1f} s, the bar is {NAIVE_SECONDS:.0f} s")


if __name__ == "__main__":
    main()
