"""Containers that were OOM-killed: counted, and given more memory than the limit that they reached."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import borgtrace
from borgtrace.advice import Advice, AdviceOptions, advise
from borgtrace.ingest import IngestOptions, ingest
from tests.advice.cluster import cluster_store, killed_twice

TWO_HOURS = 24
"""Slots."""
QUICK = AdviceOptions(policies=("borg:phi=0.9",), recommender="vpa")
"""What is tested here asks for no choice."""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Advice:
    """The cluster for two hours, in which a pod of ``web`` is killed twice."""
    folder = tmp_path_factory.mktemp("killed")
    return advise(cluster_store(folder, TWO_HOURS, killed_twice(TWO_HOURS)), QUICK)


def test_memory_lies_above_the_limit_at_which_a_container_was_killed(killed: Advice) -> None:
    """The limit is 2 GiB, 15 % above are 2.3; only 1 GiB was ever seen."""
    rows = {row["workload"]: row for row in killed.workloads.table.to_pylist()}
    web = rows["shop/web/web"]
    assert (web["oom_kills"], web["oom_limit"]) == (2, pytest.approx(2))
    assert web["memory_peak"] == pytest.approx(1)
    assert web["memory_recommended"] == pytest.approx(2.3)
    # The limit is as much as the request today.
    assert web["memory_limit_recommended"] == pytest.approx(2.3)
    db = rows["shop/db/db"]
    assert (db["oom_kills"], db["oom_limit"]) == (0, None)
    assert db["memory_recommended"] < 4


def test_kills_are_said(killed: Advice) -> None:
    assert killed.sentences.workloads[-1] == (
        "OOM-killed 2 times: shop/web/web (2); their memory is at least 15 % above the limit at the time."
    )
    assert "; OOM-killed 2 times, at a limit of 2 GiB" in killed.to_html()


def test_kills_count_where_memory_may_lie_below_its_peak(killed: Advice) -> None:
    advice = advise(killed.store, replace(QUICK, below_peak=True))
    rows = {row["workload"]: row for row in advice.workloads.table.to_pylist()}
    assert rows["shop/web/web"]["memory_recommended"] == pytest.approx(2.3)


def test_containers_without_any_limit_are_said(tmp_path: Path, killed: Advice) -> None:
    """The cluster has limits; without the answers about them it has none."""
    answers = killed.store.path.parent / "answers"
    assert not any("No limits found" in sentence for sentence in killed.sentences.unknown)
    pods = answers / "pods.json"
    without = tmp_path / "answers"
    without.mkdir()
    for name in ("usage.json", "nodes.json"):
        (without / name).write_bytes((answers / name).read_bytes())
    renamed = pods.read_text().replace("resource_limits", "resource_of_nobody")
    (without / "pods.json").write_text(renamed)
    ingest([without], tmp_path / "store", IngestOptions(jobs=1))
    unknown = advise(borgtrace.open(tmp_path / "store"), QUICK).sentences.unknown
    assert (
        "No limits found: no container has a limit of CPU or memory that is known, and none is recommended."
        in unknown
    )
