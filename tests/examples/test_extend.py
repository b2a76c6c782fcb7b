"""The examples of extensions keep their contracts, and the page that explains them shows them as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from borgtrace.testing.suite import check_source, checks

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "extend").glob("*.py"))
PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
TITLED = dict(
    re.findall(r'^```python title="([\w.]+)"\n(.*?)^```$', PAGE, re.DOTALL | re.MULTILINE)
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_keeps_its_contract(example: Path) -> None:
    (checked,) = check_source(str(example), checks())
    assert checked.failures == ()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(example: Path) -> None:
    lines = example.read_text(encoding="utf-8").splitlines()
    assert 15 <= len([line for line in lines if line.strip()]) <= 40


def test_the_page_shows_them_as_they_are() -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in EXAMPLES} == TITLED
