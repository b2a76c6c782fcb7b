"""Checksums: what the publisher states, and those of the received bytes."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import google_crc32c

Digests = Mapping[str, str]
"""Algorithm (``sha256``, ``md5``, ``crc32c``) → digest in lower-case hex."""

# The buckets state MD5 and CRC-32C of each object, the list beside the trace of 2011 SHA-256.
STRONGEST_FIRST = ("sha256", "md5", "crc32c")
_BLOCK = 1 << 20
_HEX_DIGITS = {"md5": 32, "crc32c": 8}
# Both forms of ``sha256sum``: a star marks binary mode, and names may begin with ``./``.
_SUM_LINE = re.compile(r"^([0-9a-fA-F]{64})[ \t]+\*?(?:\./)?(\S.*?)[ \t\r]*$", re.MULTILINE)


def parse_sums(text: str) -> dict[str, str]:
    """Read a ``SHA256SUM`` file into path → digest; other lines are skipped.

    Examples
    --------
    >>> sums = parse_sums("0" * 64 + "  ./job_events/part-00000-of-00500.csv.gz")
    >>> sums == {"job_events/part-00000-of-00500.csv.gz": "0" * 64}
    True
    """
    sums: dict[str, str] = {}
    for match in _SUM_LINE.finditer(text):
        digest, path = match.groups()
        sums[path] = digest.lower()
    return sums


def parse_goog_hash(values: Iterable[str]) -> dict[str, str]:
    """Read the ``x-goog-hash`` headers of a bucket's answer (base64 in, hex out).

    Examples
    --------
    >>> parse_goog_hash(["crc32c=AAAAAA==", "md5=1B2M2Y8AsgTpgAmY7PhCfg=="])
    {'crc32c': '00000000', 'md5': 'd41d8cd98f00b204e9800998ecf8427e'}
    """
    digests: dict[str, str] = {}
    for item in ",".join(values).split(","):
        algorithm, _, encoded = item.strip().partition("=")
        try:
            digest = base64.b64decode(encoded, validate=True).hex()
        except binascii.Error:
            continue
        # Skip unknown algorithms, and digests cut short by a proxy.
        if len(digest) == _HEX_DIGITS.get(algorithm):
            digests[algorithm] = digest
    return digests


def strongest(*digests: Digests) -> str | None:
    """Return the best algorithm that all of some digests have, or None when there is none."""
    for algorithm in STRONGEST_FIRST:
        if all(algorithm in known for known in digests):
            return algorithm
    return None


def agree(one: Digests, other: Digests) -> bool | None:
    """Return whether two sets of digests describe the same bytes; None when they share no algorithm."""
    # The strongest that both have decides: a weaker one can only say the same.
    shared = strongest(one, other)
    return one[shared] == other[shared] if shared else None


def hasher(algorithm: str) -> Any:
    """Return a fresh hash of the named algorithm, with ``update`` and ``digest`` as in hashlib."""
    return google_crc32c.Checksum() if algorithm == "crc32c" else hashlib.new(algorithm)


def feed_file(hash_: Any, path: Path) -> None:
    """Add the bytes of a file to a hash."""
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            hash_.update(block)
