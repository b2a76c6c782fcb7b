"""What policies predict for single tasks: windows by hand, sums beside the replay, and compaction by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.overcommit import ReplayInput, ReplayOptions, open_replay, parse_policy
from borgtrace.overcommit.policies.registry import policies
from borgtrace.overcommit.policies.tasks import TaskPolicy
from borgtrace.overcommit.reservations import parse_task_policy, reservations
from borgtrace.question import EngineTables
from borgtrace.scheduling import COMPACT, SIMULATE
from borgtrace.scheduling.plan import parse_plan
from tests.cli.test_compact import MACHINES, store, task

pytestmark = pytest.mark.wide

SECOND = 10**6
SLOT = 300 * 10**6
POLICIES = (
    "max:warmup=5m",
    "average:warmup=5m",
    "task-percentile:q=90,history=15m,warmup=10m",
    "reservation",
)


def used(
    job: int,
    machine: int,
    slot: int,
    usage: float,
) -> str:
    begin = 600 + 300 * slot
    zeros = ",".join("0" * 12)
    return f"{begin}000000,{begin + 300}000000,{job},0,{machine},{usage},{usage},{zeros},0"


def predicted_by_job(
    path: Path,
    policy: str,
    until: int | None = None,
) -> dict[int, list[float]]:
    """Return CPU and memory that a policy predicts, by job."""
    opened = borgtrace.open(path)
    rows = reservations(
        opened,
        EngineTables.of(opened),
        parse_task_policy(policy),
        until,
    ).to_pylist()
    return {row["collection_id"]: [row["cpu"], row["memory"]] for row in rows}


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Task 1 uses .25, .375 and .125, and then moves to machine 2 and uses .0625; task 2 is not measured."""
    events = [*task(1, 9, 1), *task(2, 0, 1), "1500000000,,1,0,1,2,u,1,9,0.5,0.5,0,0"]
    events += [
        f"1500000000,,1,0,{machine},{type_},u,1,9,0.5,0.5,0,0"
        for type_, machine in ((0, ""), (1, 2))
    ]
    usage = [used(1, 1, slot, value) for slot, value in enumerate((0.25, 0.375, 0.125))] + [
        used(1, 2, 3, 0.0625)
    ]
    return store(
        tmp_path_factory.mktemp("cell"),
        machine_events=MACHINES,
        task_events=sorted(events),
        task_usage=usage,
    )


@pytest.mark.parametrize(
    ("policy", "values"),
    [
        ("max:warmup=5m", (0.25, 0.375, 0.375)),
        ("average:warmup=5m", (0.25, 0.3125, 0.25)),
        # The limit of .5 until there are two windows.
        ("average:warmup=10m", (0.5, 0.3125, 0.25)),
        # The mean of the two that count.
        ("task-percentile:q=50,history=10m,warmup=5m", (0.25, 0.3125, 0.25)),
        # From the limit half of the way to the usage in each slot, and up at once.
        ("reservation:margin=0,half_life=5m", (0.375, 0.375, 0.25)),
        ("max", (0.5, 0.5, 0.5)),
    ],
)
def test_by_hand(
    cell: Path,
    policy: str,
    values: tuple[float, ...],
) -> None:
    for slot, value in enumerate(values):
        end = 600 * SECOND + (slot + 1) * SLOT
        assert predicted_by_job(cell, policy, end) == {1: [pytest.approx(value)] * 2}
    # On machine 2 it is a task of which little is known.
    last = {
        "max": 0.5,
        "average:warmup=10m": 0.5,
        "reservation:margin=0,half_life=5m": (0.5 + 0.0625) / 2,
    }
    assert predicted_by_job(cell, policy) == {1: [pytest.approx(last.get(policy, 0.0625))] * 2}


def test_a_slot_is_not_known_until_it_has_ended(cell: Path) -> None:
    policy = "max:warmup=5m"
    end = 600 * SECOND + SLOT
    assert predicted_by_job(cell, policy, 0) == {}
    assert predicted_by_job(cell, policy, end - 1) == {}
    assert predicted_by_job(cell, policy, end + SLOT - 1) == {1: [0.25] * 2}


