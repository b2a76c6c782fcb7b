"""How fast is the whole GPA paper (Janus & Rzadca, SoCC'17) repeated, and how good can it get?

Each part is a module beside this one and prints its own table; the limit and the peers are measured in the
same run.

    python benchmarks/colocation.py [PART…]          parts: sums, packing; all by default
"""

from __future__ import annotations

import importlib
import sys

PARTS = {"sums": "colocation_sums", "packing": "colocation_packing"}


def main(names):
    """Run the parts called `names`."""
    for name in names or PARTS:
        importlib.import_module(PARTS[name]).main([])


if __name__ == "__main__":
    main(sys.argv[1:])
