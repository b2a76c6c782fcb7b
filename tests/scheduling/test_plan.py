"""What an estimator plans a task with, from its usage, by hand."""

from __future__ import annotations

import pytest

from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.plan import parse_plan, plan_of
from borgtrace.scheduling.workload import read_tasks
from tests.analyses.tiny import at, tiny, window


def test_the_gaussian_approximation_plans_means_and_variances() -> None:
    """CPU of .25 and .75 is .5 ± .25, memory is .125 throughout; of a Gaussian .00135 lies three deviations above."""
    events = [
        {"collection_id": id_, "time": at(time), "type": type_, "machine_id": 7, "cpu_request": 0.75}
        | {"memory_request": 0.5}
        for id_ in (1, 2)
        for time, type_ in ((0, "SUBMIT"), (1, "SCHEDULE"), (900, "FINISH"))
    ]
    tasks = [{"collection_id": id_, "instance_index": 0} for id_ in (1, 2)]
    usage = [window(1, 0, 0.25, 0.125), window(1, 300, 0.75, 0.125)]
    tables = tiny("2011", instance_events=events, collection_events=[], tasks=tasks, instance_usage=usage)
    plan = plan_of(parse_plan("gpa:0.001349898"), tables, read_tasks(tables))
    # The second has no usage, and is planned with its request.
    assert (plan.sizes / UNIT).tolist() == [[0.5, 0.125], [0.75, 0.5]]
    assert (plan.variances / UNIT**2).tolist() == [[0.0625, 0], [0, 0]]
    assert plan.safety == pytest.approx(9, rel=1e-5)
    assert plan.unmeasured == 1
