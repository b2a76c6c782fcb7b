"""The files of a small cluster with GPUs, in the format of FGD's experiments."""

from __future__ import annotations

from pathlib import Path

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
openb-node-0000,96000,393216,8,G2
openb-node-0001,64000,262144,4,T4
openb-node-0002,64000,262144,4,T4
openb-node-0003,32000,131072,0,
"""
KINDS = [
    "4000,8192,1,500,,LS,Succeeded",
    "8000,16384,1,1000,,LS,Running",
    "2000,4096,1,250,T4,BE,Failed",
    "16000,32768,2,1000,G2|T4,LS,Succeeded",
    "1000,2048,0,0,,BE,Succeeded",
]
"""Requests, class and end of the pods, in turn."""


def write_gpu_files(folder: Path, n_pods: int = 40) -> Path:
    """Write a list of nodes and one of pods, a pod a minute, each of which runs for an hour; return the folder.

    Parameters
    ----------
    folder
        Made here.
    n_pods
        How many pods.
    """
    folder.mkdir(parents=True)
    (folder / "openb_node_list_gpu_node.csv").write_text(NODES)
    lines = [
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
        "creation_time,deletion_time,scheduled_time"
    ]
    for pod in range(n_pods):
        submitted = 60 * pod
        times = f"{submitted},{submitted + 3600},{submitted}"
        lines.append(f"openb-pod-{pod:04},{KINDS[pod % len(KINDS)]},{times}")
    (folder / "openb_pod_list_default.csv").write_text("\n".join(lines) + "\n")
    return folder
