"""What a build of a dataset prints, from values made by hand, and how a split is read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from borgtrace.cli.datasets import print_built, split_of
from borgtrace.datasets import BuildResult, Scaling, Selection
from borgtrace.datasets.histogram import LengthBin
from borgtrace.errors import UsageError
from borgtrace.store import Store

Capture = pytest.CaptureFixture[str]
# They are for lengths, which are drawn where bounds of them leave traces out.
STORE = cast("Store", "store")
SELECTION = cast("Selection", "selection")


def built(folder: Path) -> BuildResult:
    """A dataset from which a tier was left out."""
    return BuildResult(
        path=folder,
        is_new=False,
        counts={"training": 1_500, "testing": 2},
        n_matched=2_000,
        windows=30_000,
        removed={"all": (4_000, 50_000), "--tier": (2_498, 20_000)},
        leakage=("x is in both",),
        scalings=(Scaling("average_cpu", "standard", 0.5, 0.25, 1_000, 0.5, 0.25, 0.0, 1.0),),
    )


def test_a_dataset_in_words(capsys: Capture, tmp_path: Path) -> None:
    print_built(built(tmp_path), STORE, SELECTION, as_json=False)
    out, err = capsys.readouterr()
    assert out == f"{tmp_path}\n"
    assert err.splitlines() == [
        f"{tmp_path} (already there, unchanged): training 1,500, testing 2 of 2,000 matching traces",
        "  kept: traces 1,502 of 4,000 (37.5 %), windows 30,000 of 50,000 (60.0 %)",
        "  left out by --tier: traces 2,498 of 4,000 (62.5 %), windows 20,000 of 50,000 (40.0 %)",
        "  average_cpu: (average_cpu − 0.5) ÷ 0.25, measured on 1,000 values",
        "  leakage: x is in both",
    ]


def test_a_dataset_in_json(capsys: Capture, tmp_path: Path) -> None:
    print_built(replace(built(tmp_path), is_new=True), STORE, SELECTION, as_json=True)
    assert json.loads(capsys.readouterr().out)["path"] == str(tmp_path)


@pytest.mark.parametrize("option", ["--min-length", "--max-length", "slots of the grid"])
def test_lengths_are_drawn_where_bounds_of_them_leave_traces_out(
    option: str,
    capsys: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[object, ...]] = []

    def lengths(*arguments: object) -> tuple[LengthBin, ...]:
        calls.append(arguments)
        return LengthBin(1, 4, 1, 4), LengthBin(5, 9, 3, 16)

    monkeypatch.setattr("borgtrace.datasets.histogram.lengths", lengths)
    result = BuildResult(
        path=tmp_path,
        is_new=True,
        counts={"training": 3},
        n_matched=3,
        windows=16,
        removed={"all": (4, 20), option: (1, 4)},
        leakage=(),
        scalings=(),
    )
    print_built(result, STORE, SELECTION, as_json=False)
    heading, first, second, share, of_windows = capsys.readouterr().err.splitlines()[-5:]
    assert heading.split() == ["points", "traces", "share", "windows", "share"]
    assert first.split()[:2] == ["1–4", "1"]
    assert second.split()[:2] == ["5–9", "3"]
    assert share == "5 to 50 points: 3 of 4 traces, 75.0 % (2011 as published: about 74 %)"
    assert of_windows == "5 to 50 points: 16 of 20 windows, 80.0 %"
    assert calls == [(STORE, SELECTION)]


def test_a_split_is_fractions_with_or_without_names() -> None:
    assert split_of("0.7, 0.3", "job").fractions == (0.7, 0.3)
    named = split_of("train=0.8,test=0.2", "job")
    assert (named.fractions, named.names) == ((0.8, 0.2), ("train", "test"))


@pytest.mark.parametrize("text", ["most", "train=0.8,0.2", "train=most"])
def test_a_split_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--split: not a fraction"):
        split_of(text, "job")
