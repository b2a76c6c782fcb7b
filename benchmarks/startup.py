"""How long the first words take: ``import borgtrace``, ``borgtrace --help``, a command's own help.

Prints a table, shares of the bars first; the limit, a bare Python, is measured in the same run.  Run:
python benchmarks/startup.py
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

CASES = (
    ("import borgtrace", ("-c", "import borgtrace"), 0.150),
    ("borgtrace --version", ("-m", "borgtrace", "--version"), None),
    ("borgtrace --help", ("-m", "borgtrace", "--help"), 0.400),
    ("borgtrace dataset --help", ("-m", "borgtrace", "dataset", "--help"), None),
)


def best(arguments: tuple[str, ...], times: int) -> float:
    """Seconds of the fastest of several processes, from start to end."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - begin)
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=15)
    times = parser.parse_args().times
    bare = best(("-c", "pass"), times)
    print(
        f"{'what':<26} {'share of bar':>12} {'bar ms':>7} {'ms':>6}   (a bare Python: {1e3 * bare:.0f} ms)"
    )
    for name, arguments, bar in CASES:
        seconds = best(arguments, times)
        share, limit = (f"{seconds / bar:.2f}", f"{1e3 * bar:.0f}") if bar else ("", "")
        print(f"{name:<26} {share:>12} {limit:>7} {1e3 * seconds:>6.0f}")


if __name__ == "__main__":
    main()
