"""The advice for Kubernetes as YAML: patches for the owners of pods, and VerticalPodAutoscalers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from borgtrace.question import Result

if TYPE_CHECKING:
    import jinja2

API_VERSIONS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}
"""Kinds of owners that own pods."""
UNCHANGING = {"Job"}
"""Kinds whose pods cannot be described anew: the API refuses patches of them."""
LONGEST_LABEL = 63
LONGEST_NAME = 253
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAME = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
CPU_STEP = 5
"""Requests of CPU are rounded up to so many thousandths of a core."""
MEMORY_STEP = 1
"""Requests of memory are rounded up to so many MiB."""
MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True)
class ContainerPatch:
    """What one container should request, and its limits, as quantities of Kubernetes."""

    name: str
    requests: Mapping[str, str]
    limits: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OwnerPatch:
    """What the containers of one owner should request."""

    kind: str
    name: str
    namespace: str
    cluster: str
    containers: list[ContainerPatch] = field(default_factory=list)

    @property
    def api_version(self) -> str:
        """Version of the API that the kind is of."""
        return API_VERSIONS[self.kind]

    @property
    def is_patchable(self) -> bool:
        """Whether its pods can be described anew."""
        return self.kind not in UNCHANGING

    @property
    def is_cron_job(self) -> bool:
        """Whether its pods are described one level deeper."""
        return self.kind == "CronJob"


def owner_patches(workloads: Result) -> list[OwnerPatch]:
    """Return what is advised for each owner, by cluster, namespace, kind and name.

    Workloads without an owner that Kubernetes knows, those of which nothing is recommended, and those with a name that
    no object of Kubernetes can have are left out.

    Parameters
    ----------
    workloads
        The answer to `borgtrace.advice.workloads.WORKLOADS`.
    """
    patches: dict[tuple[str, ...], OwnerPatch] = {}
    for row in workloads.table.to_pylist():
        container = container_patch(row)
        if container is None or not has_owner(row):
            continue
        key = (row["cluster"], row["namespace"], row["kind"], row["owner"])
        patch = patches.setdefault(
            key,
            OwnerPatch(row["kind"], row["owner"], row["namespace"], row["cluster"]),
        )
        patch.containers.append(container)
    return [patches[key] for key in sorted(patches)]


def container_patch(row: Mapping[str, Any]) -> ContainerPatch | None:
    """Return what is advised for a container; None where nothing is, or its name is not known."""
    requests = {}
    limits = {}
    for resource, quantity in (("cpu", cpu_quantity), ("memory", memory_quantity)):
        if row[f"{resource}_recommended"] is not None:
            requests[resource] = quantity(row[f"{resource}_recommended"])
        if row[f"{resource}_limit_recommended"] is not None:
            limits[resource] = quantity(row[f"{resource}_limit_recommended"])
    if not is_label(row["container"]) or not (requests or limits):
        return None
    return ContainerPatch(row["container"], requests, limits)


def has_owner(row: Mapping[str, Any]) -> bool:
    """Whether a workload has an owner that the API of Kubernetes can have."""
    return (
        row["kind"] in API_VERSIONS
        and is_name(row["owner"])
        and (row["namespace"] == "" or is_label(row["namespace"]))
    )


def is_label(text: str) -> bool:
    r"""Whether a text can name a container or a namespace (RFC 1123).

    Examples
    --------
    >>> is_label("web-1"), is_label("web.1"), is_label("Web"), is_label("a\\n")
    (True, False, False, False)
    """
    return len(text) <= LONGEST_LABEL and _LABEL.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether a text can name an owner (RFC 1123).

    Examples
    --------
    >>> is_name("web.1"), is_name("web..1"), is_name("")
    (True, False, False)
    """
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None


def cpu_quantity(cores: float) -> str:
    """Return cores as a quantity of Kubernetes, rounded up.

    Examples
    --------
    >>> cpu_quantity(0.2301), cpu_quantity(2)
    ('235m', '2000m')
    """
    return f"{math.ceil(round(cores * 1000 / CPU_STEP, 6)) * CPU_STEP}m"


def memory_quantity(gib: float) -> str:
    """Return GiB as a quantity of Kubernetes, rounded up.

    Examples
    --------
    >>> memory_quantity(0.25), memory_quantity(1.0001)
    ('256Mi', '1025Mi')
    """
    return f"{math.ceil(round(gib * MIB_PER_GIB / MEMORY_STEP, 6)) * MEMORY_STEP}Mi"


def resources_yaml(patches: Sequence[OwnerPatch]) -> str:
    """Return patches of requests and limits, a document for each owner that can be patched."""
    patchable = [patch for patch in patches if patch.is_patchable]
    return _templates().get_template("resources.yaml.j2").render(patches=patchable)


def vpa_yaml(patches: Sequence[OwnerPatch]) -> str:
    """Return a VerticalPodAutoscaler for each owner."""
    return _templates().get_template("vpa.yaml.j2").render(patches=patches)


@cache
def _templates() -> jinja2.Environment:
    """Return what fills the templates; names become strings of JSON, which YAML reads, too."""
    # Here: not every advice is written as YAML.
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("borgtrace.advice"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,
    )
