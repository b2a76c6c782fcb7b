"""Does a test notice when the code is changed?

    python scripts/mutants.py                           150 changes of logic per package, by a seed (half an hour each)
    python scripts/mutants.py --all                     every change (a night)
    python scripts/mutants.py schema datasets/split.py  some packages, or files of them
    python scripts/mutants.py --survivors               changes that once went unnoticed
    python scripts/mutants.py --edits                   changes by hand of what a sample cannot reach
    python scripts/mutants.py --check                   only whether the lists still fit the code

Why not a ready-made tool: mutmut changes no decorated function, draws no sample by a seed, and forks a process that has
already run tests, whose DuckDB, Arrow and Numba threads a fork does not keep; cosmic-ray starts Python anew for each
change, which is five seconds here: four hours for the sample instead of one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutation import listed

LISTS = Path(__file__).parents[1] / "tests" / "mutants"
ENOUGH = 0.9
"""Share of the sample, and of the edits by hand, that must be noticed; of former survivors it is all."""


def main() -> int:
    """Run what was asked for; 1 where too much goes unnoticed."""
    options = _options()
    if options.check:
        return _check()
    if options.survivors or options.edits:
        codes = [_listed("former_survivors.toml", options, 1.0)] if options.survivors else []
        codes += [_listed("edits.toml", options, ENOUGH)] if options.edits else []
        return max(codes)
    return _sample(options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", help="packages or files of them; with --survivors or --edits, ids"
    )
    parser.add_argument(
        "--survivors", action="store_true", help="try the changes that once went unnoticed"
    )
    parser.add_argument("--edits", action="store_true", help="try the changes listed by hand")
    parser.add_argument(
        "--check", action="store_true", help="only check that the lists fit the code"
    )
    parser.add_argument("--all", action="store_true", help="every change, not a sample")
    parser.add_argument("--size", type=int, default=150, help="changes per package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def _check() -> int:
    from mutation import sample

    faults = [
        f"{name}: {edit.id}: {fault}"
        for name in ("former_survivors.toml", "edits.toml")
        for edit in listed.read(LISTS / name)
        if (fault := edit.fault())
    ]
    faults += [f"{sample.REASONS.name}: {fault}" for fault in sample.outdated()]
    print("\n".join(faults) or "the lists fit the code")
    return int(bool(faults))


def _listed(name: str, options: argparse.Namespace, enough: float) -> int:
    edits = [
        edit for edit in listed.read(LISTS / name) if not options.names or edit.id in options.names
    ]
    stale = {edit.id: edit.fault() for edit in edits if edit.fault()}
    for id_, fault in stale.items():
        print(f"{id_}: DOES NOT FIT: {fault}")
    noticed = 0
    for edit, outcome in listed.run([edit for edit in edits if edit.id not in stale], options.jobs):
        print(f"{edit.id}: {outcome}", flush=True)
        noticed += outcome == "noticed"
    print(f"{name}: {noticed} of {len(edits)} noticed")
    return int(not edits or noticed < enough * len(edits))


def _sample(options: argparse.Namespace) -> int:
    from mutation import forked, sample

    forked.warm_up()
    known, failed, unexplained = sample.reasons(), [], 0
    packages = options.names or sample.packages()
    for score in sample.scores(
        packages, None if options.all else options.size, options.seed, options.jobs
    ):
        print(score, flush=True)
        for site in score.survivors:
            reason = known.get(site.key, {}).get("reason", "")
            unexplained += not reason
            print(
                f"  {site.file}:{site.line} {site.function}: {site.was!r} → {site.now!r}: {reason or 'NO REASON'}"
            )
        if score.killed < ENOUGH * score.n:
            failed.append(score.package)
    print(
        f"below {100 * ENOUGH:.0f} %: {', '.join(failed) or 'none'}; survivors without a reason: {unexplained}"
    )
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
