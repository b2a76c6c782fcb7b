"""A secret of this user, which tells this user's own files from those of others."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from borgtrace.storage.replacing import incomplete_path
from borgtrace.user_cache import user_cache

_LENGTH = 32


def user_key() -> bytes | None:
    """Return this user's secret, made on first use; None where there is no place to keep one.

    It lies in the user's cache: what it vouches for can be computed again, as everything there.
    """
    path = user_cache() / "seal.key"
    key = _read(path)
    if key is None:
        with suppress(OSError):
            _make(path)
        key = _read(path)
    return key


def _read(path: Path) -> bytes | None:
    try:
        key = path.read_bytes()
    except OSError:
        return None
    # Anything else is damage.
    return key if len(key) == _LENGTH else None


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = incomplete_path(path)
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_LENGTH))
    try:
        # The first one wins: what a thread or process seals must not be sealed by a secret that another replaces.
        os.link(draft, path)
    except OSError:
        # Another made one meanwhile; or what lies there is damaged, or the file system knows no links.
        if _read(path) is None:
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