@pytest.mark.parametrize("seed", range(3))
def test_the_tasks_of_a_machine_add_up_to_what_is_predicted_for_it(
    seed: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    events = [
        line
        for job in range(1, 13)
        for line in task(
            job,
            job % 2 * 9,
            job % 2 + 1,
            "0.25",
        )
    ]
    # Some windows are missing; above the limit they count as the limit.
    usage = [
        used(
            job,
            job % 2 + 1,
            slot,
            round(float(rng.uniform(0, 0.3)), 4),
        )
        for job in range(1, 13)
        for slot in range(8)
        if rng.random() < 0.8
    ]
    path = store(
        tmp_path,
        machine_events=MACHINES,
        task_events=events,
        task_usage=usage,
    )
    opened = borgtrace.open(path)
    machines: ReplayInput = open_replay(
        opened,
        EngineTables.of(opened),
        ReplayOptions(),
        lambda step, done, total: None,
    )
    for text in POLICIES:
        values = predicted_by_job(
            path,
            text,
            600 * SECOND + 8 * SLOT,
        )
        policy = parse_policy(text)
        for place, machine in enumerate(machines.usage.machines.tolist()):
            block = machines.block(place, "cpu").capped()
            peak = (
                policy.predicted(block).peak[block.all.slots == 7]
                - block.unmeasured[block.all.slots == 7]
            )
            there = [
                job for job in range(1, 13) if job % 2 + 1 == machine and used_last(usage, job)
            ]
            assert peak.tolist() == [pytest.approx(sum(values[job][0] for job in there))], text


def used_last(usage: list[str], job: int) -> bool:
    """Return whether a job has a window in the last slot."""
    return any(
        line.startswith(f"{600 + 300 * 7}000000,") and line.split(",")[2] == str(job)
        for line in usage
    )


@pytest.mark.parametrize(
    "policy",
    [
        "nsigma",
        "gpa:rho=0.01",
        "limit",
        "max+average",
        "wrong",
    ],
)
def test_only_policies_of_single_tasks(policy: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_plan(f"overcommit:{policy}")
    name = policy.partition(":")[0]
    of_tasks = [name for name, kind in policies().items() if issubclass(kind, TaskPolicy)]
    assert {"average", "max", "reservation", "task-percentile"} <= set(of_tasks)
    assert str(caught.value) == (
        "--plan overcommit: no policy that predicts single tasks: "
        f"expected {' or '.join(of_tasks)}, got {name}"
    )


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("max:m=1", "max has no such parameter: expected one of warmup, got max:m=1"),
        ("task-percentile:q=101", "q out of range: expected 0 to 100, got 101"),
        (
            "max:warmup=10s",
            "warmup is shorter than a slot: expected 5m to 366d, got max:warmup=10s",
        ),
    ],
)
def test_a_wrong_parameter_of_a_plan_names_its_option(policy: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_plan(f"overcommit:{policy}")
    assert str(caught.value).startswith(f"--plan overcommit: {message}")


def test_compaction_by_what_a_policy_predicts(tmp_path: Path) -> None:
    # Four tasks of production ask for .5 and use .25, four others use all of it; at 900 s one window is known.
    priorities = dict(enumerate([9] * 4 + [0] * 4, 1))
    events = [
        line for job, priority in priorities.items() for line in task(job, priority, (job + 1) // 2)
    ]
    usage = [
        used(
            job,
            (job + 1) // 2,
            0,
            0.25 if priority else 0.5,
        )
        for job, priority in priorities.items()
    ]
    later = [
        used(
            job,
            (job + 1) // 2,
            1,
            0.5,
        )
        for job in priorities
    ]
    end = ["1500000000,,8,0,4,4,u,1,0,0.5,0.5,0,0"]
    path = store(
        tmp_path,
        machine_events=MACHINES,
        task_events=events + end,
        task_usage=usage + later,
    )

    def machines(plan: str, at: int) -> list[float]:
        names = ("limits", "planned", "reclaimed")
        rows = COMPACT.run(
            path,
            at=at * SECOND,
            what_ifs=names,
            plan=plan,
            seeds=2,
        ).table.to_pylist()
        return [row["machines"] for row in rows]

    # Planned: four quarters and four halves.  Reclaimed: production fills two machines by its limits, and leaves half.
    assert machines("overcommit:max:warmup=5m", 900) == [4, 3, 3]
    # .375 each after one window: beside two of them a quarter is left, and no half.
    assert machines("overcommit:reservation:margin=0,half_life=5m", 900) == [4, 4, 4]
    # Nobody is known well enough, and later all of what is asked for is used.
    assert machines("overcommit:max", 900) == [4, 4, 4]
    assert machines("overcommit:max:warmup=5m", 1200) == [4, 4, 4]
    # Other plans leave the reservations as they are: the usage of the window that covers the time, and a margin.
    assert machines("request:2", 899) == [4, 2, 4]
    assert COMPACT.run(
        path,
        at=899 * SECOND,
        what_ifs=("reclaimed",),
        margin=0.0,
    ).table["machines"].to_pylist() == [3]
    early = COMPACT.run(path, at=899 * SECOND, plan="overcommit:max")
    assert early.not_applicable == "overcommit max:warmup=2h needs usage of nine tasks in ten"
    # A replay takes what is predicted after the last window: the mean of both is .375 of .5 for production.
    rows = SIMULATE.run(
        path, policies=("best-fit",), plan="overcommit:average:warmup=5m"
    ).table.to_pylist()
    assert [(row["tier"], row["factor"]) for row in rows] == [("free", 1.0), ("production", 0.75)]
