"""Hooks and targets: the package alone for the demo, no foreign host in a hook, a sample of changes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

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


def test_a_sample_of_changes_is_the_same_for_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    sample = import_module("mutation.sample")
    drawn = sample.draw("storage", 20, seed=0)
    assert drawn == sample.draw("storage", 20, seed=0)
    assert drawn != sample.draw("storage", 20, seed=1)
    assert len(drawn.tried) == 20
    assert all((ROOT / site.file).is_file() for site in drawn.tried)


def test_each_package_has_tests_that_its_changes_are_tried_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    sample = import_module("mutation.sample")
    assert "question" in sample.packages()
    for package in sample.packages():
        assert f"tests/{package}" in sample.folders(package)
