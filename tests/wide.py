"""Which tests are wide: ``make test-wide`` runs them, and CI; ``make test`` is for somebody who waits for it.

Wide are, of a test with several cases, all but the first; examples in docstrings; tests that start another program
(Spark, a browser, the server of a bucket); and what is marked ``@pytest.mark.wide`` where it stands:
tests that take long where cheaper ones look at the same feature, replays that are compiled for half a minute and that
no other test needs, and those of kills, crashes and damage.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

ANOTHER_PROGRAM = {"spark", "browser", "driver", "bucket", "s3"}
"""Fixtures that start one."""
SPARK = "local[2]"
"""The master whose session the tests of one worker share; a test of all engines gets it by its parameter."""


def needs_spark(item: pytest.Item) -> bool:
    """Whether a test starts Spark."""
    if "spark" in getattr(item, "fixturenames", ()):
        return True
    call = getattr(item, "callspec", None)
    return call is not None and call.params.get("con") == SPARK


def mark_wide(items: list[pytest.Item]) -> None:
    """Mark what is wide by what it is, and not where it stands."""
    cases_of_test = defaultdict(list)
    for item in items:
        starts_program = not ANOTHER_PROGRAM.isdisjoint(getattr(item, "fixturenames", ()))
        if starts_program or needs_spark(item) or isinstance(item, pytest.DoctestItem):
            item.add_marker(pytest.mark.wide)
        if hasattr(item, "callspec"):
            test = item.nodeid.partition("[")[0]
            cases_of_test[test].append(item)
    for cases in cases_of_test.values():
        for case in cases[1:]:
            case.add_marker(pytest.mark.wide)
