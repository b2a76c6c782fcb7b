"""What there is to fetch is found out by asking, and never more than was wanted."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch import Backoff, Listener, Session, bucket, fetch_files, make_plan
from borgtrace.fetch.digests import parse_goog_hash, parse_sums

CELL_A = bucket("2019", "a")
YEAR_2011 = bucket("2011")


def plan_of(session, server, dest, **options):
    options.setdefault("tables", ["instance_usage"])
    return make_plan(
        session,
        CELL_A,
        dest,
        base_url=server.url,
        **options,
    )


def usage(*parts):
    return [CELL_A.path("instance_usage", part) for part in parts]


@pytest.mark.parametrize("n_parts", [1, 2, 3, 4, 5, 9])
def test_probing_ends_where_the_shards_end(serve, archives, session, tmp_path, n_parts):
    server = serve(archives(usage(*range(n_parts))))
    plan = plan_of(session, server, tmp_path)
    assert [file.path for file in plan.files] == usage(*range(n_parts))
    assert len(server.requests) <= n_parts + 2 * 8
    assert {method for method, _, _ in server.requests} == {"HEAD"}
    assert not list(tmp_path.iterdir()), "a plan writes nothing"


def test_a_lonely_hole_is_missing_and_not_the_end(serve, archives, session, tmp_path):
    server = serve(archives(usage(0, 1, 2, 3, 5, 6)))
    plan = plan_of(session, server, tmp_path)
    assert [file.part for file in plan.files] == [0, 1, 2, 3, 5, 6]
    assert plan.missing == (CELL_A.path("instance_usage", 4),)


def test_a_table_may_begin_with_a_hole(serve, archives, session, tmp_path):
    plan = plan_of(session, serve(archives(usage(1, 2))), tmp_path)
    assert ([file.part for file in plan.files], plan.missing) == ([1, 2], tuple(usage(0)))


@pytest.mark.parametrize(
    ("jobs", "n_requests"),
    [
        (1, 7),
        (2, 7),
        (3, 5),
    ],
)
def test_parts_are_asked_for_as_many_at_a_time_as_jobs_and_at_least_two(
    serve,
    archives,
    session,
    tmp_path,
    jobs,
    n_requests,
):
    """Part 0 once, the missing ones twice: 1 of the first two, 2 and 3 of the next; or 1 and 2 of the first three."""
    server = serve(archives(usage(0)))
    assert len(plan_of(session, server, tmp_path, jobs=jobs).files) == 1
    assert len(server.requests) == n_requests


def test_a_table_of_known_length_has_no_end_but_its_last_part(
    serve,
    archives,
    session,
    tmp_path,
):
    """Parts 495, 496 and 498 are gone; 497 is on the list of checksums, so that it must be somewhere."""
    paths = [YEAR_2011.path("job_events", part) for part in range(494, 500)]
    listed = f"{'ab' * 32}  {paths[3]}\n"
    server = serve({**archives([paths[0], paths[5]]), "SHA256SUM": listed.encode()})
    plan = make_plan(
        session,
        YEAR_2011,
        tmp_path,
        tables=["job_events"],
        parts="494-",
        base_url=server.url,
    )
    assert [file.part for file in plan.files] == [494, 497, 499]
    assert plan.missing == (paths[1], paths[2], paths[4])
    assert (plan.files[1].version.size, plan.files[1].version.digests) == (
        None,
        {"sha256": "ab" * 32},
    )
    assert plan.total == plan.remaining == sum(map(len, server.files.values())) - len(listed)


def test_what_is_here_is_not_to_come_and_never_less_than_nothing(
    serve,
    archives,
    session,
    tmp_path,
):
    server = serve(archives(usage(0, 1, 2)))
    sizes = [len(server.files[path]) for path in usage(0, 1, 2)]
    folder = tmp_path / CELL_A.name
    folder.mkdir()
    (folder / f"{usage(0)[0]}.incomplete").write_bytes(bytes(10))
    (folder / f"{usage(1)[0]}.incomplete").write_bytes(bytes(sizes[1] + 10))
    assert plan_of(session, server, tmp_path).remaining == sizes[0] - 10 + sizes[2]


def test_a_passing_404_does_not_cut_a_table(serve, archives, session, tmp_path):
    server = serve(archives(usage(*range(6))))
    said = set()

    def once(method, path):
        fault = None if path in said else "not_found"
        said.add(path)
        return fault

    server.choose = once
    assert len(plan_of(session, server, tmp_path).files) == 6


def test_a_server_without_head_is_asked_with_get(serve, archives, session, tmp_path):
    server = serve(archives(usage(0, 1)), heads=False)
    plan = plan_of(session, server, tmp_path)
    assert [file.version.size for file in plan.files] == [
        len(content) for content in server.files.values()
    ]


def test_parts_limit_the_large_tables_only(serve, archives, session, tmp_path):
    machines = [CELL_A.path("machine_events", part) for part in range(3)]
    server = serve(archives([*usage(*range(9)), *machines]))
    plan = plan_of(
        session,
        server,
        tmp_path,
        tables=["machine_events", "instance_usage"],
        parts="1-2,7",
    )
    assert sorted(file.path for file in plan.files) == sorted([*usage(1, 2, 7), *machines])
    assert [file.part for file in plan.files] == sorted(file.part for file in plan.files)


def test_a_table_that_is_not_there_is_an_error(serve, archives, session, tmp_path):
    server = serve(archives(usage(0)))
    with pytest.raises(SourceError) as caught:
        plan_of(session, server, tmp_path, parts="5")
    assert str(caught.value) == (
        f"{server.url}/instance_usage-000000000005.json.gz: not found; check --parts, --format and --base-url"
    )


def test_2011_has_its_number_of_parts_and_its_checksums(serve, archives, session, tmp_path):
    paths = [
        YEAR_2011.path("machine_events", 0),
        *(YEAR_2011.path("job_events", part) for part in range(498, 500)),
    ]
    files = archives(paths)
    sums = f"{'ab' * 32}  ./{paths[1]}\n"
    server = serve({**files, "SHA256SUM": sums.encode()})
    plan = make_plan(
        session,
        YEAR_2011,
        tmp_path,
        tables=["machine_events", "job_events"],
        parts="498-600",
        base_url=server.url,
    )
    assert [file.path for file in plan.files] == paths
    assert [file.version.digests.get("sha256") for file in plan.files] == [None, "ab" * 32, None]
    assert plan.folder == tmp_path / "clusterdata-2011-2"
    assert plan.total == plan.remaining == sum(map(len, files.values()))


def test_2011_parts_beyond_the_last_are_refused(serve, session, tmp_path):
    server = serve({})
    with pytest.raises(SourceError) as caught:
        make_plan(
            session,
            YEAR_2011,
            tmp_path,
            tables=["job_events"],
            parts="500",
            base_url=server.url,
        )
    assert str(caught.value) == (
        f"{server.url}/job_events: has no part 500: expected 0 … 499; check --parts"
    )


def test_a_disk_that_is_too_small_is_told_before_the_first_byte(
    serve,
    archives,
    session,
    tmp_path,
    monkeypatch,
):
    server = serve(archives(usage(0)))
    plan = plan_of(session, server, tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 10})())
    with pytest.raises(UsageError) as caught:
        plan.check_space()
    assert str(caught.value) == (
        f"{tmp_path}: the disk is too small: expected {plan.total:,} bytes, got 10 bytes free; "
        "choose fewer --parts or --tables, or store part by part: --delete-raw --store store"
    )


def test_what_a_store_took_in_is_not_fetched_again(serve, archives, session, tmp_path):
    from borgtrace.fetch import Ledger

    server = serve(archives(usage(0, 1)))
    plan = plan_of(session, server, tmp_path)
    with Ledger.open(plan.folder) as ledger:
        for outcome in fetch_files(session, plan, ledger=ledger):
            ledger.staged(outcome.file.path, tmp_path / "store")
            outcome.path.unlink()
    assert (
        plan_of(
            session,
            server,
            tmp_path,
            store=tmp_path / "store",
        ).todo
        == ()
    )
    assert (
        len(
            plan_of(
                session,
                server,
                tmp_path,
                store=tmp_path / "other",
            ).todo
        )
        == 2
    )
    assert len(plan_of(session, server, tmp_path).todo) == 2


def refused_plan(base_url, tmp_path):
    """Plan with a session that has never had an answer; return the error and the attempts that were repeated."""
    repeated = []
    with Session(1, backoff=Backoff(base=0.001), timeout=0.4) as session:
        session.listener = Listener(
            retrying=lambda path, reason, delay: repeated.append((path, reason))
        )
        with pytest.raises(SourceError) as caught:
            make_plan(
                session,
                CELL_A,
                tmp_path,
                tables=["machine_events"],
                base_url=base_url,
                jobs=1,
            )
    return str(caught.value), [
        reason for path, reason in repeated if path.endswith("00000.json.gz")
    ]


def test_a_server_that_never_answered_is_given_up_at_the_second_attempt(tmp_path):
    assert refused_plan("http://127.0.0.1:9", tmp_path) == (
        "http://127.0.0.1:9/machine_events-000000000000.json.gz: gave up after 2 attempts: "
        "127.0.0.1 cannot be reached ([Errno 111] Connection refused); "
        "check the network, or name a mirror that can be reached: --base-url URL",
        ["127.0.0.1 cannot be reached ([Errno 111] Connection refused)"],
    )


def test_a_name_that_is_not_found_is_given_up_at_the_second_attempt(tmp_path, monkeypatch):
    def no_network(host, *_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    assert refused_plan("https://nowhere.invalid/a", tmp_path) == (
        "https://nowhere.invalid/a/machine_events-000000000000.json.gz: gave up after 2 attempts: "
        "nowhere.invalid cannot be reached ([Errno -2] Name or service not known); "
        "check the network, or name a mirror that can be reached: --base-url URL",
        ["nowhere.invalid cannot be reached ([Errno -2] Name or service not known)"],
    )


def test_a_host_that_takes_no_connection_is_asked_once(tmp_path, monkeypatch):
    def no_answer(*_, **__):
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", no_answer)
    assert refused_plan("http://192.0.2.1", tmp_path) == (
        "http://192.0.2.1/machine_events-000000000000.json.gz: gave up after 1 attempt: "
        "192.0.2.1 cannot be reached (no connection within 0.4 s); "
        "check the network, or name a mirror that can be reached: --base-url URL",
        [],
    )


def test_a_base_url_that_is_none_is_refused(session, tmp_path):
    with pytest.raises(UsageError) as caught:
        make_plan(session, CELL_A, tmp_path, base_url="ftp://example.org")
    assert str(caught.value) == (
        "--base-url: not an address: expected http://… or https://…, got ftp://example.org"
    )


def test_retry_after_holds_up_every_connection(serve, archives, tmp_path, monkeypatch):
    server = serve(archives(usage(0)))
    waits = []
    with Session(1, backoff=Backoff(base=0.001), timeout=1.0) as session:
        plan = plan_of(session, server, tmp_path)
        monkeypatch.setattr(
            session, "wait", lambda seconds=0.0: waits.append(seconds) if seconds > 0 else None
        )
        monkeypatch.setattr(
            "borgtrace.fetch.connections.seconds_to_wait", lambda text: 7.0 if text else None
        )
        sequence = iter(["busy", None])
        server.choose = lambda method, path: next(sequence)
        (outcome,) = fetch_files(session, plan, jobs=1)
    assert outcome.error is None
    assert waits[0] == 7.0, "the file that was refused"
    assert 6.0 < waits[1] <= 7.0, "any later request"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("2015",), "GENERATION: no such trace: expected 2011 or 2019, got 2015"),
        (("2011", "a"), "--cell: 2011 is one cell without a name: expected no --cell, got a"),
        (
            ("2011", "", "json"),
            "--format: 2011 is not published in this format: expected csv, got json",
        ),
        (("2019",), "--cell: 2019 has 8 cells: expected one of a … h, got none; try --cell a"),
        (("2019", "x"), "--cell: 2019 has 8 cells: expected one of a … h, got x; try --cell a"),
        (
            ("2019", "a", "csv"),
            "--format: 2019 is not published in this format: expected json or parquet, got csv",
        ),
    ],
)
def test_buckets_that_do_not_exist_are_refused(arguments, message):
    with pytest.raises(UsageError) as caught:
        bucket(*arguments)
    assert str(caught.value) == message


def test_addresses_are_the_published_ones():
    assert f"{YEAR_2011.url}/{YEAR_2011.path('task_usage', 0)}" == (
        "https://commondatastorage.googleapis.com/clusterdata-2011-2/task_usage/part-00000-of-00500.csv.gz"
    )
    assert (
        f"{bucket('2019', 'h', 'parquet').url}/{bucket('2019', 'h', 'parquet').path('machine_events', 0)}"
        == (
            "https://storage.googleapis.com/clusterdata_2019_h/machine_events-000000000000.parquet.gz"
        )
    )


def test_tables_go_by_either_name():
    assert YEAR_2011.select_tables(["collection_events", "task_usage"]) == [
        "job_events",
        "task_usage",
    ]
    assert CELL_A.select_tables(["instance_constraints"]) == ["instance_events"]
    assert CELL_A.select_tables([]) == [
        "machine_events",
        "machine_attributes",
        "collection_events",
        "instance_events",
        "instance_usage",
    ]
    with pytest.raises(UsageError) as caught:
        CELL_A.select_tables(["job_events"])
    assert str(caught.value) == (
        "--tables: 2019 has no such table: expected machine_events, machine_attributes, "
        "collection_events, instance_events, instance_usage, got job_events"
    )


def test_checksums_are_read_as_they_are_published():
    # The digests of nothing, as every reference lists them; base64 of the bucket, hex of us.
    assert parse_goog_hash(
        ["crc32c=AAAAAA==,md5=1B2M2Y8AsgTpgAmY7PhCfg==", "sha=x", "md5=short"]
    ) == {
        "crc32c": "00000000",
        "md5": "d41d8cd98f00b204e9800998ecf8427e",
    }
    assert parse_sums(f"# sums\n{'A1' * 32} *a/b.gz\r\n{'b2' * 32}\tc d.gz\nnonsense\n") == {
        "a/b.gz": "a1" * 32,
        "c d.gz": "b2" * 32,
    }


@given(st.integers(0, 2**32), st.integers(1, 30))
def test_waits_grow_up_to_the_cap_and_are_repeatable(seed, failures):
    backoff = Backoff(
        seed=seed,
        base=1.0,
        cap=60.0,
    )
    wait = backoff.delay("x", failures)
    ceiling = min(60.0, 2.0 ** (failures - 1))
    assert ceiling / 2 <= wait <= ceiling
    assert wait == Backoff(
        seed=seed,
        base=1.0,
        cap=60.0,
    ).delay("x", failures)
    assert backoff.delay("x", failures, retry_after=90.0) == 90.0
    assert backoff.delay("x", failures, retry_after=1e9) == 600.0
