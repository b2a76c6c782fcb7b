"""Manifests of Kubernetes: by hand, by its schemas, as kubectl reads them, and by what their selectors mean."""

from __future__ import annotations

import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml

from borgtrace.export import LedgerLine, export_files
from borgtrace.question.constraints import meets
from tests.export.cell import CLOCK, NOWHERE, SIZE, USER, ZONE, cell_of_2011, synthetic

KUBERNETES = "1.34"
FILES = ("0-priorities.yaml", "1-nodes.yaml", "2-pods.yaml")
# apimachinery's validation.go: names of nodes and pods are DNS subdomains, label values and the names in keys alike.
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
RELATIONS = ("EQUAL", "NOT_EQUAL", "LESS_THAN", "GREATER_THAN")
"""By their codes of 2011."""


def documents(folder):
    """Read all manifests, names and labels by the rules that no schema tells, and up to 50 by their schemas."""
    manifests = {name: list(yaml.safe_load_all((folder / name).read_text())) for name in FILES}
    everything = [manifest for group in manifests.values() for manifest in group]
    # Each takes 30 ms.
    for manifest in everything[:: 1 + len(everything) // 50]:
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
    for manifest in everything:
        metadata = manifest["metadata"]
        assert len(metadata["name"]) <= 253
        assert SUBDOMAIN.fullmatch(metadata["name"])
        for key, value in metadata.get("labels", {}).items():
            check_label(key, value)
    for group in manifests.values():
        names = [manifest["metadata"]["name"] for manifest in group]
        assert len(set(names)) == len(names)
    return manifests


def check_label(key, value):
    prefix, _, name = key.rpartition("/")
    assert not prefix or SUBDOMAIN.fullmatch(prefix)
    for text in (name, value):
        assert len(text) <= 63
        assert LABEL.fullmatch(text)
    assert name


def expressions_of(pod):
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity")
    if not affinity:
        return []
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return term["matchExpressions"]


def selects(expressions, labels):
    """Whether a node has the labels that all expressions ask for: component-helpers' nodeaffinity.go, restated."""
    for expression in expressions:
        value = labels.get(expression["key"])
        values = expression["values"]
        for text in values:
            check_label(expression["key"], text)
        match expression["operator"]:
            case "In":
                is_met = value in values
            case "NotIn":
                is_met = value not in values
            case "Exists":
                is_met = value is not None
            case "DoesNotExist":
                is_met = value is None
        if not is_met:
            return False
    return True


def test_machines_are_nodes_and_tasks_are_pods_in_the_order_in_which_they_arrive(tmp_path):
    store = cell_of_2011(tmp_path, task_constraints=[f"0,1,0,0,{ZONE},a/b"])
    exported = export_files(store, tmp_path / "out", "kwok", SIZE)
    priorities, nodes, pods = documents(tmp_path / "out").values()
    assert [(each["metadata"]["name"], each["value"]) for each in priorities] == [
        ("priority-0", 0),
        ("priority-5", 5),
        ("priority-9", 9),
    ]
    gib = 2**30
    amounts = {"cpu": "32000m", "memory": str(64 * gib), "pods": "100000"}
    assert nodes[0]["metadata"]["name"] == "machine-5"
    assert nodes[0]["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert nodes[0]["status"] == {"capacity": amounts, "allocatable": amounts}
    assert nodes[0]["metadata"]["labels"]["borgtrace/platform"] == "p"
    assert nodes[1]["status"]["capacity"]["cpu"] == "64000m"
    # What no label can be has a digest, and so nothing else becomes the same: "a b" and "a/b".
    (zone_label,) = {key for node in nodes for key in node["metadata"]["labels"] if "zone" in key}
    zones = [node["metadata"]["labels"].get(zone_label) for node in nodes]
    assert [bool(zone) for zone in zones] == [True, False, True]
    assert zones[0] != zones[2]
    assert [pod["metadata"]["name"] for pod in pods] == ["job-1-0", "job-2-0", "job-2-1", "job-3-0"]
    first, second, third, last = pods
    assert first["metadata"]["annotations"] == {
        "borgtrace/arrival-seconds": "0.000000",
        "pod-complete.stage.kwok.x-k8s.io/delay": "100.000000s",
    }
    assert first["spec"]["priorityClassName"] == "priority-9"
    assert first["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "32000m", "memory": str(64 * gib)}
    }
    # It may share a machine with no other task of its job.
    (apart,) = first["spec"]["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert apart["labelSelector"]["matchLabels"] == first["metadata"]["labels"]
    assert [selects(expressions_of(first), node["metadata"]["labels"]) for node in nodes] == [
        False,
        False,
        True,
    ]
    # Its last attempt has no end, and that of another has no beginning.
    for pod, arrival in ((second, "50.000000"), (third, "90.000000"), (last, "399.000000")):
        assert pod["metadata"]["annotations"] == {"borgtrace/arrival-seconds": arrival}
        assert "affinity" not in pod["spec"]
    assert last["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "0m", "memory": "0"}
    assert exported.ledger == (
        LedgerLine(what="machines", written=3, left_out={"without a capacity": 1}),
        LedgerLine(what="tasks", written=4, left_out={}),
    )


HAD = {"5": {ZONE: "a b", CLOCK: "-5"}, "7": {CLOCK: "12"}, "8": {ZONE: "a/b", CLOCK: ""}}
"""Attributes of the typed cell: the first value of each."""
ASKED = [
    *((ZONE, relation, value) for relation in RELATIONS[:2] for value in ("a b", "x", "")),
    *(
        (CLOCK, relation, value)
        for relation in RELATIONS
        for value in ("-6", "-5", "0", "", "1", "12", "+13", "many")
    ),
    *((NOWHERE, relation, value) for relation in RELATIONS for value in ("", "1", "-1")),
]


def test_a_selector_means_what_the_constraint_meant(tmp_path):
    events = []
    constraints = []
    for task, (name, relation, value) in enumerate(ASKED):
        events.append(f"600000000,,9,{task},,0,{USER},2,0,0.1,0.1,,0")
        constraints.append(f"600000000,9,{task},{RELATIONS.index(relation)},{name},{value}")
    store = cell_of_2011(tmp_path, task_events=events, task_constraints=constraints)
    export_files(store, tmp_path / "out", "kwok", SIZE)
    _, nodes, pods = documents(tmp_path / "out").values()
    pod_of_name = {pod["metadata"]["name"]: pod for pod in pods}
    for task, asked in enumerate(ASKED):
        name, relation, value = asked
        expressions = expressions_of(pod_of_name[f"job-9-{task}"])
        for node in nodes:
            machine = node["metadata"]["name"].removeprefix("machine-")
            expected = meets(HAD[machine].get(name), relation, value)
            assert selects(expressions, node["metadata"]["labels"]) == expected, (asked, machine)


@pytest.mark.wide
@pytest.mark.parametrize("generation", ["2011", "2019"])
def test_what_is_made_of_a_cell_is_taken(tmp_path, generation):
    store = synthetic(tmp_path, generation)
    exported = export_files(store, tmp_path / "out", "kwok", SIZE)
    priorities, nodes, pods = documents(tmp_path / "out").values()
    machines, tasks = exported.ledger
    assert (len(nodes), len(pods)) == (machines.written, tasks.written)
    n_tasks = store.sql("select count(*) as n from tasks")["n"][0].as_py()
    assert tasks.written + sum(tasks.left_out.values()) == n_tasks
    classes = {each["metadata"]["name"] for each in priorities}
    assert {pod["spec"]["priorityClassName"] for pod in pods} == classes
    arrivals = [float(pod["metadata"]["annotations"]["borgtrace/arrival-seconds"]) for pod in pods]
    assert arrivals == sorted(arrivals)
    assert any(expressions_of(pod) for pod in pods)


@pytest.mark.wide
@pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl")
def test_kubectl_reads_every_manifest(tmp_path):
    exported = export_files(synthetic(tmp_path, "2019"), tmp_path / "out", "kwok", SIZE)
    files = [argument for name in FILES for argument in ("-f", str(tmp_path / "out" / name))]
    # With --local it decodes and asks no server.
    done = subprocess.run(
        ["kubectl", "label", "--local", *files, "read=yes", "-o", "name"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"KUBECONFIG": str(tmp_path / "none"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert len(set(done.stdout.split())) == exported.rows
