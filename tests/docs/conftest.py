"""The folder in which the documentation's commands run, and the modules that make its pages."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="session")
def docs() -> Path:
    """Return the documentation's folder."""
    return DOCS


@pytest.fixture(scope="session")
def generated():
    """Return a function that imports a module of the page generator."""
    sys.path.insert(0, str(DOCS))
    yield lambda name: importlib.import_module(name)
    sys.path.remove(str(DOCS))
