"""Which tests are wide: they try more cases of what others try already, and run by ``make test-wide`` and in CI.

``make test`` is what somebody waits for who changes the code: of a test with many cases it runs the first and the last.
A test that takes seconds is marked ``@pytest.mark.wide`` where it stands if cheaper tests look at the same feature.
"""

from __future__ import annotations

from collections import defaultdict

import pytest


def mark_wide_cases(items: list[pytest.Item]) -> None:
    """Mark the cases between the first and the last of each parametrized test."""
    cases_of_test = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            test = item.nodeid.partition("[")[0]
            cases_of_test[test].append(item)
    for cases in cases_of_test.values():
        for case in cases[1:-1]:
            case.add_marker(pytest.mark.wide)
