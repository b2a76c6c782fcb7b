"""MD5 prefixes agree with the standard library for every length of identifier."""

from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from borgtrace.datasets._md5 import job_prefixes, path_prefixes, task_prefixes

IDS = st.lists(st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**31 - 1)), min_size=1, max_size=40)


def _expected(text: str) -> int:
    return int(hashlib.md5(text.encode()).hexdigest()[:8], 16)


@settings(deadline=None, max_examples=50)
@given(IDS)
def test_prefixes_are_those_of_hashlib(ids: list[tuple[int, int]]) -> None:
    jobs, tasks = (np.array(column, np.int64) for column in zip(*ids, strict=True))
    out = np.empty(len(ids), np.uint32)
    job_prefixes(jobs, out)
    assert out.tolist() == [_expected(str(job)) for job, _ in ids]
    task_prefixes(jobs, tasks, out)
    assert out.tolist() == [_expected(f"{job},{task}") for job, task in ids]
    path_prefixes(jobs, tasks, out)
    folders = [hashlib.md5(str(job).encode()).hexdigest()[:2] for job, _ in ids]
    assert out.tolist() == [
        _expected(f"{folder}/{job}.sqlite3,{job},{task}") for folder, (job, task) in zip(folders, ids, strict=True)
    ]


def test_every_count_of_digits() -> None:
    jobs = np.array([10**k for k in range(19)] + [10**k - 1 for k in range(19)], np.int64)
    out = np.empty(len(jobs), np.uint32)
    task_prefixes(jobs, jobs, out)
    assert out.tolist() == [_expected(f"{job},{job}") for job in jobs.tolist()]
