"""FGD's paper on a folder with a small cluster, and on a store of it: figures, and why nothing is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.reproduction import ReproductionOptions, find_paper, reproduce
from borgtrace.reproduction.files import write_reproduction
from tests.gpu_files import write_gpu_files

DRAWN = "its runs have other arrivals than the published ones"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four nodes, 40 pods, without the arrivals of published runs."""
    return write_gpu_files(tmp_path_factory.mktemp("fgd") / "gpus")


@pytest.mark.wide
def test_a_folder_is_enough(folder: Path, tmp_path: Path) -> None:
    paper = find_paper("fgd2023")
    options = ReproductionOptions(only=("fig-7a", "fig-9a", "fig-13"))
    reproduction = reproduce(paper, paper.opens(folder, "1GB"), options)
    by_name = {item.item.name: item for item in reproduction.items}
    assert by_name["Fig. 9a"].is_reproduced
    # One run of the six policies for all figures.
    results = {id(item.answers[0].result) for item in reproduction.items}
    assert len(results) == 1
    findings = by_name["Fig. 9a"].findings
    assert {finding.verdict for finding in findings} == {"not applicable"}
    assert DRAWN in {finding.reason for finding in findings}
    # The folder has one list of pods: the figure of another has no picture.
    bars = by_name["Fig. 13"].answers[0]
    assert bars.figure is None
    assert bars.reason == "no picture: there are no runs of the workload gpuspec33"
    files = write_reproduction(reproduction, tmp_path)
    assert files.n_figures == 2
    page = files.page.read_text()
    assert "Measured on: Alibaba GPU trace 2023." in page
    assert "borgtrace simulate gpus gpus --policy random --policy dot-product" in page


def test_a_store_is_one_list_of_pods(folder: Path, tmp_path: Path) -> None:
    ingest([folder], tmp_path / "cell", IngestOptions(jobs=1, dialect="openb"))
    paper = find_paper("fgd2023")
    options = ReproductionOptions(only=("fig-7b",))
    reproduction = reproduce(paper, paper.opens(tmp_path / "cell", "1GB"), options)
    (item,) = reproduction.items
    assert item.is_reproduced
    # It is drawn as the paper draws its default workload, and judged by none of its numbers.
    assert item.answers[0].figure is not None
    assert {finding.verdict for finding in item.findings} == {"not applicable"}


def test_a_store_without_gpus(four_tasks: borgtrace.Store) -> None:
    paper = find_paper("fgd2023")
    options = ReproductionOptions(only=("fig-9a",))
    (item,) = reproduce(paper, four_tasks, options).items
    assert not item.is_reproduced
    expected = "nobody said how many cores and how much memory the largest machine has"
    assert item.reason == expected
