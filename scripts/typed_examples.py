"""Checks every Python example against the annotations: the blocks of README and docs, and the folder ``examples``.

mypy sees each as a module of its own that uses borgtrace as a reader would; calls that the signatures do not allow
fail.  Usage: python scripts/typed_examples.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from blocks import blocks, pages  # noqa: E402


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        for page in pages():
            for block in blocks(page):
                if block.language == "python":
                    # What has a title is kept under it, and imported by what follows.
                    module = block.title or f"{page.stem.replace('-', '_')}_{block.line}.py"
                    Path(scratch, module).write_text(
                        f"# {block.place}\n{block.text}", encoding="utf-8"
                    )
        found = sorted(map(str, [*Path(scratch).glob("*.py"), *(ROOT / "examples").rglob("*.py")]))
        # As a reader's own code: checked, but not bound to annotate everything itself.
        lax = (
            "--no-strict-optional",
            "--allow-untyped-defs",
            "--allow-untyped-calls",
            "--allow-any-generics",
        )
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *lax, "--explicit-package-bases", *found],
            cwd=ROOT,
            env={**os.environ, "MYPYPATH": scratch},
            check=False,
        )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
