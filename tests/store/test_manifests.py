"""A manifest that says something else, whatever it is: one line and exit 5, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.errors import StoreError
from borgtrace.schema.dialects import DIALECTS
from borgtrace.store.verify import verify
from tests.store.test_damage import folder, run_command, store  # noqa: F401 - a store, and a copy that may be damaged

_MISSING = object()
_WRONG: tuple[Any, ...] = (
    _MISSING,
    None,
    True,
    -1,
    2**70,
    1.5,
    "x",
    "",
    [],
    {},
    [None],
    ["x", 1],
    {"x": "y"},
    {"x": [1]},
)
_COMMANDS = (
    ("info", "STORE"),
    ("info", "STORE", "--json"),
    ("sql", "STORE", "select count(*) from instance_usage"),
    ("machine", "STORE", "5", "--json"),
    ("trace", "STORE", "10", "0"),
    ("verify", "STORE"),
)


def _places(data: dict[str, Any]) -> Iterator[tuple[str | int, ...]]:
    """Yield where something stands: every key, those of the first source, and the first entry of every mapping."""
    for name, value in data.items():
        yield (name,)
        if isinstance(value, dict) and value:
            yield (name, next(iter(value)))
    for name in ("", *data["sources"][0]):
        yield ("sources", 0, name) if name else ("sources", 0)


def _changed(data: dict[str, Any], place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    copy = json.loads(json.dumps(data))
    inner: Any = copy
    for key in place[:-1]:
        inner = inner[key]
    if value is _MISSING:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return copy


def _manifests(root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    data = json.loads((root / "manifest.json").read_text())
    for place in _places(data):
        for value in _WRONG:
            changed = _changed(data, place, value)
            if changed != data:
                yield f"{place} {'missing' if value is _MISSING else repr(value)}", changed


def test_a_manifest_is_as_it_was_written_or_refused(store: Path) -> None:  # noqa: F811
    right = borgtrace.open(store).manifest
    tried = 0
    for what, changed in _manifests(store):
        (store / "manifest.json").write_text(json.dumps(changed))
        if "sha256" in changed:
            with pytest.raises(StoreError):
                borgtrace.open(store)
        else:
            # An earlier version wrote no digest of the manifest itself; nothing else is another one.
            assert borgtrace.open(store).manifest == right, what
        tried += 1
    assert tried > 500


def test_a_manifest_of_an_unknown_trace_is_refused(store: Path) -> None:  # noqa: F811
    path = store / "manifest.json"
    data = {name: value for name, value in json.loads(path.read_text()).items() if name != "sha256"}
    path.write_text(json.dumps({**data, "generation": "2035"}))
    with pytest.raises(StoreError) as error:
        borgtrace.open(store)
    expected = ", ".join(DIALECTS)
    way_out = f"build it again: borgtrace ingest SRC --store {store} --rebuild"
    assert (
        str(error.value)
        == f"{store}: store of an unknown trace format: expected {expected}, got 2035; {way_out}"
    )


def test_a_value_of_another_type_is_named(store: Path) -> None:  # noqa: F811
    path = store / "manifest.json"
    data = {name: value for name, value in json.loads(path.read_text()).items() if name != "sha256"}
    path.write_text(json.dumps({**data, "tables": {"tasks": -1}}))
    with pytest.raises(
        StoreError,
        match=r"manifest.json is damaged: got tables is \"\{'tasks': -1\}\"; build it again",
    ):
        borgtrace.open(store)


@pytest.mark.scale
def test_a_manifest_without_a_digest_of_its_own_leaves_no_traceback(
    store: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    places, tried = {"STORE": store, "OUT": tmp_path / "out"}, 0
    for what, changed in _manifests(store):
        changed.pop("sha256", None)
        (store / "manifest.json").write_text(json.dumps(changed))
        for command in _COMMANDS:
            code, _, err = run_command(command, places)
            assert code in {0, 5}, (what, command, err)
            assert "Traceback" not in err, (what, command)
            tried += 1
    print(f"{tried:,} commands")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "5",
        '"x"',
        "[" * 100_000,
        '{"a":' * 5000,
        "\udcff",
        "{}" * 2,
    ],
)
def test_what_is_no_manifest(store: Path, text: str) -> None:  # noqa: F811
    (store / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    for read in (borgtrace.open, verify):
        with pytest.raises(
            StoreError, match=r"manifest.json is damaged: got .*; build it again: .* --rebuild$"
        ):
            read(store)
