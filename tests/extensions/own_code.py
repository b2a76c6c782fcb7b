"""Code of users, as text that tests write into files and packages."""

from __future__ import annotations

from pathlib import Path

HALF = '''"""Half of the limits."""

from dataclasses import dataclass

from borgtrace import PeakPolicy


@dataclass(frozen=True)
class HalfOfLimits(PeakPolicy):
    """A share of the limits."""

    share: float = 0.5

    name = "half"
    about = "a share of the limits"

    def predict(self, block):
        return self.share * block.limits
'''
"""A policy in plain Python that keeps its contract."""


def write(folder: Path, name: str, text: str) -> Path:
    """Write a file of a user."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def policy_with(predict: str, *, name: str = "own", before: str = "") -> str:
    """Return the text of a policy whose method ``predict`` has a body of one or more lines."""
    body = "\n".join(f"        {line}" for line in predict.splitlines())
    return f"""import numpy as np
from borgtrace import PeakPolicy
{before}

class Own(PeakPolicy):
    name = "{name}"
    about = "a policy of a test"

    def predict(self, block):
{body}
"""


def install(folder: Path, package: str, text: str, entry_points: str) -> None:
    """Lay a package into a folder as pip does: a module, and what it offers.

    Parameters
    ----------
    folder
        Where modules are looked for.
    package
        Its name, which is also that of its module.
    text
        Of the module.
    entry_points
        Of the file ``entry_points.txt``.
    """
    write(folder, f"{package}.py", text)
    info = folder / f"{package}-1.2.dist-info"
    write(info, "METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    write(info, "entry_points.txt", entry_points)
