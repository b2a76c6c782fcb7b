"""What to set for each workload: steady usage, whose numbers are known by hand."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from borgtrace.advice import Advice, AdviceOptions, advise
from borgtrace.advice.grouping import pattern_of, workloads_of
from borgtrace.advice.manifests import owner_patches, resources_yaml, vpa_yaml
from borgtrace.advice.recommending import RecommenderTotals
from borgtrace.errors import UsageError
from borgtrace.interactive import Store


def rows_of(advice: Advice) -> dict[str, dict]:
    return {row["workload"]: row for row in advice.workloads.table.to_pylist()}


def test_containers_are_grouped_by_their_owner(advice: Advice) -> None:
    rows = rows_of(advice)
    assert list(rows) == ["shop/db/db", "shop/web/web"]
    web = rows["shop/web/web"]
    assert (web["kind"], web["namespace"], web["owner"], web["container"]) == (
        "Deployment",
        "shop",
        "web",
        "web",
    )
    # 864 slots of four pods.
    assert (web["tasks"], web["windows"]) == (4, 3456)
    assert (web["cpu_request"], web["cpu_limit"]) == (1, 2)
    assert web["memory_request"] == pytest.approx(2)


def test_steady_usage_is_recommended(advice: Advice) -> None:
    """A recommender of histograms adds at most 15 % and a bucket of 5 % to what is used all the time."""
    rows = rows_of(advice)
    for name, cores, gib in (("shop/web/web", 0.25, 1.0), ("shop/db/db", 1.0, 3.0)):
        row = rows[name]
        assert cores <= row["cpu_recommended"] <= cores * 1.15 * 1.05
        assert row["cpu_p95"] == pytest.approx(cores)
        # Never below what was seen at its highest.
        assert gib - 1e-6 <= row["memory_recommended"] <= gib * 1.15 * 1.05
        assert row["memory_short"] == 0
        assert row["memory_peak"] == pytest.approx(gib)
    # The burst of one of two pods: 6 of 1,728 samples at first sight.
    assert 0 < rows["shop/db/db"]["cpu_short"] < 0.01
    assert rows["shop/db/db"]["cpu_peak"] == pytest.approx(2)


def test_limits_keep_their_ratio_and_their_distance_from_the_peak(advice: Advice) -> None:
    rows = rows_of(advice)
    web = rows["shop/web/web"]
    # Twice the request, as today.
    assert web["cpu_limit_recommended"] == pytest.approx(
        max(2 * web["cpu_recommended"], 0.25 * 1.15)
    )
    # As much as the request today: 15 % above the peak is more.
    assert web["memory_limit_recommended"] == pytest.approx(max(web["memory_recommended"], 1.15))
    db = rows["shop/db/db"]
    assert (db["cpu_limit"], db["cpu_limit_recommended"]) == (None, None)


@pytest.mark.wide
def test_memory_may_be_recommended_below_its_peak_when_that_is_asked_for(shop: Store) -> None:
    options = AdviceOptions(recommender="koordinator", below_peak=True)
    asked = rows_of(advise(shop, options))["shop/db/db"]
    kept = rows_of(advise(shop, AdviceOptions(recommender="koordinator")))["shop/db/db"]
    assert asked["memory_recommended"] <= kept["memory_recommended"]
    assert kept["cpu_recommender"].startswith("koordinator")


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("owner", ["shop/db/db", "shop/web/web"]),
        ("name", ["shop/db/db", "shop/web/web"]),
        (
            "job",
            [
                "shop/db-0/db",
                "shop/db-1/db",
                "shop/web-6d4cf56db6-bbbbb/web",
                "shop/web-6d4cf56db6-ccccc/web",
                "shop/web-6d4cf56db6-ddddd/web",
                "shop/web-6d4cf56db6-fffff/web",
            ],
        ),
    ],
)
def test_ways_to_group(shop: Store, by: str, names: list[str]) -> None:
    workloads = workloads_of(shop, by)
    assert [workload.name for workload in workloads.all] == names
    assert len(workloads.of_task) == 6


def test_a_way_of_which_the_store_knows_nothing_is_refused(shop: Store) -> None:
    with pytest.raises(UsageError) as caught:
        workloads_of(shop, "user")
    assert str(caught.value) == (
        "--by: no task of the store has the user that workloads are told by; every store has jobs: --by job"
    )


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("shop/web-6d4cf56db6-x7k2p/app", "shop/web/app"),
        ("kube-system/fluentd-x7k2p/fluentd", "kube-system/fluentd/fluentd"),
        ("shop/db-0/db", "shop/db/db"),
        # No letters that Kubernetes draws.
        ("shop/my-cache/app", "shop/my-cache/app"),
        ("etl-2026-11-01", "etl-2026-11"),
        ("42", "42"),
    ],
)
def test_patterns_of_names(name: str, pattern: str) -> None:
    assert pattern_of(name) == pattern


def test_the_back_test_takes_who_reserves_least_within_what_is_tolerated() -> None:
    totals = RecommenderTotals(
        judged=np.array([100.0, 100.0, 100.0, 0.0]),
        short=np.array([1.0, 5.0, 6.0, 0.0]),
        reserved=np.array([300.0, 200.0, 100.0, 0.0]),
    )
    assert totals.best(0.05) == 1
    assert totals.best(0.06) == 2
    # Nobody is: the one that was short least.
    assert totals.best(0.001) == 0
    assert RecommenderTotals.of(2).best(0.05) is None


def test_patches_and_autoscalers_are_what_kubernetes_reads(advice: Advice) -> None:
    patches = owner_patches(advice.workloads)
    web = rows_of(advice)["shop/web/web"]
    db, deployment = yaml.safe_load_all(resources_yaml(patches))
    assert (db["apiVersion"], db["kind"], db["metadata"]) == (
        "apps/v1",
        "Deployment" if db["metadata"]["name"] == "web" else "StatefulSet",
        {"name": db["metadata"]["name"], "namespace": "shop"},
    )
    by_name = {one["metadata"]["name"]: one for one in (db, deployment)}
    (container,) = by_name["web"]["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "web"
    millicores = int(container["resources"]["requests"]["cpu"].removesuffix("m"))
    assert 0 <= millicores - web["cpu_recommended"] * 1000 < 5
    mebibytes = int(container["resources"]["limits"]["memory"].removesuffix("Mi"))
    assert 0 <= mebibytes - web["memory_limit_recommended"] * 1024 < 1
    (without_limits,) = by_name["db"]["spec"]["template"]["spec"]["containers"]
    assert "limits" not in without_limits["resources"]
    for scaler in yaml.safe_load_all(vpa_yaml(patches)):
        assert scaler["kind"] == "VerticalPodAutoscaler"
        assert scaler["spec"]["updatePolicy"] == {"updateMode": "Off"}
        assert scaler["spec"]["targetRef"]["name"] in by_name
