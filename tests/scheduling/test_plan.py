"""What an estimator plans a task with, from its usage, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from borgtrace.question import NotApplicable
from borgtrace.scheduling.compaction import CellWorkload
from borgtrace.scheduling.machines import UNIT, Demand
from borgtrace.scheduling.plan import TaskPlan, parse_plan, plan_of
from borgtrace.scheduling.whatifs import Moment
from borgtrace.scheduling.workload import read_tasks
from tests.analyses.tiny import at, tiny, window


def test_the_gaussian_approximation_plans_means_and_variances() -> None:
    """CPU of .25 and .75 is .5 ± .25, memory is .125 throughout; of a Gaussian .00135 lies three deviations above."""
    events = [
        {
            "collection_id": id_,
            "time": at(time),
            "type": type_,
            "machine_id": 7,
            "cpu_request": 0.75,
        }
        | {"memory_request": 0.5}
        for id_ in (1, 2)
        for time, type_ in ((0, "SUBMIT"), (1, "SCHEDULE"), (900, "FINISH"))
    ]
    tasks = [{"collection_id": id_, "instance_index": 0} for id_ in (1, 2)]
    usage = [window(1, 0, 0.25, 0.125), window(1, 300, 0.75, 0.125)]
    tables = tiny(
        "2011",
        instance_events=events,
        collection_events=[],
        tasks=tasks,
        instance_usage=usage,
    )
    plan = plan_of(parse_plan("gpa:0.001349898"), tables, read_tasks(tables))
    # The second has no usage, and is planned with its request.
    assert (plan.sizes / UNIT).tolist() == [[0.5, 0.125], [0.75, 0.5]]
    assert (plan.variances / UNIT**2).tolist() == [[0.0625, 0], [0, 0]]
    assert plan.safety == pytest.approx(9, rel=1e-5)
    assert plan.unmeasured == 1


def test_a_task_without_a_request_is_planned_with_the_most_that_it_used() -> None:
    events = [
        {
            "collection_id": id_,
            "time": at(time),
            "type": type_,
            "machine_id": 7,
            "cpu_request": size,
        }
        | {"memory_request": size}
        for id_, size in ((1, None), (2, 0.5))
        for time, type_ in ((0, "SUBMIT"), (1, "SCHEDULE"), (900, "FINISH"))
    ]
    tasks = [{"collection_id": id_, "instance_index": 0} for id_ in (1, 2)]
    usage = [
        window(1, 0, 0.25, 0.0625),
        window(1, 300, 0.75, 0.125),
        window(2, 0, 0.125, 0.125),
    ]
    tables = tiny(
        "2011",
        instance_events=events,
        collection_events=[],
        tasks=tasks,
        instance_usage=usage,
    )
    plan = plan_of(parse_plan("request:2"), tables, read_tasks(tables))
    # The second asks for twice a quarter.
    assert (plan.sizes / UNIT).tolist() == [[0.75, 0.125], [0.25, 0.25]]


def test_an_overcommit_policy_is_a_plan() -> None:
    planner = parse_plan("overcommit:average")
    assert (planner.label, planner.policy.label) == (
        "overcommit average:warmup=2h",
        "average:warmup=2h",
    )
    assert (planner.estimator.name, planner.estimator.parameter) == ("average", 1.0)
    # What it predicts is taken at most up to the request, and at once.
    assert (planner.is_limited, planner.is_decaying, planner.is_cpi_aware) == (True, False, False)
    aware = parse_plan("overcommit:average+cpi")
    assert (aware.label, aware.is_cpi_aware) == ("overcommit average:warmup=2h with CPI", True)


def test_a_moment_is_planned_by_its_plan_alone() -> None:
    none = np.full(2, -1)
    workload = CellWorkload(
        Demand(np.full((2, 2), UNIT), none, none + 1),
        none + 1,
        np.arange(2),
        none > 0,
    )
    moment = Moment(workload, None, none + 1)
    with pytest.raises(NotApplicable) as caught:
        moment.planned()
    assert str(caught.value) == "needs --plan ESTIMATOR, such as gpa:0.01"
    sizes = np.array([[1, 2], [3, 4]])
    variances = np.array([[5, 6], [7, 8]])
    demand = (
        replace(
            moment,
            plan=TaskPlan("gpa", sizes, variances, 9.0, 0, sizes),
        )
        .planned()
        .demand
    )
    assert demand.sizes.tolist() == [[1, 2], [3, 4]]
    assert demand.variances.tolist() == [[5, 6], [7, 8]]
    assert demand.safety == 9
