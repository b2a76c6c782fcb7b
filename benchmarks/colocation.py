"""How fast is the whole GPA paper (Janus & Rzadca, SoCC'17) repeated, and how good can it get?

Each part is a script beside this one that prints its own table; the limit and the peers are measured in the same
run, and each part is a process of its own, so that its peak memory is its own.

    python benchmarks/colocation.py [PART…]          parts: sums, packing; all by default
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PARTS = {"sums": "colocation_sums.py", "packing": "colocation_packing.py"}


def main(names):
    """Run the parts called `names`."""
    for name in names or PARTS:
        subprocess.run([sys.executable, Path(__file__).with_name(PARTS[name])], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
