"""Every file arrives whole and verified, and none twice, however the server behaves."""

from __future__ import annotations

import hashlib
import random
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch import FetchPlan, Ledger, Session, bucket, fetch_files, make_plan

pytestmark = pytest.mark.wide

CELL_A = bucket("2019", "a")
YEAR_2011 = bucket("2011")


def usage_paths(n_parts):
    return [CELL_A.path("instance_usage", part) for part in range(n_parts)]


def plan_of(session, server, dest, **options) -> FetchPlan:
    return make_plan(
        session,
        CELL_A,
        dest,
        tables=["instance_usage"],
        base_url=server.url,
        **options,
    )


def fetch(session, plan, jobs=4):
    return list(fetch_files(session, plan, jobs=jobs))


def assert_whole(folder: Path, files):
    for path, content in files.items():
        assert (folder / path).read_bytes() == content, path
    assert not list(folder.rglob("*.incomplete"))


class Trouble:
    """Commits ``n_faults`` faults, drawn at random, on requests drawn at random."""

    ON_HEAD = ("broken", "busy", "html", "not_found")

    def __init__(self, faults, n_faults, seed, rate=0.85):
        self.faults, self.left, self.rate = faults, n_faults, rate
        self.rng = random.Random(seed)

    def __call__(self, method, path):
        if not self.left or self.rng.random() > self.rate:
            return None
        fault = self.rng.choice(self.faults if method == "GET" else self.ON_HEAD)
        self.left -= 1
        return fault


@pytest.mark.parametrize("seed", range(3))
def test_all_files_arrive_whole_after_200_random_faults(
    serve,
    archives,
    session,
    tmp_path,
    seed,
):
    files = archives(usage_paths(130), size=20_000, seed=seed)
    server = serve(files)
    first = plan_of(session, server, tmp_path)
    assert len(first.files) == 130
    server.choose = Trouble([fault for fault in server.all_faults if fault != "stall"], 200, seed)
    todo = first
    while True:  # a run may give a file up; the next one goes on where it stopped
        with Session(4, backoff=session.backoff, timeout=10) as again:
            failed = [outcome for outcome in fetch(again, todo) if outcome.error]
        if not failed:
            break
        todo = replace(first, todo=tuple(outcome.file for outcome in failed))
    assert_whole(first.folder, files)
    assert len(server.faults) == 200
    wasted = Counter(path for fault, path in server.faults if fault in server.wasteful)
    for path, content in files.items():
        assert server.body_bytes[path] <= len(content) * (1 + wasted[path])
    before = server.body_bytes.total()
    assert fetch(session, plan_of(session, server, tmp_path)) == []
    assert server.body_bytes.total() == before


def test_faults_that_lose_nothing_cost_no_byte(serve, archives, session, tmp_path):
    files = archives(usage_paths(20))
    server = serve(files)
    plan = plan_of(session, server, tmp_path)
    server.choose = Trouble(
        ("cut", "busy", "broken", "slow", "html"),
        60,
        seed=1,
        rate=0.6,
    )
    assert not any(outcome.error for outcome in fetch(session, plan))
    assert len(server.faults) == 60 or server.choose.left
    assert_whole(plan.folder, files)
    assert dict(server.body_bytes) == {path: len(content) for path, content in files.items()}


def test_a_silent_connection_is_dropped_and_the_rest_asked_for(
    serve,
    archives,
    session,
    tmp_path,
):
    files = archives(usage_paths(1))
    server = serve(files)
    plan = plan_of(session, server, tmp_path)
    server.choose = Trouble(
        ("stall",),
        1,
        seed=0,
        rate=1.0,
    )
    assert fetch(session, plan)[0].error is None
    assert_whole(plan.folder, files)
    assert server.body_bytes.total() == len(*files.values())


@pytest.mark.parametrize("etags", [True, False])
def test_without_range_support_files_start_over_and_arrive(
    serve,
    archives,
    session,
    tmp_path,
    etags,
):
    files = archives(usage_paths(5))
    server = serve(files, ranges=False, etags=etags)
    plan = plan_of(session, server, tmp_path)
    server.choose = Trouble(("cut",), 5, seed=3)
    assert not any(outcome.error for outcome in fetch(session, plan))
    assert_whole(plan.folder, files)


