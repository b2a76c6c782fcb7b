"""Where a user keeps what can be computed again."""

import os
from pathlib import Path


def user_cache() -> Path:
    """Return the folder for what can be computed again, as the user's environment names it; it need not exist."""
    # Not `Path.home()`, which raises where there is none: without a home directory we do not cache.
    home = Path(os.environ.get("HOME") or os.devnull)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return cache / "borgtrace"
