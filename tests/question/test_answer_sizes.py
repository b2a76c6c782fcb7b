"""Charts of answers in cores and GiB where a store knows its largest machine; columns stay shares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import borgtrace
from borgtrace.analyses.usage import utilization
from borgtrace.cli import main
from borgtrace.notation import ResourceAmounts
from borgtrace.question.answer_sizes import with_size
from tests.notation.cluster import named_cluster
from tests.printed import shown


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return named_cluster(tmp_path_factory.mktemp("sized")).path


def spec_of(answer: Any) -> dict[str, Any]:
    chart = answer.plot()
    assert chart is not None
    return dict(chart.to_dict())


def test_machines_are_drawn_in_cores_and_gib(cluster: Path) -> None:
    answer = borgtrace.open(cluster).analyze("machine_shapes")
    # Answers are compared and judged: their columns stay shares of the largest machine.
    assert answer.table["cpu_capacity"].to_pylist() == [0.5, 1.0]
    spec = spec_of(answer)
    assert spec["encoding"]["x"]["title"] == "CPU (cores)"
    assert spec["encoding"]["y"]["title"] == "memory (GiB)"
    (rows,) = spec["datasets"].values() if "datasets" in spec else (spec["data"]["values"],)
    sizes = [(row["cpu_capacity"], row["memory_capacity"]) for row in rows]
    assert sizes == [(8.0, 32.0), (16.0, 64.0)]


def test_usage_is_drawn_in_cores_and_gib(cluster: Path) -> None:
    answer = borgtrace.open(cluster).analyze("utilization")
    panels = spec_of(answer)["concat"]
    titles = [panel["layer"][0]["encoding"]["y"]["title"] for panel in panels[:2]]
    assert titles == ["CPU (cores)", "memory (GiB)"]
    # Five pods use a core each while they are measured.
    rows = panels[0]["layer"][0]["data"]["values"]
    assert max(row["cpu_used"] for row in rows) == pytest.approx(5)


def test_production_has_a_panel_for_each_resource_in_its_own_unit() -> None:
    row = dict.fromkeys(utilization.ANSWER.empty().column_names, 0.5)
    rows = [{**row, "hour": hour, "tier": "production"} for hour in (0, 1)]
    answer = pa.Table.from_pylist(rows, utilization.ANSWER.empty().schema)
    sized = with_size(answer, ResourceAmounts(cores=16, gib=64))
    panels = utilization.chart(sized).to_dict()["concat"][2:]
    titles = [panel["layer"][0]["encoding"]["y"]["title"] for panel in panels]
    assert titles == ["CPU of production (cores)", "memory of production (GiB)"]
    used = [
        panel["layer"][0]["data"]["values"][0][name]
        for panel, name in zip(panels, ("cpu_used", "memory_used"), strict=True)
    ]
    assert used == [8, 32]


def test_tables_are_shown_in_cores_and_gib(cluster: Path, tmp_path: Path) -> None:
    with shown() as streams, pytest.raises(SystemExit):
        main(["analyze", str(cluster), "machine_shapes"])
    _, small, large, *_ = streams.out.text().splitlines()
    assert "cpu_capacity in cores; memory_capacity in GiB.\n" in streams.err.text()
    assert small.split()[1:3] == ["8", "32"]
    assert large.split()[1:3] == ["16", "64"]
    # A program reads what is stored.
    with shown(is_terminal=False) as streams, pytest.raises(SystemExit):
        main(["analyze", str(cluster), "machine_shapes"])
    assert ",0.5,0.5," in streams.out.text()
    page = tmp_path / "page.html"
    borgtrace.open(cluster).report(page, ["machine_shapes"])
    html = page.read_text()
    assert "CPU capacity <small>cores</small>" in html
    assert '"title":"CPU (cores)"' in html.replace('": "', '":"')
