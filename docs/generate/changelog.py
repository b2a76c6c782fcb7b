"""The changelog, as it stands in the repository."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parent.parent.parent / "CHANGELOG.md"


def page() -> str:
    """Return the page: links that lead into the documentation's folder lead on from its root."""
    return re.sub(r"\]\(docs/", "](", SOURCE.read_text(encoding="utf-8"))
