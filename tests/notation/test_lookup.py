"""What a user types for a thing of a store: found where it is clear, refused with candidates where it is not."""

from __future__ import annotations

import re

import pytest

from borgtrace.errors import UsageError
from borgtrace.notation import find_job, find_machine, find_task, find_user
from borgtrace.store import Store
from tests.ingest.own_data import hashed


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("shop/db/main", "shop/db/main"),
        # A whole part, then the beginning.
        ("db", "shop/db/main"),
        ("web-0/log", "shop/web-0/log"),
        ("shop/web-01", "shop/web-01/app"),
        ("shop/d", "shop/db/main"),
        ("100%", "shop/100%/main"),
    ],
)
def test_a_job_is_found_by_its_name_a_part_of_it_or_how_it_begins(
    cluster: Store, text: str, name: str
) -> None:
    assert find_job(cluster, text) == hashed(name)


def test_a_number_is_an_id(cluster: Store) -> None:
    assert find_job(cluster, "12") == 12
    assert find_machine(cluster, "9223372036854775807") == 2**63 - 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "web-0",
            "more than one is meant: expected an id, a name, or how one begins, got web-0, which fits 2; "
            "name one, such as shop/web-0/app or shop/web-0/log",
        ),
        (
            "shop",
            "more than one is meant: expected an id, a name, or how one begins, got shop, which fits 5; "
            "name one, such as shop/db/main or shop/100%/main or shop/web-0/app, or one of 2 more",
        ),
        (
            "eb-0/l",
            "nothing has this name: expected an id, a name, or how one begins, got eb-0/l; "
            "did you mean shop/web-0/log",
        ),
        ("_", "nothing has this name: expected an id, a name, or how one begins, got _"),
        ("", "nothing has this name: expected an id, a name, or how one begins, got nothing"),
        (
            "9223372036854775808",
            "nothing has this name: expected an id, 0 to 9,223,372,036,854,775,807, got 9223372036854775808",
        ),
    ],
)
def test_what_is_not_clear_is_refused_with_the_names_that_may_be_meant(
    cluster: Store, text: str, problem: str
) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape('--job: ' + problem)}$"):
        find_job(cluster, text, "--job")


def test_machines_tasks_and_users_are_found_alike(cluster: Store) -> None:
    assert find_machine(cluster, "node-02") == hashed("node-02")
    assert find_task(cluster, "db") == (hashed("shop/db/main"), 0)
    assert find_task(cluster, "db:3") == (hashed("shop/db/main"), 3)
    assert find_user(cluster, "al") == "alice"
    # A whole name is not ambiguous because another begins with it.
    assert find_user(cluster, "bob") == "bob"
    with pytest.raises(UsageError) as caught:
        find_machine(cluster, "node")
    assert str(caught.value) == (
        "machine: more than one is meant: expected an id, a name, or how one begins, "
        "got node, which fits 2; name one, such as node-01 or node-02"
    )
    with pytest.raises(UsageError) as caught:
        find_user(cluster, "7")
    assert str(caught.value) == (
        "--user: nothing has this name: expected a user's name, or how one begins, got 7"
    )
