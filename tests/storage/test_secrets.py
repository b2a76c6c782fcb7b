"""Secrets in URLs are never printed: not in part, and by no error."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from borgtrace import errors
from borgtrace.errors import BorgtraceError, UsageError
from borgtrace.redaction import without_secrets
from borgtrace.storage import as_local_path, as_path

SECRET = "wJalr/XUtn+FEMI/K7"
PLACES = [
    f"s3://AKIA:{SECRET}@bucket/store",
    f"S3://AKIA:{SECRET}@bucket/store",
    f"s3:/AKIA:{SECRET}@bucket/store",
    f"gs://:{SECRET}@bucket",
    f"abfss://account:{SECRET}@host/store",
    f"https://user:{SECRET}@host/x@y",
    f"https://{SECRET.replace('/', '_')}@host/x",
    f"s3://bucket/store?secret_key={SECRET}",
    f"https://host/x?page=1&X-Amz-Signature={SECRET}",
    f"https://host/x#access_token={SECRET}",
    f"spark://user:{SECRET}@host:7077",
]
"""URLs that hold a secret."""


def kinds(base: type[BorgtraceError] = BorgtraceError) -> list[type[BorgtraceError]]:
    return [base, *(kind for below in base.__subclasses__() for kind in kinds(below))]


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_hidden_whole(place: str) -> None:
    hidden = without_secrets(f"see {place}: it is gone")
    for part in SECRET.replace("/", "_").split("_"):
        assert part not in hidden
    assert hidden.startswith(f"see {place.partition(':')[0]}:")
    assert hidden.endswith(("it is gone", "…"))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("as_place", [as_path, as_local_path])
def test_a_place_with_a_secret_is_refused_without_it(place: str, as_place: object) -> None:
    for text in (place, Path(place)):
        with pytest.raises(UsageError) as refused:
            as_place(text)  # type: ignore[operator]
        for part in SECRET.replace("/", "_").split("_"):
            assert part not in str(refused.value)


@pytest.mark.parametrize("kind", kinds())
def test_no_error_repeats_a_secret(kind: type[BorgtraceError]) -> None:
    """Not in any part of its message, nor after it came from another process."""
    place = PLACES[0]
    error = kind(place, place, expected=place, got=place, way_out=place)
    for message in (str(error), repr(error), str(pickle.loads(pickle.dumps(error)))):
        assert not any(part in message for part in SECRET.split("/"))


@pytest.mark.parametrize(
    "text",
    [
        "abfss://container@account.dfs.core.windows.net/store",
        "s3://bucket/day=1/part?.csv",
        "https://host:8443/trace",
        "a: b@c?d=e",
        "mail x@y.z",
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert without_secrets(text) == text


def test_every_error_is_walked_over() -> None:
    assert {errors.StoreError, errors.EngineError, errors.SourceError} <= set(kinds())