def test_without_hashes_and_tags_the_gzip_end_decides(serve, archives, session, tmp_path):
    files = archives(usage_paths(4))
    server = serve(files, hashes=(), etags=False)
    plan = plan_of(session, server, tmp_path)
    faults = {path: iter(["flip", "cut", "flip", None]) for path in files}
    server.choose = lambda method, path: next(faults[path])
    assert not any(outcome.error for outcome in fetch(session, plan))
    assert_whole(plan.folder, files)


@pytest.mark.parametrize(
    "hashes",
    [
        ("crc32c",),
        ("md5", "crc32c"),
        (),
    ],
)
def test_a_file_that_changes_mid_way_arrives_in_its_new_version(
    serve,
    archives,
    session,
    tmp_path,
    hashes,
):
    (path,) = usage_paths(1)
    old, new = (archives([path], size=size, seed=size)[path] for size in (50_000, 60_000))
    server = serve({path: old}, hashes=hashes)
    plan = plan_of(session, server, tmp_path)

    def change_after_the_cut(method, asked):
        if server.body_bytes.total() == 0:
            return "cut"
        server.files[path] = new
        return None

    server.choose = change_after_the_cut
    assert fetch(session, plan)[0].error is None
    assert_whole(plan.folder, {path: new})
    assert server.body_bytes.total() == len(old) // 2 + len(new)


def test_a_lie_about_the_length_is_not_believed_once(serve, archives, session, tmp_path):
    files = archives(usage_paths(1))
    server = serve(files)
    plan = plan_of(session, server, tmp_path)
    wrong = replace(plan.todo[0], version=replace(plan.todo[0].version, size=123))
    assert fetch(session, replace(plan, todo=(wrong,)))[0].error is None
    assert_whole(plan.folder, files)


