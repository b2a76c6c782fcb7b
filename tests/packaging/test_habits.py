"""Hooks and targets: the package alone for the demo, no foreign host in a hook, lists of edits that read."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_hooks_are_programs_of_the_project() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    assert "http" not in text
    entries = [line.split("entry:")[1].strip() for line in text.splitlines() if "entry:" in line]
    assert entries
    assert all(entry.startswith(".venv/bin/") for entry in entries)


def test_the_demo_needs_the_package_alone() -> None:
    rules = (ROOT / "Makefile").read_text().splitlines()
    (demo,) = [line for line in rules if line.startswith("demo:")]
    (package,) = [k for k, line in enumerate(rules) if line.startswith("$(PACKAGE):")]
    recipe = rules[package + 1 : rules.index("", package)]
    assert demo == "demo: $(PACKAGE)"
    assert not any("[test]" in line for line in recipe)


def test_every_edit_names_its_tests() -> None:
    for name in ("former_survivors.toml", "edits.toml"):
        edits = tomllib.loads((ROOT / "tests" / "mutants" / name).read_text())["edit"]
        ids = [edit["id"] for edit in edits]
        assert len(ids) == len(set(ids))
        for edit in edits:
            assert edit["old"] != edit["new"], edit["id"]
            files = [test for test in edit["tests"] if test.startswith(("tests/", "src/"))]
            assert files, edit["id"]
            assert all((ROOT / file).exists() for file in files), edit["id"]


def test_every_survivor_has_a_reason() -> None:
    found = tomllib.loads((ROOT / "tests" / "mutants" / "survivors.toml").read_text()).get(
        "survivor", []
    )
    assert all(len(entry["reason"]) > 10 for entry in found)


def test_reasons_for_changes_that_can_no_longer_be_made_are_told(monkeypatch, tmp_path) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    sample = import_module("mutation.sample")
    assert sample.outdated() == []
    listed = (ROOT / "tests" / "mutants" / "survivors.toml").read_text("utf-8")
    of_gone = 'file = "src/borgtrace/errors.py"\nfunction = "gone"\nwas = "a < b"\nnow = "a <= b"\nreason = "R."\n'
    (tmp_path / "survivors.toml").write_text(f"{listed}\n[[survivor]]\n{of_gone}")
    monkeypatch.setattr(sample, "REASONS", tmp_path / "survivors.toml")
    assert sample.outdated() == ["src/borgtrace/errors.py: gone: no 'a < b'"]
