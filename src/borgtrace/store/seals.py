"""Seals of kept aggregates: the digests of their files and what they were made from, signed with this user's secret."""

import hashlib
import hmac
import json
from collections.abc import Mapping

from borgtrace.storage.user_key import user_key

SEAL = "seal.json"
"""Name of the seal among the files that it is about."""


def seal_text(name: str, origin: str, files: Mapping[str, str], key: bytes) -> str:
    """Return a seal.

    Parameters
    ----------
    name
        Of the folder, so that no other one can take its place.
    origin
        Digest of what the files were made from.
    files
        SHA-256 of each file, by its path in the folder.
    key
        The user's secret.
    """
    content = {"name": name, "origin": origin, "files": dict(files), "signer": _signer(key)}
    return json.dumps(content | {"seal": _code(content, key)})


def sealed_files(text: str, name: str, origin: str) -> dict[str, str] | None:
    """Return the digests of the files that this user has sealed; None where the seal is none, another's or of others.

    Parameters
    ----------
    text
        The seal, which may come from anybody.
    name, origin
        As for :func:`seal_text`.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    key = user_key()
    if key is None or not isinstance(content, dict):
        return None
    seal = content.pop("seal", "")
    # Nothing else of it is looked at before.
    if not hmac.compare_digest(str(seal).encode(), _code(content, key).encode()):
        return None
    if (content["name"], content["origin"]) != (name, origin):
        return None
    files: dict[str, str] = content["files"]
    return files


def is_of_another_signer(text: str) -> bool:
    """Whether a seal says that it was made with another secret than this user's: that of another home, say.

    Parameters
    ----------
    text
        The seal, which may come from anybody: what it says of its signer is no proof.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return False
    key = user_key()
    signer = content.get("signer") if isinstance(content, dict) else None
    return key is not None and isinstance(signer, str) and signer != _signer(key)


def _signer(key: bytes) -> str:
    """Return what tells secrets apart without giving them away."""
    return hmac.new(key, b"signer", hashlib.sha256).hexdigest()[:16]


def _code(content: object, key: bytes) -> str:
    text = json.dumps(content, sort_keys=True)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