def test_an_error_page_with_status_200_costs_no_byte(serve, archives, session, tmp_path):
    files = archives(usage_paths(1))
    server = serve(files, ranges=False, hashes=())
    plan = plan_of(session, server, tmp_path)
    sequence = iter(["cut", "html", "html", None])
    server.choose = lambda method, path: next(sequence)
    partial = plan.folder / (plan.todo[0].path + ".incomplete")
    sizes = []

    class Watch:
        def received(self, path, n_bytes):
            pass

        def retrying(self, path, reason, delay):
            sizes.append(partial.stat().st_size)

    session.listener = Watch()
    assert fetch(session, plan)[0].error is None
    assert sizes == [len(*files.values()) // 2] * 3


def test_what_is_gone_holds_up_no_other_file(serve, archives, session, tmp_path):
    files = archives(usage_paths(6))
    server = serve(files)
    plan = plan_of(session, server, tmp_path)
    gone = plan.files[2].path
    server.choose = lambda method, path: "not_found" if path == gone else None
    errors = {outcome.file.path: outcome.error for outcome in fetch(session, plan)}
    assert str(errors.pop(gone)) == (
        f"{gone}: gave up after 4 attempts: the server answers 404 Not Found; "
        "run the same command again later: what has arrived is kept"
    )
    assert set(errors.values()) == {None}


def test_a_server_that_is_down_is_given_up_in_the_end(serve, archives, session, tmp_path):
    server = serve(archives(usage_paths(1)))
    plan = plan_of(session, server, tmp_path)
    server.choose = lambda method, path: "broken"
    (outcome,) = fetch(session, plan)
    assert str(outcome.error) == (
        f"{plan.files[0].path}: gave up after 8 attempts: the server answers 500 Internal Server Error; "
        "run the same command again later: what has arrived is kept"
    )


def test_a_checksum_that_never_fits_is_an_error_and_leaves_no_file(
    serve,
    archives,
    session,
    tmp_path,
):
    paths = [YEAR_2011.path("job_events", part) for part in range(2)]
    files = archives(paths)
    sums = "\n".join(
        f"{hashlib.sha256(files[path] + bytes(part)).hexdigest()}  {path}"
        for part, path in enumerate(paths)
    )
    server = serve({**files, "SHA256SUM": sums.encode()})
    plan = make_plan(
        session,
        YEAR_2011,
        tmp_path,
        tables=["job_events"],
        parts="0-1",
        base_url=server.url,
    )
    errors = {outcome.file.part: outcome.error for outcome in fetch(session, plan)}
    assert errors[0] is None
    assert isinstance(errors[1], SourceError)
    assert "its sha256 is not the published one" in str(errors[1])
    assert [path.name for path in (plan.folder / "job_events").iterdir()] == [
        "part-00000-of-00500.csv.gz"
    ]
    assert server.body_bytes[paths[1]] == 3 * len(files[paths[1]])


def refetch(session, server, dest):
    before = server.body_bytes.total()
    assert not any(outcome.error for outcome in fetch(session, plan_of(session, server, dest)))
    return server.body_bytes.total() - before


def test_what_happens_to_files_between_two_runs(serve, archives, session, tmp_path):
    files = archives(usage_paths(1))
    (content,) = files.values()
    server = serve(files)
    plan = plan_of(session, server, tmp_path)
    assert refetch(session, server, tmp_path) == len(content)
    target = plan.folder / plan.files[0].path
    target.touch()
    assert refetch(session, server, tmp_path) == 0, "touched: verified again, not fetched again"
    target.write_bytes(content[:1000])
    assert refetch(session, server, tmp_path) == len(content) - 1000, "cut: the rest is fetched"
    target.write_bytes(content[:500] + bytes(500) + content[1000:])
    assert refetch(session, server, tmp_path) == len(content), "a hole: fetched anew"
    target.unlink()
    assert refetch(session, server, tmp_path) == len(content), "deleted: fetched anew"
    assert_whole(plan.folder, files)
    (plan.folder / ".fetch.jsonl").unlink()
    assert refetch(session, server, tmp_path) == 0, "brought by another program: verified and taken"


def test_a_fetch_that_is_left_early_goes_on_where_it_stopped(serve, archives, tmp_path):
    files = archives(usage_paths(4), size=400_000)
    server = serve(files, pause=0.06)
    server.choose = lambda method, path: "slow" if path != usage_paths(1)[0] else None
    with Session(2) as session:
        outcomes = fetch_files(session, plan_of(session, server, tmp_path), jobs=2)
        next(outcomes)
        while not any(path.stat().st_size for path in tmp_path.rglob("*.incomplete")):
            time.sleep(0.005)
        outcomes.close()
    time.sleep(0.4)  # for the server to notice
    sent = server.body_bytes.total()
    assert sent < sum(map(len, files.values()))
    with Session(2) as session:
        plan = plan_of(session, server, tmp_path)
        assert 0 < plan.remaining < plan.total - len(files[usage_paths(1)[0]])
        fetch(session, plan)
    assert_whole(plan.folder, files)
    assert server.body_bytes.total() - sent == plan.remaining


def test_two_fetches_do_not_share_a_folder(serve, archives, session, tmp_path):
    server = serve(archives(usage_paths(1)))
    plan = plan_of(session, server, tmp_path)
    with Ledger.open(plan.folder), pytest.raises(UsageError) as caught:
        fetch(session, plan)
    assert str(caught.value) == (
        f"{plan.folder}: another fetch is writing here; wait for it, or fetch to another folder"
    )


def test_a_ledger_cut_by_a_kill_is_read_up_to_the_cut(serve, archives, session, tmp_path):
    files = archives(usage_paths(3))
    server = serve(files)
    plan = plan_of(session, server, tmp_path)
    fetch(session, plan)
    book = plan.folder / ".fetch.jsonl"
    book.write_bytes(book.read_bytes()[:-25])
    assert refetch(session, server, tmp_path) == 0
    assert plan_of(session, server, tmp_path).todo == ()


def test_more_than_was_announced_is_thrown_away_and_asked_for_again(
    serve,
    archives,
    session,
    tmp_path,
):
    """What comes too much ends in a whole gzip member, so that only its length gives it away."""
    files = archives(usage_paths(1))
    server = serve(files, hashes=(), etags=False)
    plan = plan_of(session, server, tmp_path)
    faults = iter(["too_long", None])
    server.choose = lambda method, path: next(faults) if method == "GET" else None
    assert fetch(session, plan)[0].error is None
    assert_whole(plan.folder, files)


def test_what_is_always_too_long_is_given_up(serve, archives, session, tmp_path):
    files = archives(usage_paths(1))
    server = serve(files, hashes=(), etags=False)
    plan = plan_of(session, server, tmp_path)
    server.choose = lambda method, path: "too_long" if method == "GET" else None
    (outcome,) = fetch(session, plan)
    (size,) = map(len, files.values())
    assert f"more than the {size:,} bytes that were announced" in str(outcome.error)
    assert not [path for path in plan.folder.rglob("*.gz") if path.is_file()]
