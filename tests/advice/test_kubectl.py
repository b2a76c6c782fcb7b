"""Patches of owners, applied by kubectl itself, without a server: merged as the API merges them, and of its types.

``kubectl patch --local`` merges by the names of containers; it reads quantities as texts, so that ``kubectl set image
--local`` reads the result once more, as the API's own types: a quantity that is none is refused there, and a field that
is unknown is dropped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from borgtrace.advice import Advice
from borgtrace.advice.manifests import owner_patches, resources_yaml
from tests.advice.test_manifests import HOSTILE, OWNERS, with_rows

KUBECTL = shutil.which("kubectl")
CRON_JOBS_OF_V1 = (1, 21)
"""The first version whose CronJobs are of batch/v1."""
BEFORE = {"requests": {"cpu": "7", "memory": "7Gi"}, "limits": {"memory": "9Gi"}}
pytestmark = [
    pytest.mark.skipif(KUBECTL is None, reason="needs kubectl (kubernetes-client)"),
    # Like Spark, a browser or a bucket: another program.
    pytest.mark.wide,
]


def kubectl(folder: Path, *words: str, text: str = "", form: str = "json") -> str:
    """Return what a command writes; it knows of no cluster."""
    outside = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    run = subprocess.run(
        ["kubectl", *words, "--local", "-o", form],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**outside, "KUBECONFIG": os.devnull, "HOME": str(folder)},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def version() -> tuple[int, int]:
    """Return the version of kubectl."""
    shown = subprocess.run(
        ["kubectl", "version", "--client", "-o", "json"], capture_output=True, text=True, check=True
    )
    known = json.loads(shown.stdout)["clientVersion"]
    return int(known["major"]), int(re.sub(r"\D", "", known["minor"]))


def owner(kind: str, api_version: str, containers: list[str]) -> dict[str, Any]:
    """Return an object as a cluster has it, before it is patched."""
    pods: dict[str, Any] = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "containers": [
                {"name": name, "image": "registry/app:1", "resources": BEFORE}
                for name in containers
            ]
        },
    }
    spec: dict[str, Any] = {"selector": {"matchLabels": {"app": "web"}}, "template": pods}
    if kind == "CronJob":
        pods["spec"]["restartPolicy"] = "Never"
        spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": pods}}}
    if kind == "StatefulSet":
        spec["serviceName"] = "web"
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    }


def containers_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the containers of an owner or of a patch, by name."""
    spec = document["spec"]
    if document["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return {container["name"]: container for container in spec["template"]["spec"]["containers"]}


def patched(folder: Path, patch: dict[str, Any], containers: list[str]) -> dict[str, Any]:
    """Return the containers after a patch, as the types of the API have them."""
    existing = owner(patch["kind"], patch["apiVersion"], containers)
    (folder / "owner.json").write_text(json.dumps(existing))
    (folder / "patch.yaml").write_text(yaml.safe_dump(patch))
    merged = kubectl(
        folder,
        "patch",
        "-f",
        str(folder / "owner.json"),
        "--type",
        "strategic",
        "--patch-file",
        str(folder / "patch.yaml"),
    )
    typed = kubectl(
        folder,
        "set",
        "image",
        "-f",
        "-",
        f"{containers[0]}=registry/app:2",
        text=merged,
    )
    return containers_of(json.loads(typed))


@pytest.mark.parametrize("kind", OWNERS)
def test_kubectl_applies_the_patch_of_each_kind(advice: Advice, tmp_path: Path, kind: str) -> None:
    if kind == "CronJob" and version() < CRON_JOBS_OF_V1:
        pytest.skip("kubectl before 1.21 knows no CronJob of batch/v1")
    known = {"kind": kind, "namespace": "shop", "owner": "web"}
    rows = with_rows(advice.workloads, known | {"container": "app"}, known | {"container": "proxy"})
    (patch,) = yaml.safe_load_all(resources_yaml(owner_patches(rows)))
    wanted = containers_of(patch)
    assert set(wanted) == {"app", "proxy"}
    containers = patched(tmp_path, patch, ["app", "proxy", "sidecar"])
    # What the patch does not name stays as it was.
    assert list(containers) == ["app", "proxy", "sidecar"]
    assert containers["sidecar"]["resources"] == BEFORE
    assert [container["image"] for container in containers.values()] == [
        "registry/app:2",
        "registry/app:1",
        "registry/app:1",
    ]
    for name, container in wanted.items():
        after = containers[name]["resources"]
        for part in ("requests", "limits"):
            asked = BEFORE.get(part, {}) | container["resources"].get(part, {})
            assert {key: amount(value) for key, value in after[part].items()} == {
                key: amount(value) for key, value in asked.items()
            }


def amount(quantity: str) -> float:
    """Return a quantity as a number: kubectl writes 2000m as 2, and 1024Mi as 1Gi."""
    number, unit = re.fullmatch(r"([\d.]+)(\w*)", quantity).groups()
    factor = {"": 1.0, "m": 1e-3, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
    return float(number) * factor[unit]


def test_kubectl_takes_what_is_left_of_hostile_names(advice: Advice, tmp_path: Path) -> None:
    """Namespaces, owners and containers that Kubernetes cannot have are in no patch; the others can be applied."""
    good = {"kind": "Deployment", "namespace": "shop", "owner": "web", "container": "app"}
    changes = [good]
    for name in HOSTILE:
        changes += [good | {column: name} for column in ("owner", "container")]
        if name:
            # Without a namespace a patch is for that of who applies it.
            changes += [good | {column: name} for column in ("namespace", "cluster")]
    text = resources_yaml(owner_patches(with_rows(advice.workloads, *changes)))
    patches = [patch for patch in yaml.safe_load_all(text) if patch is not None]
    # One for each cluster, and one for none.
    assert len(patches) == len(set(HOSTILE))
    for patch in patches:
        assert (patch["kind"], patch["metadata"]) == (
            "Deployment",
            {"name": "web", "namespace": "shop"},
        )
    # As a file of several documents, kubectl reads as many.
    (tmp_path / "resources.yaml").write_text(text)
    path = str(tmp_path / "resources.yaml")
    names = kubectl(tmp_path, "label", "-f", path, "checked=yes", form="name")
    assert names.split() == ["deployment.apps/web"] * len(patches)
    assert patched(tmp_path, patches[0], ["app"])["app"]["image"] == "registry/app:2"


def test_kubectl_refuses_a_quantity_that_is_none(advice: Advice, tmp_path: Path) -> None:
    """What these tests rely on: the types of the API are read."""
    rows = with_rows(
        advice.workloads,
        {"kind": "Deployment", "namespace": "shop", "owner": "web", "container": "app"},
    )
    text = resources_yaml(owner_patches(rows))
    (patch,) = yaml.safe_load_all(re.sub(r'cpu: "(\d+)m"', r'cpu: "\1x"', text))
    with pytest.raises(AssertionError, match="quantities must match"):
        patched(tmp_path, patch, ["app"])
