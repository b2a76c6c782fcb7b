"""YAML for Kubernetes: held against the schema of its API, for each kind of owner and for hostile names.

The schema is written from the public OpenAPI description of Kubernetes (``io.k8s.api.apps.v1``, ``batch.v1``,
``core.v1.ResourceRequirements``, ``apimachinery.pkg.api.resource.Quantity``) and from the definition of
VerticalPodAutoscaler in kubernetes/autoscaler (vertical-pod-autoscaler/deploy/vpa-v1-crd-gen.yaml at 01d0899: what is
required, the modes, and the pattern of quantities are its own): what a patch may hold, and nothing else.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
import yaml

from borgtrace.advice import Advice
from borgtrace.advice.manifests import owner_patches, resources_yaml, vpa_yaml
from borgtrace.question import Result

Schema = dict[str, Any]

QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


def closed(properties: Schema, *required: str) -> Schema:
    """Return the schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


AMOUNTS = closed(
    {name: {"type": "string", "pattern": QUANTITY} for name in ("cpu", "memory")},
)
METADATA = closed(
    {
        "name": {"type": "string", "maxLength": 253, "pattern": NAME},
        "namespace": {"type": "string", "maxLength": 63, "pattern": LABEL},
    },
    "name",
)
CONTAINER_NAME = {"type": "string", "maxLength": 63, "pattern": LABEL}
CONTAINER = closed(
    {"name": CONTAINER_NAME, "resources": closed({"requests": AMOUNTS, "limits": AMOUNTS})},
    # The key by which lists of containers are merged.
    "name",
)
TEMPLATE = closed(
    {
        "spec": closed(
            {"containers": {"type": "array", "minItems": 1, "items": CONTAINER}}, "containers"
        )
    },
    "spec",
)
POD_SPEC = closed({"template": TEMPLATE}, "template")
CRON_SPEC = closed({"jobTemplate": closed({"spec": POD_SPEC}, "spec")}, "jobTemplate")
OWNERS = {
    "Deployment": ("apps/v1", POD_SPEC),
    "StatefulSet": ("apps/v1", POD_SPEC),
    "DaemonSet": ("apps/v1", POD_SPEC),
    "ReplicaSet": ("apps/v1", POD_SPEC),
    "CronJob": ("batch/v1", CRON_SPEC),
}
"""Kinds whose description of pods can be changed; that of a Job cannot."""
TARGET = closed(
    {
        "apiVersion": {"enum": ["apps/v1", "batch/v1"]},
        "kind": {"type": "string"},
        "name": {"type": "string", "pattern": NAME},
    },
    "kind",
    "name",
)
CONTAINER_POLICY = closed(
    {"containerName": CONTAINER_NAME, "minAllowed": AMOUNTS, "maxAllowed": AMOUNTS}
)
AUTOSCALER = closed(
    {
        "apiVersion": {"const": "autoscaling.k8s.io/v1"},
        "kind": {"const": "VerticalPodAutoscaler"},
        "metadata": METADATA,
        "spec": closed(
            {
                "targetRef": TARGET,
                "updatePolicy": closed(
                    {"updateMode": {"enum": ["Off", "Initial", "Recreate", "Auto"]}}
                ),
                "resourcePolicy": closed(
                    {"containerPolicies": {"type": "array", "items": CONTAINER_POLICY}}
                ),
            },
            "targetRef",
        ),
    },
    "apiVersion",
    "kind",
    "metadata",
    "spec",
)
HOSTILE = (
    'quote"',
    "apostrophe'",
    "line\nkind: Secret",
    "tab\t",
    "!!python/object/apply:os.system [id]",
    "*alias",
    "&anchor",
    "# comment",
    "---",
    "{{ 7 * 7 }}",
    "<script>alert(1)</script>",
    "\x1b[31mred",
    "\u202egnp.exe",
    "\u2028separator",
    "\ufeffmark",
    "Grüße",
    "\U0001f600",
    "../../etc/passwd",
    "=HYPERLINK(1)",
    "a" * 300,
    "",
    "-web",
    "web-",
    "Web",
)


def owner_schema(kind: str) -> Schema:
    """Return the schema of a patch of one kind."""
    version, spec = OWNERS[kind]
    return closed(
        {
            "apiVersion": {"const": version},
            "kind": {"const": kind},
            "metadata": METADATA,
            "spec": spec,
        },
        "apiVersion",
        "kind",
        "metadata",
        "spec",
    )


def with_rows(workloads: Result, *changes: dict[str, str]) -> Result:
    """Return the answer with the first of its rows for each change, changed so."""
    row = workloads.table.to_pylist()[0]
    rows = [row | change for change in changes]
    return replace(workloads, table=pa.Table.from_pylist(rows, workloads.table.schema))


def documents(text: str) -> list[Any]:
    """Return the documents of a YAML file; without tags of Python."""
    return [one for one in yaml.safe_load_all(text) if one is not None]


@pytest.mark.parametrize("kind", [*OWNERS, "Job"])
def test_each_kind_is_what_the_api_takes(advice: Advice, kind: str) -> None:
    workloads = with_rows(
        advice.workloads,
        {"kind": kind, "owner": "web", "container": "app"},
        {"kind": kind, "owner": "web", "container": "proxy"},
        {"kind": kind, "owner": "db.main", "container": "app", "namespace": ""},
    )
    patches = owner_patches(workloads)
    resources = documents(resources_yaml(patches))
    scalers = documents(vpa_yaml(patches))
    for document in resources:
        jsonschema.validate(document, owner_schema(kind))
    for document in scalers:
        jsonschema.validate(document, AUTOSCALER)
    # The API refuses a change of a Job's pods.
    assert len(resources) == (0 if kind == "Job" else 2)
    assert [one["spec"]["targetRef"]["name"] for one in scalers] == ["db.main", "web"]
    assert [len(one["spec"]["resourcePolicy"]["containerPolicies"]) for one in scalers] == [1, 2]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("column", ["namespace", "owner", "container"])
def test_a_name_that_kubernetes_does_not_allow_is_in_no_patch(
    advice: Advice, column: str, name: str
) -> None:
    good = {"kind": "Deployment", "namespace": "shop", "owner": "web", "container": "app"}
    patches = owner_patches(with_rows(advice.workloads, good | {column: name}, good))
    for text, schema in (
        (resources_yaml(patches), owner_schema("Deployment")),
        (vpa_yaml(patches), AUTOSCALER),
    ):
        loaded = documents(text)
        for document in loaded:
            jsonschema.validate(document, schema)
        # Without a namespace a patch is for that of who applies it.
        assert len(loaded) == (2 if (column, name) == ("namespace", "") else 1)
        assert json.dumps(name) not in text


@pytest.mark.parametrize("cluster", HOSTILE, ids=range(len(HOSTILE)))
def test_the_name_of_a_cluster_stays_a_comment(advice: Advice, cluster: str) -> None:
    owner = {"kind": "Deployment", "owner": "web", "container": "app", "cluster": cluster}
    patches = owner_patches(with_rows(advice.workloads, owner))
    for text, schema in (
        (resources_yaml(patches), owner_schema("Deployment")),
        (vpa_yaml(patches), AUTOSCALER),
    ):
        (document,) = documents(text)
        jsonschema.validate(document, schema)
        assert ("# cluster " in text) == (cluster != "")


def test_an_unknown_kind_of_owner_is_in_no_patch(advice: Advice) -> None:
    rollout = {"kind": "Rollout", "owner": "web", "container": "app"}
    assert owner_patches(with_rows(advice.workloads, rollout)) == []
