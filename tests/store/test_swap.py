"""While a new version is moved in, there is no manifest: nobody takes half of each version for a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.store import swap
from borgtrace.store.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A store of version 1 with version 2 complete in ``next``."""
    layout = Layout(tmp_path)
    for root, version in ((layout.root, "1"), (layout.next, "2")):
        (root / "events").mkdir(parents=True)
        (root / "events" / "part").write_text(version)
        (root / layout.manifest.name).write_text(version)
    return layout


def versions(layout: Layout) -> tuple[str, str]:
    """Versions of the manifest and of the table."""
    part = layout.root / "events" / "part"
    return layout.manifest.read_text(), part.read_text()


def test_the_manifest_is_away_while_tables_are_moved(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    replace_entry = swap.replace_entry

    def watched(layout: Layout, name: str) -> None:
        seen.append((name, layout.manifest.exists()))
        replace_entry(layout, name)

    monkeypatch.setattr(swap, "replace_entry", watched)
    assert swap.finish_swap(layout)
    assert seen == [("events", False)]
    assert versions(layout) == ("2", "2")
    assert not layout.next.exists()


def test_an_interrupted_swap_is_finished(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "replace_entry", lambda layout, name: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        swap.finish_swap(layout)
    monkeypatch.undo()
    assert not layout.manifest.exists()
    assert swap.finish_swap(layout)
    assert versions(layout) == ("2", "2")
    assert not swap.finish_swap(layout)
