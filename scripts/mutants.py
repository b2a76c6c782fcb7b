"""Does a test notice when the code is changed?

    python scripts/mutants.py                           150 changes of logic per package, by a seed (half an hour each)
    python scripts/mutants.py schema datasets/split.py  some packages, or files of them
    python scripts/mutants.py --all                     every change (a night)

Each change that no test notices is printed with its file, line and function: give it a test, or see why none can.

Why not a ready-made tool: mutmut changes no decorated function, draws no sample by a seed, and forks a process that has
already run tests, whose DuckDB, Arrow and Numba threads a fork does not keep; cosmic-ray starts Python anew for each
change, which is five seconds here: four hours for the sample instead of one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutation import forked, sample

ENOUGH = 0.9
"""Share of the sample that must be noticed."""


def main() -> int:
    """Try the sample of each package; 1 where too much of one goes unnoticed."""
    options = parse_options()
    size = None if options.all else options.size
    forked.warm_up()
    packages_below = []
    for score in sample.scores(
        options.names or sample.packages(), size, options.seed, options.jobs
    ):
        print(score, flush=True)
        for site in score.survivors:
            print(f"  {site.file}:{site.line} {site.function}: {site.was!r} → {site.now!r}")
        if score.killed < ENOUGH * score.n:
            packages_below.append(score.package)
    print(f"below {100 * ENOUGH:.0f} %: {', '.join(packages_below) or 'none'}")
    return int(bool(packages_below))


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="packages, or files of them")
    parser.add_argument("--all", action="store_true", help="every change, not a sample")
    parser.add_argument("--size", type=int, default=150, help="changes per package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
