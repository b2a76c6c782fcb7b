"""The pods and nodes of a store, for GPU scheduling: what its trace says of devices, models, CPU and memory.

A store has what a pod requests of GPUs as one number.  Up to 1,000 thousandths are a part of one device, or one; more
are whole devices, as in all traces that a node's devices are known of.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.kernels.arrays import Index
from borgtrace.question import EngineTables, NotApplicable
from borgtrace.scheduling.gpus.cell import MOST_DEVICES, WHOLE
from borgtrace.scheduling.gpus.node_kernel import MODEL
from borgtrace.scheduling.gpus.nodes import GpuNodes
from borgtrace.scheduling.gpus.pods import GpuPods
from borgtrace.scheduling.gpus.workload import GpuWorkload
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.schema.time import AFTER_TRACE, SECOND
from borgtrace.store import Store

MILLI = 1000
MIB = 2**20
TASK = ("collection_id", "instance_index")


def workload_of_store(store: Store, tables: EngineTables) -> GpuWorkload:
    """Return the pods and nodes of a store as a workload of its own.

    Parameters
    ----------
    store
        An open store.
    tables
        Its tables.

    Raises
    ------
    NotApplicable
        It does not say which GPUs machines have, or tasks request, or how large its largest machine is.
    """
    basis = store.manifest.basis
    cores = float(basis.get("cores") or 0)
    n_bytes = float(basis.get("bytes") or 0)
    NotApplicable.unless(
        cores and n_bytes, "nobody said how many cores and how much memory the largest machine has"
    )
    scale = (cores * MILLI, n_bytes / MIB)
    nodes = nodes_of_store(tables, scale)
    return GpuWorkload(store.path.name, nodes, pods_of_store(tables, nodes.models, scale))


def nodes_of_store(tables: EngineTables, scale: tuple[float, float]) -> GpuNodes:
    """Return the machines of a store, each as its last event has it.

    Parameters
    ----------
    tables
        Of the store.
    scale
        Thousandths of a core, and MiB, of the largest machine.
    """
    events = tables.machine_events
    rows = tables.fetch(
        events.filter(events.type != "REMOVE")
        .order_by(["machine_id", "time", "source_part", "source_row"])
        .select("machine_id", "cpu_capacity", "memory_capacity", "gpu_capacity"),
        "nodes",
    )
    attributes = tables.machine_attributes
    models = tables.fetch(
        attributes.filter(attributes.name == MODEL).select("machine_id", "value"), "models"
    )
    NotApplicable.unless(
        rows.num_rows and rows["gpu_capacity"].null_count < rows.num_rows,
        "no machine says how many GPUs it has (machine_events.gpu_capacity)",
    )
    ids = rows["machine_id"].to_numpy()
    is_last = np.append(ids[1:] != ids[:-1], True)
    n_devices = whole_numbers(rows["gpu_capacity"], 1.0)[is_last]
    NotApplicable.unless(
        n_devices.max() <= MOST_DEVICES,
        f"a machine has {n_devices.max()} GPUs, and more than {MOST_DEVICES} are not simulated",
    )
    model_of = dict(zip(models["machine_id"].to_pylist(), models["value"].to_pylist(), strict=True))
    model_names = [model_of.get(machine) or "" for machine in ids[is_last].tolist()]
    names, model = np.unique(np.array(model_names, dtype=np.str_), return_inverse=True)
    return GpuNodes(
        names=[str(machine) for machine in ids[is_last].tolist()],
        cpu=whole_numbers(rows["cpu_capacity"], scale[0])[is_last],
        memory=whole_numbers(rows["memory_capacity"], scale[1])[is_last],
        n_devices=n_devices,
        model=model.astype(np.int64),
        models=names.tolist(),
    )


def pods_of_store(
    tables: EngineTables, models: Sequence[str], scale: tuple[float, float]
) -> GpuPods:
    """Return the tasks of a store as pods, in the order of their ids.

    Parameters
    ----------
    tables
        Of the store.
    models
        That its machines have.
    scale
        Thousandths of a core, and MiB, of the largest machine.
    """
    tasks = tables.tasks
    columns = ("cpu_request", "memory_request", "gpu_request")
    rows = tables.fetch(tasks.order_by(list(TASK)).select(*TASK, *columns), "pods")
    request = whole_numbers(rows["gpu_request"], 1.0)
    NotApplicable.unless(request.any(), "no task requests a GPU (tasks.gpu_request)")
    is_odd = (request > WHOLE) & (request % WHOLE > 0)
    NotApplicable.unless(
        not is_odd.any(), f"{is_odd.sum():,} tasks request a part of several GPUs together"
    )
    names = [
        f"{job}/{task}" for job, task in zip(*(rows[c].to_pylist() for c in TASK), strict=True)
    ]
    return GpuPods(
        names=names,
        cpu=whole_numbers(rows["cpu_request"], scale[0]),
        memory=whole_numbers(rows["memory_request"], scale[1]),
        n_gpus=-(-request // WHOLE),
        gpu_milli=np.minimum(request, WHOLE),
        spec=specs_of_store(tables, names, models),
        times=times_of_store(tables),
    )


def times_of_store(tables: EngineTables) -> Index | None:
    """Return when tasks were submitted, and how long they ran, in seconds: int64 (tasks, 2), in the order of their ids.

    They run from their first start, or their arrival where they never started, to their last end, or the last event of
    the trace where they have none.  None where no event says when any task ended.

    Parameters
    ----------
    tables
        Of the store.
    """
    if not tables.has("instance_events"):
        return None
    events = tables.instance_events
    events = events.filter(events.time < AFTER_TRACE)
    times = events.group_by(list(TASK)).agg(
        submitted=events.time.min(),
        started=events.time.min(where=events.type == "SCHEDULE"),
        ended=events.time.max(where=events.type.isin(TERMINAL_EVENTS)),
        last=events.time.max(),
    )
    tasks = tables.tasks
    rows = tables.fetch(
        tasks.select(*TASK)
        .left_join(times, list(TASK))
        .order_by(list(TASK))
        .select("submitted", "started", "ended", "last"),
        "times",
    )
    if rows["ended"].null_count == rows.num_rows:
        return None
    last = pc.max(rows["last"])
    submitted = pc.fill_null(rows["submitted"], last)
    started = pc.coalesce(rows["started"], submitted)
    ended = pc.max_element_wise(pc.coalesce(rows["ended"], last), started)
    duration = pc.subtract(ended, started)
    return np.column_stack(
        [whole_numbers(submitted, 1 / SECOND), whole_numbers(duration, 1 / SECOND)]
    )


def specs_of_store(tables: EngineTables, names: Sequence[str], models: Sequence[str]) -> list[str]:
    """Return the models that each pod may use, joined by ``|``; empty where these are all."""
    constraints = tables.instance_constraints
    rows = tables.fetch(
        constraints.filter(constraints.name == MODEL)
        .select(*TASK, "relation", "value")
        .distinct()
        .order_by([*TASK, "relation", "value"]),
        "constraints",
    )
    allowed: dict[str, list[str]] = {}
    for row in rows.to_pylist():
        name = f"{row['collection_id']}/{row['instance_index']}"
        left = allowed.get(name, list(models))
        is_equal = row["relation"] == "EQUAL"
        allowed[name] = [model for model in left if (model == row["value"]) == is_equal]
    # No model is called "|": whoever may use none fits nowhere.
    return ["|".join(allowed[name]) or "|" if name in allowed else "" for name in names]


def whole_numbers(column: pa.ChunkedArray, scale: float) -> Index:
    """Return the values of a column in another unit, rounded; 0 where there is none."""
    values: npt.NDArray[np.float64] = column.fill_null(0).to_numpy().astype(np.float64)
    return np.rint(values * scale).astype(np.int64)
