"""``help()``, ``dir()`` and the reference show the same public names."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import pydoc
import re

import pytest

import borgtrace

FACES = ("borgtrace", "borgtrace.colocation", "borgtrace.datasets")
"""What a person meets first: two dozen names at most, the errors and the base classes of extensions among them."""
INTERNAL = {"extensions", "storage"}
"""Packages whose names are for other packages alone."""


def section(text: str, heading: str) -> str:
    found = re.search(rf"^{heading}\n(.*?)(?=^[A-Z]|\Z)", text, re.M | re.S)
    return found[1] if found else ""


@pytest.mark.parametrize("name", FACES)
def test_help_dir_and_the_reference_show_the_same_names(name, generated):
    package = importlib.import_module(name)
    names = set(package.__all__) - {"__version__"}
    assert set(dir(package)) - {"__version__"} == names
    # As many as one remembers: what users name, and a base class for each kind of their ideas.
    assert len(names) <= 28
    text = pydoc.plain(pydoc.render_doc(package))
    shown = set(re.findall(r"^ {4}class (\w+)", section(text, "CLASSES"), re.M))
    shown |= set(re.findall(r"^ {4}(\w+)\(", section(text, "FUNCTIONS"), re.M))
    modules = {one for one in names if inspect.ismodule(getattr(package, one))}
    assert shown == names - modules
    assert modules <= {
        line.split()[0] for line in section(text, "PACKAGE CONTENTS").splitlines() if line.strip()
    }
    found = re.search(
        rf"^## {re.escape(name)} .*?\n\n.*?\n\n(.*?)\.$",
        generated("generate.api").page(),
        re.M | re.S,
    )
    assert set(re.findall(r"`(\w+)`", found[1])) == names


def test_every_package_with_public_names_is_in_the_reference(generated):
    packages = {
        found.name for found in pkgutil.iter_modules(borgtrace.__path__) if found.ispkg
    } - INTERNAL
    public = {
        one for one in packages if hasattr(importlib.import_module(f"borgtrace.{one}"), "__all__")
    }
    assert {f"borgtrace.{one}" for one in public} <= set(generated("generate.api").PACKAGES)
